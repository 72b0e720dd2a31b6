"""Clocks that are set while a run works."""

from __future__ import annotations

from tests.torture.world import World

_DAY = 86_400
_JUMPING = """
import os, time
real, place = time.time, os.environ["TORTURE_CLOCK"]
def now():
    try:
        with open(place) as file:
            return real() + float(file.read() or 0)
    except (OSError, ValueError):
        return real()
time.time = now
time.time_ns = lambda: int(now() * 1e9)
"""


def clocks(world: World) -> None:
    """The time of day jumps by up to years, back and forth, under a run, its answers and its resumed parts."""
    patched = world.place / "patched"
    patched.mkdir()
    (patched / "sitecustomize.py").write_text(_JUMPING)
    clock = world.place / "clock"
    clock.write_text("0")
    world.environ |= {"PYTHONPATH": str(patched), "TORTURE_CLOCK": str(clock)}
    run = world.begin()
    for said in (b'"attempt_started"', b'"check_finished"', b'"directive_issued"'):
        run.until(said)
        clock.write_text(str(world.draw.choice([-400, -1, -0.01, 0.01, 1, 365, 9000]) * _DAY))
    run.end()
    for _ in range(2):
        clock.write_text(str(world.draw.uniform(-400, 400) * _DAY))
        world.unstuck("runs", "--json")
    world.finish()
