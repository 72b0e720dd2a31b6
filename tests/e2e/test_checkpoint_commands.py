"""``unstuck checkpoints``: what a person does with saved files at a terminal, and a program without one."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Unstuck


@pytest.fixture
def saved(unstuck: Unstuck) -> str:
    """A project with one checkpoint, and changes since; the checkpoint's id."""
    (unstuck.root / "app.py").write_text("one\n")
    (unstuck.root / ".gitignore").write_text("*.log\n")
    (unstuck.root / "noise.log").write_text("x")
    done = unstuck.inside("checkpoints", "create", "-m", "before lunch", "--json")
    (row,) = done.rows
    assert row["reason"] == "before lunch"
    assert row["files"] == 3
    assert row["ignored"] == 1
    assert row["new"] is True
    (unstuck.root / "app.py").write_text("two\n")
    (unstuck.root / "new.txt").write_text("new\n")
    return str(row["id"])


def test_list_and_show_say_what_is_covered(unstuck: Unstuck, saved: str) -> None:
    """The list has a line for each, and one of them shows what it holds, what it does not, and why it was made."""
    again = unstuck.inside("checkpoints", "create")
    assert "5 files" not in again.out
    listed = unstuck.inside("checkpoints", "list").out.splitlines()
    assert [line.split()[0] for line in listed] == ["CHECKPOINT", saved, again.out.split()[0]]
    assert listed[1].endswith("before lunch  (1 ignored)")
    shown = unstuck.inside("checkpoints", "show", again.out.split()[0]).out
    for line in (
        "covers   4 files",
        "without  noise.log (ignored)",
        "changed    app.py (4 B → 4 B)",
        "added      new.txt",
    ):
        assert line in shown
    (row,) = unstuck.inside("checkpoints", "show", saved, "--json").rows
    assert row["id"] == saved
    assert row["ignored_names"] == ["noise.log"]
    assert row["changes"] == []
    assert row["not_covered"] == []
    assert unstuck.inside("checkpoints", "create").out.endswith("nothing has changed since\n")


def test_diff_between_any_two_and_against_now(unstuck: Unstuck, saved: str) -> None:
    """As text or rows, of all files or single ones, between two checkpoints or against what is there."""
    second = unstuck.inside("checkpoints", "create", "--json").rows[0]["id"]
    (unstuck.root / "app.py").write_text("three\n")
    assert "-one\n+two\n" in unstuck.inside("checkpoints", "diff", saved, second).out
    assert "-one\n+three\n" in unstuck.inside("checkpoints", "diff", saved).out
    only = unstuck.inside("checkpoints", "diff", saved, "--file", "new.txt").out
    assert "+new" in only
    assert "app.py" not in only
    rows = unstuck.inside("checkpoints", "diff", saved, "--json").rows
    assert rows == [
        {"path": "app.py", "status": "changed", "before": 4, "after": 6},
        {"path": "new.txt", "status": "added", "before": None, "after": 4},
    ]


def test_without_a_terminal_a_restore_wants_a_yes(unstuck: Unstuck, saved: str) -> None:
    """The plan is printed, nothing happens without --yes, and with it exactly the plan does; undo brings it back."""
    for command in (("restore", saved), ("restore", saved, "--json")):
        done = unstuck.inside("checkpoints", *command)
        assert done.code == 2
        assert "--yes" in done.errors
        assert (unstuck.root / "app.py").read_text() == "two\n"
    done = unstuck.inside("checkpoints", "restore", saved, "--yes")
    assert done.code == 0
    assert "1 file changes, 1 file disappears" in done.out
    assert "  changes    app.py (4 B → 4 B)\n  disappears new.txt (4 B)\n" in done.out
    assert (unstuck.root / "app.py").read_text() == "one\n"
    assert not (unstuck.root / "new.txt").exists()
    assert unstuck.inside("checkpoints", "undo").code == 2
    rows = unstuck.inside("checkpoints", "undo", "--yes", "--json").rows
    assert [row["status"] for row in rows[:-1]] == ["changes", "returns"]
    assert rows[-1]["changed"] == 2
    assert (unstuck.root / "new.txt").read_text() == "new\n"


def test_one_file_of_it(unstuck: Unstuck, saved: str) -> None:
    """A single file comes back and the rest stays."""
    assert unstuck.inside("checkpoints", "restore", saved, "--file", "app.py", "--yes").code == 0
    assert (unstuck.root / "app.py").read_text() == "one\n"
    assert (unstuck.root / "new.txt").exists()


@pytest.mark.parametrize(
    ("many", "typed", "happens"), [(1, "y", True), (1, "n", False), (30, "y", False), (30, "yes", True)]
)
def test_at_a_terminal_it_asks(unstuck: Unstuck, saved: str, many: int, typed: str, happens: bool) -> None:
    """A y is enough for a little; to overwrite much of the tree the whole word has to be typed."""
    for number in range(many):
        (unstuck.root / f"extra{number}").write_text("x")
    keyboard, terminal = pty.openpty()
    os.write(keyboard, f"{typed}\n".encode())
    process = unstuck.start("checkpoints", "restore", saved, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    said = b""
    try:
        while chunk := os.read(keyboard, 4096):
            said += chunk
    except OSError:
        pass  # the terminal's other end is closed
    os.close(keyboard)
    process.wait()
    assert (unstuck.root / "extra0").exists() is not happens
    assert (b"Type yes" in said) is (many == 30)


@pytest.mark.parametrize("arguments", [("show", "chk-1"), ("diff", "chk-1"), ("restore", "chk-1", "--yes"), ("undo",)])
def test_what_is_not_there_is_said(unstuck: Unstuck, arguments: tuple[str, ...]) -> None:
    """An unknown id, or nothing to undo, is one clear line and code 2; nothing changes."""
    done = unstuck.inside("checkpoints", *arguments)
    assert done.code == 2
    assert done.errors.splitlines()[-1].startswith(("unstuck: no checkpoint chk-1: ", "unstuck: there is no restore"))
    assert unstuck.inside("checkpoints", "list").out == "no checkpoints here yet\n"


@pytest.mark.parametrize(
    ("setting", "value", "left"), [("KEEP_CHECKPOINTS", 2, 2), ("KEEP_CHECKPOINT_BYTES", 2**20, 1)]
)
def test_old_ones_go_as_the_settings_say(
    unstuck: Unstuck, monkeypatch: pytest.MonkeyPatch, setting: str, value: Any, left: int
) -> None:
    """By number and by room; the newest stays, what is too large is never in, and the repository does not grow."""
    monkeypatch.setenv(f"UNSTUCK_{setting}", str(value))
    monkeypatch.setenv("UNSTUCK_CHECKPOINT_FILE_LIMIT", "900000")
    (unstuck.root / "huge").write_bytes(bytes(900_001))
    counted = subprocess.run(["git", "count-objects"], cwd=unstuck.root, check=True, capture_output=True).stdout
    for _ in range(4):
        (unstuck.root / "noise").write_bytes(os.urandom(600_000))
        made = unstuck.inside("checkpoints", "create")
        assert "not covered: huge (over the size limit)" in made.out
    ids = [row["id"] for row in unstuck.inside("checkpoints", "list", "--json").rows]
    assert len(ids) == left
    assert ids[-1] == made.out.split()[0]
    after = subprocess.run(["git", "count-objects"], cwd=unstuck.root, check=True, capture_output=True).stdout
    assert after == counted


def test_it_works_without_a_repository(unstuck: Unstuck) -> None:
    """A plain directory has its own store; a home directory is refused until a yes."""
    shutil.rmtree(unstuck.root / ".git")
    (unstuck.root / "notes").write_text("one")
    id = unstuck.inside("checkpoints", "create").out.split()[0]
    (unstuck.root / "notes").write_text("two")
    assert unstuck.inside("checkpoints", "restore", id, "--yes").code == 0
    assert (unstuck.root / "notes").read_text() == "one"
    home = os.environ["HOME"]
    refused = unstuck.inside("checkpoints", "create", "-C", home)
    assert refused.code == 2
    assert "say yes: unstuck checkpoints create --yes" in refused.errors
    assert unstuck.inside("checkpoints", "create", "-C", home, "--yes").code == 0


def test_beside_a_live_run_the_agents_tree_is_left_alone(unstuck: Unstuck, saved: str, tmp_path: Path) -> None:
    """While an agent works in the tree a restore is refused with the task's name; once it has ended it goes."""
    (tmp_path / "go").parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "go")
    os.mkfifo(tmp_path / "there")
    agent = unstuck.script("agent.sh", f"echo > {tmp_path}/there; read word < {tmp_path}/go; exit 0")
    process = unstuck.start("run", "--headless", "--verify", "true", "--", "sh", agent)
    (tmp_path / "there").read_text()
    refused = unstuck.inside("checkpoints", "restore", saved, "--yes")
    assert refused.code == 2
    assert "works in" in refused.errors
    assert "task of run" in refused.errors
    assert (unstuck.root / "app.py").read_text() == "two\n"
    (tmp_path / "go").write_text("on\n")
    process.communicate(timeout=60)
    assert unstuck.inside("checkpoints", "restore", saved, "--yes").code == 0
    assert (unstuck.root / "app.py").read_text() == "one\n"


def test_a_cut_off_restore_is_said_in_the_list(unstuck: Unstuck, saved: str) -> None:
    """The list of checkpoints after a kill says how to finish the restore, or how to undo it."""
    assert unstuck.inside("checkpoints", "restore", saved, "--yes").code == 0
    (place,) = Path(unstuck.root, ".git/unstuck/checkpoints/store.git/worktrees").iterdir()
    last = place / "restore.json"
    last.write_text(last.read_text().replace("true", "false"))
    assert f"a restore to {saved} was interrupted" in unstuck.inside("checkpoints", "list").out
    assert unstuck.inside("checkpoints", "restore", saved, "--yes").code == 0
    assert "cut off" not in unstuck.inside("checkpoints", "list").out


def test_names_with_escapes_reach_no_terminal(unstuck: Unstuck, saved: str) -> None:
    """A file name that tries to move the cursor is shown as text."""
    (unstuck.root / "\x1b]0;title\x07\nname").write_text("x")
    for command in (("diff", saved), ("restore", saved), ("create",)):
        assert b"\x1b" not in unstuck.inside("checkpoints", *command).raw
    assert subprocess.run(["git", "status", "--porcelain"], cwd=unstuck.root, check=True).returncode == 0
