"""``unstuck`` without a word: what it shows to a person at a terminal, and to anything else."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck


def at_a_terminal(unstuck: Unstuck, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """The exit code of ``unstuck`` alone at a terminal, and what it wrote."""
    ours, theirs = pty.openpty()
    process = unstuck.start(cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=dict(env or {}), terminal=True)
    os.close(theirs)
    heard = b""
    try:
        while chunk := os.read(ours, 65_536):
            heard += chunk
    except OSError:
        pass  # the other end is closed: it has said everything
    os.close(ours)
    return process.wait(60), heard.decode().replace("\r", "")


def test_a_newcomer_gets_a_start_page(unstuck: Unstuck, tmp_path: Path) -> None:
    """In a directory without a run, and without a repository, it says how to begin, and exits with 0."""
    for place in (unstuck.root, tmp_path):
        code, said = at_a_terminal(unstuck, place)
        assert code == 0, said
        assert "unstuck demo " in said
        assert 'unstuck run --check "pytest -q" --agent claude "TASK"' in said
        assert "unstuck --help" in said
        assert "last run" not in said
        assert max(map(len, said.splitlines())) <= 80


def test_the_start_page_names_an_agent_that_is_there(unstuck: Unstuck, tmp_path: Path) -> None:
    """An agent on PATH is the one in its example."""
    program = tmp_path / "bin" / "gemini"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    _, said = at_a_terminal(unstuck, env={"PATH": f"{program.parent}:{os.environ['PATH']}"})
    assert "--agent gemini " in said


def test_the_start_page_names_the_last_run(unstuck: Unstuck) -> None:
    """After a run that has ended it says which, and how to look at it."""
    assert unstuck.inside("run", "--headless", "--check", "true", "--", "true").code == 0
    code, said = at_a_terminal(unstuck)
    assert code == 0
    assert f"The last run here is {unstuck.runs[-1].name}: unstuck show\n" in said


def test_without_a_terminal_it_is_the_help(unstuck: Unstuck) -> None:
    """A script that forgot the command gets the help on standard error and 2, as ever."""
    done = unstuck()
    assert (done.code, done.out) == (2, "")
    assert "Usage: unstuck" in done.errors


def test_an_empty_watch_is_not_the_last_run(unstuck: Unstuck) -> None:
    """A watch that was left at once hides no work: `last` is still the run before; alone it is `last` itself."""

    def watch_left_at_once() -> str:
        watching = unstuck.start("watch", "--headless", env={"PYTHONUNBUFFERED": "1"})
        unstuck.until(watching, b"watching")
        live = unstuck.runs[-1].name
        assert unstuck.inside("show").out.startswith(f"run {live} ")
        watching.terminate()
        watching.wait(60)
        return live

    first = watch_left_at_once()
    assert unstuck.inside("show").out.startswith(f"run {first} ")
    assert unstuck.inside("run", "--headless", "--check", "true", "--", "true").code == 0
    run = unstuck.runs[-1].name
    watch_left_at_once()
    for words in (("show",), ("recap",), ("fsck",), ("events",)):
        assert unstuck.inside(*words).code == 0
    assert unstuck.inside("show").out.startswith(f"run {run} ")
    assert unstuck.inside("show", "last").out.startswith(f"run {run} ")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a repository to another user")
def test_the_cure_for_a_foreign_repository_is_shown(unstuck: Unstuck, tmp_path: Path) -> None:
    """A repository of another user is refused in one line, with the command that git names; after it all is well."""
    place = tmp_path / "theirs and ours"
    shutil.copytree(unstuck.root, place)
    for path in (place, place / ".git"):
        os.chown(path, 65_534, 65_534)
    done = unstuck.inside("runs", cwd=place)
    assert done.code == 2
    assert len(done.errors.splitlines()) == 1
    cure = done.errors.strip().partition("if you trust it: ")[2]
    assert cure == f"git config --global --add safe.directory '{place}'"
    subprocess.run(cure, shell=True, check=True)
    assert unstuck.inside("runs", cwd=place).out == "no runs here yet\n"
