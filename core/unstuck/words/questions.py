"""Questions of gates in words: the title, the problem, the facts, and the effect of an answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from unstuck.contract import AGENT, DENIED, HELD, Gate
from unstuck.eventlog.state import GateRow, State
from unstuck.text import admit, one_line
from unstuck.words.amounts import clock_time, span, used_of
from unstuck.words.labels import failure_words, level_word, tried

_MEANWHILE = {
    "waits": "the agent waits meanwhile",
    "held": "the agent is held at its next tool call meanwhile",
    "frozen": "the agent is suspended meanwhile, and its timeouts are paused",
    "runs_on": "the agent cannot be held and keeps running meanwhile",
    "": "nothing is decided without you",
}
_ASKS = {HELD: "is held", AGENT: "has an agent that needs you", DENIED: "has an agent that lacks a permission"}
_FACT_LIMIT = 2_000
_SAID_LIMIT, _SAID_LINES, _FOUND_LINES = 300, 4, 3
_SIGNAL = "UNSTUCK {"
_HEADS = ("diff --git ", "index ", "--- ", "new file mode ", "deleted file mode ")
_DIFF_HEADS = (*_HEADS, "+++ ", "@@ ")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
_NUMBERED = re.compile(r"^>? *\d+ \| ?")


def question_place(state: State, gate: Gate) -> str:
    """The place of the failure behind the question, and how often a stuck task came to the same result there."""
    place, task = one_line(said(gate.context.get("location"))), state.tasks.get(gate.task)
    again = task.climb.repeats if gate.type == "stuck" and task is not None else 0
    return " · ".join(filter(None, (place, f"same result {again} times" if again > 1 else "")))


def meanwhile(state: State, gate: Gate) -> str:
    """A sentence about the agents while the question is open."""
    if gate.type == "stuck" and any(one.state == "live" and one.task != gate.task for one in state.attempts.values()):
        return "its agent waits, others continue"
    return _MEANWHILE["" if not gate.task else gate.standing if gate.attempt else "waits"]


def _is_idle(gate: Gate) -> bool:
    """True where the agent's silence ran out, and not its time."""
    return gate.context.get("clock") == "idle"


def question_title(gate: Gate) -> str:
    """The question's title: its task, and the event behind it."""
    task, budget = gate.task or "this run", said(gate.context.get("kind")).removesuffix("s") or "run"
    words = {
        "stuck": f"{task} is stuck",
        "loop_detected": f"{task} repeats itself",
        "timeout": f"{task} " + ("shows no activity" if _is_idle(gate) else "has used up its time"),
        "question": f"{task} {_ASKS.get(gate.key, 'asks')}",
        "permission": f"{task} "
        + ("asks to restore its files" if gate.context.get("checkpoint") else "wants to do something"),
        "remediation": "The baseline check fails: no task can start",
        "integration": f"{task} is done, but its result conflicts" if gate.task else "The results have to wait",
        "budget": f"The {budget} budget is used up: all agents are held",
        "recovery": f"{task} " + ("was interrupted" if "continue" in gate.choices else "has outlived its supervisor"),
        "disk": "The disk is full",
    }
    return one_line(words.get(gate.type, f"{task} needs an answer"))


def question_problem(gate: Gate) -> str:
    """The problem behind the question, as its finder describes it."""
    context = gate.context
    if gate.type == "timeout":
        if _is_idle(gate):
            silent = span(_number(context.get("silent_seconds")))
            return f"{said(context.get('verdict'))}: nothing seen for {silent}"
        ran, limit = _number(context.get("elapsed_seconds")), _number(context.get("timeout_seconds"))
        return f"No end after {span(ran)}; the limit is {span(limit)}"
    keys = ("question", "problem") if gate.type == "question" else ("problem", "error_signature", "question")
    return next((said(context[key]) for key in keys if context.get(key)), "")


def _saved(gate: Gate) -> str:
    """The checkpoint of the files in question, or why there is none; empty for an old log."""
    context = gate.context
    several = context.get("checkpoints")
    if isinstance(several, Mapping) and len(several) > 1:
        return ", ".join(f"{said(task)} {said(saved)}" for task, saved in several.items())
    saved = said(context.get("saved" if gate.type == "permission" else "checkpoint"))
    return saved or (f"nothing: {said(context['not_saved'])}" if context.get("not_saved") else "")


def question_facts(state: State, row: GateRow) -> Iterable[tuple[str, str]]:
    """The facts of the question, each a label and a text that may be empty."""
    context = row.gate.context
    yield "Before", earlier_answer(context)
    if row.gate.type == "stuck":
        yield "Agent", _ending(context)
        # Of one line each, and so in view however long the last words are.
        yield "Tried", " · ".join(tried(context) or ["one attempt"])
        yield "Saved", _saved(row.gate) or "nothing: no checkpoint could be made"
        yield "Said", _last_words(state, row)
        yield "Changed", "; ".join(path.removeprefix("changed ") for path in each(context.get("files")))
        yield "Failure", failure_words(str(context.get("failure_type", "")), str(context.get("category", "")))
        yield "Baseline", f"the check {said(context['baseline'])}" if context.get("baseline") else ""
        yield "Analysis", said(context.get("analysis"))
        yield "Agents", "\n".join(each(context.get("agents"), _SAID_LIMIT))
        yield "Findings", _findings(state, row)
        yield "Weakened", "\n".join(each(context.get("weakened")))
        yield "Approaches", "\n".join(each(context.get("approaches")))
        yield "Used", _used(context.get("tokens"))
        return
    if row.gate.type == "budget":
        yield "Used", _spent(context)
    yield "Saved", _saved(row.gate)
    if row.gate.type == "loop_detected":
        yield (
            "Seen",
            f"{int(_number(context.get('repeats', context.get('window_size'))))} times, with nothing new in between",
        )
    yield "Seen", "; ".join(each(context.get("signals")))
    yield "Processes", ", ".join(each(context.get("processes")))
    yield "Last sign", _last_sign(row)
    yield "Ended", _ending(context)
    yield "Context", said(context.get("context"))
    yield "Agents", "\n".join(each(context.get("agents"), _SAID_LIMIT))
    yield "Phase", said(context.get("phase"))
    yield "Agent", " › ".join(filter(None, (said(context.get("agent_id")), said(context.get("subagent")))))
    yield "Since", _since(context.get("started_at") or context.get("detected_at"))
    yield "Attempts", said((context.get("attempts") or "") if row.gate.type == "remediation" else "")
    yield "Check", said(context.get("check"))
    yield "Suggested", said(context.get("suggested"))
    yield "Weakened", "\n".join(each(context.get("weakened")))
    yield "Files", ", ".join(each(context.get("paths"))) + _more(context)
    under = said(context.get("under_way"))
    yield "Its side", _hunks(context.get("mine"))
    yield "Others", _hunks(context.get("theirs"))
    yield "Worktree", said(context.get("tree")) + (f", in the middle of {under}" if under else "")
    yield "Branch", said(context.get("branch"))
    yield "Trouble", said(context.get("trouble"))
    yield "Proposed", _proposed(context.get("proposal"))
    task = state.tasks.get(row.gate.task)
    if task is not None and task.diagnosis is not None and row.gate.type != "question":
        yield "Last", said(task.diagnosis.headline)


def _ending(context: Mapping[str, Any]) -> str:
    """Return the bad end of the agent's last attempt, and its last words."""
    last = said(context.get("said"))
    return said(context.get("ending")) + (f", and said last:\n{last}" if last else "")


def _last_words(state: State, row: GateRow) -> str:
    """The agent's last message, where the question does not hold it already."""
    task = state.tasks.get(row.gate.task)
    report = task.report if task is not None else None
    if report is None or row.gate.context.get("said"):
        return ""
    words = str(report.last_message or report.said or "").splitlines()
    lines = [one_line(line, _SAID_LIMIT) for line in words if line.strip() and not line.startswith(_SIGNAL)]
    return "\n".join(lines[:_SAID_LINES])


def _findings(state: State, row: GateRow) -> str:
    """Findings of the research, a line each: the place, and the first lines there."""
    names = each(row.gate.context.get("insights"))
    task = state.tasks.get(row.gate.task)
    begins: dict[str, str] = {}
    for insight in task.climb.insights if task is not None else ():
        head, _, body = insight.partition("\n")
        told = (line for line in body.splitlines() if not line.startswith(_DIFF_HEADS))
        lines = (_NUMBERED.sub("", line).strip() for line in told)
        begins[one_line(head, 200)] = " · ".join([line for line in lines if line.strip("+-")][:_FOUND_LINES])
    shown = [name for name in names if not name.startswith("code at ")] or names
    return "\n".join(
        f"{name.rstrip(':')}: {one_line(begins.get(name, ''), _SAID_LIMIT)}".rstrip(": ") for name in shown
    )


def _last_sign(row: GateRow) -> str:
    """The last sign of life of the agent, seen from the moment of the question."""
    sign = said(row.gate.context.get("last_sign"))
    if not sign.endswith(" ago"):
        return sign
    return f"{sign.removesuffix(' ago')} before this question, which came at {clock_time(row.opened)}"


def _hunks(diff: object) -> str:
    """The hunks of a diff under the names of their files."""
    lines = (line for line in said(diff).splitlines() if not line.startswith(_HEADS))
    return "\n".join(line.removeprefix("+++ b/") for line in lines)


def _more(context: Mapping[str, Any]) -> str:
    """The number of files beyond those that are named; empty for an old log."""
    paths = context.get("paths")
    more = int(_number(context.get("paths_in_all"))) - (len(paths) if isinstance(paths, list | tuple) else 0)
    return f" and {more} more" if more > 0 else ""


def _spent(context: Mapping[str, Any]) -> str:
    """The used part of a budget, and the budget."""
    used, limit = (_number(context.get(name)) for name in ("used", "limit"))
    return used_of(said(context.get("kind")), used, limit)


def _proposed(proposal: Any) -> str:
    """The choice that an evaluator proposes, and its reason."""
    if not isinstance(proposal, Mapping) or not proposal.get("choice"):
        return ""
    by = said(proposal.get("evaluator"))
    return f"{spoken_choice(proposal['choice'])}: {said(proposal.get('reason'))}" + (f" ({by})" if by else "")


def _used(tokens: object) -> str:
    """The tokens that each level has used, where its agent reports them."""
    used = tokens.items() if isinstance(tokens, dict) else ()
    return " · ".join(f"{level_word(one_line(str(rung)))} {int(_number(count)):,} tokens" for rung, count in used)


def earlier_answer(context: Mapping[str, Any]) -> str:
    """The earlier answer to this very failure, and how that ended."""
    before = context.get("learnt")
    if not isinstance(before, dict):
        return ""
    ended = "it worked" if before.get("outcome") == "worked" else "it did not help"
    text = one_line(str(before.get("text") or ""), 300)
    more = f" ({one_line(str(before['evidence']), 80)})" if before.get("evidence") else ""
    when = answered_on(before)
    return f"you answered this on {when} with {spoken_choice(before.get('choice'))}: {text}; {ended}{more}"


def answered_on(before: Mapping[str, Any]) -> str:
    return one_line(str(before.get("when") or "")[:10]) or "an earlier day"


def spoken_choice(choice: object) -> str:
    return one_line(str(choice)).replace("_", " ")


def sentence(text: str) -> str:
    """``text`` as a sentence: with a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".") if text else ""


def own_effect(gate: Gate, choice: str) -> str:
    """The effect of a choice in the question's own words."""
    answers = gate.context.get("answers")
    return said(answers.get(choice)) if isinstance(answers, Mapping) else ""


def why_not(gate: Gate, choice: str) -> str:
    """The question's own reason against a choice."""
    refused = gate.context.get("refused")
    return said(refused.get(choice)) if isinstance(refused, Mapping) else ""


def said(value: object) -> str:
    """Text from a gate's context, which may have been written by a log of any version."""
    return "" if value is None else admit(str(value), limit=_FACT_LIMIT).replace("\t", "    ").strip()


def _since(value: object) -> str:
    """A time as people read it, with its zone; other text stays as it is."""
    text = said(value)
    return clock_time(text) if _TIME.match(text) else text


def each(values: object, limit: int = 200) -> list[str]:
    return [one_line(str(value), limit) for value in values] if isinstance(values, list | tuple) else []


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
