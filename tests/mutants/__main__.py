"""Share of one-operator changes that a package's own tests notice: ``python -m tests.mutants [PACKAGE…]``.

A sample of each package (``--number``, ``--seed``) is tried in a copy of the project, one change at a time; the project
itself is never touched. ``--only FILE:LINE`` tries every change of one line.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path

from tests.mutants.operators import Mutant, mutants

TOP = Path(__file__).resolve().parents[2]
PACKAGES = ("diagnosis", "detection", "escalation", "eventlog", "workspace")
LEAST = 0.85
_LEFT_OUT = (".git", ".venv", "build", "dist", "screenshots", ".*_cache", ".hypothesis", "__pycache__")
_LONGEST = 3.0


def copied(place: Path) -> Path:
    """Copy the project with an environment of its own, whose programs import the copy; return that one's Python."""
    project = place / "project"
    shutil.copytree(TOP, project, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    environment = place / "venv"
    venv.create(environment, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    places = (project / "core", project / "tui", sysconfig.get_path("purelib"))
    (packages / "copied.pth").write_text("".join(f"{one}\n" for one in places), encoding="utf-8")
    python = environment / "bin" / "python"
    for name in ("unstuck", "unstuck-hook"):
        _, _, rest = (Path(sys.executable).parent / name).read_text(encoding="utf-8").partition("\n")
        (python.parent / name).write_text(f"#!{python}\n{rest}", encoding="utf-8")
        (python.parent / name).chmod(0o755)
    return python


def failed(python: Path, limit: float | None, *arguments: str) -> str:
    """Return the first test of pytest's ``arguments`` to fail, or to come to no end within ``limit``; empty if none."""
    project, said = python.parents[2] / "project", python.parents[2] / "said"
    command = [python, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *arguments]
    with said.open("wb") as output:
        process = subprocess.Popen(command, cwd=project, stdout=output, stderr=output, stdin=-3, start_new_session=True)
    try:
        if process.wait(limit) == 0:
            return ""
    except subprocess.TimeoutExpired:
        return "no end"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    lines = said.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))), "collection")


def tests_by_line(python: Path, package: str) -> Callable[[Mutant], list[str]]:
    """Run the tests of ``package`` once; return the function from a mutant to the tests that ran its line.

    Raises SystemExit where a test fails without a change.
    """
    from coverage import CoverageData

    project = python.parents[2] / "project"
    if test := failed(
        python, None, f"--cov=core/unstuck/{package}", "--cov-context=test", "--cov-report=", f"tests/{package}"
    ):
        sys.exit(f"{test} fails without any change: nothing can be said of tests/{package}")
    data = CoverageData(str(project / ".coverage"))
    data.read()

    def tests(mutant: Mutant) -> list[str]:
        contexts = data.contexts_by_lineno(str(project / mutant.file)).get(mutant.line, [])
        return sorted({context.rpartition("|")[0] for context in contexts if context.startswith("tests/")})

    return tests


def sampled(package: str, number: int, draw: random.Random, only: str) -> list[Mutant]:
    """Draw ``number`` mutants of ``package``, or take all on the line ``only``."""
    folder = TOP / "core" / "unstuck" / package
    files = sorted(folder.rglob("*.py"))
    found = [one for file in files for one in mutants(file.relative_to(TOP), file.read_text(encoding="utf-8"))]
    if only:
        return [one for one in found if f"{one.file}:{one.line}".endswith(only)]
    return draw.sample(found, min(number, len(found)))


def tried(python: Path, package: str, chosen: list[Mutant]) -> int:
    """Return how many of ``chosen`` are noticed, by the tests that run the changed line or else by any of ``package``.

    Raises SystemExit where a test fails without a change.
    """
    project, began = python.parents[2] / "project", time.monotonic()
    tests = tests_by_line(python, package)
    limit = _LONGEST * (time.monotonic() - began) + 60
    noticed = 0
    for mutant in chosen:
        file = project / mutant.file
        original, began = file.read_bytes(), time.monotonic()
        file.write_text(mutant.source, encoding="utf-8")
        listed = python.parents[2] / "listed"
        listed.write_text("\n".join(near := tests(mutant)), encoding="utf-8")
        try:
            test = (near and failed(python, limit, f"@{listed}")) or failed(python, limit, f"tests/{package}")
        finally:
            file.write_bytes(original)
        noticed += bool(test)
        seen = f"noticed   {mutant} by {test}" if test else f"UNNOTICED {mutant}"
        print(f"{seen} ({time.monotonic() - began:.0f} s)", flush=True)
    return noticed


def main() -> int:
    """Print each change and the share noticed; 1 where a package is below its least."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(PACKAGES))
    parser.add_argument("--number", type=int, default=25, help="changes of each package (25)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31), help="which ones (random)")
    parser.add_argument("--only", default="", metavar="FILE:LINE", help="every change of this line")
    said = parser.parse_args()
    if unknown := set(said.packages).difference(PACKAGES):
        parser.error(f"no package {min(unknown)}: choose from {', '.join(PACKAGES)}")
    print(f"--seed {said.seed}", flush=True)
    below = False
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        python = copied(Path(place))
        for package in said.packages or PACKAGES:
            chosen = sampled(package, said.number, random.Random(f"{said.seed} {package}"), said.only)
            if not chosen:
                continue
            noticed = tried(python, package, chosen)
            share = noticed / len(chosen)
            below |= share < LEAST
            print(f"{package}: {noticed} of {len(chosen)} noticed, {share:.0%}", flush=True)
    return int(below)


if __name__ == "__main__":
    sys.exit(main())
