"""One call for programs: supervise a task with an agent of the caller's, and return what came of it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from unstuck.clock.waits import first_of
from unstuck.contract import Agent, Answer, Gate, Level, OutcomeStatus, Task
from unstuck.diagnosis.model import Diagnosis
from unstuck.errors import ArgumentError, GateClosed, UsageError, WorkspaceError
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.state import State, TaskRow
from unstuck.eventlog.usage import usage_of
from unstuck.settings.models import Settings
from unstuck.supervision.attempt.runner import Attempt, as_agent
from unstuck.supervision.run.coordinator import Coordinator
from unstuck.supervision.run.open_questions import Question
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.words.labels import counted

Reply = Answer | str | None
OnQuestion = Callable[[Question], Reply | Awaitable[Reply]]
_Parameters = ParamSpec("_Parameters")
_Returned = TypeVar("_Returned")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """One attempt: ``check`` is the result of the check after it, ``failure`` the line that says what failed.

    ``seconds`` and ``cost`` (US dollars) are None where they are not known.

    Example::

        print([attempt.failure for attempt in result.attempts])
    """

    number: int
    level: Level
    check: str = ""
    failure: str = ""
    seconds: float | None = None
    tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of a task. ``status`` is ``paused`` where a question waits, which ``resume=result.run`` continues.

    ``exit_code`` is that of ``unstuck run`` for the same end. ``questions`` are all that were asked, with their
    answers. ``changed_files`` are relative to the worktree; None where they are not known. ``last`` is the last
    failure. ``cost`` is in US dollars, None if the agent reported none.

    Example::

        result = unstuck.supervise_sync("Make the tests pass.", agent=agent, check="pytest -q")
        print(result)  # succeeded after 2 attempts; 1 file changed
    """

    run: str
    task_id: str
    status: OutcomeStatus | Literal["paused"]
    exit_code: int
    attempts: tuple[AttemptResult, ...] = ()
    questions: tuple[Gate, ...] = ()
    tokens: int = 0
    cost: float | None = None
    changed_files: tuple[str, ...] | None = None
    last: Diagnosis | None = None
    reason: str = ""

    @property
    def succeeded(self) -> bool:
        """True if the check passed."""
        return self.status == "succeeded"

    def __str__(self) -> str:
        facts = [f"{self.status} after {counted(len(self.attempts), 'attempt')}"]
        if self.questions:
            facts.append(counted(len(self.questions), "question"))
        if self.changed_files is not None:
            facts.append(f"{counted(len(self.changed_files), 'file')} changed")
        if self.cost is not None:
            facts.append(f"${self.cost:.2f}")
        return "; ".join([*facts, self.reason] if self.reason else facts)


async def supervise(
    prompt: str | Task,
    *,
    agent: Agent | Attempt,
    check: str | None = None,
    cwd: str | Path = ".",
    task_id: str = "task",
    timeout_seconds: float | None = None,
    idle_seconds: float | None = None,
    max_retries: int | None = None,
    max_pivots: int | None = None,
    max_research: int | None = None,
    budget: Mapping[str, Any] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    on_question: OnQuestion | None = None,
    on_event: Callable[[Record], None] | None = None,
    resume: str | None = None,
) -> Result:
    """Work a task with ``agent`` until its check passes, escalating when it fails, and return the result.

    ``agent`` is a coroutine function that gets a :class:`Guidance`, or an :class:`Agent`. ``check`` is the shell
    command that decides; without one the task ends ``unverified``. ``on_question`` (a function, which then runs in a
    thread, or a coroutine function) returns a choice, words for the agent, an :class:`Answer`, or None to leave the
    question open. With nobody to answer, the run pauses: answer with ``unstuck answer``, then give its id as
    ``resume``. ``on_event`` gets each durable record. ``budget`` and ``settings`` have the keys of the settings file,
    and the other limits override theirs. What a callback raises ends the call; ``resume`` continues
    the run. Raises UsageError (with ArgumentError, AgentUnusable, SettingsError, ProjectError and ProjectLocked),
    RecordError, WorkspaceError where files cannot be prepared or saved, and AnswerRefused for a wrong reply.

    Example::

        async def agent(guidance: Guidance) -> None:
            (guidance.workdir / "greeting.txt").write_text("hello")

        result = await unstuck.supervise("Write the greeting.", agent=agent, check="grep hello greeting.txt")
    """
    worker = as_agent(agent)
    for name, function in (("on_question", on_question), ("on_event", on_event)):
        if function is not None and not callable(function):
            raise ArgumentError(f"{name} must be a function, not {type(function).__name__}")
    if inspect.iscoroutinefunction(on_event):
        raise ArgumentError("on_event must be a plain function, not a coroutine function")
    if not isinstance(prompt, Task):
        task = Task(id=task_id, prompt=prompt, check=check, timeout_seconds=timeout_seconds, idle_seconds=idle_seconds)
    elif (check, timeout_seconds, idle_seconds) == (None, None, None):
        task = prompt
    else:
        raise ArgumentError(
            "check, timeout_seconds and idle_seconds are those of the Task that you pass; set them there"
        )
    limits = {"max_retries": max_retries, "max_pivots": max_pivots, "max_research": max_research}
    overrides = {f"failure_handler.{name}": value for name, value in limits.items()} | {"budget": budget}
    broken: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
    opened = Supervisor.open(
        cwd,
        settings,
        overrides=overrides,
        resume=resume,
        person=on_question is not None,
        listener=partial(_tell, on_event, broken) if on_event else None,
    )
    async with opened as supervisor:
        supervisor.add(task)
        working = asyncio.ensure_future(Coordinator(supervisor, lambda task: worker).run())
        asking = asyncio.ensure_future(_ask(supervisor, on_question) if on_question else asyncio.Event().wait())
        try:
            await first_of(working, asking, broken)
            if asking.done():
                asking.result()
            if broken.done():
                raise broken.result()
            ended = await working
        finally:
            for one in (working, asking):
                one.cancel()
            await asyncio.gather(working, asking, return_exceptions=True)
        state = supervisor.state
        result = _result(state, state.tasks[task.id], ended.exit_code, await _changed_files(supervisor, task.id))
    if broken.done():
        raise broken.result()
    return result


def _sync(
    function: Callable[_Parameters, Coroutine[Any, Any, _Returned]],
) -> Callable[_Parameters, _Returned]:
    @wraps(function)
    def blocking(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Returned:
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            raise UsageError("an event loop runs in this thread already: use `await unstuck.supervise(...)`")
        return asyncio.run(function(*args, **kwargs))

    blocking.__name__ = blocking.__qualname__ = f"{function.__name__}_sync"
    blocking.__doc__ = (
        f"Do as :func:`{function.__name__}` does, for programs without an event loop. It raises the same exceptions, "
        "and UsageError where a loop runs in this thread."
    )
    return blocking


supervise_sync = _sync(supervise)


def _tell(on_event: Callable[[Record], None], broken: asyncio.Future[Exception], record: Record) -> None:
    """Give a record to the caller; once that has failed, nothing more."""
    if not broken.done():
        try:
            on_event(record)
        except Exception as error:
            broken.set_result(error)


async def _ask(supervisor: Supervisor, on_question: OnQuestion) -> None:
    """Put each question to the caller, one after the other; one that is left open pauses the run."""
    async for question in supervisor.questions():
        if inspect.iscoroutinefunction(on_question):
            reply = await on_question(question)
        else:
            reply = await asyncio.to_thread(on_question, question)  # it may wait for a person
            if inspect.isawaitable(reply):
                reply = await reply
        if reply is None:
            supervisor.unwatched()
            continue
        with suppress(GateClosed):  # another answer was first
            await question.answer(reply)


async def _changed_files(supervisor: Supervisor, task: str) -> tuple[str, ...] | None:
    core, row = supervisor.core, supervisor.state.tasks[task]
    if row.baseline in ("", "none"):
        return None
    try:
        return tuple(change.path for change in await core.checkpoints(core.tree_of(row)).changed(row.baseline))
    except (WorkspaceError, OSError):
        return None


def _result(state: State, row: TaskRow, exit_code: int, changed: tuple[str, ...] | None) -> Result:
    asked = tuple(gate.gate for gate in state.gates.values() if gate.gate.task in ("", row.id))
    paused = exit_code == 3 and row.state != "ended"
    attempts = tuple(attempt for attempt in state.attempts.values() if attempt.task == row.id)
    used = usage_of(state, row)
    return Result(
        run=state.run.id,
        task_id=row.id,
        status="paused" if paused else row.status or "cancelled",
        exit_code=exit_code,
        attempts=tuple(
            AttemptResult(
                number=attempt.guidance.number,
                level=attempt.guidance.level,
                check=attempt.check,
                failure=attempt.headline,
                seconds=attempt.seconds,
                tokens=attempt.tokens,
                cost=attempt.cost,
            )
            for attempt in attempts
        ),
        questions=asked,
        tokens=used.tokens,
        cost=used.cost,
        changed_files=changed,
        last=row.diagnosis,
        reason=state.run.failed or row.reason,
    )
