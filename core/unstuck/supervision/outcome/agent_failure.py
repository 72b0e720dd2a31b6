"""Failure of the agent itself: how its attempt ended, its last words, and their diagnosis."""

from __future__ import annotations

from dataclasses import dataclass, replace

from unstuck.contract import Report
from unstuck.diagnosis.agent_messages.outages import OUTAGE, AgentOutage, agent_outage
from unstuck.diagnosis.agent_messages.own_limits import OWN_LIMIT, at_own_limit
from unstuck.diagnosis.agent_messages.troubles import PERMISSION, TROUBLE, AgentTrouble, agent_trouble, without_prompt
from unstuck.diagnosis.enums import ErrorCategory, ErrorType, FailureType
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose
from unstuck.errors import WorkspaceError
from unstuck.escalation.precedence import not_allowed
from unstuck.eventlog import events as e
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.attempt.permissions import unsettled
from unstuck.supervision.checks.check import read_output
from unstuck.supervision.context.context import RunContext
from unstuck.text import Clean, admit, one_line
from unstuck.text.last_words import SAID_LIMIT, last_line, last_words
from unstuck.words.exit_words import exit_words

_UNTOUCHED = "changed no file"
_HOW = {
    "not_started": "could not start",
    "no_signal": "ended without a signal line",
    "bad_signal": "ended with a signal line that cannot be used",
}


@dataclass(frozen=True, slots=True)
class Ending:
    """End of an attempt that failed itself or changed nothing: ``how`` in words, and its last words.

    An attempt that did neither has an empty ``how``. ``files`` is the hash of its files after the check.
    """

    how: Clean = Clean("")
    said: Clean = Clean("")
    untouched: bool = False
    files: str = ""


def failed_itself(report: Report) -> bool:
    """Return True if the agent itself failed, whatever the check says."""
    return bool(report.exit_code) or report.error is not None or report.how in ("crashed", "timed_out", "not_started")


async def files_of(core: RunContext, row: TaskRow) -> str:
    """Return the hash of the task's files; empty where they cannot be read, or nothing was ever saved of them."""
    if row.baseline in ("", "none"):
        return ""
    try:
        return await core.checkpoints(core.tree_of(row)).files_hash()
    except (WorkspaceError, OSError):
        return ""


async def ending_of(core: RunContext, row: TaskRow, report: Report, files: str, *, passed: bool) -> Ending:
    """Return how the attempt ended. ``files`` is the hash of its files before the check ran; empty if unknown.

    A check may write files, too, so the hash after it is what the next attempt starts from.
    """
    if passed or report.how == "stopped":
        return Ending()
    before, after = await _files_before(core, row), await files_of(core, row)
    untouched = bool(before) and before == (files or after)
    failed = failed_itself(report) or report.how in _HOW
    # An agent that asks has good reason to change nothing.
    if not failed and (not untouched or report.signal in ("blocked", "needs_guidance")):
        return Ending(files=after)
    ended = [_how_it_ended(core, row, report)] if failed else []
    how = " and ".join([*ended, *([_UNTOUCHED] if untouched else [])])
    return Ending(admit(how, limit=300), await _said(core, report), untouched, after)


async def _files_before(core: RunContext, row: TaskRow) -> str:
    """Return the hash of the files with which the attempt started; empty where it is unknown."""
    if not row.files.checkpoint:
        return row.files_hash
    try:
        return (await core.checkpoints(core.tree_of(row)).get(row.files.checkpoint)).tree
    except (WorkspaceError, OSError):
        return ""


async def _said(core: RunContext, report: Report) -> Clean:
    said = report.said or report.error or ""
    if not said and report.output:
        said = await read_output(core.folder / report.output)
    own = "\n".join(line for line in said.splitlines() if not line.startswith("UNSTUCK"))
    return admit(last_words(own), limit=SAID_LIMIT)


def _how_it_ended(core: RunContext, row: TaskRow, report: Report) -> str:
    if report.how == "timed_out":
        attempt = core.head.attempts.get(row.attempt)
        silent = attempt is not None and attempt.timed_out == "idle"
        return "showed no activity" if silent else "reached its time limit"
    if report.how == "over_budget":
        return f"was stopped: {report.error}"
    if report.how in _HOW:
        return _HOW[report.how]
    if report.exit_code:
        return f"ended with {exit_words(report.exit_code)}"
    if report.how == "crashed" and report.error:
        return f"was {report.error}" if report.error.startswith("killed by") else "crashed"
    return "raised an exception" if str(report.error).startswith("Traceback") else "reported an error"


async def own_diagnosis(core: RunContext, row: TaskRow, report: Report, ending: Ending) -> Diagnosis | None:
    """Return the diagnosis of the agent's own failure; None for an agent that did not fail."""
    failed = failed_itself(report)
    text = str(report.error or (report.said if report.marked else ""))
    if not text and report.output and failed:
        text = await read_output(core.folder / report.output)

    def found(said: str) -> Diagnosis | None:
        return diagnose(
            said,
            exit_code=report.exit_code if report.exit_code else None,
            root=str(core.tree_of(row)),
            task_id=row.id,
            agent_id=row.task.agent,
            at=core.clock.now(),
            failed=True,
        )

    words = f"{ending.said}\n{report.error}" if report.error and report.error not in ending.said else ending.said
    trouble = None
    if failed or ending.untouched:
        trouble = agent_trouble(words, agent=report.program, own=report.marked, failed=failed)
    # An unknown program that says nothing at all may be meant to do nothing.
    if trouble is None and not failed and report.unread and report.signal is None and (report.program or ending.said):
        used = core.head.attempts[row.attempt].tokens if row.attempt in core.head.attempts else 0
        trouble = without_prompt(report.program, untouched=ending.untouched, used=used)
    if trouble is None and not failed and not ending.untouched:
        return None
    if trouble is None and not failed and (denied := unsettled(core.head, row, report)):
        trouble = AgentTrouble(
            PERMISSION, one_line(not_allowed(denied[0], report.program).splitlines()[0], 400), denied[0].cure
        )
    if trouble is not None and (own := found(trouble.message) or found("the agent failed")) is not None:
        signature = replace(own.signature, metadata={**own.signature.metadata, TROUBLE: trouble.kind})
        return replace(
            own,
            signature=signature,
            failure_type=FailureType.UNKNOWN,
            category=ErrorCategory.CONFIGURATION,
            headline=trouble.message,
            fix_hint=trouble.cure,
        )
    own = found(text) if text and failed else None
    if own is not None and report.program and at_own_limit(words):
        return replace(own, signature=replace(own.signature, metadata={**own.signature.metadata, OWN_LIMIT: "turns"}))
    exhausted = own is not None and own.failure_type is FailureType.CONTEXT_EXHAUSTED
    outage = None if exhausted else agent_outage(words, agent=report.program, own=report.marked, failed=failed)
    if outage is not None and (own := found(outage.message)) is not None:
        return _of_outage(own, outage)
    if not failed:
        return None
    # What an agent had printed before its time was up is seldom the reason.
    nothing_known = own is None or (
        report.how == "timed_out" and own.signature.error_type is ErrorType.UNKNOWN and not exhausted
    )
    return found(f"the agent {_how_it_ended(core, row, report)}") if nothing_known else own


def _of_outage(own: Diagnosis, outage: AgentOutage) -> Diagnosis:
    signature = own.signature
    known = {**signature.metadata, **outage.times, OUTAGE: "yes"}
    if signature.error_type not in (ErrorType.HTTP_ERROR, ErrorType.CONNECTION_ERROR, ErrorType.TIMEOUT_ERROR):
        reached = "does not reach its provider" not in outage.message
        signature = replace(signature, error_type=ErrorType.HTTP_ERROR if reached else ErrorType.CONNECTION_ERROR)
    return replace(
        own,
        signature=replace(signature, metadata=known),
        failure_type=FailureType.UNKNOWN,
        category=ErrorCategory.TRANSIENT,
        headline=outage.message,
        fix_hint=Clean(""),
    )


def explains(own: Diagnosis) -> bool:
    """Return True if the agent's own failure explains the result of the check."""
    passes = own.category is ErrorCategory.TRANSIENT or has_worked(own)
    return passes or own.category is ErrorCategory.UNRECOVERABLE or TROUBLE in own.signature.metadata


def has_worked(own: Diagnosis) -> bool:
    """Return True if the agent worked until a limit of its own or of its context ended it."""
    return own.failure_type is FailureType.CONTEXT_EXHAUSTED or OWN_LIMIT in own.signature.metadata


def surer(own: Diagnosis | None, check: Diagnosis | None) -> Diagnosis | None:
    """Return the surer of the two diagnoses: the check's, unless it knows no type and the agent's own does."""
    if own is None or check is None:
        return check or own
    known = own.error_type is not ErrorType.UNKNOWN and check.error_type is ErrorType.UNKNOWN
    return own if known and not check.location else check


def about_ending(row: TaskRow) -> dict[str, str]:
    """Return the facts of a question about how the last attempt ended; none where it ended well."""
    check = row.check
    if check is None or not check.ending:
        return {}
    unread = " and did not read its prompt" if row.report is not None and row.report.unread else ""
    return {"ending": f"the agent {check.ending}{unread}", **({"said": check.said} if check.said else {})}


def own_failure(row: TaskRow) -> str:
    """Return the agent's own failure in one line: its last words, unless its time was up."""
    if row.check is None or not row.check.ending:
        return ""
    how = f"the agent {row.check.ending.removesuffix(f' and {_UNTOUCHED}')}"
    timed_out = row.report is not None and row.report.how == "timed_out"
    return how if timed_out else last_line(row.check.said) or how


def record_failure(core: RunContext, row: TaskRow, report: Report) -> None:
    """Record the failure of an agent, independent of the decision."""
    agent = row.task.agent or row.task.agent_type
    event: e.AgentCrashed | e.SignalParseFailure
    if report.how in ("crashed", "not_started"):
        message = report.error or Clean("it said nothing")
        event = e.AgentCrashed(agent_id=agent, task_id=row.id, error_message=message)
    elif report.how in ("no_signal", "bad_signal"):
        event = e.SignalParseFailure(agent_id=agent, task_id=row.id, raw_output_sample=report.sample or Clean(""))
    else:
        return
    core.append(event, task=row.id, attempt=row.attempt)
