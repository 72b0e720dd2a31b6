"""Kills of the supervisor, of the helpers beside its agents, of agents and of commands, at any moment."""

from __future__ import annotations

import time
from contextlib import suppress

import psutil
from tests.torture.world import Started, World


def kills(world: World) -> None:
    """Kill one or several at random moments, and go on each time."""
    world.twist(f"sleep 0.{world.draw.randrange(6)}\n")
    run = world.begin()
    for _ in range(world.draw.randint(1, 3)):
        if world.draw.random() < 0.5:
            run.until(world.draw.choice([b'"attempt_started"', b'"check_finished"', b'"task_ended"', b'"gate_opened"']))
        time.sleep(world.draw.uniform(0, 1.2) ** 2)
        _strike(world, run)
        if world.draw.random() < 0.3:
            _strike(world, run)
        if world.draw.random() < 0.7:
            run.kill()
        done = run.end()
        if done.code == 3:
            for gate in world.gates():
                answer = world.start("answer", gate["gate"], gate["choices"][-1])
                time.sleep(world.draw.uniform(0, 0.7))
                answer.kill()
                answer.end()
        run = world.start("run", "--resume", "last", "--headless", "--json") if world.runs else world.begin()
    run.end()
    world.finish()


def _strike(world: World, run: Started) -> None:
    """Kill one process of the run that is not the supervisor, if there is one."""
    others = [process for process in world.processes() if process.pid != run.process.pid]
    if others:
        with suppress(psutil.Error):
            world.draw.choice(sorted(others, key=lambda process: process.pid)).kill()
