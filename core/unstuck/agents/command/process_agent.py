"""Base of the agents that run a process: the environment of an attempt, its process, and its report."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unstuck.agents.command.agent_output import LAST_MESSAGE_LIMIT
from unstuck.agents.command.signal_line import Signal, first_sentence, read_approach
from unstuck.channel import socket_path
from unstuck.contract import APART, Capabilities, Denial, Guidance, Receipt, Report, Task
from unstuck.errors import ChannelError
from unstuck.eventlog.storage.text_files import write_text
from unstuck.processes import Exit, Launch, Process, clean_environment
from unstuck.settings.paths import runtime_dir
from unstuck.text import Clean, admit, one_line

How = Literal["ended", "crashed", "no_signal", "bad_signal"]


async def prompt_file(folder: Path, guidance: Guidance) -> Path:
    """Write the attempt's prompt below the run's ``folder`` and return the file."""
    prompts = folder / "prompts"
    prompts.mkdir(exist_ok=True, mode=0o700)
    file = prompts / f"{guidance.attempt}.txt"
    await write_text(file, guidance.text)
    return file


def surroundings(environ: Mapping[str, str], task: Task, guidance: Guidance, file: Path) -> dict[str, str]:
    """Return the environment of an attempt's process, with its prompt in ``file`` and the run's socket."""
    return clean_environment(
        environ,
        UNSTUCK_TASK=task.id,
        UNSTUCK_ATTEMPT=guidance.attempt.partition(APART)[0],
        UNSTUCK_RUNG=guidance.level,
        UNSTUCK_PROMPT_FILE=str(file),
        **_socket_variable(file.parent.parent, environ),
    )


def _socket_variable(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that leads to the run's socket: the agent may work outside the project's own folder."""
    try:
        return {"UNSTUCK_SOCKET": str(socket_path(runtime_dir(environ), folder.parent.parent))}
    except ChannelError:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """Start of an agent. ``signals`` requires a signal line; ``prompt`` selects how the prompt reaches the agent.

    With ``freeze`` the agent is suspended while a question about its task is open.
    """

    command: tuple[str, ...]
    signals: bool = False
    prompt: Literal["auto", "stdin"] = "auto"
    freeze: bool = True


class ProcessAgent:
    """Base of the agents that run one process per attempt.

    ``folder`` is the run's; raw output goes below its ``output/``. ``limit`` is the most bytes of it.
    """

    def __init__(
        self,
        spec: CommandSpec,
        *,
        folder: Path,
        environ: Mapping[str, str],
        limit: int,
        hold: Literal["step", "freeze", "none"],
        tell: bool = False,
        resume: bool = True,
    ) -> None:
        self.can = Capabilities(
            hold=hold, tell=tell, resume=resume, fresh=True, stop=True, may_restore=True, signals=spec.signals
        )
        self._spec, self._folder, self._environ, self._limit = spec, folder, environ, limit
        self._live: dict[str, asyncio.Task[Process]] = {}
        self._suspended: set[str] = set()

    async def stop(self, attempt: str) -> Receipt:
        """End the attempt with everything it started, also while its process is starting."""
        if starting := self._live.get(attempt):
            await asyncio.wait((starting,))
        process = self._process(attempt)
        return await process.stop() if process is not None else Receipt()

    def freeze(self, attempt: str) -> None:
        """Suspend the attempt while a question is open, unless its agent runs on."""
        if self.can.hold != "freeze":
            return
        self._suspended.add(attempt)
        if process := self._process(attempt):
            process.freeze()

    def thaw(self, attempt: str) -> None:
        """Resume a suspended attempt."""
        self._suspended.discard(attempt)
        if self.can.hold == "freeze" and (process := self._process(attempt)):
            process.resume()

    def _output(self, attempt: str) -> Path:
        return self._folder / "output" / f"{attempt}.log"

    async def _start(self, attempt: str, launch: Launch, **listeners: Any) -> Process:
        """Start the attempt's process with the ``listeners`` of :meth:`Process.start`. Raises AgentNotFound."""
        starting = self._live[attempt] = asyncio.create_task(Process.start(launch, **listeners))
        try:
            process = await starting
        except BaseException:
            self._forget(attempt)
            raise
        if attempt in self._suspended:
            process.freeze()  # requested while the process was starting
        return process

    def _forget(self, attempt: str) -> None:
        """Drop the state of an attempt whose process has ended."""
        self._live.pop(attempt, None)
        self._suspended.discard(attempt)

    def _process(self, attempt: str) -> Process | None:
        """Return the attempt's process once it has started."""
        starting = self._live.get(attempt)
        if starting is None or not starting.done() or starting.cancelled() or starting.exception():
            return None
        return starting.result()


async def end_of(process: Process) -> Exit:
    """Wait for the end of the process; a cancellation stops it first."""
    try:
        return await process.wait()
    except asyncio.CancelledError:
        await process.stop()
        raise


def account(
    guidance: Guidance,
    text: str,
    signal: Signal,
    done: Exit,
    *,
    output: Path,
    code: int | None,
    how: How = "ended",
    error: Clean | None = None,
    session: str = "",
    message: str = "",
    last_message: str = "",
    model: str = "",
    said: Clean = Clean(""),
    program: str = "",
    marked: bool = False,
    denied: tuple[Denial, ...] = (),
) -> Report:
    """Return the report of an attempt whose process is ``done`` and that ended with ``code``.

    ``text`` is the agent's own text, ``signal`` the signal in it, ``last_message`` the last part of the text, and
    ``message`` the last message that is marked as one. The other values are those of the report.
    """
    return Report(
        exit_code=code,
        how=how,
        error=error,
        signal=signal.kind,
        approach=signal.approach or read_approach(text, guidance.text),
        question=signal.question,
        options=signal.options,
        context=signal.context,
        phase=signal.phase,
        alternatives=signal.alternatives,
        cause=signal.cause,
        summary=first_sentence(message),
        session=session or signal.session,
        tokens=signal.tokens,
        cost=signal.cost,
        sample=signal.sample if signal.problem else None,
        said=said,
        program=program,
        marked=marked,
        denied=denied,
        output=f"output/{output.name}",
        output_at=(done.start, done.end),
        output_lost=admit(done.lost, limit=200),
        receipt=done.receipt,
        last_message=admit(last_message.strip(), limit=LAST_MESSAGE_LIMIT) or None,
        model=one_line(model, 100),
    )
