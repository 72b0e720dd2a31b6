"""Odd input for the published functions: an exception as its own text, nothing at all, too much, several at once."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import pytest

import unstuck
from unstuck import (
    ErrorType,
    Execution,
    Failure,
    FailureHandler,
    FailureSignature,
    FailureType,
    GateManager,
    LoopDetector,
    extract_failure_signature,
)


class Broken(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


ODD: list[Any] = [
    None, 5, 10**12, True, b"\xff\xfe", bytearray(b"boom"), "", " ", "\x00", "\ud800", "\x1b]0;evil\x07", ["a"],
    {"a": 1}, object(), Broken(), "x" * 3_000_000, "\n" * 3_000_000, b"e" * 3_000_000,
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=[f"{number}-{type(odd).__name__}" for number, odd in enumerate(ODD)])
def test_nothing_raises(odd: Any) -> None:
    """Whatever comes out of an agent, each function answers: unknown where nothing is known, and short."""
    for signature in (
        extract_failure_signature(odd, "a", "t"),
        FailureSignature.from_error(odd, "a", "t"),
        FailureSignature.from_error("boom", "a", "t", stack_trace=odd),
        FailureSignature.from_error(odd, "a", "t", stack_trace=odd),
    ):
        assert signature.error_type is ErrorType.UNKNOWN
        assert len(signature.exact_message) <= 320
        assert len(signature.context_hash) == 16
    assert unstuck.classify_failure(odd) is FailureType.UNKNOWN
    assert unstuck.analyze_error(odd).type == "unknown"
    assert unstuck.classify_cause(Failure(odd)) == "simple_logic"
    unstuck.diagnose(odd)
    assert FailureHandler().handle(Failure(odd), Execution()).action == "RETRY"


def test_an_exception_is_what_it_says() -> None:
    """The exception itself in place of ``str(e)`` gives the same signature, and the same answer."""
    error = TypeError("'NoneType' object is not subscriptable")
    assert extract_failure_signature(error).is_identical_to(extract_failure_signature(str(error)))  # type: ignore[arg-type]
    asked = FailureHandler(skip_to_ask=["NoneType"]).handle(Failure(error), Execution())  # type: ignore[arg-type]
    assert asked.action == "ASK"
    assert "is not subscriptable" in asked.question


def test_one_pattern_alone() -> None:
    """A single pattern in place of the list is that pattern, not its letters."""
    handler = FailureHandler(skip_to_ask="EACCES")
    assert handler.handle(Failure("boom, and all else"), Execution()).action == "RETRY"
    assert handler.handle(Failure("EACCES: permission denied"), Execution()).action == "ASK"


def test_the_exact_message_is_the_message() -> None:
    """With a stack trace beside it, the message is still the error's own words; the trace gives the place."""
    try:
        raise ValueError("port 80 is taken")
    except ValueError as error:
        trace = "".join(traceback.format_tb(error.__traceback__))
        signature = FailureSignature.from_error(str(error), "a", "t", stack_trace=trace)
    assert signature.exact_message == "port 80 is taken"
    assert signature.location is not None
    assert signature.location.rpartition(":")[0].endswith("test_odd_input.py")


@pytest.mark.parametrize("size", [1, 0, -3, 2.5, float("nan"), "3", None])
def test_a_window_is_a_whole_number(size: Any) -> None:
    """Two at least; anything else is refused before the first failure."""
    with pytest.raises(ValueError, match=r"window_size must be a whole number( of at least 2)?, not"):
        LoopDetector(window_size=size)


async def test_failures_at_once_open_one_gate() -> None:
    """Agents of one task that fail at the same moment get one question, also where the first of them is cancelled."""

    class Slow(GateManager):
        async def create_gate(self, *arguments: Any, **more: Any) -> str:
            await asyncio.sleep(0)
            return await super().create_gate(*arguments, **more)

    gates = Slow()
    detector = LoopDetector(gate_manager=gates)
    calls = [asyncio.ensure_future(detector.check_and_trigger_gate("t", f"a{n}", "p", "boom")) for n in range(20)]
    await asyncio.sleep(0)
    calls[2].cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    gate = await detector.check_and_trigger_gate("t", "a", "p", "boom")
    assert [one.id for one in gates.open_gates()] == [gate]
    assert detector.get_loop_stats()["detected_loops"] == 1


async def test_one_of_several_who_wait_gives_up() -> None:
    """A caller that stops waiting for an answer takes it from nobody else."""
    gates = GateManager()
    gate = await gates.create_gate("stuck", task_id="t", agent_id="a", context={})
    waiting = [asyncio.ensure_future(gates.wait(gate)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    await gates.answer(gate, unstuck.Answer(choice="skip"))
    assert [answer.choice for answer in await asyncio.gather(*waiting[1:])] == ["skip", "skip"]
