"""The fold takes any record in any order, and what it makes of them can always be gone on from."""

from __future__ import annotations

import asyncio
import pickle
import shutil
from copy import deepcopy
from pathlib import Path
from typing import get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.manual_clock import ManualClock

from unstuck import diagnose
from unstuck.contract import HELD, Guidance, Report, Task
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.fold.clock import hold, release
from unstuck.eventlog.log.journal import LOG_NAME, Journal
from unstuck.eventlog.log.log_format import read_lines
from unstuck.eventlog.log.records import decoded
from unstuck.eventlog.state import State, collisions_of, copied, dump, later_of, load
from unstuck.eventlog.usage import used_in_session
from unstuck.supervision.context.next_step import StepKind, can_progress, next_step
from unstuck.text import Clean, sanitise

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Any: to work them out from a codec takes each worker of a fresh clone two seconds."""

TASKS = ("a", "b")
ATTEMPTS = ("a.1", "a.2", "b.1")
GATES = ("g1", "g2", "g3")
LIVE = ("running", "judging", "undecided", "preparing", "waiting", "interrupted")

text = st.sampled_from(["", "words"]).map(Clean)
task_id = st.sampled_from((*TASKS, "stranger"))
gate_id = st.sampled_from((*GATES, "stranger"))
answers = st.lists(gate_id, max_size=2).map(tuple)
climb = st.builds(Climb, retries=st.integers(0, 3))
guidance = st.builds(
    Guidance,
    attempt=st.sampled_from(ATTEMPTS),
    number=st.integers(1, 3),
    level=st.sampled_from(["first", "retry", "human"]),
    text=text,
    workdir=st.just(Path("/tree")),
    answers=answers,
)
task = st.builds(
    Task,
    id=st.sampled_from(TASKS),
    prompt=text,
    needs=st.sampled_from([(), ("a",), ("stranger",)]),
    verify=st.just("true"),
    isolation=st.sampled_from(["shared", "worktree"]),
)
report = st.builds(
    Report, how=st.sampled_from(["ended", "crashed", "stopped"]), exit_code=st.sampled_from([None, 0, 1])
)
diagnosis = st.sampled_from([None, {}, {"cause": "of_a_later_version", "signature": {"hash": "x", "location": None}}])

_FOUND = diagnose("E   TypeError: bad operand\napp.py:3: TypeError", exit_code=1)
assert _FOUND is not None
DIAGNOSIS = _FOUND.as_dict()

SPECIAL = {
    e.RunStarted: st.builds(e.RunStarted, project=st.just("p")),
    e.TaskAdded: st.builds(e.TaskAdded, work=task, after_skip=st.sampled_from(["block", "run", "skip"])),
    e.AttemptStarted: st.builds(e.AttemptStarted, guidance=guidance),
    e.AttemptEnded: st.builds(e.AttemptEnded, report=report),
    e.CheckFinished: st.builds(
        e.CheckFinished, result=st.sampled_from(["passed", "failed", "could_not_run", "none"]), diagnosis=diagnosis
    ),
    e.GateOpened: st.builds(
        e.GateOpened,
        gate=st.sampled_from(GATES),
        type=st.sampled_from(["stuck", "loop_detected", "timeout", "remediation", "disk"]),
        attempt_id=st.sampled_from(["", *ATTEMPTS]),
        context=st.sampled_from([{}, {"attempts": {"retries": 1}, "approaches": ("one", ("two",))}]),
    ),
    e.GateAnswered: st.builds(
        e.GateAnswered,
        gate=gate_id,
        choice=st.sampled_from(["show_me", "retry", "continue", "skip"]),
        text=text,
        effect=st.sampled_from(get_args(e.GateAnswered.model_fields["effect"].annotation)),
        climb=st.none() | climb,
    ),
    e.StopRequested: st.builds(
        e.StopRequested, reason=st.just("enough"), attempt_id=st.sampled_from(["", *ATTEMPTS, "stranger"])
    ),
}
PLAIN = {
    "climb": climb,
    "task_id": task_id,
    "gate": gate_id,
    "answers": answers,
    "delay_seconds": st.floats(0, 100),
}


def strategy(event: type[e.Event]) -> st.SearchStrategy[e.Event]:
    """Any instance of one kind of event, as far as the fold looks at it."""
    if event in SPECIAL:
        return SPECIAL[event]
    named = {name: value for name, value in PLAIN.items() if name in event.model_fields}
    required = {name for name, field in event.model_fields.items() if field.is_required()} - named.keys()
    return st.builds(event, **named, **{name: value_of(event.model_fields[name].annotation) for name in required})


def value_of(annotation: object) -> st.SearchStrategy[object]:
    """Any value of a field; a text comes through the one door."""
    if annotation in (str, Clean):
        return st.text(CHARACTERS).map(sanitise)
    if get_origin(annotation) is tuple and get_args(annotation)[1:] == (...,):
        return st.lists(value_of(get_args(annotation)[0]), max_size=3).map(tuple)
    return st.from_type(annotation)  # type: ignore[arg-type]


every_kind = st.one_of(*(strategy(event) for event in e.EVENTS.values()), st.just(e.Unknown(later=1)))  # type: ignore[call-arg]
any_event = every_kind | st.one_of(*SPECIAL.values())
any_record = st.tuples(any_event, st.sampled_from(["", *TASKS, "stranger"]), st.sampled_from(["", *ATTEMPTS]))
any_records = st.lists(any_record, max_size=60)


def recorded(events: list[tuple[e.Event, str, str]]) -> list[Record]:
    """The events as the records of one log."""
    added = [e.RunStarted(project="p"), *(e.TaskAdded(work=Task(id=name, prompt=Clean("Work."))) for name in TASKS)]
    return [
        Record(
            seq=seq,
            time="2026-11-21T20:14:09.565Z",
            mono=float(seq),
            run="r",
            actor="policy",
            event=event,
            name=event.name,
            task=about,
            attempt=attempt,
        )
        for seq, (event, about, attempt) in enumerate([*((one, "", "") for one in added), *events], start=1)
    ]


@given(any_records)
@settings(max_examples=150)
def test_any_records_in_any_order_are_taken(events: list[tuple[e.Event, str, str]]) -> None:
    """Stale attempts, unknown tasks and gates, answers twice: nothing raises, and each task has one next step."""
    state = State()
    for record in recorded(events):
        fold(state, record)
        assert state.seq == record.seq
        for row in state.tasks.values():
            step = next_step(state, row, max_parallel=2, tree="/tree")
            assert step.kind in get_args(StepKind)
            can_progress(state, row)


@given(any_records)
@settings(max_examples=100)
def test_nobody_waits_for_an_answer_that_cannot_come(events: list[tuple[e.Event, str, str]]) -> None:
    """A task that waits for a gate waits for an open one, and an ended task has none of its own open any more."""
    state, ended = State(), dict[str, str | None]()
    for record in recorded(events):
        fold(state, record)
        for row in state.tasks.values():
            if row.state == "waiting":
                assert state.gates[row.gate].status == "open"
            if row.state == "ended" and row.id not in ended:
                assert not [gate.id for gate in state.open_gates() if gate.gate.task == row.id]
        for name, status in ended.items():
            reopened = isinstance(record.event, e.TaskReopened) and record.task == name
            assert reopened or (state.tasks[name].state, state.tasks[name].status) == ("ended", status)
        ended = {row.id: row.status for row in state.tasks.values() if row.state == "ended"}


@given(any_records)
@settings(max_examples=75)
def test_open_questions_and_those_of_a_task_are_found(events: list[tuple[e.Event, str, str]]) -> None:
    """Lists beside the questions of a run hold what a search through all of them finds, also in every copy."""
    state = State()
    for record in recorded(events):
        fold(state, record)
    for known in (state, copied(state), load(dump(state)), deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert known is not None
        every = tuple(known.gates.values())
        assert known.open_gates() == tuple(row for row in every if row.status == "open")
        for task in ("", *TASKS, "stranger"):
            assert known.gates_of(task) == tuple(row for row in every if row.gate.task == task)


def test_no_search_passes_all_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a run of many questions, one more is opened, answered and withdrawn without a look at those of other tasks."""
    state = State()
    monkeypatch.setattr(type(state.gates), "values", lambda gates: pytest.fail("all questions are looked at"))
    records = recorded([
        (e.GateOpened(gate="g1", type="stuck", choices=("retry",)), "a", ""),
        (e.GateOpened(gate="g2", type="stuck", choices=("retry",)), "b", ""),
        (e.CheckpointCreated(id="c", reason="r"), "a", ""),
        (e.GateAnswered(gate="g1", choice="retry", effect="prepare"), "a", ""),
        (e.TaskEnded(task_id="b", status="skipped"), "b", ""),
    ])  # fmt: skip
    for record in records:
        fold(state, record)
        for row in state.tasks.values():
            next_step(state, row, max_parallel=2, tree="/tree")
    assert [row.status for row in (*state.gates_of("a"), *state.gates_of("b"))] == ["answered", "withdrawn"]


@given(any_records, st.integers(0, 60))
@settings(max_examples=75)
def test_a_snapshot_and_the_rest_is_the_same_as_the_whole(events: list[tuple[e.Event, str, str]], at: int) -> None:
    """Wherever the snapshot was taken, and while its owner went on."""
    records, state, kept = recorded(events), State(), State()
    early: State | None = None
    for record in records:
        if record.seq == at + 1:
            kept = copied(state)
            early = load(dump(state))
        fold(state, record)
    assert early is not None or at >= len(records)
    if early is not None:
        assert early == kept
        for record in records[at:]:
            fold(early, record)
        assert early == state


@given(any_records, st.data())
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_live_replayed_and_resumed_are_the_same_after_every_record(
    tmp_path: Path, events: list[tuple[e.Event, str, str]], data: st.DataObject
) -> None:
    """Cut the log after any record: what the live run knew then, reading it tells, and a resume goes on with."""
    folder = tmp_path / "run"
    shutil.rmtree(folder, ignore_errors=True)
    known = [record for record in recorded(events) if not isinstance(record.event, e.Unknown)]

    async def live() -> list[State]:
        journal = await Journal.open(folder, run="r", clock=ManualClock())
        states = [copied(journal.head)]
        for record in known:
            journal.append(record.event, task=record.task, attempt=record.attempt)
            states.append(copied(journal.head))
        await journal.committed()
        assert journal.durable == journal.head
        await journal.close()
        return states

    states = asyncio.run(live())
    log = folder / LOG_NAME
    whole, state, ends = log.read_bytes(), State(), [0]
    for line in read_lines(log):
        fold(state, decoded(log, line))
        assert state == states[line.seq]
        ends.append(line.end.offset)

    async def resumed() -> None:
        journal = await Journal.open(folder, run="r", clock=ManualClock())
        assert journal.head == journal.durable == states[cut]
        await journal.close()

    for cut in sorted(data.draw(st.sets(st.integers(0, len(known)), min_size=1, max_size=3)), reverse=True):
        # Once without a snapshot, then beside one of this very place.
        log.write_bytes(whole[: ends[cut]])
        for snapshot in folder.glob("state.json*"):
            snapshot.unlink()
        asyncio.run(resumed())
        asyncio.run(resumed())


def started(*events: tuple[e.Event, str, str]) -> State:
    """A run with the tasks ``a`` and ``b`` in which the first attempt at ``a`` runs, and then ``events`` happen."""
    told = Guidance(attempt="a.1", number=1, level="first", text=Clean("Work."), workdir=Path("/tree"))
    state = State()
    for record in recorded([(e.AttemptStarted(guidance=told), "a", "a.1"), *events]):
        fold(state, record)
    return state


def opened(gate: str, kind: str = "loop_detected") -> tuple[e.Event, str, str]:
    return e.GateOpened(gate=gate, type=kind, attempt_id="a.1"), "a", "a.1"  # type: ignore[arg-type]


def answered(gate: str, choice: str, effect: str) -> tuple[e.Event, str, str]:
    return e.GateAnswered(gate=gate, choice=choice, effect=effect, text=Clean("so")), "a", "a.1"  # type: ignore[arg-type]


@pytest.mark.parametrize("first", ["g1", "g2"])
def test_an_answer_counts_whichever_of_two_questions_it_is_for(first: str) -> None:
    """A loop and a time-out are asked about at once: skipping at either ends the task and withdraws the other."""
    state = started(opened("g1"), opened("g2", "timeout"), answered(first, "skip", "skipped"))
    assert state.tasks["a"].state == "ended"
    assert state.tasks["a"].status == "skipped"
    assert state.tasks["a"].gate == ""
    assert state.attempts["a.1"].state == "stopping"
    assert {row.id: row.status for row in state.gates.values()} == {
        first: "answered",
        ({"g1", "g2"} - {first}).pop(): "withdrawn",
    }


@pytest.mark.parametrize(
    "end",
    [
        e.TaskEnded(task_id="a", status="cancelled"),
        e.WorkflowFailed(reason="task_limit_exceeded", details=Clean("three times")),
        e.GateAnswered(gate="g2", choice="abandon", effect="abandoned"),
    ],
)
def test_a_task_that_ends_takes_its_questions_with_it(end: e.Event) -> None:
    """However it ended: nobody is asked about it any more."""
    state = started(opened("g1"), opened("g2", "timeout"), (end, "a", "a.1"))
    assert state.tasks["a"].state == "ended"
    assert state.open_gates() == ()


def test_an_attempt_is_held_until_the_last_question_is_answered() -> None:
    """One of two answers does not set the agent free."""
    asked = (opened("g1"), opened("g2", "timeout"))
    state = started(*asked, answered("g2", "continue", "go_on"))
    assert state.tasks["a"].gate == "g1"
    assert state.attempts["a.1"].state == "held"
    state = started(*asked, answered("g2", "continue", "go_on"), answered("g1", "continue", "go_on"))
    assert state.tasks["a"].gate == ""
    assert state.attempts["a.1"].state == "live"


def test_the_first_answer_wins() -> None:
    """A second answer to the same gate changes nothing."""
    state = started(opened("g1"), answered("g1", "show_me", "tell"), answered("g1", "skip", "skipped"))
    assert state.tasks["a"].state == "running"
    answer = state.gates["g1"].answer
    assert answer is not None
    assert answer.choice == "show_me"


def test_a_question_that_is_withdrawn_leaves_nobody_waiting() -> None:
    """The attempt has ended and its question goes away: its work is judged."""
    ended = (e.AttemptEnded(report=Report()), "a", "a.1")
    waiting = started(opened("g1"), ended)
    assert waiting.tasks["a"].state == "waiting"
    state = started(opened("g1"), ended, (e.GateWithdrawn(gate="g1", reason="gone"), "a", "a.1"))
    assert state.tasks["a"].state == "judging"
    assert state.tasks["a"].gate == ""


def test_events_of_a_stale_attempt_change_nothing() -> None:
    """Late words of a killed attempt's agent have no effect on the next one."""
    second = Guidance(attempt="a.2", number=2, level="retry", text=Clean("Again."), workdir=Path("/tree"))
    gone = ((e.AttemptInterrupted(reason="killed"), "a", "a.1"), (e.RecoveryDecided(choice="continue"), "a", ""))
    state = started(*gone, (e.AttemptStarted(guidance=second), "a", "a.2"))
    before = copied(state)
    late = [(e.AttemptEnded(report=Report()), "a", "a.1"), (e.AttemptInterrupted(reason="x"), "a", "a.1")]
    for record in recorded(late)[-2:]:
        fold(state, record)
    assert state.tasks == before.tasks
    assert state.attempts == before.attempts


def test_the_clocks_of_an_attempt_that_has_ended_stay_as_they_are() -> None:
    """Whatever question names it: neither pausing nor continuing brings it back, and one that is unknown is none."""
    state = started((e.AttemptEnded(report=Report()), "a", "a.1"))
    before = copied(state)
    for attempt in ("a.1", "stranger"):
        hold(state, attempt, 2.0)
        release(state, attempt, 3.0)
    assert state == before


@pytest.mark.parametrize(
    ("choice", "state", "status"),
    [
        ("continue", "ready", ""),
        ("retry", "preparing", ""),
        ("done", "judging", ""),
        ("skip", "ended", "skipped"),
        ("abandon", "ended", "abandoned"),
    ],
)
def test_an_interrupted_task_goes_on_as_it_was_decided(choice: str, state: str, status: str) -> None:
    """Each choice has its own next step; one for a task that is not interrupted changes nothing."""
    decided = e.RecoveryDecided(choice=choice)  # type: ignore[arg-type]
    task = started((e.AttemptInterrupted(reason="killed"), "a", "a.1"), (decided, "a", "")).tasks["a"]
    assert (task.state, task.status or "") == (state, status)
    assert started((decided, "a", "")).tasks["a"].state == "running"


@pytest.mark.parametrize(
    ("calls", "result"),
    [
        ([("action", "true -v"), ("success", "ok")], "passed"),
        ([("action", "true -v"), ("failure", "no")], "failed"),
        ([("action", "ls"), ("success", "ok")], ""),
        ([("action", "true"), ("success", "ok"), ("action", "ls")], ""),
        ([("success", "ok")], ""),
    ],
)
def test_an_agent_that_runs_its_own_check_is_seen(calls: list[tuple[str, str]], result: str) -> None:
    """Only a call of the task's check has a result, and any other call makes it stale."""
    work = Task(id="c", prompt=Clean("Work."), verify="true")
    told = Guidance(attempt="c.1", number=1, level="first", text=Clean("Work."), workdir=Path("/tree"))
    state = started(
        (e.TaskAdded(work=work), "c", ""),
        (e.AttemptStarted(guidance=told), "c", "c.1"),
        *((e.StepRecorded(kind=kind, text=Clean(said)), "c", "c.1") for kind, said in calls),
    )
    assert state.attempts["c.1"].own_check == result


def test_thousands_of_steps_take_no_room() -> None:
    """Steps of an agent inside an attempt are counted, not kept."""
    step = e.StepRecorded(kind="action", tool="bash", text=Clean("make " * 300))
    few, many = started((step, "a", "a.1")), started(*[(step, "a", "a.1")] * 2_000)
    assert many.attempts["a.1"].steps == 2_000
    assert len(dump(many)) - len(dump(few)) < 20


def asked(
    kind: str, *, task: str = "a", key: str = "", attempt: str = "", gate: str = "g1"
) -> tuple[e.Event, str, str]:
    return e.GateOpened(gate=gate, type=kind, key=key, attempt_id=attempt), task, ""  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "waits"),
    [(asked("disk", task="b"), True), (asked("question", task="b", key=HELD), True), (asked("stuck", task="b"), False)],
)
def test_only_a_full_disk_or_a_person_keeps_a_task_from_its_start(
    question: tuple[e.Event, str, str], waits: bool
) -> None:
    """Any other question about a task that has not begun lets it begin."""
    assert started(question).tasks["b"].state == ("waiting" if waits else "ready")


@pytest.mark.parametrize(("effect", "state"), [("stop", "stopping"), ("go_on", "live"), ("tell", "live")])
def test_an_answer_stops_a_live_attempt_or_sets_it_free(effect: str, state: str) -> None:
    """An answer about an agent at work is applied to that agent."""
    assert started(opened("g1"), answered("g1", "continue", effect)).attempts["a.1"].state == state


@pytest.mark.parametrize(("kind", "state"), [("permission", "preparing"), ("stuck", "judging")])
def test_a_permission_for_the_next_step_repeats_that_step(kind: str, state: str) -> None:
    """After any other answer the check decides again."""
    step = (e.DirectiveIssued(level="pivot", line=10, climb=Climb(), approach=Clean("way")), "a", "")
    done = (e.AttemptEnded(report=Report()), "a", "a.1")
    state_now = started(done, step, asked(kind), answered("g1", "allow", "go_on"))
    row = state_now.tasks["a"]
    assert row.state == state
    assert (row.directive is not None) == (kind == "permission")


def test_a_withdrawn_question_frees_only_what_nothing_else_holds() -> None:
    """A second question, and a budget that is used up, go on holding the agent."""
    gone = (e.GateWithdrawn(gate="g2", reason="gone"), "a", "a.1")
    over = (e.BudgetReached(kind="tokens", used=2, limit=1), "", "")
    two = opened("g1"), opened("g2", "timeout")
    assert started(*two, gone).attempts["a.1"].state == "held"
    assert started(opened("g2"), gone).attempts["a.1"].state == "live"
    assert started(over, opened("g2"), gone).attempts["a.1"].state == "held"
    ended = (e.AttemptEnded(report=Report()), "a", "a.1")
    waiting = started(*two, ended, gone).tasks["a"]
    assert (waiting.state, waiting.gate) == ("waiting", "g1")


def test_a_collision_holds_while_neither_task_has_ended() -> None:
    """Changes of a task that has ended are nobody's concern, seen from either side."""
    both = (e.FilesCollide(other="a", paths=(Clean("app.py"),)), "b", "")
    state = started(both)
    assert [(task, later_of(state, task)) for task in (*TASKS, "stranger")] == [
        ("a", ("b",)),
        ("b", ("b",)),
        ("stranger", ()),
    ]
    for gone in TASKS:
        state = started(both, (e.TaskEnded(task_id=gone, status="skipped"), gone, ""))
        assert [collisions_of(state, row) for row in state.tasks.values()] == [(), ()]


def test_the_session_that_an_attempt_ended_in_has_its_usage() -> None:
    """An agent that goes on in another session is counted for that one, too, as soon as it has reported it."""
    used = (e.UsageCounted(tokens=7, cost=0.5), "a", "a.1")
    ended = (e.AttemptEnded(report=Report(session="second")), "a", "a.1")
    assert used_in_session(started(), "second") == (0, 0, 0.0)
    assert used_in_session(started(used, ended), "second") == (7, 0, 0.5)


@pytest.mark.parametrize(("agent", "name"), [("", "qa"), ("coder", "coder")])
def test_the_agent_of_an_attempt_is_the_tasks_own_or_else_its_type(agent: str, name: str) -> None:
    """A task without an agent of its own is worked by the one for its type."""
    work = Task(id="c", prompt=Clean("Work."), verify="true", agent=agent, agent_type="qa")
    assert started((e.TaskAdded(work=work), "c", "")).tasks["c"].agent_of(1) == name


def test_a_raised_budget_frees_only_what_no_question_holds() -> None:
    """An agent that also waits for an answer goes on waiting for it."""
    over, more = (e.BudgetReached(kind="tokens", used=2, limit=1), "", ""), (e.BudgetSet(tokens=9.0), "", "")
    assert started(over, more).attempts["a.1"].state == "live"
    assert started(over, opened("g1"), more).attempts["a.1"].state == "held"


def test_a_warning_of_another_budget_stays() -> None:
    """Raising one limit does not have the other one warned of again."""
    warned = [(e.BudgetWarned(kind=kind, used=1, limit=1), "", "") for kind in ("tokens", "time")]  # type: ignore[arg-type]
    asking = asked("budget", task="", key="tokens")
    more = (e.GateAnswered(gate="g1", choice="extend", number=5.0, effect="go_on"), "", "")
    state = started(*warned, asking, more)
    assert state.run.warned == ("time",)
    assert state.run.limits == {"tokens": 5.0}


@pytest.mark.parametrize(("alone", "state"), [(True, "judging"), (False, "preparing")])
def test_after_a_wait_the_check_or_the_attempt_is_repeated(alone: bool, state: str) -> None:
    """As it was decided before the wait; and the end of a wait that is over already changes nothing."""
    wait = e.TransientErrorRetry(error_type="network", retry=1, delay_seconds=1, climb=Climb(), check_alone=alone)
    ended, over = (e.AttemptEnded(report=Report()), "a", "a.1"), (e.BackoffOver(task_id="a"), "a", "")
    assert started(ended, (wait, "a", ""), over).tasks["a"].state == state
    assert started(ended, over).tasks["a"].state == "judging"
    assert started(over).tasks["a"].state == "running"


def test_a_checkpoint_that_could_not_be_saved_leaves_the_last_good_one() -> None:
    """There is always something to go back to, once there was."""
    good = [(e.CheckpointCreated(id=id, reason="good", purpose="good"), "a", "a.1") for id in ("c1", "none")]
    row = started(*good).tasks["a"]
    assert (row.good, row.loads) == ("c1", "c1")


def test_only_failures_of_the_present_approach_count_for_it() -> None:
    """A retry and a new session go on with the approach; another approach begins without failures."""
    failed = (e.CheckFinished(result="failed", diagnosis=DIAGNOSIS), "a", "a.1")
    ended = (e.AttemptEnded(report=Report()), "a", "a.1")
    retry, fresh, pivot = (
        (e.DirectiveIssued(level=level, line=10, climb=Climb()), "a", "")  # type: ignore[arg-type]
        for level in ("retry", "continue", "pivot")
    )
    assert len(started(ended, failed, retry).tasks["a"].failures) == 1
    assert len(started(ended, failed, retry, fresh).tasks["a"].failures) == 1
    assert started(ended, failed, retry, pivot).tasks["a"].failures == ()


@pytest.mark.parametrize(
    ("proof", "shows_nothing"),
    [(None, True), (e.CheckProved(without_work="passed"), True), (e.CheckProved(without_work="failed"), False)],
)
def test_a_check_that_passes_before_the_work_shows_nothing_until_it_is_proved(
    proof: e.CheckProved | None, shows_nothing: bool
) -> None:
    """A proof counts where the check failed without the work."""
    task = e.TaskAdded(work=Task(id="c", prompt=Clean("Work."), verify="make"))
    saved = e.CheckpointCreated(id="c1", reason="baseline", purpose="baseline")
    passed = e.TaskBaselineChecked(result="passed", checkpoint="c1", command="make")
    events = [(one, "c", "") for one in (task, saved, passed, *([proof] if proof is not None else []))]
    assert started(*events).tasks["c"].passed_before_work == shows_nothing


@pytest.mark.parametrize("standing", ["held", "frozen", "runs_on"])
@pytest.mark.parametrize("saved", ["c1", "none"])
def test_a_question_about_a_held_agent_says_what_was_saved(standing: str, saved: str) -> None:
    """Or why nothing was; of an agent that runs on the files change, and no checkpoint would be true for them."""
    question = (e.GateOpened(gate="g1", type="stuck", attempt_id="a.1", standing=standing), "a", "a.1")  # type: ignore[arg-type]
    other = (e.GateOpened(gate="g2", type="stuck", attempt_id="b.1", standing="held"), "b", "b.1")
    made = [(e.CheckpointCreated(id=id, reason="full disk", purpose="question"), "a", "a.1") for id in (saved, "later")]
    state = started(question, other, *made)
    said = {"checkpoint": "c1"} if saved == "c1" else {"checkpoint": "", "not_saved": "full disk"}
    assert state.gates["g1"].gate.context == ({} if standing == "runs_on" else said)
    assert state.gates["g2"].gate.context == {}


def test_events_about_no_task_and_no_attempt_change_nothing() -> None:
    """A log may hold what another version wrote: the run can be read all the same."""
    state = started()
    before = copied(state)
    strangers: list[tuple[e.Event, str, str]] = [
        (e.RungChosen(task_id="x", level="pivot"), "x", ""),
        (e.DirectivePrepared(level="retry", text=Clean("Again.")), "x", ""),
        (e.BackoffOver(task_id="x"), "x", ""),
        (e.TaskReopened(task_id="x"), "x", ""),
        (e.TaskBaselineChecked(result="passed", checkpoint="c1"), "x", ""),
        (e.CheckpointCreated(id="c1", reason="r"), "x", ""),
        (e.AttemptInterrupted(reason="x"), "x", "x.1"),
        (e.AttemptEnded(report=Report()), "x", "x.1"),
        (e.GateWithdrawn(gate="x", reason="gone"), "x", ""),
        (e.GateAnswered(gate="x", choice="skip", effect="skipped"), "x", ""),
        (e.GateAnswered(gate="x", choice="extend", number=1.0, effect="go_on"), "", ""),
    ]
    for record in recorded(strangers)[-len(strangers) :]:
        fold(state, record)
    assert (state.tasks, state.attempts, state.gates) == (before.tasks, before.attempts, before.gates)
