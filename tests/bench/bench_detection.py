"""What one observation costs the loop detector, over two thousand varied events, and whether that stays flat."""

from __future__ import annotations

from collections.abc import Iterable

from bench_kit import Bench, seconds

from unstuck.contract import Observation
from unstuck.detection import LoopDetector
from unstuck.text import admit

EVENTS = 2_000
COMMANDS = ("pytest -q tests/test_{}.py", "git diff src/file_{}.py", "sed -n 1,80p src/file_{}.py", "ls src/part_{}")


def events(start: int = 0) -> list[Observation]:
    """Actions and their results in turns, most of them new and some repeated."""
    made: list[Observation] = []
    for number in range(start, start + EVENTS // 2):
        command = admit(COMMANDS[number % len(COMMANDS)].format(number % 97))
        result = admit(f"line {number}\n" * (number % 7 + 1))
        kind = "failure" if number % 5 == 0 else "success"
        given = {"id": f"call-{number}", "task_id": f"task-{number % 4}", "agent_id": "agent"}
        made.append(Observation(kind="action", text=command, at=float(number), **given))
        made.append(Observation(kind=kind, text=result, at=number + 0.5, exit_code=int(kind == "failure"), **given))
    return made


def each(detector: LoopDetector, observations: list[Observation]) -> float:
    """Microseconds an observation."""

    def observe() -> None:
        for observation in observations:
            detector.observe(observation)

    return seconds(observe) * 1e6 / len(observations)


def benches() -> Iterable[Bench]:
    """A fresh detector, and one that has seen twenty thousand events: the ratio says whether the cost is flat."""
    fresh = events()
    yield Bench(
        name="observe, 2,000 varied events", unit="µs", measure=lambda: each(LoopDetector(), fresh), budget="30"
    )
    worn = LoopDetector()
    for start in range(0, EVENTS * 5, EVENTS // 2):
        each(worn, events(start))
    later = iter(range(EVENTS * 5, EVENTS * 500, EVENTS // 2))
    yield Bench(
        name="observe, after 20,000 events (ratio to fresh)",
        unit="µs",
        measure=lambda: each(worn, events(next(later))),
        against=lambda: each(LoopDetector(), fresh),
        budget="ratio 1",
    )
