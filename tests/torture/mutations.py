"""Changes of the files that ``unstuck`` keeps: event log, snapshot, memory, objects and notes of the checkpoints."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.torture.world import World


def mutations(world: World) -> None:
    """Change one file of a paused run in one to three places, and go on."""
    world.begin().end()
    file = _chosen(world)
    before = file.read_bytes()
    data = before
    for _ in range(world.draw.randint(1, 3)):
        data = mutated(data, world.draw)
    file.chmod(0o600)
    file.write_bytes(data)
    world.damaged = file.name == "events.jsonl" and data != before
    acknowledged = {row["seq"] for done in world.done for row in done.rows if "seq" in row}
    if world.damaged and world.unstuck("verify").code == 0:
        left = {number for _, number in world.events()}
        end = max(left, default=0)
        if lost := {number for number in acknowledged - left if number <= end}:
            world.found.append(f"verify says nothing of the records {sorted(lost)}")
    for command in (["checkpoints", "list"], ["memory", "list"], ["show"], ["doctor"]):
        world.unstuck(*command)
    log = world.runs[-1] / "events.jsonl" if world.runs else None
    kept = log.read_bytes() if log is not None and log.exists() else b""
    world.finish()
    if world.damaged and world.done[-1].code == 6 and log is not None and log.read_bytes() != kept:
        world.found.append("a damaged log that was refused was changed")


def _chosen(world: World) -> Path:
    run, store = world.runs[-1], world.home / "checkpoints"
    kinds = [
        [run / "events.jsonl"],
        [run / "state.json"],
        [world.home / "memory.jsonl"],
        [path for path in store.rglob("*") if path.is_file() and "objects" in path.parts],
        [path for path in store.rglob("*") if path.is_file() and "objects" not in path.parts],
    ]
    there = [sorted(path for path in kind if path.is_file() and path.stat().st_size) for kind in kinds]
    return world.draw.choice(world.draw.choice([kind for kind in there if kind]))


def mutated(data: bytes, draw: Random) -> bytes:
    """Return ``data`` with one change of a random kind."""
    at, lines = draw.randrange(len(data) + 1), data.splitlines(keepends=True)
    match draw.randrange(8):
        case 0:
            return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :] if at < len(data) else data
        case 1:
            return data[:at]
        case 2:
            return data[:at] + data[at + draw.randrange(200) :]
        case 3:
            return data[:at] + draw.randbytes(draw.randrange(1, 50)) + data[at:]
        case 4:
            return data[:at] + b"\0" * draw.randrange(1, 5000) + data[at:]
        case 5 if len(lines) > 1:
            number = draw.randrange(len(lines))
            return b"".join([*lines[:number], lines[number], *lines[number:]])
        case 6 if len(lines) > 1:
            first, second = draw.sample(range(len(lines)), 2)
            lines[first], lines[second] = lines[second], lines[first]
            return b"".join(lines)
        case _:
            number = draw.randrange(len(lines)) if lines else 0
            return b"".join(lines[:number] + lines[number + 1 :])
