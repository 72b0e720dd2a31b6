"""Precision, recall and cost of the loop detector on labelled histories, beside the seeds' plain rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench_kit import Bench, seconds

from unstuck.contract import Observation
from unstuck.detection import LoopDetector, is_circular_fix
from unstuck.text import admit

EVENTS = 2_000
COMMANDS = ("pytest -q tests/test_{}.py", "git diff src/file_{}.py", "sed -n 1,80p src/file_{}.py", "ls src/part_{}")
EIGHT = 8_000
TOOLS = Path(__file__).parent.parent / "data" / "tools.jsonl"
HISTORIES = Path(__file__).parent.parent / "data" / "loops.jsonl"
COUNTED = frozenset({"loop", "circular_fix", "waiting"})


class PlainRule:
    """The seeds' rule as it stands: three identical failures or three like approaches, and any success clears."""

    def __init__(self) -> None:
        self._detector = LoopDetector()
        self._approach = ""
        self._approaches: list[str] = []

    def observe(self, observation: Observation) -> bool:
        task = observation.agent_id or observation.task_id
        self._approach = observation.approach or self._approach
        if observation.kind == "success":
            self._detector.record_success(task)
            self._approaches.clear()
        if observation.kind != "failure":
            return False
        circular = is_circular_fix(self._approach, self._approaches)
        self._approaches = [*self._approaches[-2:], self._approach]
        return self._detector.record_failure(task, observation.text) or circular


class Ours:
    """Our detector, by whether its verdict is a loop; ``outage``: being blocked counts as well."""

    def __init__(self, outage: bool = False) -> None:
        self._detector, self._counted = LoopDetector(), COUNTED | {"blocked"} if outage else COUNTED

    def observe(self, observation: Observation) -> bool:
        found = self._detector.observe(observation)
        return found is not None and found.kind in self._counted


def history(case: dict[str, Any]) -> list[Observation]:
    """The observations of one labelled case."""
    return [
        Observation(
            kind=event["kind"],
            text=event["text"],
            task_id="task",
            agent_id=event.get("agent", ""),
            tool=event.get("tool", "bash"),
            role=event.get("role"),
            approach=event.get("approach"),
        )
        for event in case["events"]
    ]


def scores(rule: Callable[[bool], Ours | PlainRule]) -> tuple[float, float]:
    """Precision and recall over the labelled histories."""
    hits = false = loops = 0
    for line in HISTORIES.read_text("utf-8").splitlines():
        case = json.loads(line)
        is_loop = case["expect"] == "loop"
        watcher = rule(is_loop and bool(case.get("infra")))
        fired = sum(watcher.observe(observation) for observation in history(case)) > 0
        loops += is_loop
        hits += fired and is_loop
        false += fired and not is_loop
    return hits / max(hits + false, 1), hits / loops


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


def each(watcher: LoopDetector | PlainRule, observations: list[Observation]) -> float:
    """Microseconds an observation."""

    def observe() -> None:
        for observation in observations:
            watcher.observe(observation)

    return seconds(observe) * 1e6 / len(observations)


def outputs(characters: int, failing: int = 5) -> list[Observation]:
    """Results with recorded outputs of tools, each of a call of its own. One of ``failing`` is a failure."""
    texts = [json.loads(line)["output"] for line in TOOLS.read_text(encoding="utf-8").splitlines()]
    made: list[Observation] = []
    for number, text in enumerate(texts):
        text = text if characters < EIGHT else (text * (characters // max(len(text), 1) + 1))[:characters]
        kind = "failure" if number % failing == 0 else "success"
        given = {"id": f"call-{number}", "task_id": f"task-{number // 50}"}
        made.append(Observation(kind="action", text=admit(f"./tool --part {number} --in data/{number}"), **given))
        made.append(Observation(kind=kind, text=admit(text), **given))
    return made


def middle(watcher: LoopDetector, observations: list[Observation]) -> float:
    """Microseconds of the median result."""
    spent = []
    for one in observations:
        took = seconds(lambda one=one: watcher.observe(one))
        if one.kind != "action":
            spent.append(took)
    return sorted(spent)[len(spent) // 2] * 1e6


def benches() -> Iterable[Bench]:
    """Measure accuracy, then cost: fresh, and after twenty thousand events, to see whether it is flat."""
    rules: dict[str, Callable[[bool], Ours | PlainRule]] = {
        "ours": Ours,
        "the seeds' plain rule": lambda _: PlainRule(),
    }
    for name, rule in rules.items():
        found = scores(rule)
        for what, value, budget in zip(("precision", "recall"), found, ("0.95", "0.92"), strict=True):
            yield Bench(name=f"{what}, {name}", unit="", measure=lambda value=value: value, budget=budget, rounds=1)
    fresh = events()
    yield Bench(
        name="observe, 2,000 varied events",
        unit="µs",
        measure=lambda: each(LoopDetector(), fresh),
        budget="30",
        rounds=15,
    )
    yield Bench(name="the seeds' plain rule, the same", unit="µs", measure=lambda: each(PlainRule(), fresh), rounds=15)
    for name, characters, failing, budget in (
        ("as recorded", 3_000, 5, "60"),
        ("of 8 KB", EIGHT, 5, "200"),
        ("of 8 KB, failing", EIGHT, 1, "200"),
    ):
        results = outputs(characters, failing)
        yield Bench(
            name=f"observe, outputs of tools {name}",
            unit="µs",
            measure=lambda results=results: middle(LoopDetector(), results),
            budget=budget,
            rounds=9,
        )
        yield Bench(
            name=f"their words split and joined, {name}",
            unit="µs",
            measure=lambda results=results: (
                seconds(lambda: [" ".join(one.text.split()) for one in results]) * 1e6 / len(results)
            ),
            rounds=9,
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
        rounds=15,
    )
