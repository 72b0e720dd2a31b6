"""The disk of the work trees, which need not be the record's, is full: one task asks, and nothing is used up by it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.manual_clock import ManualClock

from unstuck.contract import Answer, Guidance, Task
from unstuck.errors import GitError
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.state import dump
from unstuck.supervision.attempt.runner import CallableAgent
from unstuck.supervision.gates.disk_space import has_no_room
from unstuck.supervision.run.coordinator import Coordinator
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean
from unstuck.workspace.worktrees.worktrees import Worktrees

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/trees/x")


def test_what_is_no_room() -> None:
    """The system's own word, a quota's, and what git prints of it; no other failure."""
    assert has_no_room(FULL)
    assert has_no_room(OSError(errno.EDQUOT, "quota"))
    assert has_no_room(GitError(("worktree", "add"), 128, "error: unable to write x: No space left on device"))
    assert has_no_room(GitError(("worktree", "add"), 128, "error: unable to write file x"))
    assert not has_no_room(OSError(errno.EACCES, "no"))
    assert not has_no_room(GitError(("worktree", "add"), 128, "fatal: a branch named x already exists"))


@pytest.mark.parametrize(("choice", "status"), [("retry", "succeeded"), ("skip", "skipped"), ("abandon", "abandoned")])
async def test_one_task_asks_and_the_other_is_done(
    repo: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, choice: str, status: str
) -> None:
    """Its question is about the disk, no attempt is counted, and the answer does what it says."""
    create = Worktrees.create
    full = True

    async def fails(self: Worktrees, task: str) -> Path:
        if full and task == "big":
            raise FULL
        return await create(self, task)

    async def attempt(guidance: Guidance) -> None:
        (guidance.workdir / "done").touch()

    monkeypatch.setattr(Worktrees, "create", fails)
    async with Supervisor.open(repo, clock=clock) as supervisor:
        assert supervisor.core.worktrees is not None
        await supervisor.core.worktrees.prepare()
        for name in ("big", "small"):
            supervisor.add(Task(id=name, prompt=Clean("Work."), verify="test -e done", isolation="worktree"))
        agents = Coordinator(supervisor, lambda task: CallableAgent(attempt))
        assert (await agents.run()).exit_code == 3
        (gate,) = supervisor.core.head.open_gates()
        assert gate.gate.type == "disk"
        assert gate.gate.task == "big"
        assert gate.gate.choices == ("retry", "skip", "abandon")
        assert "No space left on device" in gate.gate.context["problem"]
        rows = supervisor.core.head.tasks
        assert rows["big"].attempts == 0
        assert rows["big"].state == "waiting"
        assert rows["small"].status == "succeeded"
        run = supervisor.run
    full = False
    async with Supervisor.open(repo, clock=clock, resume=run) as again:
        await again.answer(gate.id, Answer(choice=choice))
        await Coordinator(again, lambda task: CallableAgent(attempt)).run()
        row = again.core.head.tasks["big"]
        assert row.status == status
        assert row.attempts == int(choice == "retry")
        log = again.core.journal.path
    assert "agent_failure" not in [record.name for record in read_records(log)]
    assert dump(again.core.head) == dump(again.core.journal.durable)


def test_a_file_system_that_is_too_small(
    repo: Path, tmp_path: Path, inside: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real one of 300 kB, for a tree of more: the run parks with a question about the disk."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", place], capture_output=True).returncode:
        pytest.skip("mounting is not possible here")
    try:
        (repo / "big").write_bytes(os.urandom(1_000_000))
        subprocess.run(["git", "add", "big"], cwd=repo, check=True)
        subprocess.run(["git", "commit", "-qm", "big"], cwd=repo, check=True)
        plan = "agents: {one: {command: [touch, done]}}\ntasks: [{id: a, agent: one, prompt: x, isolation: worktree}]\n"
        (tmp_path / "plan.yaml").write_text(plan)
        with monkeypatch.context() as patch:
            patch.setenv("UNSTUCK_STATE_DIR", str(place))
            code, out, errors = inside(tmp_path, "run", str(tmp_path / "plan.yaml"), "--headless", "-C", str(repo))
        assert code == 3, out
        assert errors == "", out
        shown = inside(tmp_path, "show", "--json", "-C", str(repo))[1]
        gate = json.loads(shown.splitlines()[-1])
        assert gate["type"] == "disk"
        assert gate["task"] == "a"
        assert "no space for the worktree" in gate["context"]["problem"]
    finally:
        subprocess.run(["umount", "-l", place], check=True)
