"""Prompts of attempts, as plain text: a built-in or user template for each level. Pure.

A template has paragraphs with blank lines between them. A paragraph whose placeholders are all empty is omitted. The
task comes first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unstuck.contract import ANSWER_LIMIT, Level
from unstuck.diagnosis.enums import FailureType
from unstuck.diagnosis.model import Diagnosis
from unstuck.settings.prompt_templates import PLACEHOLDER
from unstuck.text import Clean, admit, one_line, shorten

TASK_LIMIT = 2**20
ADDED_LIMIT = 60_000
_EVIDENCE_LIMIT = 4_000
_DIFF_LIMIT = 12_000
_NAMED = 12
_NAME_LIMIT = 100
_QUESTION_LIMIT = 1_000

SIGNAL_HELP = (
    'End with one line such as UNSTUCK {"signal": "complete", "approach": "what you did"} '
    'or, if you need a decision, UNSTUCK {"signal": "needs_guidance", "question": "...", "options": ["...", "..."]}.'
)
IN_HANDS = (
    "A person had the files in their own hands while the attempt before this one stood still. "
    "What they did by hand is meant to stay: keep it, and go on from there."
)
"""Text for a tree that a person took over from an agent that has ended since."""
_RETRIES: dict[FailureType, str] = {
    FailureType.BROKEN_BUILD: (
        "The last attempt did not pass the check: it does not even load or compile. Mend that first, then go on:"
    ),
    FailureType.VERIFICATION_FAILED: (
        "The last attempt did not pass the check. Keep what works, and mend this problem in another way than before:"
    ),
}
_INSTRUCTION: dict[Level, str] = {
    "first": "",
    "retry": "The last attempt did not pass the check. Keep the approach and fix this problem:",
    "pivot": "The last approach did not work. Take a different one, from the start:",
    "research": "Several attempts failed. First understand the problem, then name a new approach and follow it:",
    "human": "A person has looked at this and says:",
    "continue": "The last session ran out of context. Its work is in the files. Go on from there:",
}

_HANDED_ON = (
    "Another agent ({}) worked on this before you and cannot go on. You take its place, in a session of your own. "
    "Look at what is there first, keep what is right, do nothing twice, and avoid what has failed:"
)

_SAID = "{instruction}\n\n{answer}\n\nA person has said before:\n{advice}\n\nApproach: {approach}\n\n{problem}"
_TRIED = "Already tried without success:\n{failed}"
_GATHERED = "Gathered:\n{insights}"
_ENDED = "{ending}"
_PRINTED = "What the check printed:\n{evidence}"
_NAME_IT = 'When you are done, name the approach in a line such as UNSTUCK {"signal": "complete", "approach": "..."}.'
_DONE = "Your work is done when this passes: {check}\n\n{signals}"
_LEFT = "Done so far in the files:\n{progress}\n\nWhat the task asks for beyond that is left to do."


def _joined(*paragraphs: str) -> str:
    return "\n\n".join(paragraphs)


TEMPLATES: dict[Level, str] = {
    "first": _DONE,
    "retry": _joined(_SAID, "Hint: {hint}", _GATHERED, "{restored}", _ENDED, _PRINTED, _DONE),
    "pivot": _joined(_SAID, "Hint: {hint}", _TRIED, _GATHERED, "{restored}", _ENDED, _PRINTED, _DONE),
    "research": _joined(_SAID, "Hint: {hint}", _TRIED, _GATHERED, "{restored}", _ENDED, _PRINTED, _NAME_IT, _DONE),
    "human": _joined(_SAID, "Hint: {hint}", _TRIED, _GATHERED, "{restored}", _ENDED, _PRINTED, _DONE),
    "continue": _joined(_SAID, "Hint: {hint}", _TRIED, _GATHERED, "{restored}", _LEFT, _ENDED, _PRINTED, _DONE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """Parts of one attempt's prompt; empty ones are omitted."""

    prompt: str
    level: Level = "first"
    hint: str = ""
    approach: str = ""
    answer: str = ""
    advice: Sequence[str] = ()
    diagnosis: Diagnosis | None = None
    evidence: str = ""
    ending: str = ""
    said: str = ""
    repeats: int = 0
    failed: Sequence[str] = ()
    insights: Sequence[str] = ()
    restored: str = ""
    progress: Sequence[str] = ()
    instead_of: str = ""
    check: str = ""
    signals: bool = False


def compose(brief: Brief, templates: Mapping[Level, str] | None = None) -> Clean:
    """Return the prompt of an attempt: the task first, never cut for the paragraphs of the level.

    ``templates`` are the user's own by level. Help on signals is added for an agent that needs it.
    """
    template = (templates or {}).get(brief.level) or TEMPLATES[brief.level]
    values = _values(brief)
    parts = [_filled(paragraph.strip("\n"), values) for paragraph in re.split(r"\n[ \t]*\n", template)]
    if brief.signals and "{signals}" not in template:
        parts.append(SIGNAL_HELP)
    added = admit("\n\n".join(filter(None, parts)), limit=ADDED_LIMIT)
    return Clean("\n\n".join(part for part in (admit(brief.prompt, limit=TASK_LIMIT), added) if part))


def _filled(paragraph: str, values: Mapping[str, str]) -> str:
    """Return the paragraph with its values; empty where all its placeholders are empty."""
    names = [name for name in PLACEHOLDER.findall(paragraph) if name in values]
    if names and not any(values[name] for name in names):
        return ""
    # In one pass, so that a placeholder inside a value stays what it is.
    return PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), paragraph)


def _values(brief: Brief) -> dict[str, str]:
    later = brief.level != "first"
    diagnosis = brief.diagnosis if later else None
    return {
        "instruction": _instruction(brief),
        "answer": brief.answer,
        "advice": "\n\n".join(brief.advice),
        "approach": brief.approach,
        "problem": _problem(diagnosis, brief.repeats) if diagnosis is not None else "",
        "hint": brief.hint,
        "failed": "\n".join(f"- {one_line(way)}" for way in brief.failed),
        "insights": "\n|\n".join(map(quoted, brief.insights)),
        "restored": brief.restored,
        "progress": "\n".join(f"- {change}" for change in brief.progress),
        "evidence": quoted(shorten(brief.evidence.strip("\n"), _EVIDENCE_LIMIT)) if later else "",
        "ending": ended_badly(brief.ending, brief.said) if later else "",
        "check": brief.check,
        "signals": SIGNAL_HELP if brief.signals else "",
    }


def ended_badly(ending: str, said: str) -> str:
    """Return a paragraph about the ``ending`` of the last attempt and its last words; empty without one."""
    if not ending:
        return ""
    last = f" Its last words were:\n{quoted(said)}" if said and said not in ending else ""
    return f"The last attempt {ending}.{last}"


def quoted(text: str) -> str:
    """Return quoted text of a program or file, so that no line of it is parsed as unstuck's own or as a signal."""
    return "\n".join(f"| {line}".rstrip() for line in text.splitlines())


def _instruction(brief: Brief) -> str:
    if brief.instead_of:
        return _HANDED_ON.format(one_line(brief.instead_of, _NAME_LIMIT))
    if brief.level == "retry" and brief.diagnosis is not None:
        return _RETRIES.get(brief.diagnosis.failure_type, _INSTRUCTION["retry"])
    return _INSTRUCTION[brief.level]


def _problem(diagnosis: Diagnosis, repeats: int) -> str:
    where = f" ({diagnosis.signature.location})" if diagnosis.signature.location else ""
    again = f"\nThis is the same failure {repeats} times in a row." if repeats > 1 else ""
    return f"Problem: {diagnosis.headline}{where}{again}"


def answer_to(question: str, answer: str) -> str:
    """Return a person's answer with the agent's question, which a new session does not know."""
    return f"{answer}\n(You had asked: {one_line(question, _QUESTION_LIMIT)})" if question and answer else answer


def by_hand(why: str, changes: Sequence[str], diff: str, *, files: int, others: Sequence[str] = ()) -> Clean:
    """Return a person's edits by hand as an answer: their words, the ``changes`` and the ``diff``.

    ``changes`` are the first of ``files``, a line each. ``others`` are tasks that may have changed the same tree. The
    text stays true when the files change later. At most :data:`ANSWER_LIMIT` characters.
    """
    if not changes:
        return admit(why, limit=ANSWER_LIMIT)
    named = [f"- {one_line(change)}" for change in changes[:_NAMED]]
    if files > len(named):
        named.append(f"- and {files - len(named)} more")
    doubt = f"Some of it may be the work of {', '.join(others)}, in the same tree." if others else ""
    done = "\n".join(["A person has shown how, by hand, in the files:", *named])
    head = "\n\n".join(filter(None, (why.strip(), done, doubt)))
    end = "Keep this where it is there already, do the same where it is not, and go on from there."
    room = ANSWER_LIMIT - len(head) - len(end) - 10
    shown = shorten(quoted(diff), min(_DIFF_LIMIT, room)) if diff and room > _EVIDENCE_LIMIT else ""
    return admit("\n\n".join(filter(None, (head, shown, end))), limit=ANSWER_LIMIT)


def cut_off(left: Sequence[str] | None, *, stays: bool = True) -> str:
    """Return a report of an attempt that was cut off, for the next one.

    ``left`` are its changes, a file a line, or None where they are unknown. ``stays`` means that they are still there.
    """
    intro = "The attempt before this one was cut off from outside, and nothing has judged its work."
    if not stays:
        return intro
    if left is None:
        return f"{intro} What it has left in the files is there, finished or not: look at that first."
    if not left:
        return f"{intro} It has changed no file so far."
    named = [f"- {one_line(change)}" for change in left[:_NAMED]]
    if len(left) > _NAMED:
        named.append(f"- and {len(left) - _NAMED} more")
    files = "\n".join(["What has been changed so far is in the files, finished or not:", *named])
    return f"{intro}\n\n{files}\n\nLook at what is there first, keep what is right, and go on from there."


def changes_said(changes: Sequence[tuple[str, str]]) -> list[str]:
    """Return one line per restored file. ``changes`` are (change, return or disappear; path)."""
    words = {"change": "changed back", "return": "brought back", "disappear": "removed"}
    return [f"{words.get(status, status)} {one_line(path)}" for status, path in changes]


def set_back(
    changes: Sequence[str], *, broken: bool, again: bool = False, handed_on: bool = False, saved: str = ""
) -> str:
    """Return a report of restored files and the reason, for the agent. ``changes`` are of :func:`changes_said`.

    ``again`` means that a person restarts the attempt, ``handed_on`` that the edits were another agent's. ``saved`` is
    the checkpoint of the files before the restore, for an agent that keeps its approach or has not seen them.
    """
    why = "because the build was broken" if broken else "so that the new approach starts clean"
    why = "so that the attempt begins again" if again else why
    named = [f"- {change}" for change in changes[:_NAMED]]
    if len(changes) > _NAMED:
        named.append(f"- and {len(changes) - _NAMED} more")
    kept = [f"They are saved: unstuck checkpoints diff {saved} shows them."] if saved and (broken or handed_on) else []
    whose = f"Your earlier edits were set back, {why}"
    if handed_on:
        whose = "The edits of the agent before you were set back: your work starts from the last passing checkpoint"
    return "\n".join([f"{whose} (files: {len(changes)}).", *named, *kept])
