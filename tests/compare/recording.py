"""Recorded outputs of the families' checks: made with the real tools, read back without them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.compare.families import FAMILIES, MOST, Family

__all__ = ["FILE", "missing", "read", "record", "write"]

FILE = Path(__file__).parent.parent / "data" / "things_left.jsonl"
_DURATION = re.compile(r"\b\d+\.\d+ ?s\b|(?<=duration_ms )[\d.]+")
_QUIET = {"npm_config_loglevel": "error", "npm_config_update_notifier": "false"}
_INSTALLED = re.compile(r"/[^\s:\"']{1,200}?/lib/python3")


def missing(family: Family) -> list[str]:
    """The tools of ``family`` that are not installed."""
    return [tool for tool in family.tools if shutil.which(tool) is None]


def write(folder: Path, files: dict[str, str]) -> None:
    """Write ``files`` into ``folder``, which is made."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def record(names: list[str]) -> Iterator[str]:
    """Run the check of each family for every number of things left and keep what it says; yields what was missing.

    With ``names`` only those are recorded and the others stay as they are.
    """
    kept = [row for row in (read() if FILE.exists() else ()) if names and row["family"] not in names]
    for family in FAMILIES:
        if names and family.name not in names:
            continue
        if gone := missing(family):
            yield f"{family.name}: {', '.join(gone)} not found"
            continue
        kept += [_recorded(family, left) for left in range(MOST + 1)]
    order = [family.name for family in FAMILIES]
    kept.sort(key=lambda row: (order.index(str(row["family"])), row["left"]))
    FILE.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), encoding="utf-8")


def _recorded(family: Family, left: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "project"
        write(folder, dict(family.left(left)))
        done = subprocess.run(
            ["sh", "-c", family.command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"} | _QUIET,
        )
        assert (done.returncode == 0) == (left == 0), f"{family.name}, {left} left: {done.returncode}\n{done.stdout}"
        said = _elsewhere(done.stdout.replace(str(folder), "/home/dev/project").replace(place, "/home/dev"))
        return {"family": family.name, "left": left, "exit_code": done.returncode, "output": said}


def _elsewhere(said: str) -> str:
    """``said`` as if on any machine: installed where everybody has it, and in no time."""
    said = _INSTALLED.sub("/usr/lib/python3", said).replace(str(Path.home()), "/home/dev")
    return _DURATION.sub(lambda found: re.sub(r"\d", "0", found[0]), said)


def read() -> list[dict[str, object]]:
    """Every recorded output: family, left, exit_code, output."""
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
