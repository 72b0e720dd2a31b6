"""Lines added and removed per file against a checkpoint."""

from __future__ import annotations

from pathlib import Path

from tests.manual_clock import ManualClock

from unstuck.workspace.checkpoints.comparison import step_counts, step_diff
from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.diff_limit import Counted, parse_counts
from unstuck.workspace.git.repository import find_repository, project_home


async def test_lines_are_counted_file_by_file(repo: Path, clock: ManualClock) -> None:
    """Changed, new, deleted, binary, and a name with a tab and a line feed; nothing of the user's is touched."""
    repository = await find_repository(repo)
    store = CheckpointStore(repo, project_home(repo, repository), repository, clock=clock)
    (repo / "old.txt").write_text("one\ntwo\nthree\n")
    (repo / "data.bin").write_bytes(b"\0\1")
    saved = await store.create("before", run="r1")
    (repo / "README.md").write_text("# Example\nand more\nand more\n")
    (repo / "old.txt").unlink()
    (repo / "data.bin").write_bytes(b"\0\2")
    (repo / "odd\tname\n.txt").write_text("one\n")
    assert await store.counted(saved.id) == (
        Counted("README.md", 2, 0),
        Counted("data.bin", None, None),
        Counted("odd\tname\n.txt", 1, 0),
        Counted("old.txt", 0, 3),
    )
    assert await store.counted(saved.id, saved.id) == ()


async def test_steps_are_counted_together(repo: Path, clock: ManualClock) -> None:
    """Each step has its own files, one without changes none, and a name that looks like the next step stays a name."""
    repository = await find_repository(repo)
    home = project_home(repo, repository)
    store = CheckpointStore(repo, home, repository, clock=clock)
    odd = f"{'a' * 40} {'b' * 40}\n1\t1\tREADME.md"
    saved = [await store.create("first", run="r1")]
    for name in (odd, "other.txt"):
        (repo / name).write_text("one\n")
        saved.append(await store.create("next", run="r1"))
    steps = [(saved[0], saved[1]), (saved[1], saved[1]), (saved[1], saved[2])]
    assert await step_counts(home, repository, steps) == [(Counted(odd, 1, 0),), (), (Counted("other.txt", 1, 0),)]
    assert await step_counts(home, repository, []) == []
    assert "+++ b/other.txt" in await step_diff(home, repository, saved[1], saved[2])


def test_nothing_is_nothing() -> None:
    """Two trees that do not differ."""
    assert parse_counts(b"") == ()
