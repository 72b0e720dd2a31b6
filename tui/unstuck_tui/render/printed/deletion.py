"""A deletion as lines for people: what it would destroy, and what it has done. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from unstuck.runs.deletion.execute import Destroyed
from unstuck.runs.deletion.inventory import Inventory, Item, Kind
from unstuck.text import one_line
from unstuck.words.amounts import sized

_WORDS: dict[Kind, tuple[str, str]] = {
    "processes": ("process, which is stopped", "processes, which are stopped"),
    "gates": ("open question", "open questions"),
    "hooks": ("set of hooks", "sets of hooks"),
    "servers": ("server in an agent's settings", "servers in agents' settings"),
    "worktrees": ("worktree", "worktrees"),
    "branches": ("branch or reference", "branches and references"),
    "checkpoints": ("checkpoint", "checkpoints"),
    "socket": ("socket", "sockets"),
    "memory": ("memory of what has helped", "memories of what has helped"),
    "state": ("snapshot or lock", "snapshots and locks"),
    "logs": ("event log with its output, prompts and reports", "event logs with their output, prompts and reports"),
}
_NAMED = 12


def inventory_lines(inventory: Inventory) -> Iterator[str]:
    """The inventory kind by kind, its unique contents, what stays, and what is in the way."""
    if not inventory.items:
        yield f"nothing of unstuck is left in {inventory.name}"
    else:
        live = f", which is live ({inventory.live})" if inventory.live else ""
        yield f"{_whole(inventory)}{live} would be deleted:"
    for kind, count, size in inventory.totals():
        yield f"  {count:>6}  {_WORDS[kind][count != 1]}{f' ({sized(size)})' if size else ''}"
        yield from (f"          {_item(item)}" for item in inventory.of(kind)[:_NAMED])
        if (more := len(inventory.of(kind)) - _NAMED) > 0:
            yield f"          and {more} more"
    if inventory.holding:
        yield "! exists nowhere else and would be lost:"
        yield from (f"!         {one_line(item.name, 300)}: {one_line(item.holds, 300)}" for item in inventory.holding)
    if inventory.stays:
        yield "what stays:"
        yield from (f"          {one_line(one.name, 300)}: {one_line(one.reason, 300)}" for one in inventory.stays)
    if inventory.blocked:
        yield "obstacles:"
        yield from (f"          {one_line(reason, 300)}" for reason in inventory.blocked)


def receipt_lines(done: Destroyed) -> Iterator[str]:
    """The processes that were ended, and what the search found."""
    for pid, _, how in done.receipt.ended:
        yield f"  process {pid} {one_line(how)}"
    for place in done.left:
        yield f"! still there: {one_line(place, 300)}"
    if not done.left:
        yield f"{_whole(done.inventory)} is deleted: a search found nothing of it"


def _whole(inventory: Inventory) -> str:
    return f"run {inventory.run}" if inventory.run else f"everything of unstuck in {inventory.name}"


def _item(item: Item) -> str:
    size = f"  {sized(item.size)}" if item.size else ""
    return f"{one_line(item.name, 300)}{size}"
