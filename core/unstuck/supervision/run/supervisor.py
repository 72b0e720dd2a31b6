"""The supervisor of one run in one project: opens it, works tasks, takes answers, gives out what happened."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unstuck.arguments import checked
from unstuck.channel import ChannelServer, socket_path
from unstuck.clock import Clock, SystemClock
from unstuck.clock.deadlines import Deadlines
from unstuck.contract import HELD, Actor, Agent, Answer, Capabilities, Directive, Gate, Outcome, Task
from unstuck.detection import LoopDetector
from unstuck.errors import (
    AgentUnusable,
    ChannelError,
    LaggedBehind,
    RecordError,
    RecordWriteFailed,
    UsageError,
)
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.journal import Journal
from unstuck.eventlog.log.load_state import Restored, is_watch
from unstuck.eventlog.memory.store import Memory, memory_file
from unstuck.eventlog.state import State
from unstuck.eventlog.storage.lock import RUN_LOCK, WATCH_LOCK, ProjectLock, alone_in
from unstuck.eventlog.storage.network_fs import shared_risk
from unstuck.eventlog.storage.project_list import remember_home
from unstuck.eventlog.storage.run_store import ended, new_run, outdated, remove, run_names
from unstuck.rows.row_writer import RowWriter
from unstuck.settings.loading import given_settings
from unstuck.settings.models import Settings
from unstuck.settings.paths import runtime_dir, state_dir
from unstuck.supervision.checkpointing import Since, diff_since
from unstuck.supervision.checks.check import Verifier
from unstuck.supervision.context.context import GatePolicy, RunContext, limits_of
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.context.types import Takeover, TakeoverChanges
from unstuck.supervision.gates.budget import Budget
from unstuck.supervision.gates.disk_space import RoomKeeper, withdraw_old
from unstuck.supervision.gates.gate_timers import Timers, keep_open, start_timer
from unstuck.supervision.gates.live_questions import stop_asking
from unstuck.supervision.intervention.allowed import NextRung
from unstuck.supervision.run.collisions import Collisions
from unstuck.supervision.run.finish import clean_old, record_end
from unstuck.supervision.run.open_questions import Question
from unstuck.supervision.run.socket_api import Answers, Hooks, Tools
from unstuck.text import Clean, known_values, one_line, secret_values, set_secret_values
from unstuck.workspace.git.repository import project_home
from unstuck.workspace.project import Project, locate
from unstuck.workspace.worktrees.worktrees import Worktrees

if TYPE_CHECKING:
    from unstuck.supervision.attempt.runner import Attempt
    from unstuck.supervision.recovery.review import Standstill
    from unstuck.supervision.run.session import Session
    from unstuck.workspace.checkpoints.manager import CheckpointStore


# Records about the whole run, and records about one task after which others may start.
_RUN_WIDE = (e.InfrastructureBlocked, e.InfrastructureRestored, e.WorkflowFailed, e.BudgetReached, e.BudgetSet)
_RELEASING = (
    e.AttemptEnded,
    e.AttemptInterrupted,
    e.TaskEnded,
    e.TaskAdded,
    e.GateOpened,
    e.GateAnswered,
    e.StopRequested,
    e.OutageWait,
    e.TransientErrorRetry,
    e.TimerStarted,
    e.TimerCancelled,
)
_PARTS = tuple(Subject)[tuple(Subject).index(Subject.TAKEOVER) + 1 :]

_SLEPT_S = 1.0


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
    except OSError as problem:
        raise RecordWriteFailed(f"{folder}: cannot be made: {problem.strerror or problem}") from problem


class Supervisor:
    """One run of a program's own tasks. Use :meth:`open`.

    Everything that records an event raises RecordError where the event log cannot be written.

    Example::

        async with Supervisor.open("path/to/project") as supervisor:
            outcome = await supervisor.supervise(Task(id="greet", prompt="Write the greeting."), agent)
    """

    def __init__(self, core: RunContext, project: Project, deadlines: Deadlines) -> None:
        from unstuck.supervision.gates.service import answer_gate

        self.core, self.project = core, project
        self._deadlines = deadlines
        self._asleep = core.clock.asleep()
        deadlines.on_wake = self._note_sleep
        self._budget = Budget(core, deadlines)
        self.left = ""
        """The reason for which a watch is left; empty while it goes on."""
        Collisions(core, deadlines)
        Timers(core, deadlines, answer=partial(answer_gate, core.journal, via="timer", actor="timer"))
        self.hooks: Hooks | None = None
        self.tools: Tools | None = None
        self.socket: Path | None = None
        self.socket_problem = ""
        """Reason that nothing listens on the project's socket; empty if something does."""
        self.standstill: Standstill | None = None
        self.room = RoomKeeper(core)
        core.journal.on_append(self._on_append)

    @classmethod
    @checked
    @asynccontextmanager
    async def open(
        cls,
        project: str | Path | Project,
        settings: Settings | Mapping[str, Any] | None = None,
        *,
        overrides: Mapping[str, Any] | None = None,
        resume: str | None = None,
        known: Restored | None = None,
        start: e.RunStarted | None = None,
        clock: Clock | None = None,
        policy: Callable[[State], GatePolicy] | None = None,
        person: bool = False,
        environ: Mapping[str, str] | None = None,
        listener: Callable[[Record], None] | None = None,
        limits: e.BudgetSet | None = None,
        chosen: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Supervisor]:
        """Open a new run in ``project``, or the run ``resume`` again.

        ``settings`` are complete, or a mapping of those that differ from the user's and the project's. So are
        ``overrides``, in which a key may be dotted and None means not given. ``known`` is the state of the run
        ``resume``, where it was read already. ``start`` is the run's first event (by default an embedded one);
        ``policy`` makes the answer rules from the state; ``person`` says that a person watches; ``listener`` gets each
        durable record from now on; ``limits`` are new budgets for a run that goes on; ``chosen`` says by task or
        pattern what becomes of an attempt that was cut off. Raises UsageError (with ProjectLocked, ProjectError and
        SettingsError), RecordError, and WorkspaceError where the worktrees of a run cannot be made.
        """
        environ = os.environ if environ is None else environ
        # Those of other supervisors in this process stay secret, too.
        set_secret_values(dict.fromkeys((*known_values(), *secret_values(environ))))
        clock = clock or SystemClock()
        place = project if isinstance(project, Project) else await locate(project)
        settings = given_settings(place.root, settings, overrides or {}, environ)
        project_home(place.root, place.repository)
        remember_home(place.home, state_dir(environ))
        async with AsyncExitStack() as stack:
            with alone_in(place.home):  # a run and a watch that begin at once get two ids
                others = (run for home in place.others for run in run_names(home / "runs"))
                if resume is not None and resume not in run_names(place.runs):
                    raise UsageError(f"there is no run {one_line(str(resume))}; `unstuck runs` lists them")
                run = resume or new_run(place.runs, clock.now(), others)
                lock = ProjectLock(place.home / (WATCH_LOCK if _watches(place, start, resume) else RUN_LOCK), run=run)
                lock.acquire()
                stack.callback(lock.release)
                journal = await Journal.open(place.runs / run, run=run, clock=clock, known=known)
            stack.push_async_callback(RowWriter(journal, clock).close)
            stack.push_async_callback(journal.close)
            if listener is not None:
                journal.on_durable(listener)
            supervisor = cls._assembled(place, journal, settings, clock, environ, person)
            supervisor.core.recovery.chosen = chosen or {}
            stack.push_async_callback(supervisor.room.stop)
            stack.push_async_callback(stop_asking, supervisor.core)
            stack.push_async_callback(supervisor._end_survivors)
            await supervisor._begin(start, policy, limits)
            stack.push_async_callback(supervisor._deadlines.stop)
            await stack.enter_async_context(supervisor._serving(environ))
            yield supervisor
            await supervisor._leave()

    @classmethod
    def _assembled(
        cls,
        place: Project,
        journal: Journal,
        settings: Settings,
        clock: Clock,
        environ: Mapping[str, str],
        person: bool,
    ) -> Supervisor:
        run, folder = journal.run, journal.folder
        if journal.head.run.settings:
            settings = Settings.thaw(journal.head.run.settings)
        _make(folder / "output")
        stores: dict[Path, CheckpointStore] = {}

        def checkpoints(tree: Path) -> CheckpointStore:
            from unstuck.supervision.standalone.checkpoint_manager import bounds_of
            from unstuck.workspace.checkpoints.manager import CheckpointStore

            if tree not in stores:
                stores[tree] = CheckpointStore(
                    tree, place.home, place.repository, clock=clock, bounds=bounds_of(settings)
                )
            return stores[tree]

        worktrees = None
        if place.repository is not None:
            worktrees = Worktrees(place.repository, state_dir(environ) / "worktrees", run)
        core = RunContext(
            root=place.root,
            home=place.home,
            folder=folder,
            journal=journal,
            settings=settings,
            limits=limits_of(settings),
            clock=clock,
            verifier=Verifier(
                folder / "output",
                clock=clock,
                timeout=settings.verify_timeout,
                limit=settings.output_limit,
                environ=environ,
            ),
            detector=LoopDetector(window_size=settings.window_size),
            memory=Memory(memory_file(place.home)),
            repository=place.repository,
            checkpoints=checkpoints,
            worktrees=worktrees,
            watched=person,
            environ=environ,
            subdirectory=place.directory.relative_to(place.root),
        )
        return cls(core, place, Deadlines(clock))

    async def _begin(
        self, start: e.RunStarted | None, policy: Callable[[State], GatePolicy] | None, limits: e.BudgetSet | None
    ) -> None:
        from unstuck.version import __version__

        core = self.core
        await asyncio.to_thread(core.memory.load)
        with suppress(RecordError):
            await asyncio.to_thread(core.memory.compact, core.clock.now())
        if policy is not None:
            core.policy = policy(core.head)
        if core.head.run.state == "new":
            event = start or e.RunStarted(project=one_line(self.project.root.name), kind="embedded")
            risk = shared_risk(self.project.home)
            warnings = (*event.warnings, one_line(risk, 500)) if risk else event.warnings
            update = {"settings": core.settings.frozen(), "version": __version__, "pid": os.getpid()}
            core.append(event.model_copy(update=update | {"warnings": warnings}))
        else:
            await self._resume(__version__)
        self._budget.begin(limits)
        await core.journal.committed()
        self.room.patient = True
        await self._remove_old_runs()
        await self._deadlines.start()

    async def _resume(self, version: str) -> None:
        """Take up what was cut off, and ask again what was not answered."""
        from unstuck.supervision.gates.service import apply_policy
        from unstuck.supervision.recovery.interrupted_attempt import answer_chosen
        from unstuck.supervision.recovery.reattach import interrupt_running, take_over

        core = self.core
        kept = await interrupt_running(core)
        if core.head.run.kind in ("plan", "command"):
            rows = core.head.tasks.values()
            core.recovery.interrupted = frozenset(row.attempt for row in rows if row.state == "interrupted")
        core.append(e.RunResumed(pid=os.getpid(), version=version))
        withdraw_old(core)
        before = core.head.open_gates()
        await take_over(core, kept)
        for row in before:
            # An answer to another may have closed it.
            if core.head.gates[row.id].status != "open" or answer_chosen(core, row.gate):
                continue
            if row.gate.key == HELD:  # what a person has opened no rule and no timer answers
                continue
            if not apply_policy(core, row.gate):
                start_timer(core, row.gate)

    async def _end_survivors(self) -> None:
        """Stop the orphans that no task has taken up."""
        for attempt, (survivor, _) in self.core.live.orphans.items():
            await survivor.stop(attempt)

    def _note_sleep(self) -> None:
        """The machine has slept when the time without its sleep has fallen behind."""
        asleep = self.core.clock.asleep()
        if asleep - self._asleep >= _SLEPT_S:
            self.core.append(e.Suspended(seconds=round(asleep - self._asleep, 3)), actor="timer")
            self._asleep = asleep

    async def _remove_old_runs(self) -> None:
        """Remove ended runs beyond the bounds of the settings."""
        core, runs = self.core, self.project.runs
        settings = core.settings

        def removed() -> list[tuple[str, int]]:
            found = [run for name in run_names(runs) if name != self.run and (run := ended(runs, name))]
            bounds = {"count": settings.keep_runs, "days": settings.keep_days, "size": settings.keep_bytes}
            old = outdated(found, **bounds, now=core.clock.now())
            return [(run.run, run.size) for run in old if remove(runs, run.run)]

        gone = await asyncio.to_thread(removed)
        if gone:
            core.append(e.RunsRemoved(runs=tuple(name for name, _ in gone), bytes=sum(size for _, size in gone)))
        await clean_old(core, runs, (name for name, _ in gone))

    async def _leave(self) -> None:
        """An embedded run has nobody else to say that it is over; with work left it stays open to be gone on with."""
        head = self.core.head
        over = all(row.state == "ended" for row in head.tasks.values())
        if head.run.kind == "embedded" and head.run.state == "running" and over:
            await record_end(self.core)

    @asynccontextmanager
    async def _serving(self, environ: Mapping[str, str]) -> AsyncIterator[None]:
        """Listen on the project's socket; a run works without one where the platform has no place for it."""
        answers = Answers(self)
        try:
            watch = self.core.head.run.kind == "watch"
            path = socket_path(runtime_dir(environ), self.project.home, watch=watch)
            # An answer may end the run; its sender still hears that it was taken.
            finished, waiting = frozenset({"answer", "stop"}), frozenset({"tool", "stay", "events"})
            server = ChannelServer(
                path, answers.handle, acknowledged=answers.acknowledged, finished=finished, waiting=waiting
            )
            await server.start()
        except ChannelError as error:
            self.socket_problem = str(error)
            yield
            return
        self.socket = path
        try:
            yield
        finally:
            await server.close()

    def _on_append(self, record: Record) -> None:
        """Wake those whom ``record`` concerns."""
        signals, event, task = self.core.signals, record.event, record.task
        releasing = isinstance(event, _RELEASING)
        if isinstance(event, _RUN_WIDE) or (releasing and not task):
            signals.wake_all()
            return
        if isinstance(event, (e.GateAnswered, e.GateWithdrawn)):
            signals.wake(Subject.GATE, event.gate)
        for part in _PARTS if releasing else (Subject.COORDINATOR, Subject.RECOVERY, Subject.WATCH):
            signals.wake(part)
        row = self.core.head.tasks.get(task)
        for attempt in {record.attempt, row.attempt if row is not None and releasing else ""} - {""}:
            signals.wake(Subject.ATTEMPT, attempt)
        if task:
            signals.wake(Subject.TASK, task)

    # --- the public face --------------------------------------------------------------------------------------------

    @property
    def run(self) -> str:
        return self.core.run

    @property
    def state(self) -> State:
        """The durable state; read it, never write it."""
        return self.core.journal.durable

    @checked
    def add(self, task: Task, **options: Any) -> None:
        """Make ``task`` known; a task that is known already stays as it is. Options are those of ``TaskAdded``."""
        if task.id not in self.core.head.tasks:
            self.core.append(e.TaskAdded(work=task, **options), task=task.id)

    @checked
    def session(self, task: Task, can: Capabilities) -> Session:
        """The mechanism for one task, for adapters that drive it themselves."""
        from unstuck.supervision.run.session import Session

        self.add(task)
        return Session(self.core, task.id, can)

    @checked
    async def supervise(self, task: Task, attempt: Agent | Attempt) -> Outcome:
        """Work ``task`` with ``attempt`` until it has its outcome. What a coroutine function raises is a failure.

        Raises UsageError (with AgentUnusable for what cannot be an agent), RecordError, and WorkspaceError where the
        task's files cannot be prepared or saved.
        """
        from unstuck.supervision.attempt.approaches import Approaches
        from unstuck.supervision.attempt.runner import as_agent, run_attempt
        from unstuck.supervision.intervention import takeover

        agent = as_agent(attempt)
        session = self.session(task, agent.can)
        directive = await self._taken_over(session) or await session.begin()
        while directive.kind == "start" and directive.guidance is not None:
            guidance = directive.guidance
            try:
                agent, task = session.replaced or agent, session.row.task
                at_work = Approaches(self.core, agent.can) if guidance.ways else agent
                report = await run_attempt(self.core, self._deadlines, at_work, task, guidance, session)
                await takeover.left_alone(self.core, task.id)
            except (asyncio.CancelledError, AgentUnusable) as error:
                session.abandon(guidance.attempt, one_line(str(error)) or "the caller was cancelled")
                raise
            if self.core.head.run.state == "draining":
                directive = await session.interrupt(guidance.attempt, self.core.head.run.stopping)
            else:
                directive = await session.end(guidance.attempt, report)
        assert directive.outcome is not None
        return directive.outcome

    async def _taken_over(self, session: Session) -> Directive | None:
        """Work on with an attempt that has outlived its supervisor; None where none has."""
        from unstuck.supervision.attempt.runner import run_attempt
        from unstuck.supervision.intervention import takeover

        row, core = session.row, self.core
        if row.attempt not in core.live.orphans:
            return None
        survivor, gate = core.live.orphans.pop(row.attempt)
        attempt = core.head.attempts[row.attempt]
        try:
            report = await run_attempt(core, self._deadlines, survivor, row.task, attempt.guidance, session, asked=gate)
            await takeover.left_alone(core, row.id)
        except asyncio.CancelledError:
            session.abandon(attempt.id, "the caller was cancelled")
            raise
        if core.head.run.state == "draining" or (report.how == "stopped" and session.row.state != "ended"):
            return await session.interrupt(attempt.id, core.head.run.stopping or "the supervisor ended")
        return await session.end(attempt.id, report)

    @checked
    async def answer(self, gate: str, answer: Answer, actor: Actor = "human", via: str = "program") -> Gate:
        """Answer a question. Raises GateUnknown, GateClosed(by, when), AnswerRefused, also during a takeover."""
        from unstuck.supervision.gates.service import answer_gate
        from unstuck.supervision.intervention import intervention

        if (row := self.core.head.gates.get(gate)) is not None:
            intervention.refuse_in_hands(self.core, row.gate.task)
        closed = answer_gate(self.core.journal, gate, answer, via=via, actor=actor)
        self.core.signals.wake_all()
        if closed.type != "disk":  # what is answered about a full disk cannot wait for that disk
            await self.core.journal.committed()
        return closed

    @checked
    def events(self, after: int | None = None) -> AsyncIterator[Record]:
        """Durable records after sequence number ``after`` (by default all), without gaps, then live ones.

        Raises LaggedBehind for a reader that is too slow, and RecordError for a damaged event log.
        """
        return self.core.journal.follow(after or 0)

    async def questions(self) -> AsyncIterator[Question]:
        """The open questions, then each that is asked from now on. Raises RecordError for a damaged event log."""
        seq, waiting = self.state.seq, self.state.open_gates()
        for row in waiting:
            yield Question(row.gate, self.answer)
        while True:
            try:
                async for record in self.events(seq):
                    if isinstance(record.event, e.GateOpened) and self.state.gates[record.event.gate].status == "open":
                        yield Question(self.state.gates[record.event.gate].gate, self.answer)
                return
            except LaggedBehind as error:  # a person takes as long as they like
                seq = error.seq

    def unwatched(self) -> None:
        """Declare that no person is there: the run pauses as soon as only questions are left."""
        self.core.watched = False
        self.core.signals.wake_all()

    @checked
    async def hold(self, task: str) -> str:
        """Pause the agent of ``task`` and return the id of its question.

        Raises UsageError where it cannot be held, AnswerRefused where its question takes another answer.
        """
        from unstuck.supervision.intervention import intervention

        gate = await intervention.hold(self.core, task)
        await self.core.journal.committed()
        return gate

    @checked
    async def step_in(self, task: str, answer: Answer, via: str = "program") -> Gate | None:
        """Hold ``task`` and decide about it: what can be answered to the question that it then waits for.

        One that has not begun can be skipped and abandoned at once; ``extend`` gives it so many seconds from now on.
        Raises UsageError where it cannot be held, AnswerRefused for what cannot be chosen, and GateError where its
        question has ended meanwhile.
        """
        from unstuck.supervision.intervention import intervention

        if answer.choice == "extend":
            return await self.extend(task, answer.number or 0.0, via)
        closed = await intervention.step_in(self.core, task, answer, via)
        self.core.signals.wake_all()
        await self.core.journal.committed()
        return closed

    @checked
    async def extend(self, task: str, seconds: float, via: str = "program") -> Gate:
        """Give the attempt at ``task`` so many seconds from now on. Raises UsageError and GateError."""
        from unstuck.supervision.intervention import intervention

        closed = await intervention.extend(self.core, task, seconds, via)
        self.core.signals.wake_all()
        await self.core.journal.committed()
        return closed

    @checked
    async def choose_rung(self, task: str, level: NextRung) -> None:
        """Say what comes next for ``task``: the same again, another approach, research, or the question.

        Raises UsageError where nothing can be chosen for it, and AnswerRefused during a takeover.
        """
        from unstuck.supervision.intervention import intervention

        intervention.choose_rung(self.core, task, level)
        await self.core.journal.committed()

    @checked
    async def start_takeover(self, task: str) -> Takeover:
        """Pause the agent of ``task`` while a person edits its files, until :meth:`end_takeover`.

        Raises UsageError where there is nothing to take over, GateError where its question takes no answer any more,
        and WorkspaceError where its files cannot be saved first.
        """
        from unstuck.supervision.intervention import takeover

        taken = await takeover.start_takeover(self.core, task)
        try:
            await self.core.journal.committed()
        except BaseException:  # such as a screen that is left: nobody is there who would give it back
            takeover.let_go(self.core, taken)
            raise
        return taken

    @checked
    async def end_takeover(self, taken: Takeover) -> TakeoverChanges:
        """End the takeover and return what the person changed. The question takes answers again.

        Durable with whatever is answered then: a person whose disk is full is not kept from making room.
        """
        from unstuck.supervision.intervention import takeover

        return await takeover.end_takeover(self.core, taken)

    @checked
    async def changes(self, task: str, since: Since = "start") -> tuple[str, Clean]:
        """The checkpoint that ``task`` is compared with, and the unified diff from there on. Raises WorkspaceError."""
        row = self.core.head.tasks.get(task)
        if row is None:
            return "", Clean("")
        return await diff_since(self.core.head, row, self.core.checkpoints(self.core.tree_of(row)), since)

    @checked
    async def keep_open(self, gate: str) -> None:
        """Cancel the countdown of ``gate``: a person is there."""
        keep_open(self.core, gate)
        await self.core.journal.committed()

    @checked
    async def stop(self, reason: str, actor: Actor = "human") -> None:
        """Stop the run: every live attempt is ended; the run can be resumed.

        Where the disk is full nothing can be recorded about it: the run then ends as a killed one does.
        """
        if self.core.journal.held:
            self.core.journal.discard_pending()
        elif self.core.head.run.state in ("running", "blocked"):
            self.core.append(e.StopRequested(reason=reason), actor=actor)
            await self.core.journal.committed()


def _watches(place: Project, start: e.RunStarted | None, resume: str | None) -> bool:
    """Return whether the supervisor is that of a watch."""
    if resume:
        return is_watch(place.runs / resume)
    return start is not None and start.kind == "watch"
