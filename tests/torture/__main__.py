"""Faults against real runs of the installed program: ``make torture``, and ``python -m tests.torture --help``.

Each round is one family of faults with one seed. It is done in a project of its own, to its end; then every guarantee
of ``oracles.py`` is looked at. What breaks one is named with the command that does the same round again.
"""

from __future__ import annotations

import argparse
import random
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.torture import clocks, files, kills, limits, mutations, oracles, races, sabotage, streams
from tests.torture.world import World

FAMILIES: dict[str, Callable[[World], None]] = {
    family.__name__: family
    for family in (
        kills.kills,
        mutations.mutations,
        limits.disks,
        limits.descriptors,
        limits.memory,
        limits.sizes,
        clocks.clocks,
        files.filters,
        files.pipes,
        races.answers,
        races.editors,
        races.deletions,
        streams.streams,
    )
}
_DRAWN = 1 << 31


def torture(
    name: str, seed: int, place: Path, popen: Callable[..., subprocess.Popen[Any]] = subprocess.Popen
) -> list[str]:
    """Do one round in ``place``; return what it broke. Raises Skipped where this machine cannot make the fault."""
    world = World(place, random.Random(f"{name} {seed}"), popen)
    try:
        FAMILIES[name](world)
        return oracles.breaches(world)
    finally:
        world.end()


def main() -> int:
    """Do rounds until the time is over; 1 where one of them broke a guarantee."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (5)")
    parser.add_argument("--only", action="append", choices=sorted(FAMILIES), help="this family; may be given again")
    parser.add_argument("--seed", type=int, help="one round of --only NAME with this seed, or the first of all rounds")
    parser.add_argument("--keep", type=Path, help="keep the folder of each round that broke something here")
    parser.add_argument("--selfcheck", action="store_true", help="break one promise after another: is it noticed?")
    said = parser.parse_args()
    if said.selfcheck:
        return _selfcheck()
    once = said.seed is not None and said.only is not None
    first = secrets.randbelow(_DRAWN) if said.seed is None else said.seed
    names, draw, counted, broken = said.only or list(FAMILIES), random.Random(first), Counter[str](), 0
    end = time.monotonic() + 60 * said.minutes
    print(f"--seed {first}", flush=True)
    while time.monotonic() < end:
        for name in names:
            seed = first if once else draw.randrange(_DRAWN)
            found = _round(name, seed, said.keep)
            counted[f"{name}{'' if found is not None else ' skipped'}"] += 1
            broken += bool(found)
        if once:
            break
    print(f"{broken} of {counted.total()} rounds broke a guarantee: {dict(counted)}")
    return int(broken > 0)


def _special(folder: str, names: list[str]) -> set[str]:
    """The sockets, pipes and devices, which cannot be copied."""
    places = {name: Path(folder, name) for name in names}
    return {name for name, at in places.items() if not (at.is_symlink() or at.is_file() or at.is_dir())}


def _selfcheck() -> int:
    """Show that each oracle notices a program that breaks its promise; 1 where one does not."""
    missed = False
    for oracle in oracles.ORACLES:
        with tempfile.TemporaryDirectory(prefix="u-", dir="/tmp") as place:
            problem = sabotage.unnoticed(oracle.__name__, Path(place))
        print(f"{'MISSED ' if problem else 'noticed'} {oracle.__name__} {problem}", flush=True)
        missed |= bool(problem)
    return int(missed)


def _round(name: str, seed: int, keep: Path | None) -> list[str] | None:
    place = Path(tempfile.mkdtemp(prefix="u-", dir="/dev/shm" if Path("/dev/shm").is_dir() else "/tmp"))
    began = time.monotonic()
    try:
        found = torture(name, seed, place)
        print(f"{'BROKEN' if found else 'held  '} {name} {seed} ({time.monotonic() - began:.1f} s)", flush=True)
        for breach in found:
            print(f"    {breach}\n    again: make torture ARGS='--only {name} --seed {seed}'", flush=True)
        if found and keep is not None:
            shutil.copytree(place, keep / f"{name}-{seed}", symlinks=True, ignore=_special)
        return found
    except limits.Skipped as reason:
        print(f"skipped {name}: {reason}", flush=True)
        return None
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
