"""The check decides, whatever an agent claims and whatever it did to the hooks of the repository."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

PLAN = """
max_parallel: 1
agents: {coder: {command: [sh, AGENT]}}
tasks: [{id: web, prompt: Write it, isolation: worktree, verify: "grep ready state.txt"}]
settings: {ask: never, failure_handler: {max_retries: 1, max_pivots: 0, max_research: 0}}
"""


def test_a_commit_past_the_hooks_is_checked_all_the_same(
    repo: Path, tmp_path: Path, inside: Callable[..., tuple[int, str, str]]
) -> None:
    """The agent commits with the repository's hooks disabled and says that all tests pass: our own check runs before
    anything is integrated, and nothing is."""
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    agent = tmp_path / "agent.sh"
    agent.write_text(
        "echo broken > state.txt; git add . && git commit -q --no-verify -m 'All tests pass'\n"
        'echo "All 214 tests pass."; echo \'UNSTUCK {"signal": "complete"}\'\n'
    )
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.replace("AGENT", str(agent)))
    code, out, _ = inside(repo, "run", str(plan), "--headless")
    assert code == 4
    assert "integrated" not in out
    git = ["git", "-C", str(repo)]
    branches = subprocess.run([*git, "branch", "--list", "unstuck/*/_run"], capture_output=True, text=True).stdout
    for branch in branches.split():
        found = subprocess.run([*git, "cat-file", "-e", f"{branch}:state.txt"], capture_output=True)
        assert found.returncode != 0
    assert not (repo / "state.txt").exists()
