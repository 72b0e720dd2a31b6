"""Logs of a host that lie where unstuck keeps them, without the runs that wrote them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from unstuck.eventlog.log.log_format import framed
from unstuck.eventlog.storage.project_list import listing_of, remember_home
from unstuck.settings.paths import state_dir

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "schema1.jsonl"


def lines_of(path: Path = GOLDEN) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def run_of(line: bytes) -> str:
    return line.split(b'"run":"')[1].split(b'"')[0].decode()


def relined(lines: list[bytes], old: bytes, new: bytes) -> list[bytes]:
    """The lines with ``new`` for ``old``, chained anew: another history that fits in itself."""
    crc, found = 0, []
    for seq, line in enumerate(lines, start=1):
        body = b"{" + line.split(b",", 2)[2].rsplit(b',"crc"', 1)[0].rsplit(b',"safe"', 1)[0] + b"}"
        framed_line, crc = framed(seq, body.replace(old, new), crc)
        found.append(framed_line)
    return found


class Host:
    """This machine as a host: a log of a project, and its name."""

    def __init__(self, home: Path, lines: list[bytes]) -> None:
        self.home, self.lines = home, lines
        self.run = run_of(lines[0])
        self.path = home / "runs" / self.run / "events.jsonl"
        self.path.parent.mkdir(parents=True)
        state = state_dir(os.environ)
        remember_home(home, state)
        self.log = f"{listing_of(home, state).name}-{self.run}"

    def write(self, first: int, last: int) -> None:
        """Append the lines from number ``first`` to ``last``."""
        with self.path.open("ab") as file:
            file.write(b"".join(self.lines[first - 1 : last]))


@pytest.fixture
def host(tmp_path: Path) -> Callable[..., Host]:
    def made(name: str = "project", lines: list[bytes] | None = None) -> Host:
        return Host(tmp_path / name / "unstuck", lines or lines_of())

    return made
