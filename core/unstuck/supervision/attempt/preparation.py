"""Steps before an attempt: the command of the settings, the research and the guidance.

Every step can be done twice: a run that was killed in the middle does it again.
"""

from __future__ import annotations

from dataclasses import replace

from unstuck.contract import Capabilities, Way
from unstuck.diagnosis.enums import Cause
from unstuck.errors import WorkspaceError
from unstuck.escalation.prompts import quoted
from unstuck.escalation.research_targets import research_targets
from unstuck.eventlog import events as e
from unstuck.eventlog.state import DirectiveRow, TaskRow
from unstuck.supervision.attempt import guidance
from unstuck.supervision.attempt.permissions import granted
from unstuck.supervision.checkpointing import INTERRUPTED
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.next_step import pending_answer
from unstuck.supervision.memory.answer_memory import keep_rules
from unstuck.supervision.memory.failure_memory import insights_before, remember_insights
from unstuck.text import Clean, admit, one_line
from unstuck.workspace.research.research import gather, surroundings


async def run_command(core: RunContext, row: TaskRow, command: str) -> None:
    """Run the command that the user's settings name for this failure, in the task's worktree."""
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
    """Gather findings for the next attempt and for later failures of the same kind."""
    event = await gathered(core, row)
    core.append(event, task=row.id, attempt=row.attempt)
    remember_insights(core, row, event.insights)


async def gathered(core: RunContext, row: TaskRow) -> e.ResearchDone:
    """Return the findings about the failure of ``row``; no model is asked."""
    diagnosis, tree = row.diagnosis, core.tree_of(row)
    location = (diagnosis.signature.location if diagnosis else None) or await _changed_file(core, row)
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


async def _changed_file(core: RunContext, row: TaskRow) -> str | None:
    """Return the first text file that the task changed, for a failure that names no place; None without one."""
    if row.baseline in ("", "none"):
        return None
    try:
        counted = await core.checkpoints(core.tree_of(row)).counted(row.baseline)
    except WorkspaceError:
        return None
    texts = sorted((one for one in counted if one.added), key=lambda one: -(one.added or 0))
    return texts[0].path if texts else None


def prepare(core: RunContext, row: TaskRow, can: Capabilities) -> None:
    """Compose the next attempt's guidance and record it."""
    state, directive, prompts = core.head, row.directive, core.settings.prompts
    assert directive is not None
    if directive.checkpoint == INTERRUPTED:
        unheard = pending_answer(state, row)
        if not unheard:
            _restart(core, row, directive)
            return
        directive = guidance.with_answer(state, directive, unheard)
    if directive.level == "first":
        _repeat(core, row, can)
        return
    keep_rules(core, directive.answers)
    session = row.session if can.resume and not directive.fresh else None
    recalls = guidance.needs_findings(directive, session) or row.climb.directives <= 1
    known = insights_before(core, row) if recalls else ()

    def text(directive: DirectiveRow) -> Clean:
        return guidance.build(state, row, directive, session=session, signals=can.signals, known=known, prompts=prompts)

    ways = ((admit(way, limit=2_000), text(replace(directive, approach=way))) for way in directive.approaches)
    event = e.DirectivePrepared(
        level=directive.level,
        text=text(directive),
        approach=admit(directive.approach, limit=2_000) if directive.approach else None,
        session=session,
        answers=directive.answers,
        ways=tuple(Way(approach=approach, text=text) for approach, text in ways),
    )
    core.append(event, task=row.id)


def _restart(core: RunContext, row: TaskRow, directive: DirectiveRow) -> None:
    """Prepare the interrupted attempt again, for a new session on files that were restored."""
    event = e.DirectivePrepared(
        level=directive.level,
        text=guidance.restarted(core.head, row, directive),
        approach=core.head.attempts[row.attempt].guidance.approach,
        answers=directive.answers,
        ways=core.head.attempts[row.attempt].guidance.ways,
    )
    core.append(event, task=row.id)


def _repeat(core: RunContext, row: TaskRow, can: Capabilities) -> None:
    """Prepare the last attempt again: its work was not at fault."""
    last = core.head.attempts.get(row.attempt)
    given = last.guidance if last is not None else guidance.first_guidance(row, can, core.settings.prompts)
    # A session that did not even report its name could not be continued: the next try would end in the same way.
    session = given.session if row.report is not None and row.report.session else None
    text = guidance.repeated(core.head, row, given, granted(core.head, row))
    event = e.DirectivePrepared(level=given.level, text=text, approach=given.approach, session=session, ways=given.ways)
    core.append(event, task=row.id)
