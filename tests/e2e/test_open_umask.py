"""Files of a run that was started under a umask that closes nothing."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.e2e.conftest import LIMIT, Unstuck

PLAN = """
tasks:
  - id: first
    prompt: Write.
    verify: test -e made.txt
    isolation: worktree
  - id: second
    prompt: Write.
    verify: "echo 'AssertionError: 1 == 2'; false"
"""


def started(
    unstuck: Unstuck, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own that was started under umask 000."""
    program = Path(sys.executable).with_name("unstuck")
    environment = os.environ | {"SEEN": str(unstuck.seen)} | (env or {})
    return subprocess.run(
        (program, *arguments), cwd=cwd, env=environment, umask=0, capture_output=True, timeout=LIMIT, check=False
    )


def open_to_others(places: Iterable[Path]) -> Iterator[str]:
    """The files and folders below ``places``, and these, that others may read or write."""
    for place in places:
        for path in (place, *place.rglob("*")):
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode) and mode & 0o077:
                yield f"{path} {stat.filemode(mode)}"


def test_no_file_of_unstuck_is_open_to_others(unstuck: Unstuck, tmp_path: Path) -> None:
    """Every file and folder that a run makes is for its owner only, whatever the umask."""
    outside = {name: tmp_path / "new" / "deep" / name for name in ("state", "runtime", "config")}
    places = {f"UNSTUCK_{name.upper()}_DIR": str(path) for name, path in outside.items() if name != "config"}
    environment = places | {"XDG_CONFIG_HOME": str(outside["config"])}
    (unstuck.root / "unstuck.yaml").write_text("failure_handler: {skip_to_ask: [AssertionError]}\n")
    agent = unstuck.script("agent.sh", "echo written > made.txt")
    (unstuck.root / "plan.yaml").write_text(f"agents: {{a: {{command: [sh, {agent}]}}}}\n{PLAN}")
    done = started(unstuck, "run", "plan.yaml", "--headless", cwd=unstuck.root, env=environment)
    assert done.returncode == 3, done
    home = unstuck.root / ".git" / "unstuck"
    made = {path.name for path in home.rglob("*")}
    assert {"events.jsonl", "memory.jsonl", "store.git", "second.1.md"} <= made
    assert any(outside["state"].rglob("made.txt")), "the worktree lies below the state directory"
    ours = [home, *(path for path in (tmp_path / "new").rglob("*") if not inside_worktree(path))]
    assert not list(open_to_others([home]))
    assert not [found for path in ours for found in open_to_others_alone(path)]


def inside_worktree(path: Path) -> bool:
    """Return whether git made it: a worktree and its files have the modes that the user asked for."""
    return any((folder / ".git").exists() for folder in (path, *path.parents))


def open_to_others_alone(path: Path) -> Iterator[str]:
    mode = path.lstat().st_mode
    if not stat.S_ISLNK(mode) and mode & 0o077:
        yield f"{path} {stat.filemode(mode)}"


def test_a_project_without_git_keeps_its_record_to_itself(unstuck: Unstuck, tmp_path: Path) -> None:
    """The same holds for the folder ``.unstuck`` of a project without git."""
    project = tmp_path / "plain"
    project.mkdir()
    agent = unstuck.script("agent.sh", "echo written > made.txt")
    command = ("run", "--headless", "--task", "x", "--verify", "test -e made.txt", "--", "sh", agent)
    done = started(unstuck, *command, cwd=project)
    assert done.returncode == 0, done
    assert (project / ".unstuck" / ".gitignore").exists()
    assert not list(open_to_others([project / ".unstuck"]))
