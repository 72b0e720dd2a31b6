"""The coordinator: tasks in the order of their needs, several at once, and the end of the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from unstuck.arguments import checked
from unstuck.clock.waits import first_of
from unstuck.contract import Agent, Outcome, Task
from unstuck.errors import UsageError
from unstuck.supervision.attempt.runner import Attempt
from unstuck.supervision.context.next_step import can_progress
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.run.delivery import deliver
from unstuck.supervision.run.finish import RunResult, record_end
from unstuck.supervision.run.remediation import Remediation
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import one_line


class Coordinator:
    """Works all tasks of a run. ``agents`` gives each task its agent, by its id or as a function of the task.

    An agent may be a coroutine function. ``remediation`` repairs the baseline.

    Example::

        supervisor.add(task)
        result = await Coordinator(supervisor, {task.id: agent}).run()
    """

    @checked
    def __init__(
        self,
        supervisor: Supervisor,
        agents: Mapping[str, Agent | Attempt] | Callable[[Task], Agent | Attempt],
        *,
        remediation: Remediation | None = None,
    ) -> None:
        self._supervisor = supervisor
        self._agents = agents
        self._remediation = remediation

    @property
    def available_tasks(self) -> tuple[str, ...]:
        """The tasks that are ready to be dispatched, in the order of the plan."""
        return tuple(row.id for row in self._supervisor.core.head.tasks.values() if row.state == "ready")

    @property
    def failed_attempts(self) -> dict[str, int]:
        """Number of failures of the agent itself by task, for the tasks with any."""
        tasks = self._supervisor.core.head.tasks
        return {row.id: row.climb.agent_failures for row in tasks.values() if row.climb.agent_failures}

    @property
    def pending_divine_questions(self) -> tuple[dict[str, Any], ...]:
        """The open questions for a person: ``task_id``, ``question``, ``options`` and ``context`` of each."""
        asked = (row.gate for row in self._supervisor.core.head.open_gates() if row.gate.type == "question")
        return tuple(
            {
                "task_id": gate.task,
                "question": gate.context.get("question", ""),
                "options": list(gate.context.get("options") or ()),
                "context": gate.context.get("context", ""),
            }
            for gate in asked
        )

    @property
    def infrastructure_blocked(self) -> bool:
        """True while no task may start because the baseline check fails."""
        return self._supervisor.core.head.run.state == "blocked"

    @property
    def infrastructure_issue(self) -> str:
        """The failure of the baseline that blocks the run, or an empty string."""
        return self._supervisor.core.head.run.blocked if self.infrastructure_blocked else ""

    async def run(self) -> RunResult:
        """Start attempts until no task can continue, then record the end or the pause of the run.

        Raises UsageError for a task without an agent, AgentUnusable, RecordError and WorkspaceError.
        """
        core = self._supervisor.core
        workers: set[asyncio.Future[Outcome]] = set()
        done: list[asyncio.Future[Outcome]] = []

        def end(work: asyncio.Future[Outcome]) -> None:
            done.append(work)
            core.signals.wake(Subject.COORDINATOR)

        rows = [row for row in core.head.tasks.values() if row.state != "ended" or row.attempt in core.live.orphans]
        for task, agent in [(row.task, self._agent_of(row.task)) for row in rows]:
            work = asyncio.ensure_future(self._supervisor.supervise(task, agent))
            work.add_done_callback(end)
            workers.add(work)
        remediation = asyncio.ensure_future(self._remediation.keep()) if self._remediation is not None else None
        try:
            await self._until_quiet(workers, done, remediation)
            await deliver(core)
        finally:
            everything: list[asyncio.Future[Any]] = [*workers, *([remediation] if remediation else [])]
            for future in everything:
                future.cancel()
            await asyncio.gather(*everything, return_exceptions=True)
        return await record_end(self._supervisor.core)

    def _agent_of(self, task: Task) -> Agent | Attempt:
        if callable(self._agents):
            return self._agents(task)
        if task.id not in self._agents:
            raise UsageError(f"there is no agent for the task {one_line(task.id)}")
        return self._agents[task.id]

    async def _until_quiet(
        self,
        workers: set[asyncio.Future[Outcome]],
        done: list[asyncio.Future[Outcome]],
        remediation: asyncio.Future[None] | None,
    ) -> None:
        core = self._supervisor.core
        while True:
            moved = core.signals.next(Subject.COORDINATOR)
            core.journal.require()
            while done:
                work = done.pop()
                workers.remove(work)
                work.result()
            if remediation is not None and remediation.done():
                remediation.result()
            if not core.journal.held and (not workers or self._is_quiet()):
                return
            await first_of(moved.wait(), None if remediation is None or remediation.done() else remediation)

    def _is_quiet(self) -> bool:
        """Return whether no task can continue without an answer, and no person is there to give one."""
        core = self._supervisor.core
        head = core.head
        if head.run.state == "draining" or core.live.asking:
            return False
        if any(core.person or row.gate.acts_at is not None for row in head.open_gates()):
            return False
        if head.run.state == "blocked" and all(row.gate.type != "remediation" for row in head.open_gates()):
            return False
        accept = core.accept_unverified
        # Those at work come first, because one of them is enough.
        rows = chain(core.busy(), (row for row in head.tasks.values() if row.state != "ended"))
        return not any(can_progress(head, row, accept_unverified=accept) for row in rows)
