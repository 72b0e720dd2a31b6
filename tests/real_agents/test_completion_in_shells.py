"""Completion in real shells at a terminal, where a person presses tab."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ptyprocess
import pyte
import pytest

SHELLS = {
    "bash": (["bash", "--norc", "-i"], 'eval "$(unstuck completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'eval "$(unstuck completion zsh)"'),
    "fish": (["fish", "--no-config", "-i"], "unstuck completion fish | source"),
}
ROWS, COLUMNS = 40, 120


@contextmanager
def typing(shell: str, folder: Path) -> Iterator[tuple[ptyprocess.PtyProcess, pyte.Screen, pyte.ByteStream]]:
    """A shell at a terminal, whose completion of ``unstuck`` is set up as the documentation says."""
    command, setup = SHELLS[shell]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{shell} is not installed")
    environ = {
        "HOME": str(folder), "TERM": "xterm", "LC_ALL": "C.UTF-8", "PS1": "> ", "PROMPT": "> ",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    process = ptyprocess.PtyProcess.spawn(command, cwd=str(folder), env=environ, dimensions=(ROWS, COLUMNS))
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    process.write(f"{setup}; echo set up\n".encode())
    until(process, screen, stream, "\nset up\n")
    try:
        yield process, screen, stream
    finally:
        process.terminate(force=True)


def until(process: ptyprocess.PtyProcess, screen: pyte.Screen, stream: pyte.ByteStream, wanted: str) -> None:
    """Read what the shell draws until its screen shows ``wanted``."""
    while wanted not in "\n".join(row.rstrip() for row in screen.display):
        stream.feed(process.read(65_536))


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_completes_names(shell: str, tmp_path: Path) -> None:
    """One press of tab writes the only name that fits: a command, an agent, a key and a file."""
    (tmp_path / "plan-of-mine.yaml").write_text("tasks: []\n", encoding="utf-8")
    with typing(shell, tmp_path) as (process, screen, stream):
        for typed, completed in (
            ("unstuck chec", "unstuck checkpoints"),
            ("unstuck run --agent acp:cla", "unstuck run --agent acp:claude"),
            ("unstuck run --ask=ne", "unstuck run --ask=never"),
            ("unstuck config show failure_handler.max_ret", "unstuck config show failure_handler.max_retries"),
            ("unstuck run plan-of", "unstuck run plan-of-mine.yaml"),
        ):
            process.write(f"{typed}\t".encode())
            until(process, screen, stream, completed)
            process.write(b"\x15")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_lists_what_fits(shell: str, tmp_path: Path) -> None:
    """Tab lists the names that fit."""
    with typing(shell, tmp_path) as (process, screen, stream):
        process.write(b"unstuck run --agent acp:cl\t\t")
        until(process, screen, stream, "acp:cline" if shell != "bash" else "cline")
