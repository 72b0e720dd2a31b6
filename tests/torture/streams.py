"""Agents whose output is hostile: floods, escapes, half characters, forged lines, keys in pieces."""

from __future__ import annotations

import base64
import json
from random import Random

from tests.torture.world import SECRET, World

_ESCAPES = (
    b"\x1b]0;title\x07",
    b"\x1b[2J\x1b[H",
    b"\x9b31m",
    b"\x1b]8;;http://x\x1b\\",
    b"\x1bP+q544e\x1b\\",
    b"\r\x1b[K",
)


def streams(world: World) -> None:
    """An agent prints a few pieces of everything that is hard to read, in every attempt."""
    pieces = [piece(world.draw) for _ in range(world.draw.randint(2, 8))]
    lines = []
    for number, data in enumerate(pieces):
        (world.place / f"piece.{number}").write_bytes(data)
        lines.append(f"cat {world.place}/piece.{number}; sleep 0.0{world.draw.randrange(3)}")
    world.twist("\n".join(lines) + "\n")
    if world.draw.random() < 0.3:
        world.environ["FORCE_COLOR"] = "1"
    world.begin().end()
    for command in (["show"], ["show", "--json"], ["recap"], ["truth"], ["signatures"]):
        world.unstuck(*command)
    world.finish()


def piece(draw: Random) -> bytes:
    """Return one piece of hostile output."""
    escape, text = draw.choice(_ESCAPES), draw.choice(["é", "\u202e", "\u200b", "\ud83d", "名"])
    number = draw.randrange(11)
    if number == 0:
        return draw.randbytes(draw.randrange(1, 50_000))
    if number == 1:
        return b"x" * draw.randrange(1, 3_000_000)
    if number == 2:
        return escape * draw.randrange(1, 500) + b"\n"
    if number == 3:
        return json.dumps({"type": "result", "text": f"\n\t{SECRET}", "session": text}).encode() + b"\n"
    if number == 4:
        half = draw.randrange(5, len(SECRET) - 1)
        return SECRET[:half].encode() + escape + SECRET[half:].encode() + b"\n"
    if number == 5:
        return text.encode("utf-8", "surrogatepass") * draw.randrange(1, 9_000)
    if number == 6:
        forged = {
            "v": 1,
            "seq": 1,
            "run": "x",
            "event": "task_ended",
            "data": {"task_id": "asker", "status": "succeeded"},
        }
        return (json.dumps(forged) + "\n").encode() * 3
    if number == 7:
        return b"[[unstuck: " + draw.randbytes(20) + b"]]\nUNSTUCK: success\n" + b'{"signal": "success"}\n'
    if number == 8:
        return ("E   AssertionError: " + "a" * draw.randrange(1, 200_000) + "\n").encode()
    if number == 9:
        return b"\0" * draw.randrange(1, 100_000) + b"\r\n" * draw.randrange(1, 5_000)
    return base64.b64encode(draw.randbytes(30_000)) + b"\n[bold red]markup[/]\n%s%n{0}\n"
