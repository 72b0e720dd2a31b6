"""Remediation: the plan's setup and shared check on the untouched base, and the agent that repairs it.

Where one of them fails before any agent has done anything, no task is to blame and none is started: the remediation
agent is sent, a few times, then a person is asked, or the run halts where nobody may be.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from unstuck.clock.waits import first_of
from unstuck.contract import Agent, Directive, Guidance, Observation, Report, Task
from unstuck.diagnosis.extent import UNKNOWN_EXTENT, Extent
from unstuck.diagnosis.failure_counts import extent_of
from unstuck.diagnosis.pipeline import diagnose
from unstuck.errors import WorkspaceError
from unstuck.eventlog import events as e
from unstuck.supervision.attempt.permissions import NOBODY
from unstuck.supervision.attempt.worktree_setup import setup_problem
from unstuck.supervision.checkpointing import saved_tree
from unstuck.supervision.checks.check import Check, settled
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.gates.budget import count_usage
from unstuck.supervision.gates.service import open_gate
from unstuck.supervision.outcome.halt import halt_remediation
from unstuck.text import Clean, admit, one_line
from unstuck.workspace.worktrees.worktrees import REMEDIATION

_LOOKED_AGAIN = "the check ran again after your answer, and still fails"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """Result of setup and check in a worktree: ``ok`` if both pass, else ``identity`` and ``extent`` of the failure."""

    ok: bool
    check: Check
    identity: str = ""
    headline: Clean = Clean("")
    extent: Extent = UNKNOWN_EXTENT


class Remediation:
    """Watches over the run's base. ``agent`` is the plan's remediation agent, None where it has none.

    ``apart`` says that tasks have trees of their own: the baseline is then mended in one, too, else in the shared tree.
    """

    def __init__(self, core: RunContext, verify: str, agent: Agent | None, *, limit: int, apart: bool = True) -> None:
        self._core, self._verify, self._agent, self._limit, self._apart = core, verify, agent, limit, apart
        self._checking = asyncio.Lock()
        self._setup_failed: bool | None = None
        self._looked: set[str] = set()
        self._evidence = self._still = Clean("")
        if verify:
            core.baseline_check = self.check_baseline
            core.remediates = agent is not None
        core.setup_fails = self.setup_fails

    async def check_baseline(self, again: str = "") -> None:
        """Run the shared check on the base and record what it says: once, and where ``again`` names a failure that may
        have come over it since.
        """
        async with self._checking:
            if not self._core.head.run.baseline or self._looks_again(again):
                base = await self._judge_base()
                event = e.BaselineChecked(
                    result=base.check.result, identity=base.identity, headline=base.headline, extent=base.extent
                )
                self._core.append(event)

    def _looks_again(self, failure: str) -> bool:
        """Once for each failure, and not more often than the baseline may be mended at all."""
        run = self._core.head.run
        # In a shared tree what has mended the baseline is no commit, so the base says nothing about it.
        tellable = self._apart or not run.restored
        if not failure or run.baseline == "failed" or not tellable or failure in self._looked:
            return False
        self._looked.add(failure)
        return len(self._looked) <= self._limit

    async def setup_fails(self) -> bool:
        """Return whether the plan's setup fails on the untouched base, too; never once the baseline was mended."""
        async with self._checking:
            if self._setup_failed is None and not self._core.head.run.restored:
                self._setup_failed = (await self._judge_base(check=False)).check.result == "could_not_run"
            return bool(self._setup_failed) and not self._core.head.run.restored

    async def _judge_base(self, *, check: bool = True) -> _Judged:
        """Return the result of the baseline, in a worktree of its own that is removed: never in an agent's."""
        core = self._core
        if core.worktrees is None:
            return _Judged(ok=False, check=Check(result="none"))
        try:
            base = await core.worktrees.tip() if core.head.run.restored else core.head.run.base
            async with core.worktrees.baseline(base) as tree:
                if failed := await self._set_up(tree, "baseline"):
                    return failed
                return await self._judge(tree, "baseline") if check else _Judged(ok=True, check=Check(result="none"))
        except (WorkspaceError, OSError) as error:
            return _Judged(ok=False, check=Check(result="none"), headline=one_line(str(error)))

    async def _set_up(self, tree: Path, label: str) -> _Judged | None:
        """Run the plan's setup in a tree that has not had it; what it said where it failed."""
        core = self._core
        if not core.setup:
            return None
        done = await core.verifier.check(core.setup, tree=core.workdir(tree), label=f"{label}.setup")
        if done.exit_code == 0:
            return None
        self._evidence = done.evidence
        said = setup_problem(core.setup, done)
        return _Judged(ok=False, check=Check(result="could_not_run", problem=said), headline=said)

    async def _judge(self, tree: Path, label: str) -> _Judged:
        core = self._core
        command = core.head.run.check_now(self._verify)
        check = settled(
            await core.verifier.check(command, tree=core.workdir(tree), label=label),
            core.head.run.check_rules.get(command, "failed"),
        )
        found = (
            diagnose(check.text, exit_code=check.exit_code or 1, root=str(tree)) if check.result == "failed" else None
        )
        self._evidence = check.evidence
        return _Judged(
            ok=check.result in ("passed", "none"),
            check=check,
            identity=found.identity if found else "",
            headline=found.headline if found else check.problem,
            extent=extent_of(check.text, found) if found else UNKNOWN_EXTENT,
        )

    async def keep(self) -> None:
        """Repair the base whenever the run is blocked, until cancelled."""
        core = self._core
        while True:
            run = core.head.run
            if run.state != "blocked" or run.over:
                await core.signals.next(Subject.BASELINE).wait()
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
        tree = await self._tree()
        prompt = admit(
            "The baseline check fails. No task caused this, and no task can start. Fix it.\n\n"
            f"Problem: {issue}" + self._commands("\n\nSetup: ", "\n\nCheck: ")
        )
        task = Task(id=REMEDIATION, prompt=prompt, agent="remediation")
        guidance = Guidance(
            attempt=f"{REMEDIATION}.{number}", number=number, level="first", text=prompt, workdir=core.workdir(tree)
        )
        if not await self._within_limit(agent, task, guidance):
            return  # a larger budget starts the same attempt again
        headline = await self._problem(tree, f"remediation.{number}")
        if headline is None:
            core.append(e.InfrastructureRestored(attempts_used=number))
        else:
            core.append(e.RemediationFailed(attempt=number, issue=headline))

    async def _until_over(self, work: asyncio.Future[Report], patience: asyncio.Future[None]) -> None:
        """Until it is done, its time is up, or nothing more may be used up."""
        while not (work.done() or patience.done() or self._core.head.run.over):
            await first_of(work, patience, self._core.signals.next(Subject.BASELINE).wait())

    def _commands(self, setup: str, check: str) -> str:
        """The commands that have to do their work, each after its word."""
        said = [word + command for word, command in ((setup, self._core.setup), (check, self._verify)) if command]
        return "".join(said)

    async def _tree(self) -> Path:
        """Return the worktree of the repair: one of its own with all results so far, set up like a task's."""
        core = self._core
        if not self._apart:
            return core.root
        assert core.worktrees is not None
        tree = await core.worktrees.create(REMEDIATION)
        await core.worktrees.refresh(REMEDIATION, "remediation: so far")
        await self._ready(tree)
        return tree

    async def _ready(self, tree: Path) -> _Judged | None:
        """Set up the tree in which the baseline is mended, unless it is; what setup said where it failed."""
        trees = self._core.worktrees
        if not self._apart or trees is None or trees.is_set_up(REMEDIATION):
            return None
        failed = await self._set_up(tree, "remediation")
        if failed is None and self._core.setup:
            trees.mark_set_up(REMEDIATION)
        return failed

    async def _within_limit(self, agent: Agent, task: Task, guidance: Guidance) -> bool:
        """One attempt, ended when its time or the budget is up; False where it was ended for the budget.

        What became of it the check that follows decides.
        """
        core = self._core
        work = asyncio.ensure_future(agent.attempt(task, guidance, _Counting(core, guidance.attempt)))
        patience = asyncio.ensure_future(core.clock.sleep(core.settings.timeout_for(task.agent_type)))
        try:
            await self._until_over(work, patience)
            spent = not work.done() and not patience.done()
            if not work.done():
                await agent.stop(guidance.attempt)
                await asyncio.wait((work,))
            if not work.cancelled() and not work.exception():
                report = work.result()
                count_usage(core, "", guidance.attempt, report.tokens, report.cost, idle=False)
        finally:
            patience.cancel()
            work.cancel()
            await asyncio.gather(patience, work, return_exceptions=True)
        return not spent

    async def _problem(self, tree: Path, label: str) -> Clean | None:
        """Return the remaining failure in the repaired worktree; None if all pass and the result is integrated."""
        run = self._core.head.run
        said = await self._ready(tree) or await self._judge(tree, label)
        if not self._apart:
            # In a shared tree lies a task's work, too: another failure than the base's is its own.
            mended = said.ok or (said.check.result == "failed" and said.identity != run.baseline_identity)
            return None if mended else said.headline
        if not said.ok:
            return said.headline
        try:
            assert self._core.worktrees is not None
            await self._core.worktrees.integrate(REMEDIATION, "remediation: the baseline check passes")
        except WorkspaceError as error:
            # A task that was at work meanwhile may have brought in something that does not fit.
            return one_line(str(error))
        return None

    async def _give_up(self) -> None:
        """Ask, or halt; a person's retry looks at the base again."""
        core = self._core
        run = core.head.run
        if not core.may_ask:
            halt_remediation(core, run.remediation_failed, run.blocked)
            return
        gate = self._answered_before()
        if not gate:
            tree = await self._tree()
            context = {
                "problem": self._still or run.blocked,
                "trouble": _LOOKED_AGAIN if self._still else "",
                "attempts": run.remediation_failed,
                "check": self._verify or core.setup,
                "evidence": self._evidence,
                "tree": str(tree),
            }
            context |= await saved_tree(core, tree)
            gate = open_gate(core, "remediation", task="", key="ground", context=context)
        while core.head.gates[gate].status == "open":
            await core.signals.next(Subject.BASELINE).wait()
        await self._after_answer(gate)

    def _answered_before(self) -> str:
        """A gate that was answered while nobody worked on the run."""
        gates = self._core.head.gates.values()
        return next((row.id for row in gates if row.gate.type == "remediation" and row.status == "answered"), "")

    async def _after_answer(self, gate: str) -> None:
        core = self._core
        row = core.head.gates[gate]
        if row.effect == "halt":
            core.append(e.AnswerDelivered(gate=gate))
            details = admit(f"the baseline was given up: {core.head.run.blocked}", limit=500)
            event = e.WorkflowFailed(reason="remediation_abandoned", details=details, last_state="blocked")
            core.append(event, actor=row.by or "human")
        elif row.answer is not None and row.answer.choice == "skip":
            core.append(e.AnswerDelivered(gate=gate))
            core.append(e.InfrastructureRestored(attempts_used=core.head.run.remediation_failed))
        else:
            # The person has mended the surroundings, or the files in this tree; a kill meanwhile looks again.
            problem = await self._problem(await self._tree(), "remediation.again")
            core.append(e.AnswerDelivered(gate=gate))
            self._still = problem or Clean("")
            if problem is None:
                core.append(e.InfrastructureRestored(attempts_used=core.head.run.remediation_failed))


class NullObserver:
    """Takes no notice: for work that is not a task's attempt."""

    def see(self, observation: Observation) -> None:
        """Nothing."""

    async def step(self, observation: Observation, *, within: float | None = None) -> Directive:
        return Directive(kind="go_on")

    async def permit(self, observation: Observation, *, why: Clean = Clean("")) -> Directive:
        """Deny: nobody is asked about it."""
        return Directive(kind="deny", text=NOBODY)

    async def next_answer(self) -> Directive:
        """Nobody says anything."""
        never: asyncio.Future[Directive] = asyncio.get_running_loop().create_future()
        return await never

    async def delivered(self, directive: Directive) -> None:
        """Nothing."""

    async def spawned(self, pid: int, start: float) -> None:
        """Nothing."""


class _Counting(NullObserver):
    """Takes notice of what the attempt uses alone: no one repairs the baseline for nothing."""

    def __init__(self, core: RunContext, attempt: str) -> None:
        self._core, self._attempt = core, attempt

    def see(self, observation: Observation) -> None:
        if observation.kind == "usage":
            count_usage(self._core, "", self._attempt, observation.tokens, observation.cost, idle=False)

    async def step(self, observation: Observation, *, within: float | None = None) -> Directive:
        self.see(observation)
        return Directive(kind="go_on")
