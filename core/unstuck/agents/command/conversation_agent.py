"""Base of the agents that are driven through a protocol: one process and one conversation per attempt."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from unstuck.agents.command.agent_output import see
from unstuck.agents.command.jsonl_reader import ProtocolProblem
from unstuck.agents.command.presets import model_in
from unstuck.agents.command.process_agent import CommandSpec, How, ProcessAgent, account, prompt_file, surroundings
from unstuck.agents.command.signal_line import read_signal
from unstuck.contract import Guidance, Observation, Observer, Receipt, Report, Task
from unstuck.diagnosis.agent_messages.troubles import known_agent
from unstuck.processes import Exit, Launch, Process
from unstuck.supervision.checks.check import read_output
from unstuck.text import admit, one_line
from unstuck.text.last_words import SAID_LIMIT, last_words
from unstuck.words.exit_words import exit_words, signal_words

_INTERRUPT_S = 2.0
"""Seconds for an interrupted turn to end, which keeps the agent's session whole, before its process is ended."""
_EXIT_S = 5.0
"""Seconds for a process to exit once its input is closed."""
_LAST_LIMIT = 300
_LINE_LIMIT = 2_000
_PROBLEM_LIMIT = 4_000


class Outcome(NamedTuple):
    """Outcome of a conversation. ``text`` is the agent's own text.

    ``last_message`` is the last part of the text, ``model`` the model that the agent names. ``failed`` is the agent's
    own error message, ``interrupted`` the reason for a turn cut off; each may be empty.
    """

    text: str
    session: str
    failed: str = ""
    interrupted: str = ""
    last_message: str = ""
    model: str = ""


class Conversation(Protocol):
    """Conversation of one attempt over an agent's standard input and output."""

    def feed(self, piece: bytes, /) -> None:
        """Take the next bytes of the agent's output; none at its end."""

    async def work(self, say: Callable[[bytes], None]) -> None:
        """Run the conversation to the end of its last turn; ``say`` writes to the agent. Raises ProtocolProblem."""

    async def interrupt(self) -> None:
        """End the current turn and return when it is over."""

    def ended(self, why: str) -> None:
        """Fail whatever still waits: the process has exited."""

    async def close(self) -> None:
        """Cancel everything that still runs beside the conversation."""

    @property
    def outcome(self) -> Outcome:
        """Return the outcome so far."""


C = TypeVar("C", bound=Conversation)


class ConversationAgent(ProcessAgent, ABC, Generic[C]):
    """Runs its command once per attempt and converses with it. ``label`` precedes the errors of the protocol."""

    label = ""

    def __init__(
        self,
        spec: CommandSpec,
        *,
        folder: Path,
        environ: Mapping[str, str],
        limit: int,
        hold: Literal["step", "freeze", "none"] = "freeze",
    ) -> None:
        super().__init__(spec, folder=folder, environ=environ, limit=limit, hold=hold, tell=True)
        self._conversations: dict[str, C] = {}

    @abstractmethod
    def _command(self, guidance: Guidance) -> tuple[str, ...]:
        """Return the command of an attempt."""

    def _environment(self, guidance: Guidance) -> Mapping[str, str]:
        """Return the environment of an attempt."""
        return self._environ

    @abstractmethod
    def _conversation(self, guidance: Guidance, observer: Observer) -> C:
        """Return the conversation of an attempt."""

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Run one attempt with as many turns as it takes. Raises AgentNotFound if the program cannot start."""
        name, output = guidance.attempt, self._output(guidance.attempt)
        launch = Launch(
            command=self._command(guidance),
            cwd=guidance.workdir,
            environment=surroundings(
                self._environment(guidance), task, guidance, await prompt_file(self._folder, guidance)
            ),
            output=output,
            limit=self._limit,
            talks=True,
        )
        conversation = self._conversation(guidance, observer)
        self._conversations[name] = conversation

        def alive(total: int, tail: str) -> None:
            see(observer, Observation(kind="alive", session=conversation.outcome.session))

        try:
            process = await self._start(name, launch, spawned=observer.spawned, progress=alive, heard=conversation.feed)
            done, problem = await _converse(process, conversation, output)
        finally:
            del self._conversations[name]
            self._forget(name)
            await conversation.close()
        return self._report(task, guidance, conversation, done, problem)

    async def stop(self, attempt: str) -> Receipt:
        """Interrupt the turn of an agent that is not suspended, then end everything the attempt started."""
        conversation = self._conversations.get(attempt)
        if conversation is not None and attempt not in self._suspended:
            with suppress(TimeoutError):
                async with asyncio.timeout(_INTERRUPT_S):
                    await conversation.interrupt()
        return await super().stop(attempt)

    def _report(self, task: Task, guidance: Guidance, conversation: C, done: Exit, problem: str) -> Report:
        """Return the report of an attempt; ``problem`` is the error that ended its conversation, if any."""
        outcome = conversation.outcome
        signal = read_signal(outcome.text, task.id)
        crashed = f"{self.label}: {problem}" if problem else outcome.interrupted
        error = crashed or outcome.failed
        how: How = "crashed" if crashed else "ended"
        if not error and self._spec.signals and signal.problem:
            how = "no_signal" if signal.problem == "missing" else "bad_signal"
        return account(
            guidance,
            outcome.text,
            signal,
            done,
            output=self._output(guidance.attempt),
            code=1 if error else 0,
            how=how,
            error=admit(error, limit=_PROBLEM_LIMIT) if error else None,
            session=outcome.session,
            last_message=outcome.last_message,
            model=outcome.model or model_in(self._spec.command),
            said=admit(last_words(error or outcome.text), limit=SAID_LIMIT),
            program=known_agent(self._spec.command),
            marked=bool(error),
            message=outcome.text,
        )


async def _converse(process: Process, conversation: Conversation, output: Path) -> tuple[Exit, str]:
    """Run the conversation and end the process; return its exit and the error that ended the conversation, if any."""
    ending = asyncio.ensure_future(process.wait())
    working = asyncio.ensure_future(conversation.work(process.say))
    problem = ""
    try:
        await asyncio.wait((ending, working), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            conversation.ended(f"{_early_exit(ending.result())}{await _last_line(output)}")
        try:
            await working
        except ProtocolProblem as error:
            problem = str(error)
        else:
            process.hush()
            await asyncio.wait((ending,), timeout=_EXIT_S)
    finally:
        # A cancelled attempt ends its process, too.
        working.cancel()
        await process.stop()
        await asyncio.gather(working, return_exceptions=True)
    return await ending, problem


async def _last_line(output: Path) -> str:
    """Return the last line printed outside the protocol after a colon; empty if there is none."""
    printed = await read_output(output)
    # A long output loses its middle, so a line may also be the end of a long message.
    lines = [line for line in printed.splitlines() if 0 < len(line.strip()) <= _LINE_LIMIT and line[0] != "{"]
    return f": {one_line(lines[-1], _LAST_LIMIT)}" if lines else ""


def _early_exit(done: Exit) -> str:
    how = exit_words(done.code) if done.code is not None else signal_words(done.signal or 0)
    return f"it ended before its turn was over ({how})"
