"""Many at once: answers, resumes, runs, deletions, the user's own git and editor."""

from __future__ import annotations

import threading
import time

from tests.torture.world import World


def answers(world: World) -> None:
    """Several answer one question, and several resume the run, at the same moment."""
    world.begin().end()
    for gate in world.gates():
        chosen = [world.draw.choice(["skip", "abandon"]) for _ in range(world.draw.randint(2, 8))]
        racing = [world.start("answer", gate["gate"], choice) for choice in chosen]
        ended = [one.end() for one in racing]
        if [done.code for done in ended].count(0) != 1:
            world.found.append(f"{[done.code for done in ended]} of answers to {gate['gate']}")
        for done in ended:
            if done.code and "is closed already" not in done.err:
                world.found.append(f"a loser hears: {done.err}")
    racing = [world.start("run", "--resume", "last", "--headless", "--json") for _ in range(3)]
    if not any(one.end().code in (0, 1) for one in racing):
        world.found.append("none of three resumed runs came to its end")
    world.finish()


def editors(world: World) -> None:
    """The user saves files and uses git while agents work in the same project."""
    stop = threading.Event()
    names = ["kept.txt", "untracked.txt", "folder/deep.txt"]
    world.edited |= {*names}

    rest = world.draw.uniform(0.02, 0.3)

    def edit() -> None:
        number = 0
        while not stop.wait(rest):
            number += 1
            name = names[number % len(names)]
            data = f"saved {number}\n".encode()
            fresh = world.root / f"{name}~"
            fresh.write_bytes(data)
            fresh.rename(world.root / name)
            world.own[name] = data
            if number % 5 == 0:
                world.git("status", "--short")
                world.git("gc", "-q", "--auto")

    editor = threading.Thread(target=edit)
    editor.start()
    try:
        world.begin().end()
        world.unstuck("checkpoints", "create")
    finally:
        stop.set()
        editor.join()
    world.finish()


def deletions(world: World) -> None:
    """A run is deleted while it is shown, watched, and resumed."""
    world.begin().end()
    commands = [["show", "--json"], ["runs"], ["run", "--resume", "last", "--headless"], ["verify"]]
    racing = [world.start(*command) for command in world.draw.sample(commands, 3)]
    time.sleep(world.draw.uniform(0, 1))
    world.unstuck("delete", world.runs[-1].name if world.runs else "last", "--yes")
    for one in racing:
        one.end()
    world.gone = not world.runs
    world.finish()
