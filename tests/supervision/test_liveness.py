"""Verdict on a silent agent from two samples."""

from __future__ import annotations

from typing import Any

import pytest

from unstuck.processes import Vitals
from unstuck.supervision.attempt.liveness import Liveness, Look, judge
from unstuck.workspace.git.tree_fingerprint import TreePrint


def look(at: float, cpu: float = 0.0, moved: dict[int, int] | None = None, tree: int = 1, **vitals: Any) -> Look:
    family = Vitals(cpu=cpu, moved={1: 0} if moved is None else moved, alive=2, **vitals)
    return Look(at=at, vitals=family, tree=TreePrint(tree, "src/a.py"))


START = look(0.0)


@pytest.mark.parametrize(
    ("after", "sign"),
    [
        (look(150.0, cpu=1.5), "CPU 1.50 s in 150 s"),
        (look(150.0, moved={1: 65_536}), "66 kB read and written"),
        (look(150.0, moved={7: 70_000}), "70 kB read and written"),
        (look(150.0, tree=2), "files changed, the newest is src/a.py"),
        (look(150.0, tree=2, stopped=True), "files changed, the newest is src/a.py"),
    ],
)
def test_one_sign_is_enough_to_be_active(after: Look, sign: str) -> None:
    """An agent that uses the processor, moves bytes or changes files is active, and the verdict names which."""
    assert judge(START, after) == Liveness(verdict="ACTIVE", signals=(sign,))


def test_all_signs_are_named() -> None:
    """Several signs of life are all told."""
    assert len(judge(START, look(150.0, cpu=100, moved={1: 10**9}, tree=2)).signals) == 3


def test_no_sign_at_all_is_a_stall() -> None:
    """A process that only sleeps is stalled, and the verdict says what was looked at."""
    found = judge(START, look(150.0, cpu=1.49, moved={1: 65_535}))
    assert found.verdict == "STALLED"
    assert found.signals == (
        "2 processes alive",
        "CPU 1.49 s in 150 s",
        "65535 bytes read and written",
        "no file changed",
    )


def test_what_a_child_had_moved_before_it_ended_is_no_sign() -> None:
    """Bytes are only compared for those who are still there."""
    assert judge(look(0.0, moved={1: 5, 2: 10**9}), look(150.0, moved={1: 5})).verdict == "STALLED"


def test_without_counters_and_without_a_readable_tree_the_processor_decides() -> None:
    """A platform that counts no bytes, and a tree too large to read, leave the processor's time."""
    before = Look(at=0.0, vitals=Vitals(cpu=1.0, moved=None, alive=1))
    asleep = Look(at=2.5, vitals=Vitals(cpu=1.0, moved=None, alive=1))
    assert judge(before, asleep) == Liveness(verdict="STALLED", signals=("1 process alive", "CPU 0.00 s in 2.5 s"))
    assert judge(before, Look(at=2.5, vitals=Vitals(cpu=1.1, moved=None, alive=1))).verdict == "ACTIVE"


def test_a_connection_is_named_and_work_counts_more() -> None:
    """An idle agent with a connection open is WAITING for its other end; one that works beside it is ACTIVE."""
    peers = ("203.0.113.7:443", "[2001:db8::1]:443")
    waiting = judge(START, look(150.0, peers=peers))
    assert waiting.verdict == "WAITING"
    assert waiting.patient is False
    assert waiting.signals == (f"an open connection to {', '.join(peers)}", "2 processes alive", "CPU 0.00 s in 150 s")
    assert judge(START, look(150.0, cpu=5.0, peers=peers)).verdict == "ACTIVE"


def test_stopped_by_somebody_is_waiting() -> None:
    """An agent that I have stopped with SIGSTOP to look at it is not called stalled."""
    found = judge(START, look(150.0, stopped=True))
    assert found == Liveness(verdict="WAITING", signals=("2 processes alive, all stopped by another process",))


@pytest.mark.parametrize(("tree", "verdict"), [(1, "UNKNOWN"), (2, "ACTIVE")])
def test_without_a_process_nobody_is_called_stalled(tree: int, verdict: str) -> None:
    """A coroutine has no process to look at: a changed file shows life, silence shows nothing."""
    before, after = Look(at=0.0, tree=TreePrint(1)), Look(at=150.0, tree=TreePrint(tree, "b"))
    assert judge(before, after).verdict == verdict
