"""The ground: the plan's shared check on the untouched base, and who mends it when it is broken.

Where that check fails before any agent has done anything, no task is to blame and none is started: the remediation
agent is sent, a few times, then a person is asked, or the run halts where nobody may be.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from unstuck.contract import Agent, Directive, Guidance, Observation, Task
from unstuck.diagnosis import diagnose
from unstuck.errors import AgentNotFound
from unstuck.record import events as e
from unstuck.supervision.asking import open_gate
from unstuck.supervision.core import Core
from unstuck.supervision.verification import Check
from unstuck.text import Clean, admit

__all__ = ["HALT_MESSAGE", "Ground", "NullObserver"]

HALT_MESSAGE = """WORKFLOW FAILED - REMEDIATION LIMIT EXCEEDED

Infrastructure could not be restored after {attempts} attempts.

Last issue: {issue}
State preserved: {state}
Event log: {log}

Human intervention required."""


class Ground:
    """Watches over the run's base. ``agent`` is the plan's remediation agent, None where it has none."""

    def __init__(self, core: Core, verify: str, agent: Agent | None, *, limit: int) -> None:
        self._core, self._verify, self._agent, self._limit = core, verify, agent, limit
        self._changed = core.changed("ground")
        self._checking = asyncio.Lock()
        core.baseline_check = self.check_baseline

    async def check_baseline(self) -> None:
        """Run the shared check once on the base and record what it says."""
        async with self._checking:
            if not self._core.head.run.baseline:
                check, identity, headline = await self._judge_base("baseline")
                self._core.append(e.BaselineChecked(result=check.result, identity=identity, headline=headline))

    async def _judge_base(self, label: str) -> tuple[Check, str, Clean]:
        worktrees = self._core.worktrees
        if worktrees is None:
            return Check(result="none"), "", Clean("")
        async with worktrees.baseline() as tree:
            if self._core.setup:
                await self._core.verifier.check(
                    self._core.setup, tree=self._core.workdir(tree), label=f"{label}.setup", again=False
                )
            return await self._judge(tree, label)

    async def _judge(self, tree: Path, label: str) -> tuple[Check, str, Clean]:
        check = await self._core.verifier.check(self._verify, tree=self._core.workdir(tree), label=label)
        found = diagnose(check.text, exit_code=check.exit_code, root=str(tree)) if check.result == "failed" else None
        return check, found.identity if found else "", found.headline if found else check.problem

    async def keep(self) -> None:
        """Mend the ground whenever it is blocked, until cancelled."""
        core = self._core
        while True:
            self._changed.clear()
            run = core.head.run
            if run.state != "blocked":
                await self._changed.wait()
            elif run.remediation_failed >= self._limit or self._agent is None:
                await self._give_up()
            else:
                await self._remediate(run.remediation_failed + 1, self._agent)

    async def _remediate(self, number: int, agent: Agent) -> None:
        core = self._core
        issue = admit(core.head.run.blocked, limit=500)
        if core.head.run.remediation != number:
            core.append(e.RemediationDispatched(attempt=number, issue=issue))
        await core.journal.committed()
        assert core.worktrees is not None
        tree = await core.worktrees.create("_remediation")
        prompt = admit(
            "The project's own check fails before any task was begun. Mend it.\n\n"
            f"Problem: {issue}\n\nCheck: {self._verify}"
        )
        task = Task(id="_remediation", prompt=prompt, agent="remediation")
        guidance = Guidance(
            attempt=f"_remediation.{number}", number=number, level="first", text=prompt, workdir=core.workdir(tree)
        )
        with suppress(AgentNotFound):
            await agent.attempt(task, guidance, NullObserver())
        check, _, headline = await self._judge(tree, f"remediation.{number}")
        if check.result == "passed":
            await core.worktrees.integrate("_remediation", "remediation: the shared check passes again")
            core.append(e.InfrastructureRestored(attempts_used=number))
        else:
            core.append(e.RemediationFailed(attempt=number, issue=headline))

    async def _give_up(self) -> None:
        """Ask, or halt; a person's retry looks at the base again."""
        core = self._core
        run = core.head.run
        if not core.may_ask:
            core.append(
                e.WorkflowFailed(
                    reason="remediation_limit_exceeded",
                    details=admit(
                        HALT_MESSAGE.format(
                            attempts=run.remediation_failed,
                            issue=run.blocked,
                            state=core.folder / "state.json",
                            log=core.journal.path,
                        ),
                        limit=2_000,
                    ),
                    attempts=run.remediation_failed,
                    last_issue=admit(run.blocked, limit=500),
                    last_state="blocked",
                )
            )
            return
        context = {"problem": run.blocked, "attempts": run.remediation_failed, "check": self._verify}
        gate = open_gate(core, "remediation", task="", key="ground", context=context)
        while core.head.gates[gate].status == "open":
            self._changed.clear()
            await self._changed.wait()
        await self._after_answer(gate)

    async def _after_answer(self, gate: str) -> None:
        core = self._core
        row = core.head.gates[gate]
        core.append(e.AnswerDelivered(gate=gate))
        if row.effect == "halt":
            core.append(e.StopRequested(reason="abandoned"))
        elif row.answer is not None and row.answer.choice == "skip":
            core.append(e.InfrastructureRestored(attempts_used=core.head.run.remediation_failed))
        else:
            check, _, _ = await self._judge_base("baseline-again")
            if check.result == "passed":
                core.append(e.InfrastructureRestored(attempts_used=core.head.run.remediation_failed))


class NullObserver:
    """Takes no notice: for work that is not a task's attempt."""

    def see(self, observation: Observation) -> None:
        """Nothing."""

    async def step(self, observation: Observation, *, within: float | None = None) -> Directive:
        """Go on."""
        return Directive(kind="go_on")

    async def delivered(self, directive: Directive) -> None:
        """Nothing."""

    async def spawned(self, pid: int, start: float) -> None:
        """Nothing."""
