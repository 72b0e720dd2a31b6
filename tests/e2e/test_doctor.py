"""The doctor: versions, agents, hooks, places and sizes, what somebody has left, and what helps."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.e2e.conftest import Unstuck

from unstuck.channel import socket_path
from unstuck.processes.orphans import is_shim
from unstuck.settings.paths import runtime_dir


def rows(unstuck: Any, code: int = 0) -> dict[str, dict[str, Any]]:
    """Return the doctor's findings by subject; the last one if there are several."""
    done = unstuck.inside("doctor", "--json")
    assert done.code == code
    assert done.errors == ""
    return {row["what"]: row for row in done.rows}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """``program(name, text)`` puts a shell script first on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))

    def put(name: str, text: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)

    return put


def test_agents_are_told_with_their_versions_however_they_behave(
    unstuck: Unstuck, program: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One says its version, one never ends, one fails: each is told, and none is left running."""
    monkeypatch.setattr("unstuck.runs.doctor.programs._TIMEOUT_S", 1.0)
    program("claude", "echo '2.1.3 (Claude Code)'; echo more")
    program("codex", f"echo $$ > {unstuck.seen}/pid; sleep 600")
    program("qwen", r"printf '\033]0;title\007bad'; exit 3")
    said = rows(unstuck)["agents"]["value"]
    assert said == "claude (2.1.3 (Claude Code)), codex (does not say its version), qwen (bad)"
    assert not psutil.pid_exists(int((unstuck.seen / "pid").read_text(encoding="utf-8")))


def test_what_a_git_too_old_or_missing_keeps_from_working(
    unstuck: Unstuck, program: Callable[[str, str], None]
) -> None:
    """The doctor says which git is needed, and is not brought down by having none."""
    real = shutil.which("git")
    program("git", f'for word; do [ "$word" = --version ] && echo "git version 2.20.1" && exit; done; exec {real} "$@"')
    found = rows(unstuck, 1)["git"]
    assert found["ok"] is False
    assert found["mend"] == "install git 2.36 or newer"


def test_hooks_are_told_with_what_is_wrong_about_them(unstuck: Unstuck) -> None:
    """Installed ones are named; one that calls a program which is gone is in the way, and what mends it is said."""
    assert "hooks" not in rows(unstuck)
    installed = unstuck.inside("hooks", "install", "claude", "--here", "--yes")
    assert installed.code == 0
    assert "Run `unstuck watch` in your project, and start Claude Code there" in installed.out
    assert rows(unstuck)["hooks"]["value"].startswith("claude: ")
    assert unstuck.inside("hooks", "install", "codex", "--here", "--yes").code == 0
    assert "trust" in rows(unstuck)["hooks"]["value"]
    file = unstuck.root / ".codex" / "hooks.json"
    file.write_text(file.read_text(encoding="utf-8").replace("bin/unstuck-hook", "gone/unstuck-hook"), encoding="utf-8")
    found = rows(unstuck, 1)["hooks"]
    assert "does not exist" in found["value"]
    assert found["ok"] is False
    assert "continues unsupervised" in found["value"]
    assert found["mend"] == "unstuck hooks install codex --here"
    status = unstuck.inside("hooks", "status", "codex")
    assert status.code == 1
    assert "does not exist: the agent continues unsupervised" in status.out


def test_calls_that_went_on_unwatched_are_told(unstuck: Unstuck) -> None:
    """The number of hooks that gave up on a hanging watch is shown, with the last one's words."""
    kept = Path(f"{socket_path(runtime_dir(os.environ), unstuck.root / '.git' / 'unstuck')}.log")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("2026-11-22T10:00:00Z unstuck-hook: one\n2026-11-22T10:05:00Z unstuck-hook: \x1b[2Jtwo\n")
    found = rows(unstuck)["hooks"]
    assert found["ok"]
    assert found["value"].startswith("2 calls went on unwatched, the last: 2026-11-22T10:05:00Z unstuck-hook: two (")


def test_places_are_told_with_their_sizes(unstuck: Unstuck) -> None:
    """The number of runs is shown, and the room that they, the checkpoints and the memory take."""
    assert unstuck.inside("run", "--headless", "--verify", "true", "--", "true").code == 0
    found = rows(unstuck)
    assert found["takes"]["value"].startswith("1 run (")
    assert "checkpoints (" in found["takes"]["value"]
    assert "unfinished" not in found


def test_what_is_unfinished_or_damaged_is_told(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """A parked run can be gone on with; a damaged one is in the way, and where to look is said."""
    assert unstuck("run", "--headless", "--verify", failing, "--", "true", env=no_climb).code == 3
    run = unstuck.runs[0].name
    assert rows(unstuck)["unfinished"]["value"].endswith(f"unstuck run --resume {run}")
    log = unstuck.runs[0] / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b"run_started", b"run_startet", 1))
    found = rows(unstuck, 1)["run"]
    assert found["ok"] is False
    assert found["mend"] == f"unstuck fsck {run}"
    assert f"→ unstuck fsck {run}" in unstuck.inside("doctor").out


def test_orphans_are_told(unstuck: Unstuck) -> None:
    """An agent without a supervisor is in the way; a branch without a record is told with what takes it away."""
    os.mkfifo(unstuck.seen / "pid")
    script = f"setsid sh -c 'echo $$ > {unstuck.seen}/pid; exec sleep 600' & wait"
    process = unstuck.start("run", "--json", "--verify", "true", "--", "sh", "-c", script)
    pid = int((unstuck.seen / "pid").read_text(encoding="utf-8"))
    assert "orphan" not in rows(unstuck)
    process.send_signal(signal.SIGSTOP)  # or it would hear of its helper's end, and see to it
    for helper in filter(is_shim, psutil.Process(process.pid).children(recursive=True)):
        helper.kill()
    process.kill()
    process.wait()
    run = unstuck.runs[0].name
    found = rows(unstuck, 1)["orphan"]
    assert f"process {pid} sleep works for run {run}" in found["value"]
    assert found["ok"] is False
    assert found["mend"] == f"unstuck run --resume {run}"
    psutil.Process(pid).kill()
    git = ["git", "branch", "unstuck/20200101-000000/web"]
    subprocess.run(git, cwd=unstuck.root, check=True, capture_output=True)
    assert "unstuck delete 20200101-000000" in rows(unstuck)["left"]["value"]
    assert unstuck.inside("delete", "20200101-000000", "--yes", "20200101-000000").code == 0
    assert "left" not in rows(unstuck)


@pytest.mark.parametrize(
    ("environment", "size", "ok", "said"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, (120, 40), True, "120 by 40 cells, 16 million colours"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, (80, 24), True, "no colours (NO_COLOR)"),
        ({"TERM": "dumb"}, (80, 24), False, "export TERM=xterm-256color"),
        ({"TERM": "xterm"}, (40, 10), False, "make it 60 by 16 cells or larger"),
        ({"TERM": "xterm", "PYTHONIOENCODING": "ascii"}, (80, 24), False, "export LC_ALL=C.UTF-8"),
    ],
)
def test_the_terminal_is_looked_at(
    unstuck: Unstuck, environment: dict[str, str], size: tuple[int, int], ok: bool, said: str
) -> None:
    """At a real terminal its size, colours and letters are told, and what would keep the screen from showing."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", size[1], size[0], 0, 0))
    clean = {"COLORTERM": "", "NO_COLOR": "", "COLUMNS": "", "LINES": ""} | environment
    process = unstuck.start("doctor", stdin=theirs, stdout=theirs, stderr=theirs, env=clean)
    os.close(theirs)
    heard = b""
    try:
        while chunk := os.read(ours, 65536):
            heard += chunk
    except OSError:
        pass  # the other end is closed: it has said everything
    os.close(ours)
    assert process.wait(60) == (0 if ok else 1)
    text = re.sub("\x1b\\[[0-9]+m", "", heard.decode())
    line = next(line for line in text.splitlines() if " terminal " in line)
    assert line.startswith("ok ") == ok, text
    assert said in text, text


def test_rows_have_words_of_the_glossary(unstuck: Unstuck) -> None:
    """People read "event logs" and "disk use"; programs keep the names that they know."""
    out = unstuck.inside("doctor").out
    assert "event logs   " in out
    assert "record" in {row["what"] for row in unstuck.inside("doctor", "--json").rows}
