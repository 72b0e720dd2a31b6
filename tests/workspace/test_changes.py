"""The print of a tree: cheap, and different whenever a file came, went or was written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from unstuck.workspace.git.tree_fingerprint import print_of


def _write(tree: Path) -> None:
    (tree / "src" / "a.py").write_text("longer than before")


def _same_size(tree: Path) -> None:
    (tree / "src" / "a.py").write_text("B")
    os.utime(tree / "src" / "a.py", (2_000_000_000, 2_000_000_000))


@pytest.mark.parametrize(
    "change",
    [
        _write,
        _same_size,
        lambda tree: (tree / "src" / "new").touch(),
        lambda tree: (tree / "src" / "a.py").unlink(),
        lambda tree: (tree / "src" / "a.py").rename(tree / "b.py"),
        lambda tree: (tree / "empty").mkdir(),
        lambda tree: (tree / "link").symlink_to("nowhere"),
    ],
)
def test_every_change_of_the_files_shows(tmp_path: Path, change: Callable[[Path], object]) -> None:
    """Whatever an agent does to its files makes another print, and doing nothing does not."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("A")
    before = print_of(tmp_path)
    assert before is not None
    assert before == print_of(tmp_path)
    change(tmp_path)
    after = print_of(tmp_path)
    assert after is not None
    assert after.value != before.value


def test_the_newest_file_is_named(tmp_path: Path) -> None:
    """A change is reported with the file that was written last."""
    for number, name in enumerate(("old", "new", "older")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1_000 + number % 2, 1_000 + number % 2))
    found = print_of(tmp_path)
    assert found is not None
    assert found.newest == "new"


def test_git_and_our_own_record_do_not_count(tmp_path: Path) -> None:
    """A record that is written while an agent is silent is no sign of the agent."""
    for name in (".git", ".unstuck"):
        (tmp_path / name).mkdir()
    before = print_of(tmp_path)
    for name in (".git", ".unstuck"):
        (tmp_path / name / "events.jsonl").write_text("x")
    assert print_of(tmp_path) == before


def test_a_tree_too_large_or_gone_says_nothing(tmp_path: Path) -> None:
    """Looking is bounded: past the limit there is no print, and none where there is no such folder to be read."""
    for number in range(5):
        (tmp_path / str(number)).touch()
    assert print_of(tmp_path, most=4) is None
    assert print_of(tmp_path, most=5) is not None
    (tmp_path / "file").touch()
    assert print_of(tmp_path / "file") is None
