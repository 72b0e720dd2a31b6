"""Scans of a task's files per attempt: in a large project each takes as long as ``git status``."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from tests.e2e.conftest import Unstuck

COUNTING = """#!/bin/sh
case "$*" in *" --ignored=matching "*) echo look >> "{log}" ;; esac
exec {git} "$@"
"""


@pytest.mark.parametrize(("isolation", "most"), [("worktree", 1), ("shared", 4)])
def test_a_failed_attempt_has_few(unstuck: Unstuck, isolation: str, most: int) -> None:
    """In a worktree of its own one look serves everything; in my checkout others may change files in between."""
    git = next(Path(folder, "git") for folder in os.get_exec_path() if Path(folder, "git").exists())
    log, wrapper = unstuck.seen.parent / "looks", unstuck.seen.parent / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(COUNTING.format(log=log, git=git))
    wrapper.chmod(0o755)
    agent = unstuck.script("agent.sh", f'echo attempt >> "{log}"; echo x >> made')
    plan = unstuck.root / "plan.yaml"
    plan.write_text(
        f"agents: {{a: {{command: [sh, {agent}]}}}}\n"
        f"tasks: [{{id: t, prompt: p, verify: \"echo 'E   AssertionError: no'; exit 1\", isolation: {isolation}}}]\n"
        "settings: {failure_handler: {max_retries: 3, max_pivots: 0, max_research: 0}}\n"
    )
    path = f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}"
    assert unstuck("run", "plan.yaml", "--headless", env={"PATH": path}).code == 3
    rows = log.read_text().split()
    attempts = [number for number, row in enumerate(rows) if row == "attempt"]
    assert len(attempts) == 4
    assert {after - before - 1 for before, after in pairwise(attempts)} == {most}
