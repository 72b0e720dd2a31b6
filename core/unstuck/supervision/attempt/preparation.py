"""Before an attempt: what was gathered and what the attempt is told.

Every step can be done twice: a run that was killed in the middle does it again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from unstuck.contract import Capabilities, Guidance
from unstuck.diagnosis.enums import Cause
from unstuck.escalation.prompts import IN_HANDS, Brief, answer_to, compose, cut_off, quoted
from unstuck.escalation.research_targets import research_targets
from unstuck.eventlog import events as e
from unstuck.eventlog.state import DirectiveRow, TaskRow
from unstuck.supervision.checkpointing import INTERRUPTED
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.next_step import pending_answer
from unstuck.supervision.gates.gate_types import asked_by_agent
from unstuck.supervision.memory.answer_memory import keep_rules
from unstuck.supervision.memory.failure_memory import insights_before, remember_insights
from unstuck.text import Clean, admit, one_line
from unstuck.workspace.research.research import gather, surroundings

__all__ = ["first_guidance", "gathered", "note_for", "prepare", "research", "run_command"]


async def run_command(core: RunContext, row: TaskRow, command: str) -> None:
    """Run what the user's own settings name for this failure, in the task's tree."""
    tree = core.workdir(core.tree_of(row))
    done = await core.verifier.check(command, tree=tree, label=f"{row.attempt or row.id}.resolve", again=False)
    said = f"exit code {done.exit_code}" if done.exit_code is not None else done.problem
    note = f"unstuck has run `{one_line(command)}` here ({said})."
    if done.exit_code != 0 and done.evidence:
        note += f" It printed:\n{quoted(done.evidence)}"
    event = e.CommandRan(
        command=admit(command, limit=2_000),
        exit_code=done.exit_code,
        seconds=round(done.seconds, 3),
        output=done.output,
        output_at=done.output_at,
        note=admit(note, limit=4_000),
    )
    core.append(event, task=row.id, attempt=row.attempt)


async def research(core: RunContext, row: TaskRow) -> None:
    """Gather what can be found without a model, for an attempt and for whoever meets the same failure later."""
    event = await gathered(core, row)
    core.append(event, task=row.id, attempt=row.attempt)
    remember_insights(core, row, event.insights)


async def gathered(core: RunContext, row: TaskRow) -> e.ResearchDone:
    """What can be found without a model about the failure of ``row``."""
    diagnosis, tree = row.diagnosis, core.tree_of(row)
    location = diagnosis.signature.location if diagnosis else None
    headline = diagnosis.headline if diagnosis else ""
    near = await surroundings(tree, location)
    targets = research_targets(
        diagnosis.cause if diagnosis else Cause.SIMPLE_LOGIC,
        headline,
        file=near.file,
        imports=near.imports,
        files=near.files,
        approach=next(reversed(row.climb.failed_approaches), ""),
    )
    found = await gather(tree, location=location, headline=headline, targets=targets, environ=core.environ)
    insights = tuple(admit(f"{insight.source}:\n{insight.text}", limit=5_000) for insight in found)
    return e.ResearchDone(insights=insights, targets=tuple(one_line(str(target)) for target in targets))


def first_guidance(core: RunContext, row: TaskRow, can: Capabilities) -> Guidance:
    """What the first attempt is told."""
    brief = Brief(prompt=row.task.prompt, check=row.task.verify or "", signals=can.signals)
    text = compose(brief, core.settings.prompts)
    return Guidance(attempt="", number=0, level="first", text=text, workdir=Path())


def prepare(core: RunContext, row: TaskRow, can: Capabilities) -> None:
    """Compose the next attempt's guidance and record it."""
    directive = row.directive
    assert directive is not None
    if directive.checkpoint == INTERRUPTED:
        unheard = pending_answer(core.head, row)
        if not unheard:
            _begin_again(core, row, directive)
            return
        directive = _with_answer(core, directive, unheard)
    if directive.level == "first":
        _same_again(core, row, can)
        return
    climb = row.climb
    keep_rules(core, directive.answers)
    human = directive.level == "human"
    words = _answer_with_question(core, directive)
    session = row.session if can.resume and not directive.fresh else None
    # A session that is resumed remembers what it was told; a new one has to hear it again.
    gathered = directive.level in ("research", "human") or session is None
    known = insights_before(core, row) if gathered or climb.directives <= 1 else ()
    brief = Brief(
        prompt=row.task.prompt,
        level=directive.level,
        hint=directive.hint,
        approach=directive.approach,
        answer=_answer_text(words, directive.approach) if human else "",
        advice=() if session else tuple(said for said in climb.advice if said not in (words, directive.answer)),
        diagnosis=row.diagnosis,
        evidence=row.check.evidence if row.check else "",
        repeats=climb.repeats,
        failed=climb.failed_approaches,
        insights=(*known, *(climb.insights if gathered else ())),
        restored="\n\n".join(filter(None, (_cut_off(core, row), directive.restored_note, directive.ran))),
        progress=directive.progress,
        check=row.task.verify or "",
        signals=can.signals,
    )
    core.append(
        e.DirectivePrepared(
            level=directive.level,
            text=compose(brief, core.settings.prompts),
            approach=admit(directive.approach, limit=2_000) if directive.approach else None,
            session=session,
            answers=directive.answers,
        ),
        task=row.id,
    )


def _with_answer(core: RunContext, directive: DirectiveRow, gate: str) -> DirectiveRow:
    """A person's words that the agent has not had yet come into the attempt that begins again."""
    answer = core.head.gates[gate].answer
    assert answer is not None
    return replace(
        directive,
        level="human",
        answer=answer.text,
        approach=answer.text if answer.choice == "retry" else "",
        answers=(*directive.answers, gate),
    )


def _answer_with_question(core: RunContext, directive: DirectiveRow) -> str:
    """The person's words, with the question of the agent's own that they answer."""
    gates = (core.head.gates[gate].gate for gate in directive.answers)
    asked = (asked_by_agent(gate) for gate in gates if gate.answer and gate.answer.text == directive.answer)
    return answer_to(next(filter(None, asked), ""), directive.answer)


def _answer_text(answer: str, approach: str) -> str:
    if approach:
        return "Try again with the approach below."
    return answer or "Try again with a different approach."


def note_for(core: RunContext, row: TaskRow) -> str:
    """What the next attempt is told beside its guidance: that it takes up what another has left."""
    if row.prepared is None or row.prepared.attempt != row.attempt:
        return ""  # composed since, with all that is to be said
    said = _cut_off(core, row)
    return f"\n\n{said}" if said else ""


def _cut_off(core: RunContext, row: TaskRow) -> str:
    """What became of the last attempt, where it was cut off; its work may have been set back since."""
    last = core.head.attempts.get(row.attempt)
    if last is None or last.state != "interrupted":
        return ""
    stays = not _is_set_back(row)
    known = all(saved not in ("", "none") for saved in (row.saved, row.baseline))
    return "\n\n".join(filter(None, (cut_off(row.left if known else None, stays=stays), _in_hands(core, row))))


def _in_hands(core: RunContext, row: TaskRow) -> str:
    """That a person had the files while the last attempt stood still, for one that was never told so.

    Where they were set back since, what the person did is no longer there.
    """
    had = any(gate.handed and gate.gate.attempt == row.attempt for gate in core.head.gates.values())
    return IN_HANDS if had and not _is_set_back(row) else ""


def _is_set_back(row: TaskRow) -> bool:
    return row.directive is not None and bool(row.directive.restored)


def _begin_again(core: RunContext, row: TaskRow, directive: DirectiveRow) -> None:
    """The words of the attempt that was cut off once more, for a fresh session on files that were set back."""
    last = core.head.attempts[row.attempt]
    words = last.guidance.text.removesuffix(last.note)
    text = "\n\n".join(filter(None, (words, _cut_off(core, row), directive.restored_note)))
    event = e.DirectivePrepared(
        level=directive.level, text=Clean(text), approach=last.guidance.approach, answers=directive.answers
    )
    core.append(event, task=row.id)


def _same_again(core: RunContext, row: TaskRow, can: Capabilities) -> None:
    """The last attempt's words once more: it was not its work that failed."""
    last = core.head.attempts.get(row.attempt)
    guidance = last.guidance if last is not None else first_guidance(core, row, can)
    # A session that did not even say its name could not be continued: trying so again would end in the same way.
    session = guidance.session if row.report is not None and row.report.session else None
    said = _in_hands(core, row)
    text = guidance.text if said in guidance.text else Clean(f"{guidance.text}\n\n{said}")
    core.append(
        e.DirectivePrepared(level=guidance.level, text=text, approach=guidance.approach, session=session),
        task=row.id,
    )
