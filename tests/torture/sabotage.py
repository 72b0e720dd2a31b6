"""Programs with one promise broken on purpose, by which each oracle shows that it notices a broken one."""

from __future__ import annotations

import random
from pathlib import Path

from tests.torture import oracles, races, world
from tests.torture.world import World

_BROKEN = """
import atexit, os, pathlib, subprocess, sys, time
command = sys.argv[1:2]
home = pathlib.Path(".git/unstuck")
is_run = command == ["run"]
def logs():
    return sorted(home.glob("runs/*/events.jsonl"))
def lose(log):
    log.write_bytes(b"".join(log.read_bytes().splitlines(True)[:-2]))
    for snapshot in log.parent.glob("state.json*"):
        snapshot.unlink()
def broken():
    {broken}
atexit.register(broken)
{early}
"""
_TWICE = """
import unstuck.supervision.gates.service as service
from unstuck.eventlog.log.journal import Journal
append = Journal.append
def twice(self, event, **about):
    if type(event).__name__ == "GateAnswered":
        append(self, event, **about)
    return append(self, event, **about)
Journal.append = twice
"""
SABOTAGES: dict[str, tuple[str, str]] = {
    "no_process_left": ("subprocess.Popen(['sleep', '600'], start_new_session=True)", ""),
    "ended": ("is_run and os._exit(3)", ""),
    "verified": (
        "is_run and [log.write_bytes(log.read_bytes().replace(b'climber', b'clymber')) for log in logs()]",
        "",
    ),
    "nothing_acknowledged_lost": ("is_run and [lose(log) for log in logs()]", ""),
    "one_answer": ("pass", _TWICE),
    "files_untouched": ("pathlib.Path('kept.txt').write_text('overwritten')", ""),
    "no_stale_lock": ("is_run and (home / 'checkpoints/store.git/refs/left.lock').touch()", ""),
    "no_hang": ("command == ['show'] and time.sleep(600)", ""),
    "documented_codes": ("command == ['show'] and os._exit(77)", ""),
    "no_traceback": ("sys.stderr.write('Traceback (most recent call last)')", ""),
    "no_escape": ("print(chr(27) + ']0;title' + chr(7))", ""),
    "no_secret": ("(home / 'kept').write_text(os.environ['TORTURE_SAID'])", ""),
    "seen_by_its_family": ("command == ['answer'] and os._exit(0)", ""),
}
"""Sabotage that each oracle has to notice: Python that runs at the end of every command, and Python before it."""


def unnoticed(name: str, place: Path) -> str:
    """Break the promise of the oracle ``name``; return what was found instead of it, empty where it was noticed."""
    late, early = SABOTAGES[name]
    here = World(place, random.Random(name))
    here.shared = True
    longest, world.LONGEST = world.LONGEST, 15.0 if name == "no_hang" else world.LONGEST
    try:
        (place / "sabotage").mkdir()
        (place / "sabotage" / "sitecustomize.py").write_text(_BROKEN.format(broken=late, early=early))
        here.environ["PYTHONPATH"] = str(place / "sabotage")
        if name in ("one_answer", "seen_by_its_family"):
            here.settings = {"failure_handler": {"skip_to_ask": ["AssertionError"]}}
            races.answers(here)
        else:
            here.begin().end()
            here.unstuck("show")
            here.finish()
        found = oracles.breaches(here)
    finally:
        here.end()
        world.LONGEST = longest
    return "" if any(one.startswith(f"{name}:") for one in found) else f"found {found} instead"
