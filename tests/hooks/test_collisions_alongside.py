"""Sessions in the project's own directory that edit the same file: what their calls say is marked on both."""

from __future__ import annotations

from typing import Any

from tests.hooks.test_watch_end_to_end import Watching, World, watching

from unstuck.eventlog import events as e
from unstuck.eventlog.state import collisions_of

__all__ = ["watching"]


async def edit(world: World, session: str, path: str, *, result: str = "PostToolUse", tool: str = "Edit") -> None:
    """One session changes a file with a tool of its own."""
    call: dict[str, Any] = {
        "session_id": session,
        "tool_use_id": f"edit-{next(world.numbers)}",
        "tool_name": tool,
        "tool_input": {"file_path": path, "old_string": "a", "new_string": "b"},
    }
    await world.say("PreToolUse", **call)
    await world.say(result, **call, **({"error": "not found"} if result.endswith("Failure") else {}))


def marks(world: World) -> dict[str, list[tuple[str, ...]]]:
    state = world.supervisor.core.head
    return {row.id: [one.paths for one in collisions_of(state, row)] for row in state.tasks.values()}


async def test_two_sessions_that_edit_one_file_are_marked(watching: Watching) -> None:
    """Absolute or below the project, the file is the same; a read, a failed edit and another file are no collision."""
    async with watching() as world:
        for session in ("one", "two"):
            await world.say("UserPromptSubmit", session_id=session, prompt=f"work {session}")
        await edit(world, "one", str(world.repo / "shop.py"))
        await edit(world, "two", "other.py")
        await edit(world, "two", "shop.py", tool="Read")
        await edit(world, "two", "shop.py", result="PostToolUseFailure")
        assert world.of(e.FilesCollide) == []
        await edit(world, "two", "shop.py")
        await world.until(lambda: world.of(e.FilesCollide))
        (record,) = [record for record in world.records if isinstance(record.event, e.FilesCollide)]
        first, second = world.supervisor.core.head.tasks
        assert (record.task, record.event.other, record.event.paths) == (second, first, ("shop.py",))
        assert marks(world) == {first: [("shop.py",)], second: [("shop.py",)]}
        await edit(world, "two", "shop.py")
        await edit(world, "one", "docs/../other.py")
        await world.until(lambda: len(world.of(e.FilesCollide)) == 2)
        assert marks(world) == {first: [("other.py", "shop.py")], second: [("other.py", "shop.py")]}
