"""Symbolic links in the place of the folders and files that Unstuck writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck

RUN = ("run", "--headless", "--task", "x", "--verify", "test -e made", "--", "touch", "made")


def contents(place: Path) -> dict[str, bytes]:
    files = (place, *place.rglob("*"))
    return {str(path.relative_to(place)): path.read_bytes() for path in files if path.is_file()}


@pytest.mark.parametrize("name", [".", "runs", "checkpoints", "checkpoints/store.git", "memory.jsonl", "lock"])
def test_a_link_is_refused_in_one_line(unstuck: Unstuck, tmp_path: Path, name: str) -> None:
    """Nothing is written to where the link leads, and the line names it; without it work goes on."""
    assert unstuck(*RUN).code == 0
    ours, elsewhere = unstuck.root / ".git" / "unstuck" / name, tmp_path / "elsewhere"
    ours.touch() if name == "memory.jsonl" else None
    ours.rename(elsewhere)
    ours.symlink_to(elsewhere)
    (unstuck.root / "made").unlink()
    before = contents(elsewhere)
    for command in (RUN, ("checkpoints", "create")):
        done = unstuck(*command)
        assert done.code != 0, done
        assert done.errors == f"unstuck: {ours} is a symbolic link, and nothing is written through one: remove it\n"
    assert contents(elsewhere) == before
    assert not (unstuck.root / "made").exists()
    ours.unlink()
    elsewhere.rename(ours)
    assert unstuck(*RUN).code == 0


def test_a_question_behind_a_link_is_not_answered(unstuck: Unstuck, failing: str, tmp_path: Path) -> None:
    """An answer is not written into a run that lies elsewhere by now."""
    (unstuck.root / "unstuck.yaml").write_text("failure_handler: {skip_to_ask: [AssertionError]}\n")
    assert unstuck("run", "--headless", "--verify", failing, "--", "true").code == 3
    gate = unstuck.only_gate()["gate"]
    (run,) = unstuck.runs
    run.rename(tmp_path / "run")
    run.symlink_to(tmp_path / "run")
    before = contents(tmp_path / "run")
    done = unstuck("answer", gate, "skip")
    assert done.code != 0
    assert len(done.errors.splitlines()) == 1
    assert f"{run} is a symbolic link" in done.errors
    assert contents(tmp_path / "run") == before
