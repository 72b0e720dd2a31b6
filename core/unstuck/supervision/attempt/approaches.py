"""Several approaches at one task at the same time, each in a worktree of its own; the first that passes is taken.

To the rest of supervision they are one attempt: one time limit, one stop, one report.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from zlib import crc32

from unstuck.contract import (
    APART,
    Agent,
    Capabilities,
    Directive,
    Guidance,
    Observation,
    Observer,
    Receipt,
    Report,
    Task,
    Way,
)
from unstuck.diagnosis.pipeline import diagnose
from unstuck.errors import AgentNotFound, WorkspaceError
from unstuck.eventlog import events as e
from unstuck.supervision.checks.check import Check, Verifier
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.memory.failure_memory import remember_way
from unstuck.text import Clean, admit, one_line

_FIRST_PORT, _PORTS, _RANGES, _RANGES_OF_RUN = 20_000, 20, 600, 10
_BESIDE = (
    "Other agents work on other approaches at the same time, each in a directory of its own. Use only the ports of the "
    "variable UNSTUCK_PORTS, and UNSTUCK_SLOT in names that must differ, such as that of a database."
)


@dataclass(frozen=True, slots=True)
class _Worked:
    """The end of one approach: the account of its agent, and its check, None where it was not reached."""

    report: Report
    check: Check | None = None

    @property
    def passed(self) -> bool:
        return self.check is not None and self.check.result == "passed"

    @property
    def result(self) -> Literal["failed", "stopped"]:
        """Result without a pass: failed if the check judged it. An agent that failed itself says nothing about it."""
        sound = self.report.how == "ended" and not self.report.exit_code and self.report.error is None
        judged = self.check is not None and self.check.result in ("passed", "failed", "contradicted")
        return "failed" if sound and judged else "stopped"


class Approaches:
    """Agent that works the ``ways`` of a guidance at the same time, each with an agent like that of its task."""

    def __init__(self, core: RunContext, can: Capabilities) -> None:
        self._core, self.can = core, can
        self._agents: dict[str, Agent] = {}
        self._at_work: set[int] = set()
        self._is_stopping = self._is_frozen = False

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Work all approaches until one passes or all have ended. Cancelling stops them first."""
        core, trees = self._core, self._core.worktrees
        assert trees is not None
        try:
            base = await trees.captured(task.id)
        except WorkspaceError as error:
            return Report(how="not_started", error=admit(f"no worktrees for its approaches: {error}", limit=2_000))
        works: dict[asyncio.Future[_Worked], int] = {}
        with self._slots(len(guidance.ways)) as slots:
            try:
                for number, (way, slot) in enumerate(zip(guidance.ways, slots, strict=True), 1):
                    given = self._given(guidance, way, number)
                    work = self._work(task, given, base, number, slot_variables(core.run, slot), observer)
                    works[asyncio.ensure_future(work)] = number
                return await self._taken(task, guidance, base, works)
            finally:
                await asyncio.shield(self._end(task, works))

    def _given(self, guidance: Guidance, way: Way, number: int) -> Guidance:
        """Return the guidance of one approach; the first keeps the attempt's own id."""
        attempt = guidance.attempt if number == 1 else f"{guidance.attempt}{APART}{number}"
        note = guidance.text.removeprefix(guidance.ways[0].text)
        text = Clean(f"{way.text}{note}\n\n{_BESIDE}")
        return replace(guidance, attempt=attempt, approach=way.approach, text=text, session=None, ways=())

    async def _work(
        self, task: Task, given: Guidance, base: str, number: int, more: Mapping[str, str], observer: Observer
    ) -> _Worked:
        """Work one approach in a new worktree, and check it there."""
        core = self._core
        trees, make = core.worktrees, core.agent_for
        assert trees is not None
        assert make is not None
        verifier = core.verifier.with_variables(more)
        try:
            workdir = core.workdir(await trees.add_way(task.id, number, base))
            workdir.mkdir(parents=True, exist_ok=True)
            if core.setup and (failed := await self._set_up(verifier, given, workdir)):
                return _Worked(Report(how="not_started", error=failed))
            if self._stops():
                return _Worked(Report(how="stopped"))
            agent = self._agents[given.attempt] = make(task, more)
            self._at_work.add(number)
            if self._is_frozen:
                self._tell_all("freeze")
            report = await agent.attempt(task, replace(given, workdir=workdir), _Told(observer, number))
        except (AgentNotFound, WorkspaceError) as error:
            return _Worked(Report(how="not_started", error=admit(str(error), limit=2_000)))
        finally:
            self._at_work.discard(number)
        if self._stops():
            return _Worked(report)
        return _Worked(report, await verifier.check(task.verify, tree=workdir, label=f"{given.attempt}.approach"))

    def _stops(self) -> bool:
        return self._is_stopping

    async def _set_up(self, verifier: Verifier, given: Guidance, workdir: Path) -> Clean:
        """Run the plan's setup in a new worktree; return its failure, or nothing."""
        done = await verifier.check(self._core.setup, tree=workdir, label=f"{given.attempt}.setup", again=False)
        return (
            Clean("") if done.exit_code == 0 else admit(f"setup failed: {done.evidence or done.problem}", limit=4_000)
        )

    async def _taken(
        self, task: Task, guidance: Guidance, base: str, works: Mapping[asyncio.Future[_Worked], int]
    ) -> Report:
        """Return the report of the approach that is taken, with its files in the task's tree and what all have used."""
        trees = self._core.worktrees
        assert trees is not None
        ended: dict[int, _Worked] = {}
        pending, first = set(works), 0
        while pending and not first and not self._is_stopping:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for work in sorted(done, key=lambda one: works[one]):
                number = works[work]
                ended[number] = found = work.result()
                if not first and found.passed:
                    first = number
                if not self._stops():
                    self._record(task, guidance, number, found, "passed" if first == number else found.result)
        if first:
            for number in sorted(works[work] for work in pending):
                self._record(task, guidance, number, None, "stopped")
            self._is_stopping = True
        await self._stop_all()
        for work in pending:
            if works[work] not in self._at_work:
                work.cancel()
            with suppress(asyncio.CancelledError):
                ended[works[work]] = await work
        judged = (number for number, one in sorted(ended.items()) if one.result == "failed")
        number = first or next(judged, min(ended, default=1))
        report = ended[number].report if number in ended else Report(how="stopped")
        if first or not self._is_stopping:
            try:
                await trees.take_way(task.id, number, base)
                if self._core.setup:  # ignored files, such as installed packages, do not come along
                    again = replace(guidance, attempt=f"{guidance.attempt}{APART}taken")
                    await self._set_up(self._core.verifier, again, guidance.workdir)
            except WorkspaceError as error:
                report = replace(report, how="crashed", error=admit(f"its files could not be taken: {error}"))
        costs = [one.report.cost for one in ended.values() if one.report.cost is not None]
        return replace(
            report,
            session=None,
            approach=report.approach or guidance.ways[number - 1].approach,
            tokens=sum(one.report.tokens for one in ended.values()),
            cost=sum(costs) if costs else None,
            denied=tuple(denial for one in ended.values() for denial in one.report.denied),
        )

    def _record(
        self,
        task: Task,
        guidance: Guidance,
        number: int,
        found: _Worked | None,
        result: Literal["passed", "failed", "stopped"],
    ) -> None:
        core, way = self._core, guidance.ways[number - 1]
        check = found.check if found is not None else None
        headline = ""
        if result == "failed" and check is not None:
            failure = diagnose(check.text, exit_code=check.exit_code or 1, phase="test")
            headline = failure.headline if failure is not None else ""
        elif found is not None and result == "stopped":
            headline = str(found.report.error or (check.problem if check is not None else ""))
        if result == "failed" or (result == "stopped" and (found is None or found.passed)):
            remember_way(core, core.row(task.id), way.approach, result)
        event = e.ApproachEnded(
            slot=number,
            approach=way.approach,
            result=result,
            headline=one_line(headline, 400),
            output=check.output if check is not None else "",
        )
        core.append(event, task=task.id, attempt=guidance.attempt)

    async def stop(self, attempt: str) -> Receipt:
        """End every approach with everything it started."""
        self._is_stopping = True
        return await self._stop_all()

    async def _stop_all(self) -> Receipt:
        found = await asyncio.gather(*(agent.stop(attempt) for attempt, agent in self._agents.items()))
        return Receipt(
            ended=tuple(one for receipt in found for one in receipt.ended),
            alive=tuple(one for receipt in found for one in receipt.alive),
        )

    def freeze(self, attempt: str) -> None:
        """Suspend every approach."""
        self._is_frozen = True
        self._tell_all("freeze")

    def thaw(self, attempt: str) -> None:
        """Resume every approach."""
        self._is_frozen = False
        self._tell_all("thaw")

    def _tell_all(self, what: str) -> None:
        for attempt, agent in self._agents.items():
            if (method := getattr(agent, what, None)) is not None:
                method(attempt)

    async def _end(self, task: Task, works: Mapping[asyncio.Future[_Worked], int]) -> None:
        """End what is still at work, and remove the worktrees of all approaches."""
        self._is_stopping = True
        await self._stop_all()
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        assert self._core.worktrees is not None
        for number in works.values():
            with suppress(WorkspaceError, OSError):
                await self._core.worktrees.remove_way(task.id, number)

    @contextmanager
    def _slots(self, count: int) -> Iterator[list[int]]:
        """Hold as many numbers as there are approaches, which no other attempt of the run has now."""
        taken = self._core.slots
        own = [slot for slot in range(1, len(taken) + count + 1) if slot not in taken][:count]
        taken.update(own)
        try:
            yield own
        finally:
            taken.difference_update(own)


def slot_variables(run: str, slot: int) -> dict[str, str]:
    """Return the variables of approach ``slot``: its number, and ports that no other approach of the run has."""
    own = crc32(run.encode()) * _RANGES_OF_RUN  # other runs begin elsewhere; more than ten go on where one begins
    first = _FIRST_PORT + (own + slot - 1) % _RANGES * _PORTS
    return {"UNSTUCK_SLOT": str(slot), "UNSTUCK_PORT": str(first), "UNSTUCK_PORTS": f"{first}-{first + _PORTS - 1}"}


class _Told:
    """Observer of one approach: its steps are told apart from those of the others."""

    def __init__(self, observer: Observer, number: int) -> None:
        self._observer, self._number = observer, number
        self.delivered, self.spawned = observer.delivered, observer.spawned

    def _own(self, observation: Observation) -> Observation:
        if observation.kind == "usage":
            return observation
        name = f"approach {self._number}"
        agent = f"{name}: {observation.agent_id}" if observation.agent_id else name
        return replace(observation, agent_id=agent, session="")

    def see(self, observation: Observation) -> None:
        self._observer.see(self._own(observation))

    async def step(self, observation: Observation, *, within: float | None = None) -> Directive:
        return await self._observer.step(self._own(observation), within=within)

    async def permit(self, observation: Observation, *, why: Clean = Clean("")) -> Directive:
        return await self._observer.permit(self._own(observation), why=why)

    async def next_answer(self) -> Directive:
        """Wait for a person's words, which only the first approach hears."""
        if self._number > 1:
            await asyncio.Event().wait()
        return await self._observer.next_answer()
