"""Random edits, checkpoints, restores and undos against a model of the tree: files, ignore rules, commits and all.

``UNSTUCK_TREES=1000 make test ARGS="tests/workspace/test_checkpoint_states.py"`` tries a thousand histories.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from unstuck.clock import ManualClock

NAMES = ("a", "b", "a/x", "a/y", "a/x/z", "c.log", "d/e.log", "d/f", "new\nline", "app.py", "lib/util.py")
TEXTS = ("", "1\n", "2\n", "x" * 5000, "\r\n\0")
RULES = ("", "*.log\n", "*.log\nd/\n", "a\n")
names, texts, rules = map(strategies.sampled_from, (NAMES, TEXTS, RULES))
ROUNDS = int(os.environ.get("UNSTUCK_TREES", "0"))

Files = dict[str, tuple[int, bytes]]


def folders(path: str) -> set[str]:
    """Every folder above a path."""
    parts = path.split("/")
    return {"/".join(parts[:depth]) for depth in range(1, len(parts))}


def is_ignored(path: str, text: str) -> bool:
    """The few ignore rules above, read as git reads them."""
    above = folders(path)
    return any(
        (pattern == "*.log" and path.endswith(".log"))
        or (pattern == "d/" and "d" in above)
        or (pattern == "a" and "a" in {path, *above})
        for pattern in text.split("\n")
    )


class Saved:
    """What a checkpoint holds by the model, and what was there that it does not hold."""

    def __init__(self, covered: Files, others: frozenset[str]) -> None:
        self.covered, self.others = covered, others


class Trees(RuleBasedStateMachine):
    """A user's repository, an agent that edits it, and its checkpoints."""

    make_project = staticmethod(lambda folder: None)

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="u-trees-", dir="/tmp"))
        self.project = self.make_project(self.folder)
        self.loop = asyncio.Runner()
        self.store = self.loop.run(self.project.store(ManualClock()))
        self.saved: dict[str, Saved] = {}
        self.undo: Saved | None = None
        self.known = set(self.project.git("ls-files").split("\n")) - {""}
        self.staged = set(self.known)

    @initialize()
    def begin(self) -> None:
        """The first checkpoint, before anything."""
        self.checkpoint()

    def teardown(self) -> None:
        self.loop.close()
        shutil.rmtree(self.folder)

    def covered(self) -> tuple[Files, frozenset[str]]:
        """What a checkpoint of now would hold, and what it would not."""
        files = self.project.files()
        text = files.get(".gitignore", (0, b""))[1].decode()
        held = {path for path in files if path in self.known | self.staged or not is_ignored(path, text)}
        return {path: files[path] for path in held}, frozenset(files) - held

    def clear(self, path: str) -> Path:
        """Make room for a file at ``path``."""
        for above in folders(path):
            if (self.project.root / above).is_file() or (self.project.root / above).is_symlink():
                (self.project.root / above).unlink()
        place = self.project.root / path
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    @rule(path=names, text=texts)
    def write(self, path: str, text: str) -> None:
        self.clear(path).write_bytes(text.encode())

    @rule(path=names, program=strategies.booleans())
    def change_mode(self, path: str, program: bool) -> None:
        place = self.project.root / path
        if place.is_file() and not place.is_symlink():
            place.chmod(0o755 if program else 0o644)

    @rule(path=names, to=names)
    def link(self, path: str, to: str) -> None:
        self.clear(path).symlink_to(to)

    @rule(path=names)
    def delete(self, path: str) -> None:
        place = self.project.root / path
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)

    @rule(text=rules)
    def ignore(self, text: str) -> None:
        (self.project.root / ".gitignore").write_text(text)

    @rule()
    def commit(self) -> None:
        """The user commits everything, and cleans up."""
        files = self.project.files()
        text = files.get(".gitignore", (0, b""))[1].decode()
        self.project.git("add", "-A")
        self.project.git("commit", "-q", "--allow-empty", "-m", "x")
        self.project.git("prune", "--expire=now")
        self.staged = {path for path in files if path in self.staged or not is_ignored(path, text)}

    @rule()
    def checkpoint(self) -> None:
        held, others = self.covered()
        done = self.loop.run(self.store.create("x", run="r"))
        self.known = set(held)
        assert done.files == len(held)
        self.saved.setdefault(done.id, Saved(held, others))
        assert self.saved[done.id].covered == held

    @precondition(lambda self: self.saved)
    @rule(data=strategies.data())
    def restore(self, data: strategies.DataObject) -> None:
        id = data.draw(strategies.sampled_from(sorted(self.saved)))
        self.move(self.saved[id], lambda: self.store.restore(id, run="r"))

    @precondition(lambda self: self.undo is not None)
    @rule()
    def take_back(self) -> None:
        assert self.undo is not None
        self.move(self.undo, lambda: self.store.undo(run="r"))

    def move(self, goal: Saved, action) -> None:
        """Do it, and compare: every file is where the model says, and nothing of the user's own was touched."""
        held, others = self.covered()
        before, belongings = self.project.files(), self.project.belongings()
        needed = {above for path in goal.covered for above in folders(path)}
        crowded = {
            path
            for path in before
            if path not in goal.covered and (path in needed or folders(path) & goal.covered.keys())
        }
        lost = {path for path in held if path not in goal.covered and path not in goal.others} | crowded
        expected = {path: entry for path, entry in before.items() if path not in lost} | goal.covered
        done = self.loop.run(action())
        assert self.project.files() == expected
        assert self.project.belongings() == belongings
        self.known = (set(held) - lost) | set(goal.covered)
        in_the_way = {path for path in others if path in goal.covered or path in crowded}
        if done.changes:
            safety = Saved(held | {path: before[path] for path in in_the_way}, others - in_the_way)
            self.saved.setdefault(done.safety.id, safety)
            assert self.saved[done.safety.id].covered == safety.covered
            self.undo = self.saved[done.safety.id]

    @invariant()
    def nothing_is_half_done(self) -> None:
        last = self.store.last_restore()
        assert last is None or last.done


@pytest.mark.timeout(0)
def test_any_history_ends_where_the_model_says(first_projects: Path, project_type: type) -> None:
    """Whatever is edited, ignored, committed, saved, restored and undone: files, and nothing else, are as expected."""
    counter = itertools.count()

    class Machine(Trees):
        @staticmethod
        def make_project(folder: Path):
            place = folder / f"p{next(counter)}"
            return project_type(Path(shutil.copytree(first_projects / "project", place, symlinks=True)))

    options = settings(
        max_examples=ROUNDS or 24, stateful_step_count=12 if ROUNDS else 8, deadline=None, derandomize=not ROUNDS
    )
    run_state_machine_as_test(Machine, settings=options)
