"""Comparison of recorded runs and sessions under their own settings and under changed ones, both by today's rules.

Each step is judged in the state that the log records. What the agent would have done after a step that differs is
unknown, so the later steps of that task are counted and not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from unstuck.agents.command.presets import KNOWN
from unstuck.contract import Observation
from unstuck.detection import LoopDetector
from unstuck.diagnosis.classification.causes import Approach
from unstuck.errors import RecordDamaged, RecordError, SettingsError
from unstuck.escalation.precedence import (
    LEARNT,
    AskQuestion,
    BackOff,
    Block,
    Decision,
    Direct,
    Facts,
    Finish,
    Halt,
    Redispatch,
)
from unstuck.eventlog import events as e
from unstuck.eventlog.attention_stats import seconds_of
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.record_reader import RunReader
from unstuck.eventlog.memory.store import Memory
from unstuck.eventlog.state import State, TaskRow
from unstuck.history.review import Loop
from unstuck.history.reviews import Session
from unstuck.runs.queries.what_if_settings import recorded, value_text
from unstuck.settings.models import Settings
from unstuck.supervision.attempt.repetition import alarm_of
from unstuck.supervision.context.context import limits_of
from unstuck.supervision.memory.failure_memory import ways_for
from unstuck.supervision.outcome.decision_facts import decision_on, facts_of, fails_on_baseline
from unstuck.supervision.outcome.failover import reason_of
from unstuck.text import one_line

_NO_MEMORY = Memory(Path())
_LEVELS = {"pivot": "new approach", "human": "question"}
_GOES_ON = ("retry", "new approach", "research", "continue", "again", "wait", "another agent")
_SETTLED = ("ended", "waiting", "blocked")


class Step(NamedTuple):
    """Next step of a task: its kind, and what it is about. Nothing happens at ``none``."""

    kind: str = "none"
    about: str = ""

    @property
    def asks(self) -> bool:
        return self.kind == "question"

    @property
    def goes_on(self) -> bool:
        """Return whether another attempt follows without a person."""
        return self.kind in _GOES_ON


_NOTHING = Step()


@dataclass(slots=True, kw_only=True)
class Difference:
    """First step of a task, or step of a session, that differs. ``event`` is its number in the log or the session.

    ``logged`` is the step that the log holds. ``attempts_after`` and ``tokens_after`` are those that the log holds from
    here to the next answer of a person, or to the end of the task.
    """

    run: str
    task: str
    event: int
    own: Step
    changed: Step
    logged: Step
    is_alarm: bool = False
    attempts_after: int = 0
    tokens_after: int = 0

    @property
    def questions(self) -> int:
        return self.changed.asks - self.own.asks

    @property
    def alarms(self) -> int:
        return (self.changed != _NOTHING) - (self.own != _NOTHING) if self.is_alarm else 0

    @property
    def attempts(self) -> int | None:
        """Return the attempts more or fewer at least; None if unknown."""
        if self.is_alarm or self.own.goes_on == self.changed.goes_on:
            return 0
        if self.changed.goes_on:
            return 1
        return -self.attempts_after if self.logged == self.own else None

    @property
    def tokens(self) -> int | None:
        """Return the tokens fewer until the answer; None if unknown."""
        if self.is_alarm or self.changed.goes_on or self.logged != self.own:
            return None
        return -self.tokens_after if self.own.goes_on else 0


class Drift(NamedTuple):
    """Step where today's rules differ from the log, under the run's own settings."""

    run: str
    task: str
    event: int
    today: Step
    logged: Step


@dataclass(slots=True)
class Comparison:
    """Result over all runs and sessions. ``compared`` counts steps; ``unknown`` those that cannot be judged.

    ``short`` counts the tasks and sessions of ``unknown`` whose log ends before their next step. ``notes`` say what
    is left out, and what a change does not reach.
    """

    runs: int = 0
    sessions: int = 0
    compared: int = 0
    unknown: int = 0
    short: int = 0
    differences: list[Difference] = field(default_factory=list)
    drifts: list[Drift] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class _Side:
    """One of the two settings, with the detector that they give."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.limits = settings, limits_of(settings)
        self.may_ask = settings.ask != "never"
        self.detector = self.new_detector()

    def new_detector(self) -> LoopDetector:
        self.detector = LoopDetector(window_size=self.settings.window_size)
        return self.detector


class RunReplay:
    """Replay of one run under both settings, record by record; the result goes into ``found``."""

    def __init__(self, run: str, change: Callable[[Settings], Settings], found: Comparison) -> None:
        self._run, self._change, self._found = run, change, found
        self._state = State()
        self._sides: tuple[_Side, _Side] | None = None
        self._diverged: set[str] = set()
        self._open: dict[str, Difference] = {}
        self._expected: dict[str, list[tuple[int, Step]]] = {}
        self._usable: dict[str, bool] = {}

    def add(self, record: Record) -> None:
        """Judge the step of this record, if it is one, in the state before it. Raises SettingsError."""
        event, row = record.event, self._state.tasks.get(record.task)
        self._usable.update(_agents_seen(event, row))
        if isinstance(event, e.RunStarted):
            own = recorded(event.settings)
            self._sides = _Side(own), _Side(self._change(own))
            self._found.runs += 1
        logged = _logged(event)
        if self._sides is not None and row is not None:
            if logged is not None and row.state == "undecided" and not row.chosen and not self._is_stopping():
                self._decide(record, row, logged, self._sides)
            elif isinstance(event, e.StepRecorded) and row.state == "running":
                self._observe(record, row, event, self._sides)
        self._account(record)
        fold(self._state, record)
        self._follow(record)

    def end(self) -> None:
        """Count the tasks whose next step the log does not hold, and note those that a change does not reach."""
        for row in self._state.tasks.values():
            if self._sides is not None and (kept := _kept_failover(row, self._sides)):
                self._found.notes.append(one_line(f"{self._run}: {row.id} keeps a failover of its own: {kept}", 300))
            if row.state not in _SETTLED and row.attempts and row.id not in self._diverged:
                self._found.unknown += 1
                self._found.short += 1

    def _is_stopping(self) -> bool:
        return self._state.run.state in ("draining", "ended")

    def _decide(self, record: Record, row: TaskRow, logged: Step, sides: tuple[_Side, _Side]) -> None:
        is_handed = isinstance(record.event, e.AgentReplaced)
        usable = self._usable if is_handed else self._usable | dict.fromkeys(row.agents_left, False)
        own, step = self._judged(record, row, sides[0], row.failover, usable)
        ways = True
        if logged.kind in ("research", "question") and step != logged:
            without = self._judged(record, row, sides[0], row.failover, usable, ways=False)
            if without[1] == logged:  # the memory of that time knew every approach as failed
                (own, step), ways = without, False
        assert step is not None
        if step != logged:
            self._found.drifts.append(Drift(self._run, row.id, record.seq, step, logged))
        failover = _failover(row, sides)
        changed, other = self._judged(record, row, sides[1], failover, usable, ways=ways)
        if other is None:
            self._found.unknown += 1
            self._diverged.add(row.id)
            return
        handed = "another agent" in (step.kind, other.kind)
        differs = step != other if handed else own != changed
        self._compare(record, step, other, logged=logged, differs=differs)

    def _judged(
        self,
        record: Record,
        row: TaskRow,
        side: _Side,
        failover: tuple[str, ...],
        usable: Mapping[str, bool],
        *,
        ways: bool = True,
    ) -> tuple[Decision, Step | None]:
        """Return the decision of today's rules, and the step that follows.

        The step is None where another agent may go on of which the log does not say whether it could be used.
        """
        facts = self._facts(record, row, side, ways=ways)
        decision = decision_on(row, facts, side.limits)
        if not row.chosen and reason_of(decision, facts) is not None:
            tried = {row.task.agent, *(change.before for change in row.failovers)}
            for name in failover:
                if name not in tried and (can := usable.get(name)) is not False:
                    return decision, Step("another agent", name) if can else None
        return decision, _step(decision)

    def _facts(self, record: Record, row: TaskRow, side: _Side, *, ways: bool) -> Facts:
        """Return the facts of a decision. From the memory is known what the record says."""
        event = record.event
        learnt = ""
        if isinstance(event, e.DirectiveIssued) and event.line == 4:
            used = set(event.climb.resolved) - set(row.climb.resolved)
            learnt = event.hint if any(rule.startswith(f"{LEARNT}\n") for rule in used) else ""
        return facts_of(
            self._state,
            row,
            alternatives=self._ways(record, row, side) if ways else (),
            learnt=learnt,
            infrastructure=isinstance(event, e.InfrastructureBlocked) or self._is_infrastructure(row),
            may_ask=side.may_ask,
            now=seconds_of(record.time) or 0.0,
        )

    def _is_infrastructure(self, row: TaskRow) -> bool:
        failed = row.check is not None and row.check.result == "failed"
        return failed and row.shared_verify and fails_on_baseline(self._state, row)

    def _ways(self, record: Record, row: TaskRow, side: _Side) -> tuple[Approach, ...]:
        event, now = record.event, seconds_of(record.time) or 0.0
        ways = ways_for(_NO_MEMORY, side.limits, row, now)
        if not isinstance(event, e.DirectiveIssued) or event.level != "pivot" or self._sides is None:
            return ways
        recorded = event.approaches or (event.approach,)
        own = [way.name for way in ways_for(_NO_MEMORY, self._sides[0].limits, row, now)]
        last = max((own.index(name) for name in recorded if name in own), default=-1)
        better = own[: last + 1]  # the memory of that time knew those that were not taken as failed
        known = {way.name: way for way in ways}
        taken = (known.get(name, Approach(name, "memory", 1.0)) for name in recorded)
        return (*taken, *(way for way in ways if way.name not in (*better, *recorded)))

    def _observe(self, record: Record, row: TaskRow, event: e.StepRecorded, sides: tuple[_Side, _Side]) -> None:
        seen = Observation(
            kind=event.kind,  # type: ignore[arg-type]
            text=event.text,
            tool=event.tool,
            exit_code=event.exit_code,
            agent_id=event.agent_id,
            role=event.role or None,  # type: ignore[arg-type]
            task_id=record.task,
        )
        own, changed = (tuple(self._alarms(seen, event.identity, row, side)) for side in sides)
        self._expected.setdefault(record.attempt, []).extend((record.seq, step) for step in own)
        if own or changed:
            steps = (alarms[-1] if alarms else _NOTHING for alarms in (own, changed))
            self._compare(record, *steps, is_alarm=True, differs=own != changed)

    def _alarms(self, seen: Observation, identity: str, row: TaskRow, side: _Side) -> Iterator[Step]:
        ours = self._state.run.kind in ("plan", "command")
        verdict = side.detector.observe(seen)
        alarm = alarm_of(side.detector, seen, verdict, identity, gates=self._state.gates_of(seen.task_id), ours=ours)
        if alarm is not None and alarm.nudge is not None:
            yield Step("warning", "loop")
        if alarm is not None and alarm.concern is not None and side.may_ask and not row.gate:
            yield Step("question", alarm.concern.kind)

    def _compare(
        self,
        record: Record,
        own: Step,
        changed: Step,
        *,
        differs: bool,
        logged: Step = _NOTHING,
        is_alarm: bool = False,
    ) -> None:
        found = self._found
        if record.task in self._diverged:
            found.unknown += 1
            return
        found.compared += 1
        if differs:
            difference = Difference(
                run=self._run,
                task=record.task,
                event=record.seq,
                own=own,
                changed=changed,
                logged=logged,
                is_alarm=is_alarm,
            )
            self._diverged.add(record.task)
            self._open[record.task] = difference
            found.differences.append(difference)

    def _account(self, record: Record) -> None:
        """Count what the log holds after a difference, until a person has answered or the task has ended."""
        match record.event:
            case e.AttemptStarted() if record.task in self._open:
                self._open[record.task].attempts_after += 1
            case e.UsageCounted() if record.task in self._open:
                self._open[record.task].tokens_after += record.event.tokens
            case e.GateAnswered() | e.TaskEnded():
                self._open.pop(record.task, None)

    def _follow(self, record: Record) -> None:
        """Tell both detectors what a run tells its own, and compare the alarms of the log with today's."""
        event, gate = record.event, self._state.gates.get(getattr(record.event, "gate", ""))
        detectors = [side.detector for side in self._sides or ()]
        match event:
            case e.RunResumed():
                for side in self._sides or ():
                    side.new_detector()
            case e.AttemptStarted() if record.task in self._state.tasks:
                for one in detectors:
                    one.started(record.task, self._state.tasks[record.task].task.prompt)
            case e.GateAnswered() | e.GateWithdrawn() if gate is not None and _is_alarm(gate.gate.type, gate.gate.key):
                for one in detectors:
                    one.answered(record.task)
            case e.AnswerSent() if gate is not None and (gate.gate.type, gate.effect) != ("permission", "go_on"):
                for one in detectors:
                    one.answered(record.task)
            case e.LoopWarned():
                self._logged_alarm(record, Step("warning", "loop"))
            case e.GateOpened(attempt_id=attempt) if attempt and _is_alarm(event.type, event.key):
                self._logged_alarm(record, Step("question", "blocked" if event.type == "question" else "loop"))
            case e.AttemptEnded():
                for seq, step in self._expected.pop(record.attempt, ()):
                    self._found.drifts.append(Drift(self._run, record.task, seq, step, _NOTHING))

    def _logged_alarm(self, record: Record, logged: Step) -> None:
        expected = self._expected.get(record.attempt, [])
        met = next((one for one in expected if one[1] == logged), None)
        if met is not None:
            expected.remove(met)
        else:
            self._found.drifts.append(Drift(self._run, record.task, record.seq, _NOTHING, logged))


def compare_run(folder: Path, change: Callable[[Settings], Settings], found: Comparison) -> Iterator[int]:
    """Add the comparison of the run in ``folder``; yield the number of each event once it is judged."""
    replay = RunReplay(folder.name, change, found)
    try:
        for record in RunReader(folder).records():
            replay.add(record)
            yield record.seq
    except RecordDamaged as error:
        found.notes.append(f"{error}; only the events before it are compared")
    except (RecordError, SettingsError) as error:
        found.notes.append(f"run {folder.name} is left out: {error}")
    finally:
        replay.end()


def _is_alarm(kind: str, key: str) -> bool:
    return kind == "loop_detected" or (kind, key) == ("question", "blocked")


def _agents_seen(event: object, row: TaskRow | None) -> dict[str, bool]:
    """Return the agents of which ``event`` says whether they could be used."""
    if isinstance(event, e.AttemptStarted) and row is not None:
        return {row.task.agent: True}
    if isinstance(event, e.AgentReplaced):
        return {**{one.partition(": ")[0]: False for one in event.skipped}, event.agent: True}
    return {}


def _failover(row: TaskRow, sides: tuple[_Side, _Side]) -> tuple[str, ...]:
    """Return the agents that may go on under the changed settings; a list that is the task's own stays."""
    before, after = (side.settings.failover for side in sides)
    return row.failover if before == after or _kept_failover(row, sides) else tuple(after)


def _kept_failover(row: TaskRow, sides: tuple[_Side, _Side]) -> str:
    """Return the task's own list where it stands over a changed setting; else nothing.

    The log does not say whose a list is. It is the task's own where it is not the setting without the task's agent,
    which the setting may call by another name.
    """
    before, after = (side.settings.failover for side in sides)
    first = row.agent_of(1)
    expected = [name for name in dict.fromkeys(before) if name != first]
    common = tuple(name for name in expected if name in row.failover)
    is_own = row.failover != common or len(expected) - len(common) > (first not in KNOWN)
    return (", ".join(row.failover) or "none") if is_own and before != after else ""


def _step(decision: Decision) -> Step:
    match decision:
        case Finish(status=status):
            return Step("end", status)
        case AskQuestion(error_type=error_type):
            return Step("question", error_type)
        case BackOff():
            return Step("wait", "outage" if decision.outage else "quota" if decision.quota else "transient")
        case Direct():
            return _level(decision.level, decision.approach, len(decision.approaches))
        case Redispatch(error_type=error_type):
            return Step("again", error_type)
        case Block():
            return Step("blocked")
        case Halt(reason=reason):
            return Step("stop", reason)


def _level(level: str, approach: str, at_once: int) -> Step:
    more = f" and {at_once - 1} more at once" if at_once > 1 else ""
    about = {"pivot": approach + more, "human": "stuck"}.get(level, "")
    return Step(_LEVELS.get(level, level), about)


def _logged(event: Any) -> Step | None:
    """Return the decision that an event holds; None if it holds none of a rule."""
    match event:
        case e.DirectiveIssued() if event.line:
            return _level(event.level, event.approach, len(event.approaches))
        case e.ConfigurationError():
            return Step("question", event.error_type)
        case e.TransientErrorRetry():
            return Step("wait", "quota" if event.quota else "transient")
        case e.OutageWait():
            return Step("wait", "outage")
        case e.AgentReplaced():
            return Step("another agent", event.agent)
        case e.AgentFailure():
            return Step("again", event.error_type)
        case e.InfrastructureBlocked():
            return Step("blocked")
        case e.WorkflowFailed():
            return Step("stop", event.reason)
        case e.TaskEnded(status="succeeded" | "unverified" | "cancelled"):
            return Step("end", event.status)
    return None


def compare_sessions(own: Session, changed: Session, found: Comparison) -> None:
    """Add the alarms of one session that differ. Nobody was told of them, so all of them can be compared.

    An alarm whose repetition lasts to the end of the session may still have come later: that is unknown.
    """
    found.sessions += 1
    before, after = _alarms_of(own), _alarms_of(changed)
    found.compared += len(before.keys() | after.keys())
    if not before and not after and own.review.used.steps < 2:
        found.unknown += 1
        found.short += 1
    for place in sorted(before.keys() ^ after.keys()):
        step, kind, _ = place
        loop = before.get(place) or after[place]
        if loop.last >= own.review.used.steps - 1 and place in before and not _later(after, loop):
            found.unknown += 1
            found.short += 1
            found.compared -= 1
            continue
        alarm = Step(kind, "loop")
        old, new = (alarm, _NOTHING) if place in before else (_NOTHING, alarm)
        name = str(own.source.path)
        difference = Difference(run=name, task=own.session, event=step, own=old, changed=new, logged=old, is_alarm=True)
        found.differences.append(difference)


_Place = tuple[int, str, str]


def _alarms_of(session: Session) -> dict[_Place, Loop]:
    found: dict[_Place, Loop] = {}
    for loop in session.review.loops:
        found[loop.noticed, "question" if loop.action == "question" else "warning", loop.pattern] = loop
        if loop.asked is not None:
            found[loop.asked, "question", loop.pattern] = loop
    return found


def _later(alarms: Iterable[_Place], loop: Loop) -> bool:
    return any(pattern == loop.pattern and step > loop.noticed for step, _, pattern in alarms)


AMOUNTS = ("questions", "alarms", "attempts", "tokens")
"""Names of the amounts that are more or fewer after a difference."""


def rows(found: Comparison, changes: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each difference, one for each step where today's rules differ from the log, and the total."""
    for one in found.differences:
        yield _row("difference", one, "run", "task", "event", "own", "changed", *AMOUNTS)
    for drift in found.drifts:
        yield _row("rules", drift, *Drift._fields)
    yield {
        "row": "total",
        "settings": {name: value_text(value) for name, value in changes.items()},
        "runs": found.runs,
        "sessions": found.sessions,
        "compared": found.compared,
        "differ": len(found.differences),
        "unknown": found.unknown,
        "short": found.short,
        "rules": len(found.drifts),
        **{name: sum(getattr(one, name) or 0 for one in found.differences) for name in AMOUNTS},
    }


def _row(kind: str, one: Difference | Drift, *names: str) -> dict[str, Any]:
    values = {name: getattr(one, name) for name in names}
    return {"row": kind} | {name: step._asdict() if isinstance(step, Step) else step for name, step in values.items()}
