"""A memory that does not grow without end: written anew in one step, whoever else is at work on it, and never lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unstuck.clock import iso
from unstuck.eventlog.memory.entry import AGE_LIMIT_DAYS, RULES_LIMIT, Remembered, learnt, line_of, worth_keeping
from unstuck.eventlog.memory.store import SPARE_LINES, Memory

NOW = 1_800_000_000.0
DAY = 86_400.0


def reloaded(path: Path) -> Memory:
    memory = Memory(path)
    memory.load()
    return memory


def written(path: Path, entries: list[Remembered]) -> Memory:
    path.write_bytes(b"".join(map(line_of, entries)))
    return reloaded(path)


def failed(number: int, **more: str) -> Remembered:
    return learnt("approach", signature="s", approach=f"a{number}", outcome="failed", **more)


RULE = learnt("rule", signature="s", note="use UTC", when=iso(NOW - 900 * DAY))


def test_a_file_that_has_grown_is_written_anew(tmp_path: Path) -> None:
    """A fact that was learnt repeatedly stands once, and a rule of mine is kept however old it is."""
    again = [failed(number % 10) for number in range(SPARE_LINES + 10)]
    memory = written(tmp_path / "memory.jsonl", [RULE, *again])
    memory.compact(NOW)
    assert len((tmp_path / "memory.jsonl").read_bytes().splitlines()) == len(memory) == 11
    assert memory.rule("s") == RULE
    assert memory.failed("s") == {f"a{number}" for number in range(10)}
    assert (tmp_path / "memory.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_file_that_has_not_is_left_alone(tmp_path: Path) -> None:
    """Without enough to gain nothing is written: not for a few lines, and not where there is no file."""
    memory = written(tmp_path / "memory.jsonl", [failed(1)] * (SPARE_LINES - 1))
    before = (tmp_path / "memory.jsonl").stat()
    memory.compact(NOW)
    assert os.path.samestat((tmp_path / "memory.jsonl").stat(), before)
    Memory(tmp_path / "none.jsonl").compact(NOW)
    assert not (tmp_path / "none.jsonl").exists()


def test_what_nobody_met_for_a_year_is_forgotten() -> None:
    """An old approach goes, a younger one and one without a date stay."""
    old = failed(1, when=iso(NOW - (AGE_LIMIT_DAYS + 1) * DAY))
    young = failed(2, when=iso(NOW - (AGE_LIMIT_DAYS - 1) * DAY))
    odd = [failed(3), failed(4, when="yesterday"), failed(5, when="2026-11-01")]
    assert worth_keeping([old, RULE, young, *odd], NOW) == [RULE, young, *odd]


def test_rules_are_bounded_too() -> None:
    """Of rules the newest are kept; the flood of everything else never pushes one out."""
    rules = [learnt("rule", signature=f"s{number}", note="x") for number in range(RULES_LIMIT + 1)]
    flood = [failed(number) for number in range(5_001)]
    kept = worth_keeping([*rules, *flood], NOW)
    assert kept[:RULES_LIMIT] == rules[1:]
    assert kept[RULES_LIMIT:] == flood[-5_000:]


ENTRIES = st.lists(
    st.builds(
        learnt,
        st.sampled_from(["approach", "insight", "answer", "rule"]),
        signature=st.sampled_from(["s", "t"]),
        approach=st.sampled_from(["a", "b"]),
        outcome=st.sampled_from(["worked", "failed", ""]),
        note=st.sampled_from(["x", "y"]),
    ),
    max_size=30,
)


@settings(max_examples=50, deadline=None)
@given(ENTRIES)
def test_nothing_that_is_asked_of_it_changes(entries: list[Remembered]) -> None:
    """However often it is written anew, the rules that hold and the approaches that failed are the same."""
    memory, kept = Memory(Path("none")), Memory(Path("none"))
    memory._entries = entries
    kept._entries = worth_keeping(entries, NOW)
    assert worth_keeping(kept._entries, NOW) == kept._entries
    for signature in ("s", "t"):
        assert kept.failed(signature) == memory.failed(signature)
        assert kept.rule(signature) == memory.rule(signature)


KILLED = """
import os, signal, sys
from pathlib import Path
from unstuck.eventlog.memory import store as memory

def end(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

point = sys.argv[2]
if point == "half written":
    whole = memory.write_all
    memory.write_all = lambda fd, data: (whole(fd, data[: len(data) // 2]), end())
elif point == "before its name":
    Path.replace = end
else:
    memory.sync_directory = end
one = memory.Memory(Path(sys.argv[1]))
one.load()
one.compact(1_800_000_000.0)
"""


@pytest.mark.parametrize("point", ["half written", "before its name", "after it"])
def test_killed_while_it_is_written_anew(
    tmp_path: Path, start: Callable[..., subprocess.Popen[bytes]], point: str
) -> None:
    """kill -9 at each step: every line that was worth keeping is there, and the next run writes it anew."""
    path = tmp_path / "memory.jsonl"
    written(path, [RULE, *[failed(number % 10) for number in range(SPARE_LINES + 10)]])
    assert start("-c", KILLED, path, point, program=sys.executable).wait(60) == -signal.SIGKILL
    memory = reloaded(path)
    assert memory.rule("s") == RULE
    assert len(memory.failed("s")) == 10
    assert memory.skipped == 0
    memory.remember(failed(11))
    memory.compact(NOW)
    assert len(path.read_bytes().splitlines()) == 12
    assert list(tmp_path.iterdir()) == [path]


WRITER = """
import sys
from pathlib import Path
from unstuck.eventlog.memory.store import Memory
from unstuck.eventlog.memory.entry import learnt
memory = Memory(Path(sys.argv[1]))
for number in range(200):
    for _ in range(2):
        memory.remember(learnt("approach", signature="s", approach=f"{sys.argv[2]}-{number}", outcome="failed"))
"""


def test_others_write_while_it_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """Runs that learn something at that very moment write into the new file: nothing of theirs is lost."""
    path = tmp_path / "memory.jsonl"
    monkeypatch.setattr("unstuck.eventlog.memory.store.SPARE_LINES", 1)
    memory = written(path, [RULE])
    writers = [start("-c", WRITER, path, str(who), program=sys.executable) for who in range(2)]
    while any(writer.poll() is None for writer in writers):
        memory.compact(NOW)
    assert [writer.wait() for writer in writers] == [0, 0]
    memory.load()
    assert memory.skipped == 0
    assert memory.failed("s") == {f"{who}-{number}" for who in range(2) for number in range(200)}


def test_what_is_forgotten_is_gone_from_the_disk(tmp_path: Path) -> None:
    """A rule is taken back with those that it had replaced, which would hold again; the rest stays."""
    path = tmp_path / "memory.jsonl"
    newer, other = learnt("rule", signature="s", note="use local time"), learnt("rule", signature="t", note="use UTC")
    memory = written(path, [RULE, newer, other, failed(1)])
    assert memory.forget([newer.id]) == (newer,)
    assert memory.rule("s") is None
    assert memory.rule("t") == other
    assert memory.failed("s") == {"a1"}
    assert reloaded(path).entries() == memory.entries() == (failed(1), other)
    before = path.stat()
    assert memory.forget([newer.id]) == ()
    assert os.path.samestat(path.stat(), before)


async def test_what_others_change_is_taken_in(tmp_path: Path) -> None:
    """A rule that is taken back, or made, while a run is at work counts from its next decision on."""
    path = tmp_path / "memory.jsonl"
    mine, theirs = Memory(path), Memory(path)
    mine.remember(RULE)
    known = mine.entries()[0]
    await mine.refresh()
    assert mine.entries()[0] is known, "its own lines are not read again"
    theirs.load()
    theirs.forget([RULE.id])
    await mine.refresh()
    assert mine.rule("s") is None
    theirs.remember(RULE)
    mine.remember(failed(1))
    await mine.refresh()
    assert mine.rule("s") == RULE
    assert mine.failed("s") == {"a1"}


async def test_a_slow_disk_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While what was learnt is made safe everything else goes on; afterwards there is nothing left to wait for."""
    memory, entered, done = Memory(tmp_path / "memory.jsonl"), threading.Event(), threading.Event()
    synced: list[int] = []

    def slow(fd: int) -> None:
        entered.set()
        done.wait(30)
        synced.append(fd)

    memory.remember(RULE)
    monkeypatch.setattr("unstuck.eventlog.memory.store.os.fsync", slow)
    syncing = asyncio.ensure_future(memory.synced())
    await asyncio.to_thread(entered.wait, 30)
    assert not syncing.done()
    memory.remember(failed(1))
    done.set()
    await syncing
    await memory.synced()
    before = len(synced)
    await memory.synced()
    assert before == len(synced) >= 2
