"""Cost and accuracy of the diagnosis, beside keyword lists and a log parser (drain3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import naive_diagnosis as naive
from bench_kit import Bench, processor_seconds

from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose

FAILURE = """\
Traceback (most recent call last):
  File "shop/webhook.py", line 31, in verify
    raise ValueError(f"signature mismatch: {given!r}")
ValueError: signature mismatch: 'v1=9f2c'
FAILED tests/test_webhook.py::test_signature - ValueError: signature mismatch
"""
PASSED = "tests/test_cart.py::test_total[{}] PASSED                                        [ {}%]\n"
LOGGED = "2026-01-02 03:04:05,678 INFO worker-{} answered request {} in 12 ms with status 200\n"
Case = dict[str, Any]


def output(size: int, line: str = PASSED) -> str:
    """Output of about ``size`` characters that ends in one failure."""
    count = size // len(line)
    return "".join(line.format(number, number * 100 // max(count, 1)) for number in range(count)) + FAILURE


def per_kilobyte(text: str) -> float:
    """Microseconds a kilobyte, over at least 64 KB: what is short is over before the clock is sure of it."""
    times = max(1, 65_536 // len(text))
    return (
        processor_seconds(lambda: [diagnose(text, exit_code=1) for _ in range(times)])
        * 1e6
        / (times * len(text) / 1024)
    )


def milliseconds(text: str) -> float:
    """Milliseconds of one diagnosis."""
    return processor_seconds(lambda: diagnose(text, exit_code=1)) * 1e3


@cache
def corpus() -> dict[str, Case]:
    """The labelled outputs by id."""
    data = Path(__file__).parent.parent / "data" / "failures.jsonl"
    return {case["id"]: case for case in map(json.loads, data.read_text(encoding="utf-8").splitlines())}


@cache
def diagnosed() -> dict[str, Diagnosis]:
    """Return the diagnosis of each."""
    found = {key: diagnose(case["output"], exit_code=case["exit_code"]) for key, case in corpus().items()}
    return {key: one for key, one in found.items() if one is not None}


def share(verdict: Callable[[Case], bool], cases: Iterable[Case] | None = None) -> float:
    """Percent of the cases for which ``verdict`` is true."""
    known = list(corpus().values() if cases is None else cases)
    return 100 * sum(map(verdict, known)) / max(len(known), 1)


def is_there(case: Case, location: str | None) -> bool:
    """Return whether the place is the labelled one."""
    truth = case["truth"]
    if truth["file"] is None or truth["line"] is None:
        return location is None
    return f"/{location}".endswith(f"/{truth['file']}:{truth['line']}")


def pairs(kind: str, identity: Callable[[str], object]) -> float:
    """Percent of the pairs that are told to be one (``pair_of``) or kept apart (``not_same_as``)."""
    wanted = kind == "pair_of"
    return share(
        lambda case: (identity(case["id"]) == identity(case[kind])) is wanted,
        [case for case in corpus().values() if case[kind]],
    )


def accuracy() -> Iterable[Bench]:
    """Measure the share of right values per field, in percent, beside that of the keyword lists."""

    def bench(name: str, ours: Callable[[], float], theirs: Callable[[], float] | None, goal: str) -> Bench:
        return Bench(name=name, unit="%", measure=ours, against=theirs, budget=goal, rounds=1)

    def text(key: str) -> str:
        return str(corpus()[key]["output"])

    yield bench(
        "error type right",
        lambda: share(lambda case: diagnosed()[case["id"]].error_type.name.startswith(case["truth"]["error_type"])),
        lambda: share(lambda case: naive.error_type(case["output"]) == case["truth"]["error_type"]),
        "92",
    )
    yield bench(
        "failure type right",
        lambda: share(lambda case: diagnosed()[case["id"]].failure_type.value == case["truth"]["failure_type"]),
        lambda: share(lambda case: naive.failure_type(case["output"]) == case["truth"]["failure_type"]),
        "95",
    )
    yield bench(
        "place right",
        lambda: share(lambda case: is_there(case, diagnosed()[case["id"]].location)),
        lambda: share(lambda case: is_there(case, naive.location(case["output"]))),
        "95",
    )
    yield bench(
        "category right",
        lambda: share(lambda case: diagnosed()[case["id"]].category.value == case["truth"]["category"]),
        None,
        "92",
    )
    for name, kind, goal in (("same failure seen", "pair_of", "96"), ("another kept apart", "not_same_as", "92")):
        yield bench(
            name,
            lambda kind=kind: pairs(kind, lambda key: diagnosed()[key].identity),
            lambda kind=kind: pairs(kind, lambda key: naive.identity(text(key))),
            goal,
        )
        yield bench(f"{name}, drain3", lambda kind=kind: pairs(kind, lambda key: clusters()[key]), None, "")


@cache
def clusters() -> dict[str, int]:
    """drain3's cluster of each output."""
    miner = _miner()
    return {key: int(miner.add_log_message(_one_line(case))["cluster_id"]) for key, case in corpus().items()}


def _miner() -> Any:
    """drain3 as it comes."""
    from drain3 import TemplateMiner

    return TemplateMiner()


def _one_line(case: Case) -> str:
    return " ".join(case["output"].split())


def whole_corpus(read: Callable[[str], object]) -> float:
    """Microseconds a kilobyte over all labelled outputs, which are half a kilobyte long."""
    texts = [case["output"] for case in corpus().values()]
    return processor_seconds(lambda: [read(text) for text in texts]) * 1e6 / (sum(map(len, texts)) / 1024)


def costs() -> Iterable[Bench]:
    """Sizes that real checks print, then some that nobody wants to read."""
    for kilobytes in (1, 16, 128):
        for name, line in (("tests", PASSED), ("log", LOGGED)):
            text = output(kilobytes * 1024, line)
            yield Bench(
                name=f"diagnose {kilobytes} KB, {name}",
                unit="µs/KB",
                measure=lambda text=text: per_kilobyte(text),
                budget="60",
                rounds=15,
            )
    yield Bench(
        name="diagnose the corpus; against the keyword lists",
        unit="µs/KB",
        measure=lambda: whole_corpus(lambda text: diagnose(text, exit_code=1)),
        against=lambda: whole_corpus(
            lambda text: (naive.error_type(text), naive.failure_type(text), naive.location(text), naive.identity(text))
        ),
    )
    yield Bench(
        name="the corpus, drain3",
        unit="µs/KB",
        measure=lambda: whole_corpus(_miner().add_log_message),
    )
    for name, text in (("10 MB", output(10 * 2**20)), ("one line of 10 MB", "x" * (10 * 2**20))):
        yield Bench(
            name=f"diagnose {name}",
            unit="ms",
            measure=lambda text=text: milliseconds(text),
            budget="30",
        )
    bare = output(10 * 2**20, "all is well\n")
    for name, prefix in (
        ("a task", "web:build: "),
        ("a service", "web-1  | "),
        ("a time", "2026-05-01T12:00:30.123Z "),
    ):
        text = "".join(f"{prefix}{line}\n" for line in bare.splitlines())
        yield Bench(
            name=f"diagnose 10 MB behind {name}, more than without",
            unit="ms",
            measure=lambda text=text: milliseconds(text) - milliseconds(bare),
            budget="3",
            rounds=15,
        )


def benches() -> Iterable[Bench]:
    """First how good it is, then what it costs."""
    yield from accuracy()
    yield from costs()
