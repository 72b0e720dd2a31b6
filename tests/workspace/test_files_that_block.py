"""Pipes and devices in the place of files that git reads, and a git that waits for one with our lock."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.workspace.conftest import Project

from unstuck.workspace.git.file_lock import _end_orphans
from unstuck.workspace.git.plain_file import blocking_file, waits_for_pipe


@pytest.mark.parametrize("name", [".gitignore", "lib/.gitattributes", ".git/info/exclude", ".git/objects/pack/any"])
def test_a_pipe_that_git_would_read_is_found(project: Project, name: str) -> None:
    """By a few names anywhere in the tree, and by any name in the git directory."""
    place = project.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    assert blocking_file([project.root]) == place


@pytest.mark.parametrize("name", ["data", "lib/gitignore", ".git/unstuck/any"])
def test_a_pipe_of_mine_that_git_does_not_read_is_none(project: Project, name: str) -> None:
    """A pipe with another name, or in our own folder, blocks no git."""
    place = project.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place)
    assert blocking_file([project.root]) is None


@pytest.mark.parametrize(("target", "blocks"), [("/dev/null", False), ("/dev/zero", True), ("gone", False)])
def test_a_device_blocks_unless_it_is_empty(project: Project, target: str, blocks: bool) -> None:
    """An endless device is found behind a link; /dev/null, which many use for no rules at all, is fine."""
    place = project.root / "lib" / ".gitattributes"
    place.symlink_to(target)
    assert (blocking_file([project.root]) == place) == blocks


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a device")
def test_a_disk_in_the_place_of_a_file_blocks(project: Project) -> None:
    """A block device has no end that git would come to soon."""
    place = project.root / "lib" / ".gitattributes"
    try:
        os.mknod(place, stat.S_IFBLK | 0o600, os.makedev(7, 200))
    except PermissionError:
        pytest.skip("devices cannot be made here")
    assert blocking_file([project.root]) == place


WAITING = """
import os, sys
os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
if sys.argv[3] == "group":
    os.setpgid(0, 0)
open(sys.argv[2])
"""


def waiting(folder: Path, how: str) -> subprocess.Popen[bytes]:
    """A process that has the lock's file open and waits for a pipe."""
    os.mkfifo(folder / "pipe")
    process = subprocess.Popen([sys.executable, "-c", WAITING, folder / "lock", folder / "pipe", how])
    while not waits_for_pipe(process.pid):
        assert process.poll() is None
    return process


@pytest.mark.parametrize("how", ["group", "shared"])
def test_only_an_orphan_in_a_group_of_its_own_is_ended(tmp_path: Path, how: str) -> None:
    """A git of a dead supervisor leads a group of its own; whatever shares a group with others is not ended."""
    process = waiting(tmp_path, how)
    try:
        _end_orphans(tmp_path / "lock")
        if how == "group":
            assert process.wait(30) < 0
        else:
            assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_git_whose_supervisor_lives_is_left_alone(tmp_path: Path) -> None:
    """Its parent holds the lock, too: who started it ends it."""
    process = waiting(tmp_path, "group")
    try:
        with (tmp_path / "lock").open():
            _end_orphans(tmp_path / "lock")
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_holder_of_another_lock_is_left_alone(tmp_path: Path) -> None:
    """It waits for a pipe, too, and has nothing to do with us."""
    process = waiting(tmp_path, "group")
    try:
        _end_orphans(tmp_path / "other")
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
