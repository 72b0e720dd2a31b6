"""A checkpoint holds the bytes on disk, whatever git keeps in their place: filters, line ends, keywords, encodings.

Git's index calls such a file clean. Everywhere here the files are older than the index, as they are in a tree that
somebody works in: git then looks at no content again.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys

import pytest

from unstuck.workspace.checkpoints.manager import CheckpointStore

NOTEBOOK = {"filter.nb.clean": "sed /^out:/d", "filter.nb.smudge": "cat"}
CRYPT = {
    "filter.crypt.clean": "tr a-mn-z n-za-m",
    "filter.crypt.smudge": "tr n-za-m a-mn-z",
    "filter.crypt.required": "true",
}
POINTER = {
    "filter.lfs.clean": """sh -c 'id=$(git hash-object -w --no-filters --stdin) && echo "oid $id"'""",
    "filter.lfs.smudge": """sh -c 'read -r _ id && git cat-file blob "$id"'""",
}
OUTPUT = b"code\nout: 14 hours of training\n"
KINDS = {
    "notebook": ({".gitattributes": "*.d filter=nb\n"}, NOTEBOOK, OUTPUT),
    "crypt": ({".gitattributes": "*.d filter=crypt diff=crypt\n"}, CRYPT, b"a secret\n"),
    "pointer": ({".gitattributes": "*.d filter=lfs diff=lfs merge=lfs -text\n"}, POINTER, b"large\0\n"),
    "autocrlf": ({}, {"core.autocrlf": "true"}, b"a\r\nb\r\n"),
    "input": ({}, {"core.autocrlf": "input"}, b"a\r\nb\r\n"),
    "eol": ({".gitattributes": "*.d text eol=crlf\n"}, {}, b"a\r\nb\r\n"),
    "auto": ({".gitattributes": "* text=auto\n"}, {"core.eol": "crlf"}, b"a\r\nb\r\n"),
    "ident": ({".gitattributes": "*.d ident\n"}, {}, b"$Id: 0123456789012345678901234567890123456789 $\n"),
    "encoding": ({".gitattributes": "*.d working-tree-encoding=UTF-16LE\n"}, {}, "ä €\n".encode("utf-16-le")),
    "in a folder": ({"lib/.gitattributes": "*.d filter=nb\n"}, NOTEBOOK, OUTPUT),
    "by a macro": ({".gitattributes": "[attr]stripped filter=nb -diff\n*.d stripped\n"}, NOTEBOOK, OUTPUT),
    "of the clone": ({".git/info/attributes": "*.d filter=crypt\n"}, CRYPT, b"a secret\n"),
    "of mine": ({"../mine": "*.d filter=crypt\n"}, {"core.attributesFile": "../mine", **CRYPT}, b"a secret\n"),
}


def settle(project) -> None:
    """Let all files be a day old, and known to git as they are: it looks at none of them again."""
    for file in project.root.rglob("*"):
        if ".git" not in file.relative_to(project.root).parts and file.is_file() and not file.is_symlink():
            before = file.stat()
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns - 86_400 * 10**9))
    project.git("update-index", "-q", "--really-refresh")


def convert(project, kind: str) -> None:
    """Commit files of this kind, with what git makes of them on disk."""
    files, config, content = KINDS[kind]
    for key, value in config.items():
        project.git("config", key, str(project.root / value) if value == "../mine" else value)
    project.write({**files, "lib/a.d": content, "lib/with space ä\n.d": content, "plain.txt": "plain\n"})
    project.commit("converted")
    settle(project)
    assert project.git("status", "--porcelain") == ""
    if kind != "of mine":
        assert project.git("cat-file", "blob", "HEAD:lib/a.d").encode() != content


async def comes_back(project, clock) -> None:
    """Save the tree as it is, let an agent spoil it, and set it back."""
    before = project.files()
    store = await project.store(clock)
    saved = await store.create("a", run="r")
    for name in before:
        if not name.endswith(".gitattributes"):
            (project.root / name).write_bytes(b"agent\n")
    await store.restore(saved.id, run="r")
    assert project.files() == before


@pytest.mark.parametrize("kind", KINDS)
async def test_files_that_git_converts_come_back_as_they_were(project, clock, kind):
    """Outputs that a filter strips, decrypted text, large files, line ends, keywords, encodings: all as it was."""
    convert(project, kind)
    await comes_back(project, clock)


@pytest.mark.parametrize("kind", KINDS)
async def test_and_when_nothing_says_any_more_that_git_converted_them(project, clock, kind):
    """Attributes and filters that were taken away since change no file; the bytes on disk are saved all the same."""
    convert(project, kind)
    files, config, _ = KINDS[kind]
    for name in files:
        (project.root / name).unlink()
    for key in config:
        project.git("config", "--unset", key)
    project.git("add", "-A")
    project.git("commit", "-q", "--allow-empty", "-m", "as ever")
    assert project.git("status", "--porcelain") == ""
    await comes_back(project, clock)


@pytest.mark.parametrize("kind", ["notebook", "crypt", "pointer", "autocrlf", "ident", "encoding"])
async def test_the_first_look_at_a_tree_of_a_task(project, clock, tmp_path, kind):
    """In a work tree that git has just made, files hold what the filter gave out, and a checkpoint holds that."""
    convert(project, kind)
    project.git("worktree", "add", "-q", str(tmp_path / "tree"))
    tree = type(project)(tmp_path / "tree")
    settle(tree)
    assert b"oid" not in (tree.root / "lib/a.d").read_bytes()
    before = tree.files()
    repo = await project.repository()
    store = CheckpointStore(tree.root, project.root / ".git/unstuck", repo, clock=clock)
    saved = await store.create("a", run="r")
    tree.write({"lib/a.d": "agent"})
    await store.restore(saved.id, run="r")
    assert tree.files() == before


async def test_what_git_was_told_to_overlook_is_read(project, clock):
    """A file that git was told to take for unchanged is saved as it is, also where a filter is at work."""
    convert(project, "notebook")
    project.git("update-index", "--assume-unchanged", "lib/a.d")
    project.git("update-index", "--skip-worktree", "plain.txt")
    project.write({"lib/a.d": "code\nout: mine\n", "plain.txt": "other\n"})
    settle(project)
    await comes_back(project, clock)


@pytest.mark.parametrize("layout", ["split", "version 4", "untracked cache", "many threads"])
async def test_whatever_the_index_looks_like(project, clock, layout):
    """An index in two files, with shortened names, or with what git knows of folders is read rightly or not at all."""
    options = {"split": "--split-index", "version 4": "--index-version=4", "untracked cache": "--untracked-cache"}
    if layout == "many threads":
        project.git("config", "index.threads", "4")
    convert(project, "ident")
    if layout in options:
        project.git("update-index", options[layout])
    await comes_back(project, clock)


async def test_an_index_of_an_earlier_version_is_begun_again(project, clock):
    """Entries that an earlier version took from git's own index are not used."""
    convert(project, "notebook")
    store = await project.store(clock)
    await store.create("a", run="r")
    (place,) = (project.root / ".git/unstuck/checkpoints/store.git/worktrees").glob("*/")
    (place / "exact").unlink()
    await asyncio.to_thread(shutil.copy2, project.root / ".git/index", place / "index")
    await comes_back(project, clock)


async def test_a_filter_that_fails_takes_no_part(project, clock):
    """A required filter that is missing, fails, or is a process that dies changes nothing about a checkpoint."""
    convert(project, "crypt")
    broken = f"{shlex.quote(sys.executable)} -c 'raise SystemExit(3)'"
    for key in ("clean", "smudge", "process"):
        project.git("config", f"filter.crypt.{key}", broken)
    await comes_back(project, clock)
