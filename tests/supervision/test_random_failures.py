"""Whatever fails however and whatever is answered: the run ends, and every promise about decisions and gates holds."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from unstuck import Answer, Guidance, Observation, Report, Supervisor, Task, admit
from unstuck.clock import SystemClock
from unstuck.contract import Capabilities, Gate, Observer, Receipt
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.state import State
from unstuck.settings.models import Settings
from unstuck.supervision.context.next_step import next_step

LIMIT_S = 50_000.0
SAVED_S = 10.0
TASK = Task(id="t", prompt=admit("Work."), timeout_s=LIMIT_S, idle_s=1e9)
ERRORS = (
    "AssertionError: expected 1 but got 2",
    "SyntaxError: invalid syntax",
    "ImportError: No module named 'pay'",
    "TypeError: no plus",
    "zorp: blat went sideways",
    "HTTP 429 Too Many Requests",
    "HTTP 429 Too Many Requests, retry after 5 hours",
    "Error: prompt is too long: 210000 tokens > 200000 maximum",
)
REPORTS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries(
        {"error": st.sampled_from(ERRORS), "approach": st.sampled_from([None, "a", "async await", "async await now"])}
    ),
    st.sampled_from([{"how": "crashed"}, {"how": "no_signal"}, {"how": "bad_signal"}, {"exit_code": 3}]),
    st.sampled_from(
        [
            {"signal": "needs_guidance", "question": "Which?", "options": ("80", "81")},
            {"signal": "blocked", "question": "No database"},
        ]
    ),
)
INSIDE = st.sampled_from(["", "", "loop", "slow", "spend", "loop and slow", "ask"])
ACTS = st.tuples(INSIDE, REPORTS)
CRASHED = {"how": "crashed"}
HOLDS = st.sampled_from(["freeze", "step", "none"])
ANSWERS = st.sampled_from(
    [
        Answer(choice="show_me", text=admit("like this")),
        Answer(choice="retry"),
        Answer(choice="retry", text=admit("another way")),
        Answer(choice="choose", number=1),
        Answer(choice="continue"),
        Answer(choice="extend", number=50_000),
        Answer(choice="stop"),
        Answer(choice="skip"),
        Answer(choice="abandon"),
    ]
)
LIMITS = st.fixed_dictionaries(
    {
        "max_retries": st.integers(0, 2),
        "max_pivots": st.integers(0, 2),
        "max_research": st.integers(0, 1),
        "max_attempts": st.integers(1, 6),
        "skip_to_ask": st.sampled_from([[], ["zorp"]]),
        "auto_resolve": st.sampled_from([[], [{"pattern": "TypeError", "action": "look at line 3"}]]),
    }
)


class HastyClock(SystemClock):
    """The machine's clock, on which a million seconds pass in one."""

    def monotonic(self) -> float:
        return super().monotonic() * 1_000_000

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / 1_000_000)


class Acting:
    """Does in each attempt what was drawn for it, and can be held as was drawn."""

    def __init__(self, acts: list[tuple[str, dict[str, Any]]], hold: Any, clock: SystemClock) -> None:
        self.can = Capabilities(hold=hold, stop=True, fresh=True, may_restore=True, tell=hold == "step")
        self._left, self._clock = list(acts), clock
        self._stopped, self._goes, self.out_of_time = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._goes.set()

    def see(self, record: Record) -> None:
        """Note the first question about its time, for there need not be another."""
        if isinstance(record.event, e.GateOpened) and record.event.type == "timeout":
            self.out_of_time.set()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        self._stopped, acting = asyncio.Event(), asyncio.ensure_future(self._act(observer))
        stopped = asyncio.ensure_future(self._stopped.wait())
        await asyncio.wait((acting, stopped), return_when=asyncio.FIRST_COMPLETED)
        for work in (acting, stopped):
            work.cancel()
        await asyncio.gather(acting, stopped, return_exceptions=True)
        return Report(how="stopped") if acting.cancelled() else acting.result()

    async def _act(self, observer: Observer) -> Report:
        inside, report = self._left.pop(0) if self._left else ("", {"exit_code": 0})
        if "spend" in inside:
            observer.see(Observation(kind="usage", tokens=60))
        said = "npm ERR! connect ECONNREFUSED 10.0.0.5:443" if inside == "ask" else "KeyError: 'a'"
        for number in range(4 if "loop" in inside or inside == "ask" else 1):
            for kind in ("action", "failure"):
                step = Observation(kind=kind, id=str(number), exit_code=1, text=admit(said))  # type: ignore[arg-type]
                if self.can.hold != "step":
                    observer.see(step)
                elif (await observer.step(step)).kind == "stop":
                    return Report(how="stopped")
                await self._goes.wait()
        if "slow" in inside:
            await self._clock.sleep(5 * LIMIT_S)  # long enough that the limit is seen first also where time is short
            with suppress(TimeoutError):  # and that its files are saved, which takes as long as the machine wants
                await asyncio.wait_for(self.out_of_time.wait(), SAVED_S)
            await self._goes.wait()
        return Report(**report)

    async def stop(self, attempt: str) -> Receipt:
        self._stopped.set()
        return Receipt(ended=((1, 1.0, "interrupted"),))

    def freeze(self, attempt: str) -> None:
        self._goes.clear()

    def thaw(self, attempt: str) -> None:
        self._goes.set()


async def _worked(root: Path, acts: list[Any], answers: list[Answer], limits: Any, hold: str) -> list[Record]:
    """The log of a task whose attempts go and end like this, and whose questions are answered like that."""
    replies = list(answers)

    def policy(gate: Gate) -> tuple[int, Answer]:
        if gate.type == "budget":
            return 0, Answer(choice="extend", number=100)
        answer = next((reply for reply in replies if reply.choice in gate.choices), None)
        if answer is not None:
            replies.remove(answer)
        if answer is None or (answer.choice == "choose" and not gate.context.get("options")):
            answer = Answer(choice="skip")
        return 0, answer

    clock = HastyClock()
    chosen = Settings.model_validate({"failure_handler": limits, "budget": {"tokens": 100}})
    async with Supervisor.open(root, chosen, clock=clock, policy=lambda state: policy) as supervisor:
        acting = Acting(acts, hold, clock)
        supervisor.core.journal.on_append(acting.see)
        async with asyncio.timeout(60):
            await supervisor.supervise(TASK, acting)
        path = supervisor.core.journal.path
    return list(read_records(path))


def _all(error: str, count: int, inside: str = "") -> list[tuple[str, dict[str, Any]]]:
    return [(inside, {"error": error})] * count


FULL = {"max_retries": 1, "max_pivots": 1, "max_research": 1, "max_attempts": 6, "skip_to_ask": [], "auto_resolve": []}
SHOWN = Answer(choice="show_me", text=admit("like this"))
CONTINUED = Answer(choice="continue")
EXTENDED = Answer(choice="extend", number=50_000)


@example(_all(ERRORS[0], 9), [SHOWN], FULL, "none")
@example([("", {"exit_code": 3}), ("", CRASHED), *_all(ERRORS[0], 1)], [], {**FULL, "max_retries": 0}, "step")
@example([("", {"signal": "blocked", "question": "No database"}), *_all(ERRORS[6], 1)], [], FULL, "freeze")
@example(_all(ERRORS[0], 3, "loop"), [SHOWN, CONTINUED, Answer(choice="retry")], FULL, "freeze")
@example(
    [*_all(ERRORS[0], 1), *_all(ERRORS[0], 1, "loop"), *_all(ERRORS[0], 2)],
    [SHOWN],
    {**FULL, "max_attempts": 1},
    "step",
)
@example(_all(ERRORS[0], 3, "loop"), [SHOWN, CONTINUED, Answer(choice="retry")], FULL, "step")
@example(
    _all(ERRORS[1], 3, "loop and slow"), [Answer(choice="continue"), EXTENDED, Answer(choice="stop")], FULL, "none"
)
@example(_all(ERRORS[1], 3, "slow"), [EXTENDED, Answer(choice="retry", text=admit("faster"))], FULL, "freeze")
@example(_all(ERRORS[1], 4, "spend"), [], FULL, "freeze")
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ACTS, min_size=3, max_size=9), st.lists(ANSWERS, max_size=6), LIMITS, HOLDS)
def test_every_promise_holds(acts: list[Any], answers: list[Answer], limits: dict[str, Any], hold: str) -> None:
    """A climb ends within its limit, every prefix has one next step, files are saved before a pivot and a question."""
    with tempfile.TemporaryDirectory() as folder:
        records = asyncio.run(_worked(Path(folder), acts, answers, limits, hold))
    state, directives, saved, decided = State(), 0, set[str](), ""
    for record in records:
        fold(state, record)
        event, row = record.event, state.tasks.get("t")
        if isinstance(event, (e.AttemptStarted, e.AttemptEnded)):
            saved = set()
        elif isinstance(event, e.CheckpointCreated):
            saved.add(event.id)
            assert event.id != "none" or event.reason.startswith("not possible: ")
        elif isinstance(event, e.DirectiveIssued):
            if event.level == "human" and event.answers:
                # An answer that no agent has heard in its attempt begins a climb of its own, too.
                assert event.climb.directives == 0
                directives = 0
            directives += event.level != "human"
            assert directives <= limits["max_attempts"]
            assert event.checkpoint or event.level not in ("pivot", "human") or event.answers
            decided = event.level
        elif isinstance(event, e.DirectivePrepared):
            # A crashed agent is told the same again; only a pivot that was decided starts from other files.
            assert saved or decided != "pivot"
            decided = ""
        elif isinstance(event, e.GateOpened):
            assert event.context["checkpoint"] in saved or event.context["not_saved"], event
            assert ("the agent runs on" in event.context.get("not_saved", "")) == (event.standing == "runs_on")
        elif isinstance(event, e.GateAnswered) and event.climb is not None:
            directives = 0
        if row is not None:
            assert next_step(state, row, max_parallel=2, tree=folder).kind
        asked = [(gate.gate.task, gate.gate.type, gate.gate.key) for gate in state.open_gates()]
        assert len(asked) == len(set(asked))
        assert not (asked and row is not None and row.state == "ended")
    assert state.tasks["t"].state == "ended"
    assert not state.open_gates()


@pytest.mark.parametrize(
    ("inside", "hold", "kinds"),
    [
        ("loop", "freeze", {"loop_detected"}),
        ("loop", "step", {"loop_detected"}),
        ("ask", "step", {"question"}),
        ("slow", "freeze", {"timeout"}),
        ("slow", "step", {"timeout"}),
        ("spend", "freeze", {"budget"}),
    ],
)
def test_what_is_drawn_asks_what_it_should(tmp_path: Path, inside: str, hold: str, kinds: set[str]) -> None:
    """The questions inside attempts do come up in such sequences, each with its files safe."""
    records = asyncio.run(_worked(tmp_path, _all(ERRORS[0], 3, inside), [Answer(choice="continue")] * 9, FULL, hold))
    opened = [record.event for record in records if isinstance(record.event, e.GateOpened)]
    assert kinds <= {event.type for event in opened}
    assert all(event.context["checkpoint"].startswith("chk-") for event in opened if event.type in kinds)
