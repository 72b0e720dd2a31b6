"""Bounds of the loop detector: volatile parts, memory and work per observation."""

from __future__ import annotations

import gc
import random
import sys
from types import FunctionType, ModuleType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from unstuck.contract import Observation, Verdict
from unstuck.detection import LoopDetector

WORDS = ("parser", "router", "cache", "schema", "worker", "cart", "login", "index")
TEMPLATES = (
    "[{time}] {word} failed after {seconds}s (pid {pid})",
    "Error in request_id={hex}: {word} not valid",
    "{word} crashed at 0x{address} in {uuid}",
    "FAILED tests/test_{word}.py::test_it - KeyError\n1 failed, 3 passed in {seconds}s",
    "/tmp/pytest-{pid}/{word}/out.log: bad {word}",
)


def volatile(chance: random.Random) -> dict[str, str]:
    """One set of what changes by itself."""
    digits = "0123456789abcdef"
    hexes = "".join(chance.choice(digits) for _ in range(30))
    return {
        "time": f"20{chance.randint(10, 30)}-04-1{chance.randint(0, 9)}T0{chance.randint(0, 9)}:11:30Z",
        "seconds": f"{chance.randint(0, 900)}.{chance.randint(0, 99):02d}",
        "pid": str(chance.randint(2, 4_000_000)),
        "hex": f"a{hexes[:10]}7",
        "address": hexes[:12],
        "uuid": f"{hexes[:8]}-{hexes[8:12]}-{hexes[12:16]}-{hexes[16:20]}-{hexes[18:30]}",
    }


def heard(steps: list[tuple[int, int, bool]], seed: int) -> list[Verdict | None]:
    """Return the verdict on a history whose volatile parts come from ``seed``."""
    chance, detector = random.Random(seed), LoopDetector()
    said = []
    for template, word, failed in steps:
        text = TEMPLATES[template].format(word=WORDS[word], **volatile(chance))
        detector.observe(Observation(kind="action", text=f"make {WORDS[word]}", task_id="t"))
        said.append(detector.observe(Observation(kind="failure" if failed else "success", text=text, task_id="t")))
    return said


STEP = st.tuples(st.integers(0, len(TEMPLATES) - 1), st.integers(0, 2), st.booleans())


@given(st.lists(STEP, max_size=30), st.integers(0, 99), st.integers(100, 199))
def test_verdicts_do_not_depend_on_volatile_parts(steps: list[tuple[int, int, bool]], one: int, two: int) -> None:
    """The same history at another time, with other addresses, ids and durations, is judged the same, by pattern."""
    first, second = heard(steps, one), heard(steps, two)
    assert [found and (found.kind, found.pattern, found.repeats, found.nudge) for found in first] == [
        found and (found.kind, found.pattern, found.repeats, found.nudge) for found in second
    ]


def events(count: int, task: str = "t", seed: int = 1) -> list[Observation]:
    """Steps, messages and trees of every kind, most of them new."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        word, fate = chance.choice(WORDS), chance.random()
        about: dict[str, Any] = {
            "task_id": task,
            "agent_id": f"agent-{number % 3}",
            "id": f"call-{number // 2}-{number % 3}",
        }
        if fate < 0.05:
            made.append(Observation(kind="message", role="agent", text=f"Now {word} number {number}", task_id=task))
        elif number % 2:
            text = f"{word} line {number}\n" * chance.randint(1, 4)
            kind = chance.choice(("success", "failure", "success"))
            made.append(Observation(kind=kind, text=text, tree=f"tree-{number}", approach=f"idea {number}", **about))
        else:
            made.append(Observation(kind="action", text=f"pytest {word} -k {number % 50}", **about))
    return made


def size_of(root: object) -> int:
    """Bytes held by ``root`` and everything only data below it."""
    seen: set[int] = set()
    todo, total = [root], 0
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, type | ModuleType | FunctionType):
            continue
        seen.add(id(thing))
        total += sys.getsizeof(thing)
        todo += gc.get_referents(thing)
    return total


def test_tasks_are_forgotten() -> None:
    """Five thousand tasks are not all remembered step by step."""
    detector = LoopDetector()
    for number in range(5_000):
        detector.observe(Observation(kind="action", text="ls", task_id=f"task-{number}"))
    assert size_of(detector) < 2_000 * 20_000


def test_neither_memory_nor_work_grows() -> None:
    """Twenty thousand observations of one task are remembered in as much memory as the first five thousand.

    And, counted in function calls, the thousand after them take no more work than the first.
    """
    detector = LoopDetector()
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    def work(observations: list[Observation]) -> int:
        nonlocal calls
        calls = 0
        sys.setprofile(count)
        try:
            for observation in observations:
                detector.observe(observation)
        finally:
            sys.setprofile(None)
        return calls

    warm_up, first = events(1_000, seed=1), events(1_000, seed=2)
    work(warm_up)
    early = work(first)
    sizes = []
    for part in range(4):
        for observation in events(5_000, seed=10 + part):
            detector.observe(observation)
        sizes.append(size_of(detector))
    assert max(sizes) < 1_000_000
    assert max(sizes) < 1.5 * sizes[0]
    assert work(events(1_000, seed=4)) < 1.3 * early
