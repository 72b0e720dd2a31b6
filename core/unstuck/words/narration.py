"""Events in words: as the lines that a run prints, as one text, and as a moment of a timeline. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from unstuck.diagnosis.agent_messages.troubles import TROUBLE
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.text import one_line
from unstuck.text.last_words import last_line
from unstuck.words.amounts import clock_time, limit_of, span, used_of
from unstuck.words.exit_words import exit_words
from unstuck.words.labels import (
    ACTORS,
    ENDED,
    PASSED_BEFORE_WORK,
    TERMINAL,
    UNREAD,
    UNSEEN,
    WAY_ENDS,
    Tone,
    broken_check,
    checkpoint_reason,
    counted,
    ended_as,
    left_behind,
    level_word,
    receipt_words,
    replaced_words,
    tried,
    used_words,
)
from unstuck.words.questions import earlier_answer

_WIDTH, _NAME_WIDTH, _AT_LEAST, _PARAGRAPH = 160, 40, 60, 100
_SETUP_LINES, _NAMED, _SAID_LINES, _ANALYSIS = 5, 6, 6, 600
_PHASE = "→ Phase"

_Text = str | Sequence[str] | None
_MEANWHILE = {
    "held": "is held at its next tool call meanwhile",
    "frozen": "is suspended meanwhile",
    "runs_on": "cannot be held and keeps running meanwhile",
}
_ARGUMENTS = {"show_me": "TEXT", "retry": "[APPROACH]", "deny": "[REASON]", "extend": "DURATION", "choose": "N"}


def lines_of(record: Record, *, spell: Callable[[str], str] = str) -> tuple[str, ...]:
    """The lines for ``record``, each part ``spell``ed; none for an event that only the record needs."""
    start = f"{clock_time(record.time)}  " + (f"{one_line(record.task, _NAME_WIDTH)}  " if record.task else "")
    room = max(_AT_LEAST, _WIDTH - len(start))
    message = _said(record)
    texts = (message,) if isinstance(message, str) else message or ()
    return tuple(start + _indented(spell(text), room) for text in texts)


def event_text(record: Record) -> str:
    """The text of ``record``, without time and subject; empty for an event that only the record needs."""
    text = _said(record) or (_beside(record.event) if isinstance(record.event, e.DirectiveIssued) else "")
    texts = [text] if isinstance(text, str) else text
    if isinstance(record.event, e.RunStarted):
        return " ".join(texts)
    return next((one for one in texts if not one.lstrip().startswith(_PHASE)), "").strip()


@dataclass(frozen=True, slots=True)
class Moment:
    """An event in the timeline of its task. ``seconds`` is None where it took no time."""

    label: str
    glyph: str
    tone: Tone
    text: str
    seconds: float | None = None


def moment_of(record: Record) -> Moment | None:
    """The moment of the timeline that ``record`` alone makes; None for a record of an attempt, and for others."""
    event, seconds = record.event, None
    if isinstance(event, e.Unknown) or type(event) not in MOMENTS:
        return None
    label, glyph, tone = MOMENTS[type(event)]
    text = event_text(record).removeprefix(glyph).strip().removeprefix(f"{label}: ")
    match event:
        case e.RestoreDone():
            if not event.changed:
                return None
            files = ": ".join(filter(None, (counted(event.changed, "file"), ", ".join(event.changes))))
            text = f"{files} ({event.target})"
        case e.GateOpened():
            text = event.type.replace("_", " ")
        case e.GateAnswered():
            by = "you" if record.actor == "human" else ACTORS[record.actor]
            text = ": ".join(filter(None, (by, event.choice.replace("_", " "), event.text)))
        case e.StopReceipt():
            text, tone = receipt_words(event), "bad" if event.alive else tone
        case e.TaskEnded():
            glyph, tone = ENDED[event.status]
            text = text.removeprefix(glyph).strip()
        case e.TransientErrorRetry():
            text, seconds = f"{event.error_type}, wait {event.retry}", event.delay_seconds
        case e.OutageWait():
            seconds = event.delay_seconds
        case e.ResearchDone():
            text = f"found {counted(len(event.insights), 'finding')}"
        case e.InfrastructureBlocked():
            text = event.issue
        case e.ApproachEnded():
            (glyph, tone), text = WAY_ENDS[event.result], f"{event.slot}: {text.partition(': ')[2]}"
        case e.AgentTimeout():
            label = "stalled" if event.clock == "idle" else label
            text, seconds = ", ".join(event.signals), event.limit_s if label == "stalled" else event.elapsed_ms / 1000
        case e.LivenessJudged():
            label, text, seconds = event.verdict.lower(), ", ".join(event.signals), event.silent_s
        case e.SilenceEnded():
            text, seconds = f"ended by {event.sign}", event.seconds
    return Moment(label, glyph, tone, text, seconds)


def _beside(event: e.DirectiveIssued) -> str:
    """The next directive, where the lines of a run leave that to the question or the answer beside it."""
    if event.level == "human":
        return "→ Continues as answered" if event.answers else f"→ Asks a person: {event.reason}"
    return f"→ The same again: {event.reason}"


def summary(
    run: str, exit_reason: str, *, gates: Sequence[str] = (), branch: str = "", watch: bool = False, how: str = ""
) -> tuple[str, ...]:
    """The last lines of a run: how it ended, where its results are, and what a person has to do now.

    A ``watch`` is over when it ends: no process is left to take an answer, and there is nothing to resume. ``how`` are
    options that a resumed run has to be given again.
    """
    lines, more = [f"run {run}: {ended_as(exit_reason)}"], " --budget LIMITS" * (exit_reason == "budget")
    if branch:
        lines.append(f"  the results are on the branch {branch}; take them with: git merge {branch}")
    if exit_reason == UNSEEN:
        lines.append("  watch agents with: unstuck hooks install AGENT; run one with: unstuck run -- COMMAND")
    if gates and not watch:
        lines.append(f"  read with: unstuck show {run}")
        lines += [f"  answer with: unstuck answer {gate} CHOICE" for gate in gates]
    if exit_reason in ("needs_person", "interrupted", "halted", "budget") and not watch:
        lines.append(f"  {'then ' if gates else ''}resume with: unstuck run {how}--resume {run}{more}")
    return tuple(_indented(line, _WIDTH) for line in lines)


def no_room(problem: str, gate: str) -> str:
    """That nothing can be recorded for the moment: it is nowhere in the record, so it names its gate itself."""
    text = f"! no space on the disk: {problem}; the agents are suspended and continue when there is space"
    return one_line(f"{text} (or: unstuck answer {gate} retry | abandon)", 2 * _WIDTH)


def _indented(text: str, room: int) -> str:
    indent = len(text) - len(text.lstrip(" "))
    return " " * indent + one_line(text, room - indent)


def _said(record: Record) -> _Text:
    if isinstance(record.event, e.Unknown):
        return f"({record.name}: an event of a later version)"
    writer = _WRITERS.get(type(record.event))
    return writer(record.event, record) if writer is not None else None


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def _workflow_failed(event: e.WorkflowFailed, record: Record) -> _Text:
    message = event.message or (event.details if event.details.startswith("WORKFLOW FAILED") else "")
    if message:
        # A whole message of its own, to be read as it was written.
        return [line for line in message.splitlines() if line]
    lines = [f"WORKFLOW FAILED ({event.reason}): {event.details}"]
    if event.last_issue:
        tried = f" after {counted(event.attempts, 'attempt', 'attempts')}" if event.attempts is not None else ""
        lines.append(f"  last issue{tried}: {event.last_issue}")
    return lines


def _attempt_started(event: e.AttemptStarted, record: Record) -> _Text:
    guidance = event.guidance
    begins = f"▶ attempt {guidance.number}" + (f" ({level_word(guidance.level)})" if guidance.level != "first" else "")
    number, count = event.phase
    return [f"{_PHASE} {number}/{count}: {record.task}", begins] if count and guidance.number == 1 else begins


def _attempt_ended(event: e.AttemptEnded, record: Record) -> _Text:
    report = event.report
    how = {
        "ended": "ended",
        "timed_out": "ran out of time",
        "over_budget": "used up its budget",
        "not_started": "could not start",
        "no_signal": "ended without a signal line",
        "bad_signal": "ended with a signal line that cannot be used",
    }.get(report.how, report.how)
    code = f"{exit_words(report.exit_code)}, " if report.exit_code else ""
    said = report.error if report.error and report.how in ("crashed", "not_started") else ""
    if not said and (report.exit_code or report.error):
        said = last_line(report.said or report.error or "")
    problem = f": {said}" if said else ""
    lost = f"; some of its output could not be kept: {report.output_lost}" if report.output_lost else ""
    ended = f"  agent {how} ({code}{_seconds(event.seconds)}){problem}{lost}{left_behind(report)}"
    return [f"  {_PHASE}: {report.phase}", ended] if report.phase else ended


def _proved(event: e.CheckProved, record: Record) -> _Text:
    if event.note:
        return f"  ~ {event.note}"
    if event.problem or event == e.CheckProved():
        return None
    tests = " and passes with the tests as they were" if event.old_tests == "passed" else ""
    return f"  ✓ proved: it fails without the work{tests}"


def _check(event: e.CheckFinished, record: Record) -> _Text:
    if event.result == "passed":
        believed = f" (you believe it: {event.problem})" if event.problem else ""
        changed = [f"  ! the task changed its check or tests: {finding}" for finding in event.weakened]
        return [f"  ✓ {event.command}{_tests(event)}{believed}", *changed]
    if event.result in ("could_not_run", "contradicted"):
        return f"  ! {event.problem or 'the check could not run'}"
    diagnosis = event.diagnosis or {}
    if event.result == "none" and not diagnosis:
        return None
    location = (diagnosis.get("signature") or {}).get("location")
    failed = f"  ✗ {diagnosis.get('headline') or f'exit code {event.exit_code}'}" + (
        f"  {location}" if location else ""
    )
    failed += _tests(event)
    more = ["  ↻ circular fix: this approach was tried before in other words"] if event.circular else []
    more += [f"  ! {event.problem}"] if event.trouble and event.problem else []
    if event.untouched:
        said = f"; it said last: {last_line(event.said)}" if event.said else ""
        more.append(f"    the agent {event.ending}{said}")
    if event.unread and TROUBLE not in ((diagnosis.get("signature") or {}).get("metadata") or {}):
        more.append(f"  ! {UNREAD}")
    return [failed, *more] if more else failed


def _tests(event: e.CheckFinished) -> str:
    """The number of tests that passed, of those that ran; empty where it is not known."""
    passed, ran = event.tests
    return f" ({passed}/{ran} {'test' if ran == 1 else 'tests'})" if ran else ""


def _directive(event: e.DirectiveIssued, record: Record) -> _Text:
    climb = event.climb
    of = f"/{event.limit}" if event.limit else ""
    match event.level:
        case "retry" if event.line in (4, 5):
            return f"  → Retry, {event.reason}: {event.hint or f'run {event.command}'}"
        case "retry":
            return f"  → Retry {climb.retries}{of}: {event.hint or event.reason or 'the same approach once more'}"
        case "pivot" if event.approaches:
            return [f"  → {len(event.approaches)} new approaches at once:", *(f"    {way}" for way in event.approaches)]
        case "pivot":
            told = [] if event.reason[:5] in ("", "from ") and "," not in event.reason else [f"    {event.reason}"]
            return [f"  → New approach {climb.pivots}{of}: {event.approach}", *told]
        case "research":
            return f"  → Research {climb.research}{of}: Reading the code around the failure"
        case "continue":
            return "  → New session: the last one ran out of context"
    return None


def _checkpoint(event: e.CheckpointCreated, record: Record) -> _Text:
    if event.id == "none":
        return f"  ! no checkpoint: {event.reason}"
    return f"  checkpoint {event.id} ({checkpoint_reason(event.reason)})" if event.purpose == "directive" else None


def _restored(event: e.RestoreDone, record: Record) -> _Text:
    if not event.target:
        return f"  {event.note}" if event.note else None
    if not event.changed:
        return f"  the files are those of {event.target} already"
    said = f"  files restored to {event.target} ({counted(event.changed, 'file', 'files')} changed)"
    named = list(event.changes[:_NAMED])
    if event.changed > len(named) > 0:
        named.append(f"and {event.changed - len(named)} more")
    back = [f"    to get them back: unstuck checkpoints restore {event.safety}"] if event.safety else []
    more = [f"and {len(event.kept) - _NAMED} more"] if len(event.kept) > _NAMED else []
    left = [f"    left as they are: {', '.join([*event.kept[:_NAMED], *more])}"] if event.kept else []
    return [f"{said}: {', '.join(named)}" if named else said, *back, *left]


def _researched(event: e.ResearchDone, record: Record) -> _Text:
    sources = ", ".join(insight.partition("\n")[0].rstrip(":") for insight in event.insights)
    return f"  → Found {counted(len(event.insights), 'finding')}: {sources}" if sources else "  → Found nothing"


def _gate(event: e.GateOpened, record: Record) -> _Text:
    context = event.context
    writer = _QUESTIONS.get(event.type, _question)
    choices = " | ".join(
        " ".join(filter(None, (choice.replace("_", "-"), _ARGUMENTS.get(choice)))) for choice in event.choices
    )
    return (
        *writer(event, context),
        *_details(event, record),
        f"  ? {event.type} {event.gate}: unstuck answer {event.gate} {choices}",
    )


def _stuck(event: e.GateOpened, context: Mapping[str, Any]) -> list[str]:
    """The facts of a stuck task: what was tried, what it looks like, where the files are safe."""
    lines = ["! I am stuck and need help."]
    if isinstance(context.get("attempts"), Mapping):
        lines.append(f"    tried: {', '.join(tried(context)) or 'one attempt'}")
    lines += [f"      - {way}" for way in context.get("approaches") or ()]
    where = f"  {context['location']}" if context.get("location") else ""
    lines.append(f"    problem: {context.get('problem', '')}{where}")
    analysis = wrap(one_line(str(context.get("analysis") or ""), _ANALYSIS), _PARAGRAPH)
    lines += [f"    {'analysis: ' if not number else '  '}{line}" for number, line in enumerate(analysis)]
    lines += _ending(context)
    lines += _earlier(context)
    lines += _listed(context)
    if before := context.get("baseline"):
        lines.append(f"    the check {before}")
    if checkpoint := context.get("checkpoint"):
        lines.append(f"    checkpoint saved: {checkpoint}")
    if touches := context.get("touches"):
        lines.append(f"    waiting for this task: {', '.join(map(str, touches))}")
    return lines


def _ending(context: Mapping[str, Any]) -> list[str]:
    """Return the bad end of the agent's last attempt, and its last words."""
    if not context.get("ending"):
        return []
    said = [f"      | {one_line(line, _PARAGRAPH)}" for line in str(context.get("said") or "").splitlines()]
    return [f"    {context['ending']}" + (", and said last:" if said else ""), *said[-_SAID_LINES:]]


def _listed(context: Mapping[str, Any]) -> list[str]:
    lists = (("agents", "agents"), ("the task changed its check or tests", "weakened"))
    return [f"    {label}: {one}" for label, key in lists for one in context.get(key) or ()]


def _earlier(context: Mapping[str, Any]) -> list[str]:
    return [f"    {before}"] if (before := earlier_answer(context)) else []


def _details(event: e.GateOpened, record: Record) -> list[str]:
    lines = [f"    the agent {_MEANWHILE[event.standing]}"] if event.standing else []
    return lines + [f"    details: unstuck show {record.run}"] * bool(event.report)


_DEAF = {"agent": ", and cannot be told before its turn ends", "subagent": " in a sub-agent, which cannot be told"}
_CHOSEN = {"first": "the same again", "pivot": "a new approach", "research": "research", "human": "the question"}


def _question(event: e.GateOpened, context: Mapping[str, Any]) -> list[str]:
    about = context.get("question") or context.get("problem") or context.get("error_signature") or event.key
    first, *more = str(about).splitlines() or [""]
    lines = [f"! {first}", *(f"    {line}" for line in more)]
    for number, option in enumerate(context.get("options") or (), 1):
        takes = f" (choose {number} COMMAND)" if number == context.get("text_for") else ""
        lines.append(f"    {number}. {option}{takes}")
    lines += _listed(context)
    suggested = context.get("suggested")
    return [*lines, f"    suggested: {suggested}"] if suggested else lines


def _timeout(event: e.GateOpened, context: Mapping[str, Any]) -> list[str]:
    limit = context.get("timeout_seconds")
    if context.get("clock") == "idle":
        silent, signals = context.get("silent_seconds", limit), context.get("signals") or ()
        return [f"! {context.get('verdict', '')}: no activity for {silent} s", *(f"    {sign}" for sign in signals)]
    return ["! its time is up" + (f" (limit {limit_of('time', limit)})" if isinstance(limit, int | float) else "")]


def _loop(event: e.GateOpened, context: Mapping[str, Any]) -> list[str]:
    what = context.get("problem") or context.get("error_signature", "")
    times = context.get("repeats", context.get("window_size", ""))
    return [f"! repeats itself: {times} times {what}", *_earlier(context)]


def _integration(event: e.GateOpened, context: Mapping[str, Any]) -> list[str]:
    lines = [f"! {context.get('problem') or 'the result conflicts'}"]
    places = (("resolve in:", "tree"), ("merge:", "branch"))
    lines += [f"    {label} {context[key]}" for label, key in places if context.get(key)]
    answers = context.get("answers")
    return lines + [f"    {name}: {does}" for name, does in answers.items()] if isinstance(answers, Mapping) else lines


_QUESTIONS: dict[str, Callable[[e.GateOpened, Mapping[str, Any]], list[str]]] = {
    "stuck": _stuck,
    "timeout": _timeout,
    "loop_detected": _loop,
    "integration": _integration,
}


def _waits(event: e.TransientErrorRetry, record: Record) -> _Text:
    how = f"waits for the quota, {span(event.delay_seconds)}" if event.quota else f"again in {event.delay_seconds:g} s"
    return f"  … {event.error_type} may pass: {how} (wait {event.retry})"


def _set_up(event: e.SetupFinished, record: Record) -> _Text:
    if event.passed:
        return None
    code = "" if event.exit_code is None else f" (exit {event.exit_code})"
    parts = [line for line in event.evidence.splitlines() if line.strip()]
    return [f"  ✗ setup failed{code}: {event.command}", *(f"    {line}" for line in parts[-_SETUP_LINES:])]


def _time_is_up(event: e.AgentTimeout, record: Record) -> _Text:
    if event.clock == "wall":
        return f"  ◷ time is up after {_seconds(event.elapsed_ms / 1000)}"
    why = f" ({', '.join(event.signals)})" if event.signals else ""
    return f"  ◷ {event.verdict}: no activity for {_seconds(event.limit_s)}{why}"


def _answered(event: e.GateAnswered, record: Record) -> _Text:
    text = f": {event.text}" if event.text else ""
    return f"  {event.gate} answered by {ACTORS[record.actor]}: {event.choice.replace('_', '-')}{text}"


def _integrated(event: e.ResultIntegrated, record: Record) -> _Text:
    left = f"; of other repositories nothing is in it: {', '.join(event.left[:3])}" if event.left else ""
    return f"  integrated {event.commit[:10]}{left}" if left or event.commit not in ("none", "unchanged") else None


def _recovered(event: e.RecoveryDecided, record: Record) -> _Text:
    words = {
        "continue": "continues",
        "retry": "starts again from the baseline",
        "done": "is taken for done",
        "adopt": "has outlived its supervisor and keeps running",
    }
    by = "" if record.actor == "policy" else f" (decided by {ACTORS[record.actor]})"
    return f"  the interrupted attempt {words.get(event.choice, f'was ended: {event.choice}')}{by}"


MOMENTS: dict[type[e.Event], tuple[str, str, Tone]] = {
    e.TransientErrorRetry: ("waits", "…", "wait"),
    e.TerminalAsked: ("asks", "!", "ask"),
    e.OutageWait: ("outage", "…", "wait"),
    e.AgentFailure: ("agent", "✗", "bad"),
    e.AgentReplaced: ("other agent", "⇄", "wait"),
    e.ApproachEnded: ("approach", "·", "plain"),
    e.ResearchDone: ("research", "→", "work"),
    e.RestoreDone: ("restored", "↺", "quiet"),
    e.GateOpened: ("asked", "!", "ask"),
    e.GateAnswered: ("answer", "›", "plain"),
    e.GateWithdrawn: ("closed", "·", "quiet"),
    e.PermissionRevoked: ("revoked", "·", "quiet"),
    e.StopReceipt: ("stopped", "■", "quiet"),
    e.LoopWarned: ("loop", "↻", "wait"),
    e.LoopTold: ("told", "↻", "quiet"),
    e.FilesCollide: ("collides", "⋈", "wait"),
    e.AgentTimeout: ("time is up", "◷", "wait"),
    e.LivenessJudged: ("", "◷", "quiet"),
    e.SilenceEnded: ("silence", "◷", "quiet"),
    e.CheckFlaked: ("flaky", "~", "wait"),
    e.InfrastructureBlocked: ("held", "‖", "wait"),
    e.TaskEnded: ("ended", "-", "plain"),
    e.TaskReopened: ("reopened", "○", "plain"),
}
_Writer = Callable[[Any, Record], _Text]
_WRITERS: dict[type[e.Event], _Writer] = {
    e.RunStarted: lambda event, record: (
        f"run {record.run} in {event.project}",
        *(f"! {warning}" for warning in event.warnings),
    ),
    e.RunResumed: lambda event, record: f"run {record.run} is resumed",
    e.RunParked: lambda event, record: (
        f"paused: {counted(len(event.gates), 'question needs', 'questions need')} an answer"
    ),
    e.RunEnded: lambda event, record: (
        f"ended: {event.exit_reason if event.counts or event.exit_code else 'no task was worked on'}"
        + f" ({', '.join(f'{count} {word}' for word, count in event.counts.items())})" * bool(event.counts)
    ),
    e.StopRequested: lambda event, record: f"{'  ' if event.attempt_id else ''}stopping: {event.reason}",
    e.LogRepaired: lambda event, record: f"an incomplete last line ({event.bytes} bytes) was moved to {event.file}",
    e.ResultsDelivered: lambda event, record: (
        f"the results are on {event.branch} ({event.commit[:10]})"
        if event.commit
        else "the results stay on their branch"
    ),
    e.TreesCleaned: lambda event, record: [f"kept {place}" for place in event.kept],
    e.RunsRemoved: lambda event, record: f"{counted(len(event.runs), 'old run', 'old runs')} removed (see keep_runs)",
    e.WorkflowFailed: _workflow_failed,
    e.BaselineChecked: lambda event, record: f"the check on the untouched project: {event.result} {event.headline}",
    e.InfrastructureBlocked: lambda event, record: f"! blocked: {broken_check(event.issue)}",
    e.RemediationDispatched: lambda event, record: f"  remediation {event.attempt}: {event.issue}",
    e.RemediationFailed: lambda event, record: f"  remediation {event.attempt} failed: {event.issue}",
    e.InfrastructureRestored: lambda event, record: (
        f"✓ the project's own check passes again (remediation attempts: {event.attempts_used})"
    ),
    e.TaskReopened: lambda event, record: "offered again",
    e.TaskBaselineChecked: lambda event, record: (
        f"  ! the check {PASSED_BEFORE_WORK}" if event.result == "passed" else None
    ),
    e.AttemptStarted: _attempt_started,
    e.AttemptEnded: _attempt_ended,
    e.ApproachEnded: lambda event, record: (
        f"  {WAY_ENDS[event.result][0]} approach {event.slot} {event.result}: "
        f"{': '.join(filter(None, (event.approach, event.headline)))}"
    ),
    e.StaleReport: lambda event, record: f"  a late report of {event.attempt_id} ({event.how}) changed nothing",
    e.AttemptInterrupted: lambda event, record: f"  interrupted: {event.reason}",
    e.RecoveryProposed: lambda event, record: (
        f"  proposed{event.evaluator and f' by {event.evaluator}'}: "
        f"{': '.join(filter(None, (event.choice, event.reason)))}"
    ),
    e.RecoveryDecided: _recovered,
    e.SetupFinished: _set_up,
    e.CheckFinished: _check,
    e.CheckProved: _proved,
    e.CheckFlaked: lambda event, record: (
        f"  ~ flaky: {event.test or event.command} failed, then passed without a change"
        + (f" ({event.seen} times in this project)" if event.seen > 1 else "")
    ),
    e.DirectiveIssued: _directive,
    e.TransientErrorRetry: _waits,
    e.TerminalAsked: lambda event, record: f"  ! {TERMINAL}: {one_line(event.text, 200)}",
    e.TerminalAnswered: lambda event, record: "  · no longer waits for you in its own terminal",
    e.OutageWait: lambda event, record: (
        f"  … outage: again in {span(event.delay_seconds)}, {span(event.waited_seconds)} of "
        f"{span(event.limit_seconds)} waited: {event.message}"
    ),
    e.HostAwaited: lambda event, record: f"  … {event.reason or (event.host or 'a host') + ' works it'}",
    e.CommandRan: lambda event, _: f"  ran {event.command} (exit code {event.exit_code}, {_seconds(event.seconds)})",
    e.TransientErrorResolved: lambda event, record: (
        f"  {event.error_type} has passed after {counted(event.total_retries, 'wait', 'waits')}"
    ),
    e.TransientErrorEscalated: lambda event, record: f"  {event.error_type} does not pass: {event.reason}",
    e.AgentFailure: lambda event, record: (
        f"  the agent failed, not its work ({event.error_type}, {event.attempt}): dispatched again"
    ),
    e.AgentReplaced: lambda event, record: [
        f"  {replaced_words(event.before, event.agent, event.why)}",
        *(f"    left out: {one}" for one in event.skipped),
    ],
    e.AgentTimeout: _time_is_up,
    e.TimeoutWarned: lambda event, record: (
        f"  ◷ {_seconds(event.elapsed_s)} of {_seconds(event.limit_s)} "
        + ("without activity" if event.clock == "idle" else "used")
    ),
    e.LivenessJudged: lambda event, record: (
        f"  ◷ silent for {_seconds(event.silent_s)} but {event.verdict}: {', '.join(event.signals)}"
    ),
    e.Suspended: lambda event, record: f"◷ the machine slept for {_seconds(event.seconds)}; no clock has counted it",
    e.UsageCounted: lambda event, record: (
        f"  ! its usage moved while it was idle: {used_words(event)}" if event.while_idle else None
    ),
    e.BudgetSet: lambda event, record: (
        "the budget is now " + ", ".join(limit_of(kind, limit) for kind, limit in event.limits.items())
    ),
    e.AttemptBudgetReached: lambda event, record: (
        f"  ■ the budget of the {event.scope} is used up: {used_of(event.kind, event.used, event.limit)}"
    ),
    e.BudgetWarned: lambda event, record: f"! {used_of(event.kind, event.used, event.limit)} of the budget are used",
    e.BudgetReached: lambda event, record: (
        f"! the budget for {event.kind} is used up: {used_of(event.kind, event.used, event.limit)}; no step begins"
        + (" (the counter moved while the agent was idle)" if event.while_idle else "")
    ),
    e.TimerStarted: lambda event, record: (
        f"  {event.gate} is answered automatically in {_seconds(event.seconds)}: {event.choice}"
    ),
    e.TimerCancelled: lambda event, record: f"  {event.gate} waits for a person: its timer was stopped",
    e.SilenceEnded: lambda event, record: f"  ◷ active again after {_seconds(event.seconds)}: {event.sign}",
    e.SignalParseFailure: lambda event, record: f"  no signal that can be used: {event.raw_output_sample}",
    e.LoopWarned: lambda event, record: (
        f"  ↻ repeats itself {event.repeats} times{_DEAF.get(event.deaf, '')}: {event.evidence}"
    ),
    e.FilesCollide: lambda event, record: (
        f"  ⋈ {event.other} changes {', '.join(event.paths[:_NAMED]) or 'no file of it any more'}, too"
    ),
    e.LoopTold: lambda event, record: "  ↻ the agent has been told that it repeats itself",
    e.CheckpointCreated: _checkpoint,
    e.RestoreDone: _restored,
    e.ResearchDone: _researched,
    e.GateOpened: _gate,
    e.GateAnswered: _answered,
    e.GateWithdrawn: lambda event, record: f"  question {event.gate} closed: {event.reason}",
    e.PermissionRevoked: lambda event, record: f"  permission revoked: {event.rule}",
    e.HoldRefused: lambda event, record: f"  {event.gate}: a held call was sent back ({event.count})",
    e.RungChosen: lambda event, record: f"  {record.task}: you have chosen what comes next: {_CHOSEN[event.level]}",
    e.HandedOver: lambda event, record: f"  {record.task} is edited by hand (files as of {event.checkpoint})",
    e.HandedBack: lambda event, record: (
        f"  {record.task} is back: {event.trouble or counted(event.files, 'file is different', 'files are different')}"
    ),
    e.TaskEnded: lambda event, record: (
        f"{ENDED[event.status][0]} {': '.join(filter(None, (event.status, event.reason)))}"
    ),
    e.ResultIntegrated: _integrated,
    e.StopReceipt: lambda event, record: f"  stopped {receipt_words(event)}",
    e.NotificationSent: lambda event, record: f"  notification ({event.way}): {event.text}",
}
