"""The loop detector: three identical failures open one gate, and repeated steps are noticed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.manual_clock import ManualClock

from unstuck import GateManager
from unstuck.contract import Answer, Observation, Verdict
from unstuck.detection import LoopDetector
from unstuck.diagnosis.signatures.signature import extract_failure_signature


class Gates:
    """A gate manager in memory."""

    def __init__(self) -> None:
        self.made: list[tuple[str, dict[str, Any]]] = []
        self.answered: set[str] = set()
        self.fail = False

    async def create_gate(self, gate_type: str, **about: Any) -> str:
        if self.fail:
            raise OSError("disk full")
        self.made.append((gate_type, about))
        return f"gate-{len(self.made)}"

    def open_gates(self) -> list[str]:
        return [f"gate-{n + 1}" for n in range(len(self.made)) if f"gate-{n + 1}" not in self.answered]


async def fail(detector: LoopDetector, signature: str = "TypeError: x", task: str = "task-456") -> str | None:
    return await detector.check_and_trigger_gate(
        task_id=task, agent_id="qa-engineer-1", project_id="proj-789", error_signature=signature
    )


async def test_usage_example() -> None:
    """The usage example for loop detection runs as it is written: the third time opens the gate."""
    gate_manager = Gates()
    detector = LoopDetector(gate_manager=gate_manager)

    for expected in (None, None, "gate-1"):
        gate_id = await detector.check_and_trigger_gate(
            task_id="task-456",
            agent_id="qa-engineer-1",
            project_id="proj-789",
            error_signature="TypeError: cannot access property of undefined",
        )
        assert gate_id == expected

    stats = detector.get_loop_stats()
    assert stats["active_tasks"] == 1
    assert stats["detected_loops"] == 1
    assert stats["window_size"] == 3
    assert [event["gate_id"] for event in stats["loop_events"]] == ["gate-1"]


async def test_what_the_gate_is_told() -> None:
    """The gate has the context that a person needs, with the time of day."""
    gates = Gates()
    detector = LoopDetector(gates, clock=ManualClock())
    for _ in range(3):
        await fail(detector)
    assert gates.made == [
        (
            "loop_detected",
            {
                "task_id": "task-456",
                "agent_id": "qa-engineer-1",
                "project_id": "proj-789",
                "context": {
                    "task_id": "task-456",
                    "agent_id": "qa-engineer-1",
                    "loop_type": "execution_loop",
                    "window_size": 3,
                    "error_signature": "TypeError: x",
                    "detected_at": "2027-01-15T08:00:00.000Z",
                },
            },
        )
    ]


async def test_complete_integration() -> None:
    """An executor that hands over signatures of exceptions pauses at the third one, and success clears it."""
    detector = LoopDetector(gate_manager=Gates())
    opened = []
    for number in range(3):
        try:
            raise KeyError("currency")
        except KeyError as error:
            signature = extract_failure_signature(error_output=str(error), agent_id="a", task_id="t")
            opened.append(
                await detector.check_and_trigger_gate(
                    task_id="t", agent_id="a", project_id="p", error_signature=signature.context_hash
                )
            )
        assert len(opened) == number + 1
    assert opened == [None, None, "gate-1"]
    detector.record_success("t")
    assert detector.get_loop_stats()["active_tasks"] == 0


async def test_integration_with_the_gate_manager() -> None:
    """With the real gate manager the third failure opens a gate that waits, and its answer begins anew."""
    gates = GateManager()
    detector = LoopDetector(gate_manager=gates)
    opened = [await fail(detector) for _ in range(3)]
    (gate,) = gates.open_gates()
    assert opened == [None, None, gate.id]
    assert gate.type == "loop_detected"
    assert gate.task == "task-456"
    await gates.answer(gate.id, Answer(choice="retry"))
    assert [await fail(detector) for _ in range(2)] == [None, None]


async def test_loop_events_are_tracked_with_their_time() -> None:
    """Each loop is one event with when it was noticed, in the order in which they came."""
    detector = LoopDetector(Gates(), clock=ManualClock())
    for task in ("one", "two"):
        for _ in range(4):
            await fail(detector, task=task)
    stats = detector.get_loop_stats()
    assert [event["task_id"] for event in stats["loop_events"]] == ["one", "two"]
    assert all(event["timestamp"] and event["detected_at"].endswith("Z") for event in stats["loop_events"])
    assert stats["active_tasks"] == 2
    assert stats["detected_loops"] == 2
    assert stats["window_size"] == 3


async def test_one_gate_per_loop() -> None:
    """Failing on while the question is open opens no second gate."""
    gates = Gates()
    detector = LoopDetector(gates)
    assert [await fail(detector) for _ in range(5)] == [None, None, "gate-1", "gate-1", "gate-1"]
    assert len(gates.made) == 1


async def test_an_answered_loop_needs_three_again() -> None:
    """After the answer the agent has a fresh start; going on the same way asks again."""
    gates = Gates()
    detector = LoopDetector(gates)
    for _ in range(3):
        await fail(detector)
    gates.answered.add("gate-1")
    assert [await fail(detector) for _ in range(3)] == [None, None, "gate-2"]


async def test_without_a_gate_manager_the_loop_is_kept() -> None:
    """The detector works alone: no gate, but the loop is counted."""
    detector = LoopDetector()
    assert [await fail(detector) for _ in range(4)] == [None] * 4
    assert detector.get_loop_stats()["detected_loops"] == 1
    assert detector.get_loop_stats()["loop_events"][0]["agent_id"] == "qa-engineer-1"


async def test_a_gate_that_could_not_be_opened_is_tried_again() -> None:
    """A failure of the gate manager is not swallowed, and the next failure opens the gate."""
    gates = Gates()
    detector = LoopDetector(gates)
    await fail(detector)
    await fail(detector)
    gates.fail = True
    with pytest.raises(OSError, match="disk full"):
        await fail(detector)
    gates.fail = False
    assert await fail(detector) == "gate-1"


def test_another_failure_or_a_success_breaks_the_streak() -> None:
    """Only identical failures without a success between are a loop."""
    detector = LoopDetector()
    assert [detector.record_failure("t", one) for one in ("a", "a", "b", "a", "a", "a")] == [False] * 5 + [True]
    detector.record_success("t")
    assert not detector.record_failure("t", "a")


def test_tasks_do_not_share_a_window() -> None:
    """Three tasks failing once each are no loop."""
    detector = LoopDetector()
    assert not any(detector.record_failure(task, "a") for task in ("x", "y", "z"))


def test_the_window_is_configurable() -> None:
    """A window of two fires at the second failure; one of one makes no sense and is refused."""
    detector = LoopDetector(window_size=2)
    assert [detector.record_failure("t", "a") for _ in range(2)] == [False, True]
    with pytest.raises(ValueError, match="window_size"):
        LoopDetector(window_size=1)


def test_memory_is_bounded() -> None:
    """A hundred thousand failing tasks are not all remembered."""
    detector = LoopDetector()
    for number in range(25_000):
        detector.record_failure(f"task-{number}", "a")
    assert detector.get_loop_stats()["active_tasks"] == 10_000


def steps(detector: LoopDetector, *pairs: tuple[str, str], kind: str = "success") -> list[Verdict | None]:
    said = []
    for call, result in pairs:
        detector.observe(Observation(kind="action", text=call, task_id="t"))
        said.append(detector.observe(Observation(kind=kind, text=result, task_id="t")))
    return said


def test_nudge_then_gate() -> None:
    """Three equal rounds are told to the agent; one more goes to the person, with the same pattern id."""
    said = steps(LoopDetector(), *[("cat a.py", "x = 1")] * 5)
    assert said[:2] == [None, None]
    nudged, gated = said[2], said[3]
    assert nudged is not None
    assert gated is not None
    assert nudged.nudge is True
    assert gated.nudge is False
    assert nudged.pattern == gated.pattern
    assert nudged.kind == "loop"


def test_a_cycle_of_two() -> None:
    """A, B, A, B, A, B is a loop, and its pattern is the same wherever one starts."""
    said = steps(LoopDetector(), *[("cat a.py", "x"), ("cat b.py", "y")] * 3)
    turned = steps(LoopDetector(), *[("cat b.py", "y"), ("cat a.py", "x")] * 3)
    assert said[-1] is not None
    assert turned[-1] is not None
    assert said[-1].pattern == turned[-1].pattern
    assert len(said[-1].steps) == 2


def test_a_changed_result_is_progress() -> None:
    """The same command with falling counts is work, not a loop."""
    results = [f"FAILED tests/test_a.py::test_x\n{n} failed" for n in (9, 7, 4, 2, 1)]
    assert steps(LoopDetector(), *(("pytest -q", said) for said in results), kind="failure") == [None] * 5


def test_volatile_parts_do_not_hide_a_loop() -> None:
    """Times, addresses and process ids differ, the failure does not."""
    results = [f"2026-05-0{n} 10:10:3{n} [pid 41{n}0] segfault at 0x7f3a0c0{n}b0e0" for n in (1, 2, 3)]
    assert steps(LoopDetector(), *(("./run.sh", said) for said in results), kind="failure")[-1] is not None


def test_results_without_words_are_no_evidence() -> None:
    """Five silent successes of one command prove nothing."""
    assert steps(LoopDetector(), *[("git add -A", "")] * 5) == [None] * 5


def test_a_loop_is_told_by_its_error_and_not_by_the_first_line_of_a_traceback() -> None:
    """The question about a loop names the failing call and its error."""
    trace = 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\nImportError: no name write\n'
    said = steps(LoopDetector(), *[("python -c 'from shop import write'", trace)] * 3, kind="failure")[-1]
    assert said is not None
    assert said.evidence == "python -c 'from shop import write' → ImportError: no name write"


def test_waiting_is_allowed_longer() -> None:
    """Polling a long job nine times is fine; the tenth time is said, and called waiting."""
    said = steps(LoopDetector(), *[("sleep 30; ./status.sh", "still running")] * 10)
    assert said[:9] == [None] * 9
    assert said[9] is not None
    assert said[9].kind == "waiting"


def test_a_read_between_does_not_hide_a_loop() -> None:
    """The same build error comes three times with other files read between: a loop."""
    detector = LoopDetector()
    said: list[Verdict | None] = []
    for number in range(3):
        said += steps(detector, ("cargo build", "error[E0499]: cannot borrow"), kind="failure")
        steps(detector, (f"cat src/{number}.rs", f"// {number}"))
    assert said[-1] is not None


def test_success_of_the_same_check_clears() -> None:
    """A check that passed in between ends the streak."""
    detector = LoopDetector()
    said: list[Verdict | None] = []
    for _ in range(3):
        said += steps(detector, ("make test", "test_net FAILED"), kind="failure")
        said += steps(detector, ("make test", "12 passed"))
    assert said[:4] == [None] * 4


def test_a_word_from_the_user_clears() -> None:
    """A repetition that the user asked for is no loop."""
    detector = LoopDetector()
    steps(detector, *[("./deploy.sh", "timed out")] * 2, kind="failure")
    detector.observe(Observation(kind="message", role="user", text="try again", task_id="t"))
    assert steps(detector, *[("./deploy.sh", "timed out")] * 2, kind="failure") == [None, None]


def test_an_outage_is_blocked_not_a_loop() -> None:
    """When a service is down the verdict says that the agent is blocked."""
    said = steps(LoopDetector(), *[("psql", "connection to server failed: Connection refused")] * 3, kind="failure")
    assert said[-1] is not None
    assert said[-1].kind == "blocked"


def test_the_same_idea_again_is_a_circular_fix() -> None:
    """Similar approaches with the same failure are named for what they are."""
    detector = LoopDetector()
    said = None
    for approach in ("raise http client timeout", "increase http client timeout", "bump http client timeout value"):
        detector.observe(Observation(kind="action", text="make check", approach=approach, task_id="t"))
        said = detector.observe(Observation(kind="failure", text="3 rows wrong", task_id="t"))
    assert said is not None
    assert said.kind == "circular_fix"


def test_results_find_their_calls_by_id() -> None:
    """Parallel calls that end in another order are paired rightly, and a delivery that comes twice counts once."""
    detector = LoopDetector()
    said = []
    for number in range(3):
        for name in ("a", "b"):
            detector.observe(Observation(kind="action", text=f"read {name}", id=f"{name}{number}", task_id="t"))
        for name in ("b", "a", "a", "a"):
            observation = Observation(kind="success", text=f"text of {name}", id=f"{name}{number}", task_id="t")
            said.append(detector.observe(observation))
    assert [bool(one) for one in said] == [False] * 9 + [True, False, False]


def test_dismissed_patterns_stay_quiet() -> None:
    """*Let it continue* holds for this pattern, and for the task where that was said."""
    detector = LoopDetector()
    found = steps(detector, *[("cat a.py", "x = 1")] * 3)[-1]
    assert found is not None
    detector.dismiss("t", found.pattern)
    assert steps(detector, *[("cat a.py", "x = 1")] * 4) == [None] * 4
    assert steps(detector, *[("cat b.py", "y = 1")] * 3)[-1] is not None
    detector.dismiss("t")
    assert steps(detector, *[("cat c.py", "z = 1")] * 4) == [None] * 4


def test_agents_of_one_task_do_not_share_steps() -> None:
    """Two agents reading the same file once or twice each are no loop."""
    detector = LoopDetector()
    for agent in ("one", "two"):
        for _ in range(2):
            detector.observe(Observation(kind="action", text="cat a", task_id="t", agent_id=agent))
            said = detector.observe(Observation(kind="success", text="x = 1", task_id="t", agent_id=agent))
            assert said is None


def test_saying_the_same_without_doing_anything() -> None:
    """Three equal messages with no step between are a loop."""
    detector = LoopDetector()
    said = [
        detector.observe(Observation(kind="message", role="agent", text="I will continue.", task_id="t"))
        for _ in range(3)
    ]
    assert [bool(one) for one in said] == [False, False, True]


def test_a_task_that_ended_is_forgotten() -> None:
    """Nothing of a finished task weighs on a new one with the same id."""
    detector = LoopDetector()
    steps(detector, *[("cat a.py", "x = 1")] * 2)
    detector.dismiss("t")
    detector.forget("t")
    assert steps(detector, *[("cat a.py", "x = 1")] * 3)[-1] is not None


def test_statistics_count_what_observing_found() -> None:
    """A repetition inside an attempt is one loop of the statistics, however many verdicts it has; a new one counts."""
    detector = LoopDetector()

    def fails(text: str, times: int) -> int:
        verdicts = []
        for number in range(times):
            for kind, said in (("action", "pytest -q"), ("failure", text)):
                step = Observation(kind=kind, text=said, at=float(number), task_id="t", agent_id="a")
                verdicts.append(detector.observe(step))
        return sum(verdict is not None for verdict in verdicts)

    assert fails("KeyError: 'currency'", 12) >= 2
    stats = detector.get_loop_stats()
    assert (stats["active_tasks"], stats["detected_loops"]) == (1, 1)
    (event,) = stats["loop_events"]
    assert (event["task_id"], event["agent_id"], event["loop_type"]) == ("t", "a", "loop")
    detector.started("t")
    assert fails("KeyError: 'currency'", 12) >= 1
    assert detector.get_loop_stats()["detected_loops"] == 2
