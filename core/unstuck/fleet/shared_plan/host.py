"""A host of shared plans: offers itself, claims tasks that it may work, and keeps the claims while it works them."""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unstuck.agents.command.presets import KNOWN, preset_command
from unstuck.clock import SystemClock
from unstuck.errors import UnstuckError, UsageError, WorkspaceError, system_failure
from unstuck.eventlog.memory.store import memory_file
from unstuck.eventlog.storage.durable_files import make_directory, open_for_writing, write_private
from unstuck.fleet.nats.keys import Credentials
from unstuck.fleet.nats.session import NOT_YET, Fenced
from unstuck.fleet.shared_plan.entries import (
    OVER,
    AnswerEntry,
    ClaimEntry,
    DrainEntry,
    LeaseEntry,
    OfferEntry,
    PlanEntry,
    QuestionEntry,
    WorkEntry,
    digest,
    newest,
    subject,
)
from unstuck.fleet.shared_plan.plan_table import Entry, PlanTable
from unstuck.fleet.shared_plan.slots import Slots
from unstuck.fleet.shared_plan.small_run import SmallRun, close_last
from unstuck.fleet.shared_plan.trust import Trust
from unstuck.settings.paths import state_dir
from unstuck.text import one_line
from unstuck.workspace.git.plain_file import read_bytes
from unstuck.workspace.git.repository import run_git

_OFFER_S, _LOOK_S, _JITTER_S, _RELEASE_S, _CLOSE_S = 10.0, 1.0, 0.05, 5.0, 20.0
_RENEWALS = 3
"""Renewals of a claim in the time of its lease."""
_PAUSE_S, _LONGEST_PAUSE_S = 15.0, 900.0
_KEPT = ("files", "tokens", "written", "cost", "memory", "used")
"""Fields of a claim that another one of the same attempt begins with."""
_SUCCEEDED, _PAUSED, _JUDGED = 0, 3, (1, 4, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The slots, labels and agents of a host. An agent without a command of its own is a known one."""

    slots: int = 1
    labels: tuple[str, ...] = ()
    agents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def offered_agent(name: str, command: Sequence[str]) -> tuple[str, ...]:
    """Return the command of an agent that is offered. Raises UsageError."""
    if command:
        return tuple(command)
    if name not in KNOWN:
        raise UsageError(f"--agent {one_line(name, 80)}: no known agent: say its command, --agent NAME=COMMAND")
    return preset_command(name, ())


class Lost(UnstuckError):
    """The claim was taken by another host."""


class Claim:
    """A claim that this host holds: its entry, and the revision that the next one follows."""

    def __init__(
        self, table: PlanTable, names: tuple[str, ...], value: ClaimEntry, work: WorkEntry, lease_s: float
    ) -> None:
        self._table, self.names, self.value, self._lease_s = table, names, value, lease_s
        self._subject = subject("claim", *names)
        self._revision = table.revision(self._subject)
        self._dirty = asyncio.Event()
        self._work = work

    async def take(self) -> None:
        """Claim. Raises Fenced where another host was faster."""
        self._revision = await self._table.write(self._subject, self.value, self._revision)
        self.value = self.value.model_copy(update={"token": self._revision})

    def change(self, **fields: Any) -> None:
        """Say something new; it is written at once."""
        self.value = self.value.model_copy(update=fields)
        self._dirty.set()

    def work(self) -> WorkEntry | None:
        """Return what the owner wants of this attempt now; None where it wants nothing more.

        What a wiped server does not know any more holds until its owner writes it again.
        """
        self._work = self._table.value(subject("work", *self.names), WorkEntry) or self._work
        lease = self._table.value(subject("lease", *self.names[:2]), LeaseEntry)
        work, over = self._work, lease is not None and lease.over
        return None if work.attempt != self.value.attempt or work.stop or over else work

    async def keep(self) -> None:
        """Write what is new, and the same again before the lease runs out; until it is over. Raises Lost."""
        while True:
            self._dirty.clear()
            value = self.value = self.value.model_copy(update={"count": self.value.count + 1})
            try:
                await self._table.connected()
                follows = self._revision if self._table.revision(self._subject) else 0  # a wiped server has none
                self._revision = await self._table.write(self._subject, value, follows)
            except Fenced:
                raise Lost(f"{'/'.join(self.names)}: another host has claimed it") from None
            if value.state in (*OVER, "released"):
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(self._lease_s / _RENEWALS):
                    await self._dirty.wait()


class PlanHost:
    """Works tasks of plans whose owners this machine trusts, until it is cancelled."""

    def __init__(
        self, credentials: Credentials, environ: Mapping[str, str], offer: Offer, *, say: Callable[[str], object]
    ) -> None:
        self._say = say
        self.table = PlanTable(credentials)
        self._environ, self._offer, self._trust = dict(environ), offer, Trust(environ)
        self._folder = state_dir(environ) / "fleet-plans"
        self._slots = Slots(environ, self.table)
        self._claims: dict[str, Claim] = {}
        self._works: set[asyncio.Task[None]] = set()
        self._given_up: dict[tuple[str, str], tuple[float, float]] = {}
        """Attempts that it gave back: the pause before it takes one again, and when that ends (monotonic)."""
        self._passed_over: set[str] = set()
        self._starting = asyncio.Lock()
        self._clock = SystemClock()

    @property
    def drained(self) -> bool:
        """True while a person has this host take no new tasks."""
        entry = self.table.entries.get(subject("drain", self.table.name))
        return entry is not None and isinstance(entry.value, DrainEntry) and entry.value.drained

    @property
    def free(self) -> int:
        """Number of tasks that it could take now."""
        return max(0, self._offer.slots - sum(claim.value.state == "working" for claim in self._claims.values()))

    async def run(self) -> None:
        """Work until it is cancelled. Raises UsageError where another process of this user does."""
        make_directory(self._folder)
        with self._alone():
            for slot in sorted(self._folder.glob("*/slot-*")):
                await close_last(slot, self._environ)
            mirroring = asyncio.create_task(self.table.run())
            try:
                async with asyncio.TaskGroup() as group:
                    for work in (self._say_offer(), self._say_problems(), self._claim_tasks()):
                        group.create_task(work)
            finally:
                for task in self._works:
                    task.cancel()
                await asyncio.gather(*self._works, return_exceptions=True)
                mirroring.cancel()
                await asyncio.gather(mirroring, return_exceptions=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with open(open_for_writing(self._folder / "lock", os.O_WRONLY), "wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError("another `unstuck fleet work` of this user works already") from None
            yield

    async def _say_offer(self) -> None:
        agents, labels = tuple(self._offer.agents), self._offer.labels
        own = subject("offer", self.table.name)
        while True:
            offer = OfferEntry(
                agents=agents,
                labels=labels,
                slots=self._offer.slots,
                free=self.free,
                drained=self.drained,
                trusts=await asyncio.to_thread(self._trust.keys),
            )
            with suppress(Fenced):
                await self.table.write(own, offer)
            await asyncio.sleep(_OFFER_S)

    async def _say_problems(self) -> None:
        """Say that the server cannot be reached or refuses the key, and that it is there again."""
        said = ""
        while True:
            await self.table.until_changed()
            if (problem := self.table.problem) not in (said, NOT_YET):
                self._say(problem or "the server is there again")
                said = problem

    async def _claim_tasks(self) -> None:
        while True:
            await self.table.connected()
            trusted = await asyncio.to_thread(self._trust.keys)
            self._say_passed_over(trusted)
            found = [entry for entry in self.table.entries.values() if self._may_work(entry, trusted)]
            random.shuffle(found)  # else all hosts want the first one
            for entry in found if not self.drained else ():
                if self.free and self._may_claim(entry):
                    await self._take(entry, allowed=trusted[entry.who.public])
            await self.table.until_changed(_LOOK_S)
            await asyncio.sleep(random.uniform(0, _JITTER_S))

    def _say_passed_over(self, trusted: Mapping[str, bool]) -> None:
        """Say once why this host takes no tasks, or none of an owner."""
        passed_over = {"drained: it takes no new task"} if self.drained else set()
        for entry in self.table.entries.values():
            if isinstance(entry.value, LeaseEntry) and not entry.value.over and entry.who.public not in trusted:
                passed_over.add(f"{entry.who.name} has a plan, and is not trusted here: unstuck fleet trust")
        for line in passed_over - self._passed_over:
            self._say(line)
        self._passed_over = passed_over

    def _may_work(self, entry: Entry, trusted: Mapping[str, bool]) -> bool:
        """Return whether this host works such an attempt: of a trusted owner, with an agent and labels that it has."""
        work = entry.value
        if not isinstance(work, WorkEntry) or entry.who.public not in trusted or work.stop or work.hold:
            return False
        plan, lease = (self.table.entries.get(subject(kind, *entry.names[:2])) for kind in ("plan", "lease"))
        if plan is None or lease is None or {plan.who.public, lease.who.public} != {entry.who.public}:
            return False
        assert isinstance(plan.value, PlanEntry)
        assert isinstance(lease.value, LeaseEntry)
        named = work.agent in {agent.name for agent in plan.value.agents}
        knows = work.agent in self._offer.agents or (trusted[entry.who.public] and named)
        return not lease.value.over and named and knows and set(work.labels) <= set(self._offer.labels)

    def _may_claim(self, entry: Entry) -> bool:
        """Return whether nobody works the attempt: unclaimed, given up, or its host was silent for its lease."""
        assert isinstance(entry.value, WorkEntry)
        key = subject("claim", *entry.names)
        _, pauses_until = self._given_up.get((key, entry.value.attempt), (0.0, 0.0))
        if key in self._claims or self._clock.monotonic() < pauses_until:
            return False
        claim, plan = self.table.entries.get(key), self.table.value(subject("plan", *entry.names[:2]), PlanEntry)
        if claim is None or plan is None:
            return plan is not None
        assert isinstance(claim.value, ClaimEntry)
        if claim.value.attempt != entry.value.attempt or claim.value.state in ("released", "stopped"):
            return True
        mine = claim.value.host == self.table.name  # of an earlier process of this host
        return claim.value.state not in OVER and (mine or self.table.unchanged_for(claim) > plan.lease_s)

    async def _take(self, entry: Entry, *, allowed: bool) -> None:
        work = entry.value
        assert isinstance(work, WorkEntry)
        key = subject("claim", *entry.names)
        plan, before = self.table.value(subject("plan", *entry.names[:2]), PlanEntry), self.table.value(key, ClaimEntry)
        assert plan is not None
        value = ClaimEntry(attempt=work.attempt, host=self.table.name)
        if before is not None and before.attempt == work.attempt:
            value = value.model_copy(update={name: getattr(before, name) for name in _KEPT})
        claim = Claim(self.table, entry.names, value, work, plan.lease_s)
        try:
            await claim.take()
        except Fenced:
            return
        self._claims[key] = claim
        self._say(f"claimed {'/'.join(entry.names)}, attempt {work.attempt}")
        command = self._offer.agents.get(work.agent) or next(
            agent.command for agent in plan.agents if agent.name == work.agent and allowed
        )
        task = asyncio.create_task(self._worked(key, claim, plan, command))
        self._works.add(task)
        task.add_done_callback(self._works.discard)

    async def _worked(self, key: str, claim: Claim, plan: PlanEntry, command: tuple[str, ...]) -> None:
        """Work a claim to its end, or until it is lost."""
        keeping = asyncio.create_task(claim.keep())
        working = asyncio.create_task(self._work(claim, plan, command))
        try:
            await asyncio.wait({keeping, working}, return_when=asyncio.FIRST_COMPLETED)
            if working.done() and (problem := working.exception()) is not None:
                claim.change(state="released", problem=one_line(repr(problem), 300), questions=())
            await keeping
            self._say(f"{'/'.join(claim.names)}: {claim.value.state}")
        except Lost as lost:
            self._say(str(lost))
        except asyncio.CancelledError:
            await _ended(working)
            claim.change(state="released", problem="its host was stopped", questions=())
            await asyncio.wait([keeping], timeout=_RELEASE_S)
            raise
        finally:
            await _ended(working)
            await _ended(keeping)
            if claim.value.state == "released":
                self._pause(key, claim.value.attempt)
            self._claims.pop(key, None)

    def _pause(self, key: str, attempt: str) -> None:
        """Leave an attempt to others for a while, each time for longer: what this host lacks may come back."""
        before, _ = self._given_up.get((key, attempt), (_PAUSE_S / 2, 0.0))
        pause = min(2 * before, _LONGEST_PAUSE_S)
        self._given_up[key, attempt] = pause, self._clock.monotonic() + pause

    async def _work(self, claim: Claim, plan: PlanEntry, command: tuple[str, ...]) -> None:
        work = claim.work()
        if work is None:
            claim.change(state="stopped")
            return
        try:
            async with self._slots.slot(claim.names[0], plan, work, claim.value.files) as slot:
                attempt = _Attempt(self, claim, plan, slot)
                if plan.remote:  # a host that may not push is found before its agent costs anything
                    await self.send(claim, plan, (await run_git(slot, "rev-parse", "HEAD")).line)
                try:
                    await attempt.work(work, command)
                    self.plan_file(claim).unlink(missing_ok=True)
                except asyncio.CancelledError:
                    for last, seconds in ((attempt.send_so_far, _RELEASE_S), (attempt.close, _CLOSE_S)):
                        with suppress(TimeoutError):
                            async with asyncio.timeout(seconds):
                                await last()
                    raise
        except (UnstuckError, OSError) as problem:
            failure = system_failure(problem) if isinstance(problem, OSError) else None
            said = one_line(str(failure or problem), 300)
            self._say(f"{'/'.join(claim.names)}: {said}")
            claim.change(state="released", problem=said, questions=())

    # What an attempt needs of its host

    @property
    def environ(self) -> Mapping[str, str]:
        return self._environ

    @property
    def starting(self) -> asyncio.Lock:
        """Held while a small run begins: two that begin in one second could take the same id."""
        return self._starting

    def plan_file(self, claim: Claim) -> Path:
        """Return where the plan of a small run is; the run's log names it, and with it the claim's token."""
        name = f"{'.'.join(claim.names)}.{claim.value.attempt}.{claim.value.token}.yaml"
        return self._folder / "plans" / name

    async def send(self, claim: Claim, plan: PlanEntry, commit: str) -> None:
        """Send the files of a claim, and say so. Raises WorkspaceError."""
        if claim.value.files is None or claim.value.files.commit != commit:
            name = f"{claim.names[2]}-{claim.value.token}"
            files = await self._slots.transport(claim.names[0], plan).send(commit, name)
            claim.change(files=files)


class _Attempt:
    """The small run of one claim, as its owner wants it: stopped, held, answered."""

    def __init__(self, host: PlanHost, claim: Claim, plan: PlanEntry, slot: Path) -> None:
        self._host, self._claim, self._plan = host, claim, plan
        self._moved = asyncio.Event()
        self._run = SmallRun(slot, host.environ, claim.names[2], self._moved.set)
        used = claim.value
        self._run.tokens, self._run.written, self._run.cost = used.tokens, used.written, used.cost
        self._heard: set[str] = set()
        self._given: set[str] = set()
        """Answers that this run has, by the question to which the person gave them."""
        self._permissions: dict[str, str] = {}
        """The same for questions for permission, by the question of this run."""
        self._known: tuple[str, ...] = ()
        self._memory = Path()

    async def work(self, work: WorkEntry, command: tuple[str, ...]) -> None:
        """Work until the attempt is over. Raises WorkspaceError and OSError where this host cannot."""
        claim, run, file = self._claim, self._run, self._host.plan_file(self._claim)
        memory = self._memory = memory_file((await run.place()).home)
        await asyncio.to_thread(memory.unlink, missing_ok=True)
        run.write_plan(file, self._plan, work, command)
        while (wanted := claim.work()) is not None:
            if wanted.hold:
                claim.change(state="held", questions=())
                await self._host.table.until_changed()
                continue
            claim.change(state="working", questions=())
            await asyncio.to_thread(self._remember, memory)
            code, ended = await self._run_once(file)
            if not ended:
                continue
            await self._send_memory()
            if code == _PAUSED:
                await self._ask()
                continue
            if code == _SUCCEEDED:
                await self._host.send(claim, self._plan, await run.result())
                claim.change(state="passed")
            elif code in _JUDGED:
                claim.change(state="failed", problem=run.said or f"its run ended with exit code {code}")
            else:
                raise WorkspaceError(run.said or f"its run ended with exit code {code}")
            return
        await run.close()
        claim.change(state="stopped", questions=())

    def _remember(self, path: Path) -> None:
        """Give the run the memory of the project as its owner has it now, and what it has learnt itself."""
        plan = self._host.table.value(subject("plan", *self._claim.names[:2]), PlanEntry) or self._plan
        learnt = self._learnt(path)
        self._known = plan.memory
        make_directory(path.parent)
        lines = (*self._known, *(line for line in learnt if line not in self._known))
        write_private(path, "".join(f"{line}\n" for line in lines))

    def _learnt(self, path: Path) -> tuple[str, ...]:
        """Return what this attempt has learnt."""
        with suppress(OSError, UnicodeDecodeError):
            known = {*self._known, *self._claim.value.memory}
            found = [line for line in read_bytes(path).decode().splitlines() if line not in known]
            return newest([*self._claim.value.memory, *found])
        return self._claim.value.memory

    async def _run_once(self, file: Path) -> tuple[int, bool]:
        """Run until the small run ends; return its exit code, and whether it ended by itself."""
        run = self._run
        async with self._host.starting:
            running: asyncio.Future[Any] = asyncio.ensure_future(run.work(file))
            beginning = asyncio.ensure_future(run.started.wait())
            await asyncio.wait({running, beginning}, return_when=asyncio.FIRST_COMPLETED)
            beginning.cancel()
        sending: asyncio.Future[Any] | None = None
        try:
            while not running.done():
                work = self._claim.work()
                if work is None or work.hold:
                    await run.stop()
                    await running
                    await self.send_so_far()
                    return 0, False
                for key, answer in work.answers.items():
                    if key.startswith("say") and key not in self._heard:
                        self._heard.add(key)
                        await run.say(answer)
                if self._moved.is_set() and (sending is None or sending.done()):
                    self._moved.clear()
                    sending = asyncio.ensure_future(self.send_so_far())
                self._tell()
                changed = asyncio.ensure_future(self._host.table.until_changed(_LOOK_S))
                await asyncio.wait({running, changed}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
            self._tell()
            return running.result(), True
        finally:
            for left in (running,) if sending is None else (running, sending):
                await _ended(left)

    def _tell(self) -> None:
        """Say with the next renewal how far it is; at once what it has used, because a budget may end."""
        run, claim = self._run, self._claim
        said = {name: getattr(run, name) for name in ("run", "doing", "tokens", "written", "cost")}
        if any(getattr(claim.value, name) != value for name, value in said.items()):
            claim.change(**said)
        had = [self._permissions[gate] for gate in sorted(run.delivered) if gate in self._permissions]
        if new := [id for id in had if id not in claim.value.used]:
            claim.change(used=(*claim.value.used, *new))

    async def close(self) -> None:
        """Withdraw its questions: another small run goes on with the task."""
        await self._run.close()

    async def send_so_far(self) -> None:
        """Send the files as they are, so that another host can go on from them. The run goes on without that."""
        await self._send_memory()
        with suppress(UnstuckError, OSError):
            await self._host.send(self._claim, self._plan, await self._run.snapshot())

    async def _send_memory(self) -> None:
        """Say what the run has learnt so far, so that it outlives this host."""
        learnt = await asyncio.to_thread(self._learnt, self._memory)
        if learnt != self._claim.value.memory:
            self._claim.change(memory=learnt)

    async def _ask(self) -> None:
        """Pass on the questions of the paused run, and write the answers that come into its log."""
        await self.send_so_far()
        questions = await self._run.questions()
        if any(question.id in self._heard for question in questions):
            raise WorkspaceError("the answer to its question does not fit")
        if await self._answer_as_before(questions):
            return
        self._claim.change(state="asked", questions=questions)
        size = -1
        while (work := self._claim.work()) is not None:
            for question in questions:
                if question.id in work.answers and question.id not in self._heard:
                    await self._give(question, question.id, work.answers[question.id])
            if size != (size := self._run.log_size()):  # a person may answer on this host, too
                still = {question.id for question in await self._run.questions()}
            answered = any(question.id in self._heard or question.id not in still for question in questions)
            if (answered or not questions) and self._host.free:
                return
            await self._host.table.until_changed()

    async def _answer_as_before(self, questions: tuple[QuestionEntry, ...]) -> bool:
        """Answer what a person has answered to a host that is gone; return whether there was any such question.

        The owner says what an answer is about, because the other host may be hostile.
        """
        work, found = self._claim.work(), False
        for question in questions:
            about, over = digest(question), {*self._given, *self._claim.value.used}
            answers = work.answers.items() if work is not None and about else ()
            same = next(((id, answer) for id, answer in answers if answer.about == about and id not in over), None)
            if same is not None:
                await self._give(question, *same)
                found = True
        return found

    async def _give(self, question: QuestionEntry, id: str, answer: AnswerEntry) -> None:
        """Answer ``question`` of the paused run with the answer to ``id``."""
        self._heard.add(question.id)
        self._given.add(id)
        if question.type == "permission":
            self._permissions[question.id] = id
        if refused := await self._run.answer(question.id, answer):
            self._claim.change(problem=refused)


async def _ended(task: asyncio.Future[Any]) -> None:
    """Cancel ``task`` and wait for its end."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
