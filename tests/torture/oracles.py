"""Guarantees that hold whatever happens: one function for each, from a world to what breaks it."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.torture.world import ENDED, SECRET, World

from unstuck.errors import EXIT_CODES

_FOR_PROCESSES = 20.0
_ADVICE = 10
"""The least length of a message that says what to do."""


def no_hang(world: World) -> Iterator[str]:
    """Every command ends."""
    yield from (f"{' '.join(done.words)} did not end" for done in world.done if done.code is None)


def documented_codes(world: World) -> Iterator[str]:
    """Every exit code is a documented one, and each that is no result of a run says why."""
    for done in world.done:
        if done.lacks == "output" or (done.killed and done.code == -signal.SIGKILL):
            continue
        if done.lacks == "memory" and done.code == -signal.SIGABRT:  # so does a library that is given none
            continue
        if done.code not in EXIT_CODES and done.code is not None:
            yield f"{' '.join(done.words)} ended with {done.code}: {done.err[-300:]}"
        elif done.code in (2, 6) and len(done.err.strip()) < _ADVICE and len(done.out.strip()) < _ADVICE:
            yield f"{' '.join(done.words)} ended with {done.code} and said nothing"


def no_traceback(world: World) -> Iterator[str]:
    """Nobody reads a traceback of ours: not on a screen, and not as the words of an agent."""
    for done in world.done:
        if done.lacks == "memory" and done.err.rstrip().endswith("MemoryError"):
            continue  # Python's own, before the first line of ours or where there is no memory for any
        if "Traceback (most recent call last)" in done.out + done.err:
            yield f"a traceback in {' '.join(done.words)}: {(done.err or done.out)[-1500:]}"
    for record in world.events().values():
        if "Traceback (most recent call last)" in json.dumps(record):
            yield f"a traceback in record {record['seq']}: {json.dumps(record)[-1500:]}"


def nothing_acknowledged_lost(world: World) -> Iterator[str]:
    """An event that was printed is in the log for ever, unchanged."""
    if world.damaged or world.gone:
        return
    kept = world.events()
    for done in world.done:
        for row in done.rows:
            if "seq" not in row or "event" not in row:
                continue
            now = kept.get((row["run"], row["seq"]))
            if now is None or (now["event"], now["data"]) != (row["event"], row["data"]):
                yield f"record {row['seq']} was {row['event']} and is {now and now['event']}"


def one_answer(world: World) -> Iterator[str]:
    """Each question has at most one answer; who was told that it counts finds it in the log."""
    given: dict[str, list[str]] = {}
    for record in world.events().values():
        if record["event"] == "gate_answered":
            given.setdefault(record["data"]["gate"], []).append(str(record["data"].get("choice")))
    yield from (f"{gate} has {len(answers)} answers" for gate, answers in given.items() if len(answers) > 1)
    if world.damaged or world.gone:
        return
    taken: dict[str, int] = {}
    for done in world.done:
        if done.words[0] == "answer" and done.code == 0:
            taken[done.words[1]] = taken.get(done.words[1], 0) + 1
    yield from (f"{gate}: an answer was taken and is not in the log" for gate in taken if gate not in given)
    yield from (f"{gate}: {number} answers were taken" for gate, number in taken.items() if number > 1)


def verified(world: World) -> Iterator[str]:
    """``unstuck verify`` says that the log is whole, or refuses it with 6."""
    if world.runs:
        done = world.unstuck("verify")
        if done.code != 0 and not (done.code == 6 and world.damaged):
            yield f"verify ended with {done.code}: {done.out} {done.err}"


def ended(world: World) -> Iterator[str]:
    """A run that is resumed and answered comes to an end, or is refused for damage that was done to it."""
    if world.gone:
        return
    last = next((done for done in reversed(world.done) if done.words[0] == "run"), None)
    if last is not None and last.code not in ENDED and not (last.code == 6 and world.damaged):
        times = sum(done.words[0] == "run" for done in world.done)
        yield f"after {times} times it is at {last.code}: {last.err[-500:]}"


def files_untouched(world: World) -> Iterator[str]:
    """The user's files, index, branch and stash are as they were, byte for byte."""
    for name, data in world.own.items():
        try:
            now = (world.root / name).read_bytes()
        except OSError as error:
            now = str(error).encode()
        if now != data and not (name in world.edited and _is_saved(world, data)):
            yield f"{name} was {data[:60]!r} and is {now[:60]!r}"
    if (branch := world.git("symbolic-ref", "HEAD").strip()) != "refs/heads/main":
        yield f"{branch} is checked out"
    if (tip := world.git("rev-parse", "main")) != world.start_at:
        yield f"main is at {tip}"
    if (staged := world.git("diff", "--cached", "--name-only").split()) != ["staged.txt"]:
        yield f"staged: {staged}"
    if world.git("stash", "list"):
        yield "something was stashed"


def _is_saved(world: World, data: bytes) -> bool:
    """Return whether a checkpoint holds a file with these bytes."""
    store = world.home / "checkpoints" / "store.git"
    id = subprocess.run(["git", "hash-object", "--stdin"], input=data, capture_output=True, check=True).stdout.strip()
    asked = ["git", f"--git-dir={store}", "cat-file", "-e", id.decode()]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def no_escape(world: World) -> Iterator[str]:
    """Nothing that an agent prints moves the cursor of whoever reads the run's output."""
    yield from (f"an escape in {' '.join(done.words)}" for done in world.done if "\x1b" in done.out + done.err)


def seen_by_its_family(world: World) -> Iterator[str]:
    """Check the oracles that belong to the family of the fault."""
    yield from world.found


def no_secret(world: World) -> Iterator[str]:
    """A key that an agent printed is in no file of ours and in nothing that was shown."""
    places = [world.home, world.place / "state", world.place / "home", world.place / "run", world.place / "said"]
    for file in (file for place in places for file in place.rglob("*")):
        if _holds(file, SECRET.encode()):
            yield f"the key is in {file.relative_to(world.place)}"


def _holds(file: Path, text: bytes) -> bool:
    try:
        return file.is_file() and not file.is_symlink() and text in file.read_bytes()
    except OSError:
        return False


def no_process_left(world: World) -> Iterator[str]:
    """Nothing of a run is alive after it."""
    until = time.monotonic() + _FOR_PROCESSES
    while (left := list(world.processes())) and time.monotonic() < until:
        time.sleep(0.05)
    for process in left:
        yield f"process {process.pid} is alive: {' '.join(process.cmdline())[:200]}"
        process.kill()


def no_stale_lock(world: World) -> Iterator[str]:
    """No lock of a git that was killed stays where it stops the next one."""
    for top in (world.root / ".git", world.home / "checkpoints" / "store.git"):
        for lock in top.rglob("*.lock"):
            if "unstuck" not in lock.relative_to(top).parts[:1]:
                yield f"{lock.relative_to(world.place)} is left"


ORACLES: tuple[Callable[[World], Iterator[str]], ...] = (
    no_process_left,
    ended,
    verified,
    nothing_acknowledged_lost,
    one_answer,
    files_untouched,
    no_stale_lock,
    no_hang,
    documented_codes,
    no_traceback,
    no_escape,
    no_secret,
    seen_by_its_family,
)


def breaches(world: World) -> list[str]:
    """Whatever breaks a guarantee, each with the name of it."""
    return [f"{oracle.__name__}: {breach}" for oracle in ORACLES for breach in oracle(world)]
