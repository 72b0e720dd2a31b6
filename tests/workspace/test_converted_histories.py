"""Random histories of trees whose files git converts: whatever is saved comes back byte for byte.

Each history is made from its number: attributes and filters of several kinds, at several places, that come and go while
files are edited, committed, checked out, saved, restored and undone. Files are older than the index wherever that can
be, so that git takes them for clean without a look. ``UNSTUCK_TREES=1000 make test
ARGS=tests/workspace/test_converted_histories.py`` makes a thousand histories.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest
from tests.manual_clock import ManualClock

from unstuck.workspace.checkpoints.manager import CheckpointStore
from unstuck.workspace.git.repository import find_repository, project_home

ROUNDS = int(os.environ.get("UNSTUCK_TREES", "0")) or 16
STEPS = 12
NAMES = (
    "a.t",
    "b.t",
    "c.d",
    "é ✓.d",
    "new\nline.t",
    "-o.d",
    "A.t",
    "sub/a.t",
    "sub/c.d",
    "sub/deep/b.t",
    '"q.d',
    "sub/x",
)
PLACES = (".gitattributes", "sub/.gitattributes", "sub/deep/.gitattributes", ".git/info/attributes", "../attributes")
WHAT = ("*.t", "*.d", "*", "sub/**", "a.*")
HOW = (
    "filter=strip",
    "filter=rot",
    "filter=pointer",
    "filter=flaky",
    "filter=gone",
    "filter=process",
    "text",
    "text=auto",
    "-text",
    "text eol=crlf",
    "eol=lf",
    "crlf",
    "ident",
    "working-tree-encoding=UTF-16",
    "working-tree-encoding=UTF-16LE-BOM",
    "working-tree-encoding=latin-1",
    "binary",
    "mine",
    "-filter",
    "!filter !text !ident",
)
CONVERTING = [how for how in HOW if "=" in how and "flaky" not in how and "gone" not in how] + ["ident", "mine"]
FILTERS = {
    "strip": {"clean": "sed /^out:/d", "smudge": "cat"},
    "rot": {"clean": "tr a-mn-z n-za-m", "smudge": "tr n-za-m a-mn-z", "required": "true"},
    "pointer": {
        "clean": """sh -c 'echo "oid $(git hash-object -w --no-filters --stdin)"'""",
        "smudge": """sh -c 'read -r kind id; git cat-file blob "$id" 2>/dev/null || echo "$kind $id"'""",
    },
    "flaky": {"clean": "sh -c 'cat; exit 1'", "smudge": "false"},
    "process": {"process": f"{sys.executable} {{process}}"},
    "mine": {"clean": "sed s/^/+/", "smudge": "sed s/^+//"},
}
SETTINGS = (
    ("core.autocrlf", "true"),
    ("core.autocrlf", "input"),
    ("core.autocrlf", "false"),
    ("core.eol", "crlf"),
    ("core.safecrlf", "true"),
    ("core.safecrlf", "warn"),
    ("core.ignoreCase", "true"),
    ("core.symlinks", "false"),
    ("core.trustctime", "false"),
    ("core.checkStat", "minimal"),
    ("index.version", "4"),
    ("core.untrackedCache", "true"),
    ("core.attributesFile", "../attributes"),
)
TEXTS = (
    b"",
    b"code\nout: 14 hours\n",
    b"secret text\n",
    b"a\r\nb\r\n",
    b"a\nb\r\n",
    b"$Id$\n",
    b"$Id: 0123456789012345678901234567890123456789 $\n",
    b"\0binary\r\n\n",
    "ä €\n".encode("utf-16"),
    "中a文b".encode("utf-16-le"),
    "ä\n".encode(),
    b"oid 0000\n",
    b"x" * 3000 + b"\n",
)
# A filter that is a process of its own for all files (gitattributes, "Long Running Filter Process").
PROCESS = r"""
import sys
stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
def packets():
    while (size := int(stdin.read(4) or b"0000", 16)) > 4:
        yield stdin.read(size - 4)
def send(*parts):
    for part in parts:
        stdout.write(b"%04x" % (len(part) + 4) + part)
    stdout.write(b"0000")
    stdout.flush()
list(packets()); send(b"git-filter-server\n", b"version=2\n")
list(packets()); send(b"capability=clean\n", b"capability=smudge\n")
turn = bytes.maketrans(b"abcdefghijklm", b"nopqrstuvwxyz")
back = bytes.maketrans(b"nopqrstuvwxyz", b"abcdefghijklm")
while head := list(packets()):
    body = b"".join(packets())
    send(b"status=success\n")
    body = body.translate(turn) if b"command=clean\n" in head else body.translate(back)
    send(*(body[at : at + 60000] for at in range(0, len(body), 60000)))
    send()
"""

Files = dict[str, tuple[int, int, int, bytes]]
numbers = itertools.count()


class History:
    """One tree of a person, and what has become of it by ``chance``."""

    def __init__(self, folder: Path, project_type: type, number: int) -> None:
        self.chance = random.Random(number)
        self.project = project_type(folder / "p")
        self.project.root.mkdir()
        (folder / "process.py").write_text(PROCESS)
        self.process = folder / "process.py"
        self.project.git("init", "-q", "-b", "main", "--template=")
        self.trees = [self.project.root]
        self.saved: dict[tuple[Path, str], Files] = {}
        self.stores: dict[Path, CheckpointStore] = {}
        self.seen: list[str] = []

    def files(self, tree: Path) -> Files:
        """Return the content of a tree: permissions, owner, and content or target of each file."""
        found = {}
        for file in sorted(tree.rglob("*")):
            relative = file.relative_to(tree)
            if relative.parts[0] == ".git" or (file.is_dir() and not file.is_symlink()):
                continue
            status = file.lstat()
            content = os.fsencode(os.readlink(file)) if file.is_symlink() else file.read_bytes()
            found[str(relative)] = (status.st_mode & 0o7777, status.st_uid, status.st_gid, content)
        return found

    async def store(self, tree: Path) -> CheckpointStore:
        """The checkpoints of a tree, opened anew now and then."""
        if tree not in self.stores or self.chance.random() < 0.3:
            repo = await find_repository(tree)
            main = await find_repository(self.project.root)
            self.stores[tree] = CheckpointStore(tree, project_home(self.project.root, main), repo, clock=ManualClock())
        return self.stores[tree]

    async def begin(self) -> None:
        """A project in which git converts files, known to git as they are, and what befalls it before it is saved."""
        root = self.project.root
        for name in NAMES:
            self.write_one(root / name)
        for _ in range(4):
            self.configure(root)
        self.attributes(root)
        place = root / self.chance.choice(PLACES[:4])
        place.parent.mkdir(parents=True, exist_ok=True)
        kinds = self.chance.sample(CONVERTING, 3)
        place.write_text(f"[attr]mine filter=mine -diff\n* {kinds[0]}\n*.d {kinds[1]}\na.* {kinds[2]}\n")
        self.commit(root)
        self.check_out(root)
        before = (self.attributes, self.configure, self.remove_settings, self.mark, self.tree, self.commit, self.write)
        for what in self.chance.sample(before, self.chance.randint(0, 3)):
            self.seen.append(what.__name__)
            what(root)

    def forget(self, tree: Path) -> None:
        """All checkpoints are thrown away: the next one is the first again."""
        shutil.rmtree(self.project.root / ".git/unstuck", ignore_errors=True)
        self.saved.clear()
        self.stores.clear()

    async def step(self) -> None:
        """Something happens."""
        steps = (self.write, self.write, self.attributes, self.configure, self.commit, self.settle, self.check_out)
        more = (
            self.mark,
            self.link,
            self.tree,
            self.remove_settings,
            self.forget,
            self.save,
            self.save,
            self.go_back,
            self.go_back,
        )
        what = self.chance.choice(steps + more)
        self.seen.append(what.__name__)
        tree = self.chance.choice(self.trees)
        done = what(tree)
        if done is not None:
            await done

    def write(self, tree: Path) -> None:
        """A person or an agent writes files, or makes them private, or to be run."""
        for _ in range(self.chance.randint(1, 5)):
            self.write_one(tree / self.chance.choice(NAMES))

    def write_one(self, file: Path) -> None:
        """One file is written, new or over what is there."""
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink():
            file.unlink()
        file.write_bytes(self.chance.choice(TEXTS))
        if self.chance.random() < 0.3:
            file.chmod(self.chance.choice((0o600, 0o644, 0o755, 0o664, 0o4755)))
            if os.geteuid() == 0 and self.chance.random() < 0.3:
                os.chown(file, 1234, 4321)

    def link(self, tree: Path) -> None:
        """A file becomes a link."""
        file = tree / self.chance.choice(NAMES)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.symlink_to(self.chance.choice(NAMES))

    def attributes(self, tree: Path) -> None:
        """Attributes come, change or go, in any of their places."""
        place = tree / self.chance.choice(PLACES)
        if place.parent.name == "info":
            place = self.project.root / ".git/info/attributes"
        place.parent.mkdir(parents=True, exist_ok=True)
        if self.chance.random() < 0.25:
            place.unlink(missing_ok=True)
            return
        top = place.parent in (tree, self.project.root / ".git/info")
        lines = ["[attr]mine filter=mine -diff"] if top else []
        pick = self.chance.choice
        lines += [f"{pick(WHAT)} {pick(HOW)}" for _ in range(self.chance.randint(1, 3))]
        place.write_text("\n".join(lines) + "\n")

    def configure(self, tree: Path) -> None:
        """Filters and settings come."""
        for name in self.chance.sample(sorted(FILTERS), 3):
            for key, value in FILTERS[name].items():
                self.project.attempt(
                    "config", f"filter.{name}.{key}", value.format(process=self.process) if name == "process" else value
                )
        if self.chance.random() < 0.6:
            key, value = self.chance.choice(SETTINGS)
            self.project.attempt("config", key, str(self.project.root / value) if value[0] == "." else value)

    def remove_settings(self, tree: Path) -> None:
        """Filters and settings go."""
        for name in self.chance.sample(sorted(FILTERS), 4):
            self.project.attempt("config", "--remove-section", f"filter.{name}")
        for key, _ in self.chance.sample(SETTINGS, 6):
            self.project.attempt("config", "--unset-all", key)

    def git(self, tree: Path, *arguments: str) -> None:
        """The user's git, which may fail: where a filter does."""
        self.project.attempt("-C", str(tree), "-c", "core.hooksPath=/dev/null", *arguments)

    def commit(self, tree: Path) -> None:
        """Everything is committed that git takes."""
        for name in (*NAMES, *PLACES[:3]):
            if os.path.lexists(tree / name):  # one by one: git takes none of them where it does not take one
                self.git(tree, "add", *self.chance.choice(([], [], ["--renormalize"])), "--", name)
        self.git(tree, "commit", "-q", "--allow-empty", "--no-gpg-sign", "-m", "x")
        self.settle(tree)

    def settle(self, tree: Path) -> None:
        """Time passes: files are older than the index, which knows them all."""
        for file in tree.rglob("*"):
            if ".git" not in file.relative_to(tree).parts and (file.is_file() and not file.is_symlink()):
                before = 1_000_000_000 + next(numbers)
                os.utime(file, (before, before))
        self.git(tree, "update-index", "-q", *self.chance.choice((["--refresh"], ["--really-refresh"])))

    def check_out(self, tree: Path) -> None:
        """Git writes files itself, through whatever filters there are."""
        how = self.chance.choice(
            (["checkout", "-q", "-f", "."], ["reset", "-q", "--hard"], ["stash", "-q"], ["stash", "pop", "-q"])
        )
        for name in self.chance.sample(NAMES, 3):
            if how[0] == "checkout" and (tree / name).is_file():
                (tree / name).unlink()
        self.git(tree, *how)
        self.settle(tree)

    def mark(self, tree: Path) -> None:
        """Git is told to overlook a file, or writes its index another way."""
        marks = ("--assume-unchanged", "--no-assume-unchanged", "--skip-worktree", "--no-skip-worktree")
        self.git(tree, "update-index", self.chance.choice(marks), "--", self.chance.choice(NAMES))
        forms = ("--split-index", "--no-split-index", "--index-version=4", "--index-version=2", "--untracked-cache")
        if self.chance.random() < 0.4:
            self.git(tree, "update-index", self.chance.choice(forms))

    def tree(self, tree: Path) -> None:
        """A task gets a work tree of its own."""
        if len(self.trees) < 3:
            place = self.project.root.parent / f"t{len(self.trees)}"
            self.git(tree, "worktree", "add", "-q", "--detach", str(place))
            if (place / ".git").exists():
                self.trees.append(place)
                self.settle(place)

    async def save(self, tree: Path) -> None:
        """A checkpoint holds what lies there."""
        before = self.files(tree)
        done = await (await self.store(tree)).create("x", run="r")
        assert self.files(tree) == before
        assert done.left_out == ()
        assert self.held(done.tree) == self.contents(before)
        self.saved.setdefault((tree, done.id), before)

    def held(self, tree: str) -> dict[str, tuple[bool, bytes]]:
        """Return the content of a checkpoint's tree, read by git alone."""
        store = self.project.root / ".git/unstuck/checkpoints/store.git"
        environment = {**os.environ, "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.project.root / ".git/objects")}
        git = partial(subprocess.run, env=environment, capture_output=True, check=True)
        rows = git(["git", f"--git-dir={store}", "ls-tree", "-r", "-z", tree]).stdout.split(b"\0")[:-1]
        asked = b"".join(row[12:52] + b"\n" for row in rows)
        told = io.BytesIO(git(["git", f"--git-dir={store}", "cat-file", "--batch"], input=asked).stdout)
        found = {}
        for row in rows:
            size = int(told.readline().split()[2])
            found[os.fsdecode(row[53:])] = (row.startswith(b"100755"), told.read(size))
            told.read(1)
        return found

    async def go_back(self, tree: Path) -> None:
        """A restore brings back what was saved, and an undo what was there before."""
        known = [id for place, id in self.saved if place == tree]
        if not known:
            return
        before, goal = self.files(tree), self.saved[tree, id := self.chance.choice(known)]
        store = await self.store(tree)
        done = await store.restore(id, run="r")
        self.compare(tree, before, goal)
        if done.changes and self.chance.random() < 0.5:
            between = self.files(tree)
            await store.undo(run="r")
            self.compare(tree, between, before)

    def compare(self, tree: Path, before: Files, goal: Files) -> None:
        """Contents and links are those of ``goal``; permissions and owners of what was there stay, but to be run."""
        now = self.files(tree)
        assert self.contents(now) == self.contents(goal)
        for name in now.keys() & before.keys():
            was, is_ = before[name], now[name]
            if 0o777 in (was[0], is_[0]):
                continue  # a link has none of its own
            assert is_[1:3] == was[1:3]
            runs = is_[0] & 0o100
            assert is_[0] & 0o666 == was[0] & 0o666
            assert is_[0] & 0o7111 == was[0] & 0o7111 or runs != was[0] & 0o100

    @staticmethod
    def contents(files: Files) -> dict[str, tuple[bool, bytes]]:
        """Return the files of a checkpoint: whether each may be run, and its content."""
        return {name: (bool(entry[0] & 0o100) and entry[0] != 0o777, entry[3]) for name, entry in files.items()}


@pytest.mark.timeout(0)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_any_history_of_converted_files(number: int, project_type: type) -> None:
    """Whatever git makes of the files meanwhile, each restore and each undo brings back exactly what lay there."""
    folder = Path(tempfile.mkdtemp(prefix="u-converted-", dir="/tmp"))
    history = History(folder, project_type, number)

    async def live() -> None:
        await history.begin()
        await history.save(history.project.root)
        for _ in range(STEPS):
            await history.step()
        for tree in history.trees:
            await history.save(tree)
            await history.go_back(tree)

    try:
        asyncio.run(live())
    except Exception as problem:
        problem.add_note(f"history {number}: {', '.join(history.seen)}")
        raise
    finally:
        shutil.rmtree(folder)
