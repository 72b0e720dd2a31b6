"""An entry of git's index is used only where it is proven."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import time

import pytest

from unstuck.workspace.git.repository import run_git
from unstuck.workspace.storage.conversions import unproven
from unstuck.workspace.storage.index_entries import read_entries


def index_of(project):
    return (project.root / ".git/index").read_bytes()


async def doubted(project, *, now=None):
    """The files that have to be read."""

    async def reading(*arguments, stdin=None, check=True):
        return await run_git(project.root, *arguments, stdin=stdin, check=check)

    entries = read_entries(index_of(project), 20)
    odd = await unproven(project.root, project.root / ".git", entries, now or time.time_ns() + 10**9, reading)
    return {os.fsdecode(entry.path) for entry in odd}


def rewrite(project):
    """Let every file be younger than the settings, and than the attributes of its folder."""
    (project.root / ".git/now").touch()
    older = (project.root / ".git/now").stat().st_ctime_ns
    for name in sorted(project.files(), key=lambda name: not name.endswith(".gitattributes")):
        file = project.root / name
        while file.stat().st_ctime_ns <= older:
            file.write_bytes(file.read_bytes())
        if name.endswith(".gitattributes"):
            older = file.stat().st_ctime_ns
        os.utime(file, (next(TIMES),) * 2)  # git may look at whole seconds only
    project.git("update-index", "--really-refresh", "-q")


TIMES = itertools.count(1_000_000_000)
ALL = {"app.py", "lib/util.py", ".gitignore"}


async def test_files_that_nothing_can_have_converted_are_not_read(project):
    """In a fresh clone without any conversion no file has to be read; nor do line ends, which show in the size."""
    rewrite(project)
    assert await doubted(project) == set()
    project.git("config", "core.autocrlf", "input")
    project.write({"app.py": "one\r\n"})
    project.git("add", "app.py")
    rewrite(project)
    assert await doubted(project) == {"app.py"}


async def test_attributes_of_one_folder_are_for_its_files(project):
    """Keywords or encodings that one folder converts matter for its files only."""
    project.write({"lib/.gitattributes": "*.py ident\n"})
    project.commit("keywords")
    rewrite(project)
    assert await doubted(project) == {"lib/util.py", "lib/.gitattributes"}


@pytest.mark.parametrize(
    "setting",
    [
        ("filter.x.clean", "cat"),
        ("include.path", "not-there"),
        ("core.attributesFile", "not-there"),
        ("core.attributesFile", "/dev/null"),
        ("user.name", "later"),
    ],
)
async def test_whatever_could_have_been_set_makes_all_doubtful(project, setting):
    """With a filter, settings that are not where they should be, or that were changed since, all files are read."""
    if setting[0] != "user.name":
        project.git("config", *setting)
    rewrite(project)
    if setting[0] == "user.name":
        assert await doubted(project) == set()
        project.git("config", *setting)
    assert await doubted(project) == ALL


@pytest.mark.parametrize("kind", ["gone", "pipe", "newer", "of the clone", "of mine"])
async def test_attributes_that_are_no_longer_what_they_were(project, kind):
    """Attributes that were deleted or changed since, or cannot be read, say nothing: all files are read."""
    project.write({".gitattributes": "*.md text\n"})
    project.commit("attributes")
    rewrite(project)
    assert await doubted(project) == {".gitattributes"}
    attributes = project.root / ".gitattributes"
    if kind in ("gone", "pipe"):
        attributes.unlink()
    if kind == "pipe":
        os.mkfifo(attributes)
    elif kind == "newer":
        attributes.write_text("*.md text\n")
    elif kind == "of the clone":
        project.write({".git/info/attributes": "x text\n"})
    elif kind == "of mine":
        mine = project.root.parent / "config/git"
        mine.mkdir(parents=True)
        (mine / "attributes").write_text("x text\n")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CONFIG_HOME", str(mine.parent))
            assert await doubted(project) == ALL | {".gitattributes"}
        return
    assert await doubted(project) == ALL | {".gitattributes"}


@pytest.mark.parametrize("place", [".gitconfig", ".config/git/config"])
async def test_my_own_settings_that_are_gone_say_nothing(project, monkeypatch, tmp_path, place):
    """All files are read if my own settings were deleted since: they may have had a filter."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    mine = tmp_path / "home" / place
    mine.parent.mkdir(parents=True)
    mine.write_text("[user]\nname = me\n")
    await asyncio.to_thread(rewrite, project)
    assert await doubted(project) == set()
    (tmp_path / "home" / "downloaded").write_text("of no interest")
    assert await doubted(project) == set()
    mine.unlink()
    assert await doubted(project) == ALL


async def test_settings_of_one_work_tree_that_are_gone_say_nothing(project):
    """All files are read if a worktree may have had settings of its own and has none any more."""
    project.git("config", "extensions.worktreeConfig", "true")
    project.git("config", "--worktree", "user.name", "me")
    rewrite(project)
    assert await doubted(project) == set()
    (project.root / ".git/config.worktree").unlink()
    assert await doubted(project) == ALL


async def test_a_clock_that_was_wrong_proves_nothing(project):
    """Files of a time that is still to come are read."""
    rewrite(project)
    assert await doubted(project, now=1) == ALL


@pytest.mark.parametrize("ids", ["sha1", "sha256"])
@pytest.mark.parametrize("version", ["2", "4"])
def test_the_index_is_read_as_git_reads_it(plain, ids, version):
    """Names, modes, ids, sizes, times and marks of every entry are those that git itself lists."""
    plain.git("init", "-q", f"--object-format={ids}")
    names = [f"{'folder/' * (number % 5)}{'n' * (number % 23)}{number}" for number in range(300)]
    plain.write({name: name * 3 for name in names} | {"ä\n ✓": "", "run": "#!"})
    (plain.root / "run").chmod(0o755)
    (plain.root / "link").symlink_to("run")
    plain.git("add", "-A")
    plain.git("update-index", f"--index-version={version}", "--skip-worktree", names[7])
    plain.git("update-index", "--assume-unchanged", names[8])
    size = 20 if ids == "sha1" else 32
    found = read_entries(index_of(plain), size)
    assert found is not None
    listed = [row for row in plain.git("ls-files", "-s", "-z").split("\0") if row]
    assert [f"{entry.mode:o} {entry.id} 0\t{os.fsdecode(entry.path)}" for entry in found] == listed
    told = re.findall(r"ctime: (\d+):(\d+).*?size: (\d+)", plain.git("ls-files", "--debug"), re.DOTALL)
    assert [(entry.changed_at, entry.size) for entry in found] == [
        (int(seconds) * 10**9 + int(rest), int(size)) for seconds, rest, size in told
    ]
    assert {os.fsdecode(entry.path) for entry in found if not entry.is_plain} == {names[7], names[8]}
    whole = index_of(plain)
    assert read_entries(whole[:3000], size) is None
    assert read_entries(b"TEXT" + whole[4:], size) is None


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
async def test_what_git_was_told_to_overlook_is_never_proven(project, clock, mark):
    """Also where nothing can have been converted, a file that git was told to overlook is saved as it is on disk."""
    rewrite(project)
    project.git("update-index", mark, "app.py")
    project.write({"app.py": "two\n"})
    assert project.git("status", "--porcelain") == ""
    before = project.files()
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    project.write({"app.py": "agent\n"})
    await store.restore(saved.id, run="r")
    assert project.files() == before
