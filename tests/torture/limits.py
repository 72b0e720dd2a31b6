"""Full disks, and limits of file sizes, descriptors and memory, from the start or in the middle of a run."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

import psutil
from tests.torture.world import Started, World

_OURS = ("agent crashed", "agent_crashed")


class Skipped(Exception):
    """A fault that this machine cannot make, by name."""


def disks(world: World) -> None:
    """Fill the file system of the runs, of the project or of the temporary files, and make room again."""
    place = world.draw.choice([world.home, world.place / "state", world.place / "tmp"])
    place.mkdir(exist_ok=True)
    world.environ["TMPDIR"] = str(world.place / "tmp") if place.name == "tmp" else "/tmp"
    size = world.draw.choice([300, 600, 1000, 2000])
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", place], capture_output=True).returncode:
        raise Skipped("mounting is not possible here")
    world.mounted.append(place)
    filler = place / "filler"
    if world.draw.random() < 0.3:
        _fill(filler)
    run = world.begin()
    if world.draw.random() < 0.5:
        run.until(b'"attempt_started"')
    time.sleep(world.draw.uniform(0, 1))
    _fill(filler, spare=world.draw.choice([0, 0, 4096, 20_000]))
    if run.end().code in (0, 1, 3, 6):
        _not_blamed(world)
    with suppress(OSError):
        filler.unlink()
    subprocess.run(["mount", "-o", "remount,size=50m", place], check=True, capture_output=True)
    world.finish()


def _fill(filler: object, spare: int = 0) -> None:
    with suppress(OSError), open(str(filler), "ab", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass
    with suppress(OSError), open(str(filler), "r+b") as file:
        file.seek(0, 2)
        file.truncate(max(0, file.tell() - spare))


def _not_blamed(world: World) -> None:
    """A want of the machine's is never said to be an agent's failure."""
    said = [done.out + done.err for done in world.done]
    if any(word in one for one in said for word in _OURS):
        world.found.append("an agent is blamed for what the system lacks: " + said[-1][-600:])


def descriptors(world: World) -> None:
    """Few open files, for the whole run or from some moment on."""
    _limited(world, resource.RLIMIT_NOFILE, world.draw.randrange(8, 40))


def memory(world: World) -> None:
    """Little memory, for the whole run, or no more than it has from some moment on: no system takes memory back."""
    _limited(world, resource.RLIMIT_AS, world.draw.randrange(60, 400) << 20)


def sizes(world: World) -> None:
    """No file over some size, as a quota has it."""
    world.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # a module that is cut short would break each later command
    _limited(world, resource.RLIMIT_FSIZE, world.draw.choice([0, 1000, 4096, 20_000, 60_000]))


def _limited(world: World, which: int, number: int) -> None:
    if world.draw.random() < 0.5:
        run = world.begin(preexec_fn=_setting(which, number))
    else:
        run = world.begin()
        time.sleep(world.draw.uniform(0, 1.5))
        _lower(run, which, number)
    if (which, number) == (resource.RLIMIT_FSIZE, 0):
        run.lacks = "output"  # what it says goes into files, too
    elif which == resource.RLIMIT_AS:
        run.lacks = "memory"
    if run.end().code == 6:
        _not_blamed(world)
    world.finish()


def _setting(which: int, number: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(which, (number, resource.getrlimit(which)[1]))


def _lower(run: Started, which: int, number: int) -> None:
    with suppress(ProcessLookupError, psutil.NoSuchProcess):
        if which == resource.RLIMIT_AS:
            number = psutil.Process(run.process.pid).memory_info().vms + number // 100
        resource.prlimit(run.process.pid, which, (number, resource.prlimit(run.process.pid, which)[1]))
