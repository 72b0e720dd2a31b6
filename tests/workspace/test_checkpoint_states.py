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
from hypothesis import Phase, settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.manual_clock import ManualClock

NAMES = ("a", "b", "a/x", "a/y", "a/x/z", "c.log", "d/e.log", "d/f", "new\nline", "app.py", "lib/util.py")
TEXTS = ("", "1\n", "2\n", "x" * 50, "\r\n\0")
RULES = ("", "*.log\n", "*.log\nd/\n", "a\n")
names, texts, rules = map(strategies.sampled_from, (NAMES, TEXTS, RULES))
one_edit = strategies.one_of(
    strategies.tuples(strategies.just("write"), names, texts),
    strategies.tuples(strategies.just("link"), names, names),
    strategies.tuples(strategies.just("mode"), names, strategies.sampled_from((0o644, 0o755))),
    strategies.tuples(strategies.just("delete"), names, strategies.none()),
    strategies.tuples(strategies.just("ignore"), rules, strategies.none()),
    strategies.tuples(strategies.just("crowd"), strategies.sampled_from(("a", "b", "lib")), strategies.booleans()),
)
edits = strategies.lists(one_edit, min_size=1, max_size=6)
ROUNDS = int(os.environ.get("UNSTUCK_TREES", "0"))

Files = dict[str, tuple[int, bytes]]


def folders(path: str) -> set[str]:
    """Every folder above a path."""
    parts = path.split("/")
    return {"/".join(parts[:depth]) for depth in range(1, len(parts))}


def is_ignored(path: str, text: str, *, folder: bool = False) -> bool:
    """The few ignore rules above, read as git reads them."""
    parts = path.split("/")
    return any(
        path.endswith(".log")
        if pattern == "*.log"
        else pattern.rstrip("/") in parts[: -1 if "/" in pattern and not folder else None]
        for pattern in text.split()
    )


class Saved:
    """Content of a checkpoint by the model, and the files there that it does not hold."""

    def __init__(self, covered: Files, others: frozenset[str], tracked: set[str]) -> None:
        self.covered, self.others = covered, others
        text = covered.get(".gitignore", (0, b""))[1].decode()
        above = {folder for path in others for folder in folders(path)}
        # Of a folder that is ignored nobody knows what was in it, unless git follows a file in it.
        followed = {folder for path in tracked for folder in folders(path)}
        self.closed = {folder for folder in above - followed if is_ignored(folder, text, folder=True)}

    def spares(self, path: str) -> bool:
        """Return whether a file there was, or may have been, ignored."""
        return path in self.others or bool(folders(path) & self.closed)


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

    @initialize(before=edits, after=edits)
    def begin(self, before: list[tuple], after: list[tuple]) -> None:
        """There is always something to go back to."""
        self.edit(before)
        self.checkpoint()
        self.edit(after)

    def teardown(self) -> None:
        self.loop.close()
        shutil.rmtree(self.folder)

    def covered(self) -> tuple[Files, frozenset[str]]:
        """Return the content of a checkpoint taken now, and the files that it would leave out."""
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

    @rule(made=edits)
    def edit(self, made: list[tuple]) -> None:
        """Change the files as an agent or a person does."""
        for what, path, how in made:
            place = self.project.root / path
            if what == "ignore":
                (self.project.root / ".gitignore").write_text(path)
            elif what == "write":
                self.clear(path).write_bytes(how.encode())
            elif what == "link":
                self.clear(path).symlink_to(how)
            elif what == "mode" and place.is_file() and not place.is_symlink():
                place.chmod(how)
            elif what == "delete":
                self.clear(path)
            elif what == "crowd":  # something ignored takes the place of a file, or of a folder
                (self.project.root / ".gitignore").write_text(f"{path}\n")
                self.clear(path)
                self.clear(f"{path}/x" if how else path).write_text("in the way")

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
        tracked = self.known | self.staged
        done = self.loop.run(self.store.create("x", run="r"))
        self.known = set(held)
        assert done.files == len(held)
        self.saved.setdefault(done.id, Saved(held, others, tracked))
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
        lost = {path for path in held if path not in goal.covered and not goal.spares(path)} | crowded
        expected = {path: entry for path, entry in before.items() if path not in lost} | goal.covered
        done = self.loop.run(action())
        assert self.project.files() == expected
        assert self.project.belongings() == belongings
        self.known = (set(held) - lost) | set(goal.covered)
        in_the_way = {path for path in others if path in goal.covered or path in crowded}
        if done.changes:
            safety = Saved(held | {path: before[path] for path in in_the_way}, others - in_the_way, set())
            # Of folders into which something came it is known what was in them.
            safety.closed -= {folder for path in {*goal.covered, *in_the_way} - held.keys() for folder in folders(path)}
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
        max_examples=ROUNDS or 24,
        stateful_step_count=6 if ROUNDS else 3,
        deadline=None,
        derandomize=not ROUNDS,
        phases=[Phase.generate],
    )
    run_state_machine_as_test(Machine, settings=options)
