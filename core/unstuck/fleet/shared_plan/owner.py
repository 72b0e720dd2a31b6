"""The owner of a shared plan: its run offers each attempt as work, and takes the files and questions that come back.

To the rest of supervision a task on a host is an attempt like any other: one agent, one report.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from unstuck.contract import Task
from unstuck.errors import UnstuckError, UsageError, WorkspaceError
from unstuck.eventlog.memory.store import memory_file
from unstuck.fleet.nats.session import Fenced
from unstuck.fleet.shared_plan.entries import (
    OVER,
    AgentEntry,
    ClaimEntry,
    Files,
    LeaseEntry,
    OfferEntry,
    PlanEntry,
    PlanName,
    WorkEntry,
    newest,
    subject,
)
from unstuck.fleet.shared_plan.plan_table import PlanTable
from unstuck.fleet.shared_plan.transport import Transport
from unstuck.runs.plans.plan import Plan
from unstuck.settings.paths import state_dir
from unstuck.supervision.context.context import RunContext
from unstuck.text import known_values, one_line
from unstuck.workspace.git.plain_file import read_bytes
from unstuck.workspace.git.repository import run_git
from unstuck.workspace.worktrees.worktrees import Worktrees

_RENEWALS, _CONNECT_S, _SECRET, _OFFERED_S = 3, 15.0, 8, 35.0


class TakenOver(UnstuckError):
    """Another machine works the run now."""

    exit_code = 6


def machine_name() -> str:
    """Return the name of this machine and process, which no other one has."""
    return f"{one_line(os.uname().nodename, 200)}:{os.getpid()}"


def plan_name(owner: str, run: str, base: str) -> PlanName:
    """Return the name of the shared plan of a run that began at the commit ``base``."""
    return PlanName(owner, f"{run}-{base[:8]}")


class PlanOwner:
    """The shared plan of one run, from this machine."""

    def __init__(
        self,
        table: PlanTable,
        core: RunContext,
        plan: Plan,
        remote: str,
        lease_s: float,
        warn: Callable[[str], None],
    ) -> None:
        self.table, self.core, self.plan, self._warn = table, core, plan, warn
        self._warned: set[str] = set()
        self.name = plan_name(table.name, core.run, core.head.run.base)
        self.lost: TakenOver | None = None
        self._remote, self._lease_s = remote, lease_s
        self.transport = self._new_transport()
        self._lease = LeaseEntry(machine=machine_name())
        self._plan_entry: PlanEntry | None = None
        self._writing: dict[str, asyncio.Lock] = {}
        self._works: dict[str, WorkEntry] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def subject(self, kind: Any, *task: str) -> str:
        return subject(kind, *self.name, *task)

    # The lease on the run

    async def begin(self) -> None:
        """Take the run: wait until the lease of another machine has ended. Raises UsageError where one works it."""
        await self.table.connected()
        key = self.subject("lease")
        while (entry := self.table.entries.get(key)) is not None:
            assert isinstance(entry.value, LeaseEntry)
            if _is_free(entry.value) or self.table.unchanged_for(entry) > self._lease_s:
                break
            before = entry.revision
            await self.table.until_changed(0.2)
            now = self.table.entries.get(key)
            if now is not None and now.revision != before and not _is_free(now.value):
                raise UsageError(f"{entry.value.machine} works this run: stop it there first")
        if entry is not None and entry.who.public != self.table.public:
            raise UsageError(f"this run belongs to another key of {self.name.owner}")
        try:
            if entry is not None and isinstance(entry.value, LeaseEntry):
                self._lease = self._lease.model_copy(update={"tip": entry.value.tip})
            await self.table.write(key, self._lease)
        except Fenced:
            raise UsageError("another machine has just taken over this run") from None
        await self._write_plan()

    async def _write_plan(self) -> None:
        core, plan = self.core, self.plan
        base = core.head.run.base
        listed = (await run_git(core.root, "rev-list", "--max-parents=0", base)).line.split()
        entry = PlanEntry(
            run=core.run,
            project=one_line(core.root.name, 200),
            remote=self._remote,
            roots=" ".join(sorted(listed))[:2_000],
            base=await self.transport.send(base, "_base"),
            setup=plan.setup,
            settings={**plan.settings, "ask": core.settings.ask},
            agents=tuple(AgentEntry(**asdict(agent)) for agent in plan.agents.values()),
            directory="" if str(core.subdirectory) == "." else str(core.subdirectory),
            lease_s=self._lease_s,
        )
        refuse_secrets(entry.model_dump_json())
        self._plan_entry = entry.model_copy(update={"memory": await asyncio.to_thread(self.memory)})
        await self.table.write(self.subject("plan"), self._plan_entry)

    async def share_memory(self) -> None:
        """Write the plan again where the project's memory has changed since."""
        async with self._writing.setdefault("plan of the run", asyncio.Lock()):
            before, memory = self._plan_entry, await asyncio.to_thread(self.memory)
            if before is None or before.memory == memory:
                return
            self._plan_entry = before.model_copy(update={"memory": memory})
            with suppress(Fenced):  # by another owner, as its lease says
                await self.table.write(self.subject("plan"), self._plan_entry)

    async def keep(self) -> None:
        """Renew the lease, and write again what a wiped server has lost. Raises TakenOver."""
        while True:
            try:
                async with asyncio.timeout(self._lease_s / _RENEWALS):
                    while not self._is_taken_over():
                        await self.table.until_changed()
            except TimeoutError:
                pass
            if not self._is_taken_over():
                try:
                    await self.table.connected()
                    await self._renew()
                    await self._restore()
                    await self.share_memory()
                    continue
                except TakenOver:
                    pass
            self.lost = TakenOver(f"{self._holder()} has taken over this run: go on with it there")
            self.core.signals.wake_all()
            raise self.lost

    async def _renew(self, **fields: Any) -> None:
        """Write the lease again, with what is new in it. Raises TakenOver."""
        async with self._writing.setdefault("", asyncio.Lock()):
            self._lease = self._lease.model_copy(update={"count": self._lease.count + 1, **fields})
            try:
                await self.table.write(self.subject("lease"), self._lease)
            except Fenced:
                raise TakenOver("another machine has taken over this run") from None

    async def publish(self, tip: str) -> None:
        """Send the results so far, so that they outlive this machine. Raises WorkspaceError and TakenOver."""
        await self._renew(tip=await self.transport.send(tip, "_run"))

    def _holder(self) -> str:
        entry = self.table.value(self.subject("lease"), LeaseEntry)
        return entry.machine if entry is not None else "another machine"

    def _is_taken_over(self) -> bool:
        entry = self.table.value(self.subject("lease"), LeaseEntry)
        return entry is not None and entry.machine != self._lease.machine

    async def _restore(self) -> None:
        """Write again what a wiped server has lost; what fails now is tried at the next renewal."""
        with suppress(Fenced, WorkspaceError):
            if self.subject("plan") not in self.table.entries:
                self.transport = self._new_transport()
                await self._write_plan()
            for task in [task for task in self._works if self.subject("work", task) not in self.table.entries]:
                work = self._works[task]
                base = await self._sent_again(work.base, work.base)
                again = {"base": base, "start": await self._sent_again(work.start, base)}
                await self.change(task, lambda was, again=again: was.model_copy(update=again))  # type: ignore[misc]

    async def _sent_again(self, files: Files, other: Files) -> Files:
        """Return ``files`` with a bundle that the server has, or ``other`` where this machine does not have them."""
        if not files.bundle:
            return files
        return await self.transport.send(files.commit, "") if await self.transport.has(files.commit) else other

    def _new_transport(self) -> Transport:
        return Transport(self.core.root, self.core.run, self._remote, self.table, self.core.head.run.base)

    async def end(self) -> None:
        """Say that the run is over or paused, as far as the server can be reached."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.lost is not None:
            return
        run = self.core.head.run
        over = run.state in ("ended", "draining")
        with suppress(TimeoutError, UnstuckError):
            async with asyncio.timeout(_CONNECT_S):
                await self._renew(**({"over": True} if over else {"machine": ""}))
                if run.exit_code in (0, 1):  # else a resume goes on from what the hosts have sent
                    await self.transport.forget()

    # Work

    def claim(self, task: str, attempt: str) -> tuple[ClaimEntry | None, int]:
        """Return the claim on an attempt with its token; None before there is one."""
        key = self.subject("claim", task)
        claim = self.table.value(key, ClaimEntry)
        if claim is None or claim.attempt != attempt:
            return None, 0
        return claim, claim.token or self.table.revision(key)

    def work(self, task: str) -> WorkEntry | None:
        """Return the last work that was offered for ``task``."""
        return self._works.get(task) or self.table.value(self.subject("work", task), WorkEntry)

    async def offer(self, task: str, work: WorkEntry) -> None:
        """Offer an attempt. Raises TakenOver, and UsageError where it holds a secret of this machine."""
        refuse_secrets(work.model_dump_json())
        await self.share_memory()
        await self.change(task, lambda _: work)

    async def change(self, task: str, changed: Callable[[WorkEntry], WorkEntry]) -> None:
        """Change what stands about ``task``, in the order in which that is asked for. Raises TakenOver."""
        async with self._writing.setdefault(task, asyncio.Lock()):
            while True:
                if self.lost is not None:
                    raise self.lost
                before = self.work(task)
                now = changed(before) if before is not None else changed(_NOTHING)
                if now == before and self.subject("work", task) in self.table.entries:
                    self._works[task] = now
                    return
                self._works[task] = now
                try:
                    await self.table.write(self.subject("work", task), now)
                    return
                except Fenced:  # only another owner writes here, and its lease says so
                    await self.table.until_changed()

    def soon(self, work: Coroutine[Any, Any, None]) -> None:
        """Do ``work`` beside, such as where the caller cannot wait."""
        task = asyncio.ensure_future(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def memory(self) -> tuple[str, ...]:
        """Return the newest lines of the project's memory, without those with a secret of this machine."""
        with suppress(OSError, UnicodeDecodeError):
            lines = read_bytes(memory_file(self.core.home)).decode().splitlines()
            return newest([line for line in lines if not _holds_secret(line)])
        return ()

    def planned(self, task: Task) -> Mapping[str, Any]:
        """Return what the plan says about a task beside the task itself."""
        planned = self.plan.tasks[task.id]
        return {"mode": planned.mode, "labels": planned.labels}

    def warn_of(self, problem: str) -> None:
        """Say once what keeps tasks from being worked."""
        if problem not in self._warned:
            self._warned.add(problem)
            self._warn(problem)

    def silent_host(self, task: str, claim: ClaimEntry) -> str:
        """Return the reason why the host of a claim does not work it any more; empty while it does."""
        entry = self.table.entries.get(self.subject("claim", task))
        work = self.work(task)
        if claim.state == "released" or (claim.state == "stopped" and not (work and work.stop)):
            return f"waits for another host: {claim.host} gave it back" + (
                f" ({claim.problem})" if claim.problem else ""
            )
        if entry is not None and claim.state not in OVER and self.table.unchanged_for(entry) > self._lease_s:
            return f"waits for another host: {claim.host} is silent"
        return ""

    def nobody_for(self, task: Task) -> str:
        """Return what ``task`` waits for where no host that is known can take it; empty where one can."""
        heard = [one for one in self.table.entries.values() if self.table.unchanged_for(one) < _OFFERED_S]
        offers = {one.names[0]: one.value for one in heard if isinstance(one.value, OfferEntry)}
        return lacking(offers, task.agent, self.plan.tasks[task.id].labels, self.table.public)


class SharedWorktrees(Worktrees):
    """Worktrees of the owner: results are sent away before the log says that they are integrated."""

    def __init__(self, core: RunContext, owner: PlanOwner) -> None:
        assert core.repository is not None
        super().__init__(core.repository, state_dir(core.environ) / "worktrees", core.run)
        self._owner, self._publishing = owner, asyncio.Lock()

    async def integrate(self, task: str, message: str) -> str | None:
        commit = await super().integrate(task, message)
        async with self._publishing:  # an older tip must not go over a newer one
            await self._owner.publish(await self.tip())
        return commit


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    with suppress(UnstuckError):
        await work


def _is_free(value: object) -> bool:
    return isinstance(value, LeaseEntry) and (value.over or not value.machine)


def lacking(offers: Mapping[str, OfferEntry], agent: str, labels: Iterable[str], owner: str) -> str:
    """Return what a task of the key ``owner`` waits for where none of ``offers`` can take it; empty where one can."""
    wanted = set(labels)
    if not offers:
        return "waits for a host: unstuck fleet work"
    trusting = [one for one in offers.values() if one.trusts is None or owner in one.trusts]
    if not trusting:
        return f"waits for a host that trusts you: type unstuck fleet trust {owner} on {_some(offers)}"
    able = [one for one in trusting if agent in one.agents or (one.trusts or {}).get(owner)]
    if not able:
        return f"waits for the agent {agent}: no host offers it"
    fitting = [one for one in able if wanted <= set(one.labels)]
    if not fitting:
        named = f"the {'label' if len(wanted) == 1 else 'labels'} {', '.join(sorted(wanted))}"
        return f"waits for {named} on a host that offers the agent {agent}"
    return "waits for a host: those that could take it are drained" if all(one.drained for one in fitting) else ""


def _some(names: Iterable[str]) -> str:
    """Return the first of ``names``, and how many more there are."""
    first, *more = sorted(names)
    return f"{first} or one of {len(more)} more" if more else first


def refuse_secrets(written: str) -> None:
    """Raise UsageError where a value of the environment that is secret would travel."""
    if _holds_secret(written):
        raise UsageError("the plan or a prompt holds a secret of this machine's environment, which would travel")


def _holds_secret(written: str) -> bool:
    return any(len(value) >= _SECRET and value in written for value in known_values())


_NOTHING = WorkEntry(attempt="none", agent="none", prompt="", base=Files(commit="0" * 40), start=Files(commit="0" * 40))
