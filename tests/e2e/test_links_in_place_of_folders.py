"""Symbolic links in the place of the folders and files that Unstuck writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck

RUN = ("run", "--headless", "--task", "x", "--verify", "test -e made", "--", "touch", "made")


LINK = "is a symbolic link, and nothing is read or written through one: remove it"
READING = (
    ("runs",),
    ("show",),
    ("events",),
    ("fsck",),
    ("recap",),
    ("truth",),
    ("signatures",),
    ("checkpoints", "list"),
    ("memory", "list"),
)


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
        assert done.errors == f"unstuck: {ours} {LINK}\n"
    for command in READING:
        done = unstuck.inside(*command)
        assert done.code != 0, done
        assert done.errors.splitlines() == [f"unstuck: {ours} {LINK}"]
        assert not done.out
    found = unstuck.inside("doctor", "--json").rows
    assert [row["value"] for row in found if row["what"] == "record"] == [f"{ours} {LINK}"]
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


def test_a_run_behind_a_link_is_not_shown(unstuck: Unstuck, tmp_path: Path) -> None:
    """The content of another folder is never shown as a run here."""
    assert unstuck.inside(*RUN).code == 0
    (ours,) = unstuck.runs
    ours.rename(tmp_path / "elsewhere")
    ours.symlink_to(tmp_path / "elsewhere")
    for command in (("show",), ("events",), ("fsck",), ("recap",), ("run", "--resume", "last", "--headless")):
        done = unstuck.inside(*command)
        assert (done.code, done.out) == (6, ""), command
        assert f"{ours} {LINK}" in done.errors
    assert f"{ours} {LINK}" in unstuck.inside("runs").out


@pytest.mark.parametrize("name", ["output", "prompts", "reports"])
def test_nothing_of_a_run_is_written_behind_a_link(unstuck: Unstuck, failing: str, tmp_path: Path, name: str) -> None:
    """An agent cannot have the supervisor write outputs, prompts or reports to another place."""
    unstuck.environment["UNSTUCK_FAILURE_HANDLER__SKIP_TO_ASK"] = '["AssertionError"]'
    assert unstuck.inside("run", "--headless", "--verify", failing, "--", "true").code == 3
    (run,) = unstuck.runs
    (run / name).rename(tmp_path / "elsewhere")
    (run / name).symlink_to(tmp_path / "elsewhere")
    before = contents(tmp_path / "elsewhere")
    done = unstuck.inside("run", "--resume", "last", "--headless")
    assert done.code == 6
    assert f"{run / name} {LINK}" in done.errors
    assert contents(tmp_path / "elsewhere") == before
