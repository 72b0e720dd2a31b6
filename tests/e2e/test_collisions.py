"""Two live tasks that change the same file are marked on both rows while they work, and nothing else changes."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import pytest
from tests.e2e.conftest import Unstuck
from tests.waiting import become

UNBUFFERED = {"PYTHONUNBUFFERED": "1"}


class Two:
    """A run of two tasks in worktrees; each changes its files once ``goes`` is called, and ends with ``ends``."""

    def __init__(self, unstuck: Unstuck, first: str, second: str, isolation: str = "worktree") -> None:
        self.unstuck, self.folder = unstuck, unstuck.seen.parent
        self._plan = unstuck.root / "plan.yaml"
        tasks = {"one": first, "two": second}
        agents = "".join(f"  {name}: {{command: [sh, {self._agent(name, text)}]}}\n" for name, text in tasks.items())
        apart = {"one": isolation, "two": "worktree"}
        about = "prompt: Work., verify: 'true', isolation"
        rows = "".join(f"  - {{id: {name}, agent: {name}, {about}: {apart[name]}}}\n" for name in tasks)
        self._plan.write_text(f"agents:\n{agents}tasks:\n{rows}", encoding="utf-8")
        self.live = unstuck.start("run", "plan.yaml", "--headless", "--json", env=UNBUFFERED)

    def _agent(self, name: str, text: str) -> str:
        def wait(moment: str) -> str:
            return f"until test -e {self.folder / f'{moment}-{name}'}; do sleep 0.05; done"

        did = f"touch {self.folder / f'did-{name}'}"
        return self.unstuck.script(f"{name}.sh", f"{wait('goes')}\n{text}\n{did}\n{wait('ends')}")

    def begins(self, name: str) -> None:
        (self.folder / f"goes-{name}").touch()

    def goes(self, name: str) -> None:
        """Let the task change its files, and wait until it has."""
        self.begins(name)
        asyncio.run(become((self.folder / f"did-{name}").exists))

    def ends(self, *names: str) -> None:
        for name in names:
            (self.folder / f"ends-{name}").touch()

    def collided(self) -> dict[str, Any]:
        row: dict[str, Any] = json.loads(self.unstuck.until(self.live, b'"files_collide"').splitlines()[-1])
        return row

    def shown(self) -> dict[str, list[dict[str, Any]]]:
        rows = self.unstuck.inside("show", "--json").rows
        return {row["task"]: row["collisions"] for row in rows if "task" in row and "collisions" in row}


def both(path: str) -> dict[str, list[dict[str, Any]]]:
    return {
        "one": [{"other": "two", "paths": [path], "is_later": False}],
        "two": [{"other": "one", "paths": [path], "is_later": True}],
    }


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        ("echo a > new.txt", "echo b > new.txt", "new.txt"),
        ("echo a >> README.md", "sed -i 1s/^/b/ README.md", "README.md"),
        ("echo a >> README.md; git commit -qam a", "rm README.md", "README.md"),
        ("mkdir -p 'a b'; echo a > 'a b/ž.txt'", "mkdir -p 'a b'; echo a > 'a b/ž.txt'", "a b/ž.txt"),
    ],
)
def test_both_rows_are_marked_at_that_moment(unstuck: Unstuck, first: str, second: str, path: str) -> None:
    """New, changed, committed or deleted: while both work, with the later one; the mark goes when one has ended."""
    two = Two(unstuck, first, second)
    two.goes("one")
    two.goes("two")
    row = two.collided()
    assert (row["task"], row["data"]) == ("two", {"other": "one", "paths": [path]})
    assert two.shown() == both(path)
    said = unstuck.inside("show").out
    assert f"⋈ also changed by two: {path}" in said
    assert f"⋈ also changed by one: {path}" in said
    two.ends("one")
    unstuck.until(two.live, b"result_integrated")
    unstuck.until(two.live, b"task_ended")
    assert two.shown() == {"one": [], "two": []}
    two.ends("two")
    two.live.communicate(timeout=60)


def test_a_task_in_the_project_itself_by_what_its_tools_edit(unstuck: Unstuck) -> None:
    """One works in the project's own directory and says what it edits, the other one in a worktree."""
    call = '{"step": "action", "tool": "Edit", "text": "{\\"file_path\\": \\"README.md\\"}"}'
    done = '{"step": "success", "tool": "Edit", "text": "edited"}'
    two = Two(unstuck, f"echo 'UNSTUCK {call}'; echo 'UNSTUCK {done}'", "echo b >> README.md", "shared")
    two.goes("one")
    unstuck.until(two.live, b'"kind": "success"')
    two.goes("two")
    two.collided()
    assert two.shown() == both("README.md")
    two.ends("one", "two")
    two.live.communicate(timeout=60)


def test_other_files_are_no_collision(unstuck: Unstuck) -> None:
    """Each in a file of its own, ignored files and the folder of Unstuck aside: no mark, and no event."""
    (unstuck.root / ".gitignore").write_text("*.log\n", encoding="utf-8")
    two = Two(unstuck, "echo a > a.txt; echo x > run.log", "echo b > b.txt; echo x > run.log")
    two.goes("one")
    two.goes("two")
    two.ends("one", "two")
    out, _ = two.live.communicate(timeout=60)
    assert two.live.returncode == 0
    assert b"files_collide" not in out


def test_a_change_that_is_undone_is_no_collision_any_more(unstuck: Unstuck) -> None:
    """The file is as it was: the mark goes while both still work."""
    back = unstuck.seen.parent / "back"
    undo = f"echo b >> README.md; until test -e {back}; do sleep 0.05; done; git checkout -q README.md"
    two = Two(unstuck, "echo a >> README.md", undo)
    two.goes("one")
    two.begins("two")
    assert two.collided()["data"]["paths"] == ["README.md"]
    back.touch()
    assert two.collided()["data"]["paths"] == []
    assert two.shown() == {"one": [], "two": []}
    two.ends("one", "two")
    two.live.communicate(timeout=60)


def test_a_killed_run_goes_on_with_its_marks(unstuck: Unstuck) -> None:
    """Killed with the mark in the log: the rows still have it, the run resumes to its end, and it is recorded once."""
    two = Two(unstuck, "echo a > same.txt", "echo a > same.txt")
    two.goes("one")
    two.goes("two")
    two.collided()
    two.live.send_signal(signal.SIGKILL)
    two.live.wait(60)
    assert {task: len(found) for task, found in two.shown().items()} == {"one": 1, "two": 1}
    two.ends("one", "two")
    done = unstuck.inside("run", "--headless", "--json", "--resume", "last")
    assert done.code == 0, done.errors
    assert done.data("files_collide") == []
    assert unstuck.inside("fsck").code == 0
    assert two.shown() == {"one": [], "two": []}
