"""Differences of any length: the head of each file is kept, and what there is more of is counted."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.manual_clock import ManualClock
from tests.workspace.conftest import Project

from unstuck.workspace.git.diff_limit import DiffHeads


def diff_of(*files: int) -> bytes:
    """A diff of files that have so many lines more."""
    parts = (
        f"diff --git a/{name} b/{name}\n" + "".join(f"+line {line} of {name}\n" for line in range(lines))
        for name, lines in enumerate(files)
    )
    return "".join(parts).encode()


def kept(diff: bytes, sizes: Any = (1_000,), **limits: int) -> DiffHeads:
    """Return the kept part of ``diff`` that comes in pieces of these sizes."""
    heads, place, turn = DiffHeads(**limits), 0, 0
    while place < len(diff):
        size = sizes[turn % len(sizes)]
        if not heads.take(diff[place : place + size]):
            break
        place, turn = place + size, turn + 1
    return heads


@given(st.lists(st.integers(0, 30), max_size=6), st.lists(st.integers(1, 70), min_size=1), st.integers(0, 300))
def test_however_it_comes_the_heads_and_the_counts_are_the_same(
    files: list[int], sizes: list[int], of_file: int
) -> None:
    """Cut anywhere between two pieces: each file has whole lines from its begin on, and the others counted."""
    text = kept(diff_of(*files), sizes, of_file=of_file).text().decode()
    assert text == kept(diff_of(*files), (10_000,), of_file=of_file).text().decode()
    shown = sum(line.startswith("+") for line in text.splitlines())
    left_out = sum(int(count) for count in re.findall(r" … (\d+) lines left out … ", text))
    headers = text.count("diff --git ")
    assert shown + left_out + headers == sum(files) + len(files)
    if of_file >= 40:
        assert headers == len(files)


def test_what_is_short_stays_as_it_is() -> None:
    """Nothing is left out of a difference that is within the limits."""
    assert kept(diff_of(3, 0, 20)).text() == diff_of(3, 0, 20)


def test_a_line_without_an_end_is_left_out_whole() -> None:
    """Half of a line could hide half a secret."""
    diff = diff_of(2) + b"+" + b"x" * 5_000 + b"\n" + diff_of(1)
    text = kept(diff, of_file=400).text()
    assert b"x" not in text
    assert b" \xe2\x80\xa6 1 lines left out" in text
    assert text.endswith(diff_of(1))


@pytest.mark.parametrize("limits", [{"most": 2_000}, {"read": 2_000}])
def test_no_more_is_looked_at_than_can_be_shown(limits: dict[str, int]) -> None:
    """After so many bytes, kept or looked at, no more are wanted."""
    heads = kept(diff_of(*[10] * 1_000), **limits)
    assert heads.is_full
    assert len(heads.text()) < 4_000
    assert heads.files < 40


async def test_of_a_long_difference_one_sees_the_head_of_each_file(project: Project, clock: ManualClock) -> None:
    """A file with a million new lines hides no other one, and how much more there is, is said."""
    store = await project.store(clock)
    first = await store.create("a", run="r")
    project.write({"big.txt": "a line of a big file\n" * 300_000, "small.py": "mine\n"})
    diff = await store.diff(first.id)
    assert "+mine" in diff
    assert re.search(r" … 29\d{4} lines left out … ", diff)
    assert len(diff) < 150_000


async def test_of_many_files_the_rest_is_counted(project: Project, clock: ManualClock) -> None:
    """More files than can be shown: git is stopped, and so many more files are said to be left out."""
    store = await project.store(clock)
    first = await store.create("a", run="r")
    project.write({f"{number:03}.txt": "a line of a long file\n" * 5_000 for number in range(20)})
    diff = await store.diff(first.id)
    shown, (more,) = diff.count("diff --git "), re.findall(r" … (\d+) files left out … \n", diff)
    assert shown + int(more) == 20


async def test_whoever_gives_up_comparing_leaves_no_git_behind(
    project: Project, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled as soon as it reads: its git has ended when that is heard of."""
    store = await project.store(clock)
    first = await store.create("a", run="r")
    project.write({"big.txt": "a line of a big file\n" * 300_000})
    taken, take = [], DiffHeads.take

    def cancels(heads: DiffHeads, piece: bytes) -> bool:
        taken.append(len(piece))
        comparing.cancel()
        return take(heads, piece)

    monkeypatch.setattr(DiffHeads, "take", cancels)
    comparing = asyncio.ensure_future(store.diff(first.id))
    with pytest.raises(asyncio.CancelledError):
        await comparing
    assert len(taken) == 1
    assert "git" not in [child.name() for child in psutil.Process().children()]
