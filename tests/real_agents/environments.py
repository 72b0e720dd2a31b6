"""Python environments with what only some tests need: an extra of the project, made from its own files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["environment"]

PROJECT = Path(__file__).parents[2]
INSTALL_S = 900


def environment(folder: Path, *wanted: str, environ: Mapping[str, str], limited: bool = True) -> Path:
    """The directory of the executables of an environment in ``folder``, in which pip has installed ``wanted``.

    Versions are those of ``constraints.txt``, unless they are not ``limited``; an environment that is there already and
    was made for the same is used as it is.
    """
    stamp, bin = folder / "made-for", folder / "bin"
    made_for = "\n".join((*wanted, str(PROJECT), (PROJECT / "constraints.txt").read_text("utf-8")))
    if stamp.is_file() and stamp.read_text("utf-8") == made_for:
        return bin
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)], check=True)
    options = ("--constraint", "--build-constraint") if limited else ()
    limits = [f"{option}={PROJECT / 'constraints.txt'}" for option in options]
    pip = [sys.executable, "-m", "pip", "--python", str(bin / "python"), "--disable-pip-version-check", "install"]
    done = subprocess.run(
        [*pip, "--quiet", "--no-compile", *limits, *wanted],
        cwd=PROJECT,
        env=dict(environ),
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
    )
    assert done.returncode == 0, f"{wanted} cannot be installed: {done.stderr.strip()[-2_000:]}"
    stamp.write_text(made_for, encoding="utf-8")
    return bin
