"""The checkpoint manager used carelessly: several calls at once, one of them cancelled, a tree named by a string."""

from __future__ import annotations

import asyncio

from tests.workspace.conftest import Project

from unstuck import CheckpointManager


async def test_checkpoints_at_once_in_a_tree_named_by_text(project: Project) -> None:
    """Five at once save the same files; the one that is cancelled leaves the next able to save."""
    manager = await CheckpointManager.open(str(project.root))
    project.write({"new.txt": "one\n"})
    saving = [asyncio.ensure_future(manager.create("at once")) for _ in range(5)]
    await asyncio.sleep(0)
    saving[3].cancel()
    done = [one for one in await asyncio.gather(*saving, return_exceptions=True) if not isinstance(one, BaseException)]
    assert len(done) == 4
    assert len({one.tree for one in done}) == 1
    project.write({"new.txt": "two\n"})
    last = await manager.create("after")
    assert (await manager.list())[-1].id == last.id
    assert "+two" in await manager.diff(done[0].id, last.id)
