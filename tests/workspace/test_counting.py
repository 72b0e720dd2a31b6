"""Lines added and removed per file against a checkpoint."""

from __future__ import annotations

from pathlib import Path

from tests.manual_clock import ManualClock

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


def test_nothing_is_nothing() -> None:
    """Two trees that do not differ."""
    assert parse_counts(b"") == ()
