"""The user's own files: filters and line endings that git converts, and pipes and devices where git reads a file."""

from __future__ import annotations

import os
import shlex
import time

from tests.torture.world import World

_FILTERS = {
    "strip": ("sed '/^out:/d'", "cat"),
    "crypt": ("base64", "base64 -d"),
    "upper": ("tr a-z A-Z", "tr A-Z a-z"),
}
_READ_BY_GIT = (".gitattributes", ".gitignore", "folder/.gitignore", "folder/.gitattributes", ".git/info/exclude")


def filters(world: World) -> None:
    """A run in the user's own checkout, whose files git converts, and a restore by hand."""
    world.shared = True
    name, (clean, smudge) = world.draw.choice(sorted(_FILTERS.items()))
    world.git("config", f"filter.{name}.clean", clean)
    world.git("config", f"filter.{name}.smudge", smudge)
    world.git("config", "core.autocrlf", world.draw.choice(["true", "input", "false"]))
    text = world.draw.choice(["eol=crlf", "eol=lf", "-text", "ident", "working-tree-encoding=UTF-16LE"])
    rules = f"*.nb filter={name}\n*.conv text {text}\n".encode()
    wide = "one\r\ntwo $Id$\r\n".encode("utf-16-le" if "UTF-16" in text else "ascii")
    world.commit({".gitattributes": rules, "note.nb": b"code\nout: 14 hours\n", "text.conv": wide})
    past = time.time() - 1000
    for file in world.own:
        os.utime(world.root / file, (past, past))
    world.git("status", "--short")  # writes down that all is clean
    world.begin().end()
    world.unstuck("checkpoints", "create", "-m", "before")
    checkpoints = world.unstuck("checkpoints", "list", "--json").rows
    if checkpoints:
        world.unstuck("checkpoints", "restore", str(world.draw.choice(checkpoints)["id"]), "--yes")
    world.finish()


def pipes(world: World) -> None:
    """An agent, or somebody before it, puts a pipe, a device or a loop of links where git reads a file."""
    name = world.draw.choice(_READ_BY_GIT)
    place = shlex.quote(str(world.root / name))
    kind = world.draw.choice(["mkfifo {}", "ln -s /dev/zero {}", "ln -s {} {}", "mkdir {}", "mknod {} c 1 3"])
    make = f"rm -rf {place}; {kind.replace('{}', place)}"
    if world.draw.random() < 0.5:
        world.twist(f"{make} 2> /dev/null\n")
        world.begin().end()
    else:
        os.system(make)
        world.begin().end()
    for command in (["checkpoints", "create"], ["doctor"], ["show"], ["run", "--resume", "last", "--headless"]):
        world.unstuck(*command)
    os.system(f"rm -rf {place}")
    world.environ["TORTURE_TWIST"] = ""
    world.finish()
