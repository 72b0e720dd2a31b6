"""What every agent that runs a process has in common: what an attempt is given, its process, and its account."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Literal

from unstuck.agents.command.jsonl_reader import ProtocolProblem
from unstuck.agents.command.signal_line import Signal, read_approach
from unstuck.agents.mcp.run_environment import reached
from unstuck.clock.waits import first_of
from unstuck.contract import Guidance, Receipt, Report, Task
from unstuck.processes import Exit, Launch, Process, clean_environment
from unstuck.supervision.checks.check import read_output
from unstuck.text import Clean, admit, one_line

__all__ = ["How", "Processes", "account", "end_of", "prompt_file", "surroundings", "worked"]

How = Literal["ended", "crashed", "no_signal", "bad_signal"]
_PROMPT_FILE_MODE = 0o600
_LEAVE_S = 5.0
"""Seconds in which a process has to end by itself once nothing is said to it any more."""
_LAST_LIMIT = 300
_WORDS_LIMIT = 2_000


def prompt_file(folder: Path, guidance: Guidance) -> Path:
    """The file below the run's ``folder`` that holds what the attempt is told."""
    prompts = folder / "prompts"
    prompts.mkdir(exist_ok=True, mode=0o700)
    file = prompts / f"{guidance.attempt}.txt"
    file.write_text(guidance.text, encoding="utf-8")
    file.chmod(_PROMPT_FILE_MODE)
    return file


def surroundings(environ: Mapping[str, str], task: Task, guidance: Guidance, file: Path) -> dict[str, str]:
    """The environment of an attempt's process, which finds what it is told in ``file``, and the run by its socket."""
    return clean_environment(
        environ,
        UNSTUCK_TASK=task.id,
        UNSTUCK_ATTEMPT=guidance.attempt,
        UNSTUCK_RUNG=guidance.level,
        UNSTUCK_PROMPT_FILE=str(file),
        **reached(file.parent.parent, environ),
    )


class Processes:
    """The processes of an agent's live attempts. With ``freeze`` they can be made to stand still."""

    def __init__(self, *, freeze: bool) -> None:
        self._freeze = freeze
        self._live: dict[str, asyncio.Task[Process]] = {}
        self._still: set[str] = set()

    async def start(self, attempt: str, launch: Launch, **heard: Any) -> Process:
        """Start the attempt's process; ``heard`` is what :meth:`Process.start` takes. Raises AgentNotFound."""
        starting = self._live[attempt] = asyncio.create_task(Process.start(launch, **heard))
        try:
            process = await starting
        except BaseException:
            self.ended(attempt)
            raise
        if attempt in self._still:
            process.freeze()  # asked for while it was being started
        return process

    def ended(self, attempt: str) -> None:
        """Its process has ended."""
        self._live.pop(attempt, None)
        self._still.discard(attempt)

    async def stop(self, attempt: str) -> Receipt:
        """End the attempt with everything it started, also one that is just being started."""
        if starting := self._live.get(attempt):
            await asyncio.wait((starting,))
        process = self._process(attempt)
        return await process.stop() if process is not None else Receipt()

    def freeze(self, attempt: str) -> None:
        """Let the attempt stand still while a question is open, unless it is to run on."""
        if not self._freeze:
            return
        self._still.add(attempt)
        if process := self._process(attempt):
            process.freeze()

    def thaw(self, attempt: str) -> None:
        """Let it go on."""
        self._still.discard(attempt)
        if self._freeze and (process := self._process(attempt)):
            process.resume()

    def is_still(self, attempt: str) -> bool:
        """Whether it stands still now."""
        return attempt in self._still

    def _process(self, attempt: str) -> Process | None:
        """The attempt's process, once it has started."""
        starting = self._live.get(attempt)
        if starting is None or not starting.done() or starting.cancelled() or starting.exception():
            return None
        return starting.result()


async def end_of(process: Process) -> Exit:
    """Wait for the end; whoever calls that off ends the process."""
    try:
        return await process.wait()
    except asyncio.CancelledError:
        await process.stop()
        raise


async def worked(
    process: Process, work: Coroutine[Any, Any, None], ended: Callable[[str], None], *, output: Path
) -> tuple[Exit, str]:
    """How the process ended, once the conversation with it is over, and what was wrong with that (or nothing).

    ``work`` is the conversation, which raises ProtocolProblem; ``ended`` tells it why nothing more will be said;
    ``output`` is the file with what the process has printed.
    """
    ending, working = asyncio.ensure_future(process.wait()), asyncio.ensure_future(work)
    problem = ""
    try:
        await first_of(ending, working)
        if not working.done():
            ended(f"{_gone(ending.result())}{await _last_words(output)}")
        try:
            await working
        except ProtocolProblem as error:
            problem = str(error)
        else:
            process.hush()
            await asyncio.wait((ending,), timeout=_LEAVE_S)
    finally:
        # Also where the attempt was called off: whoever does that ends the process.
        working.cancel()
        await process.stop()
        await asyncio.gather(working, return_exceptions=True)
    return await ending, problem


async def _last_words(output: Path) -> str:
    """What a process printed last that was not said to us, after a colon; empty where there is nothing."""
    printed = await read_output(output)
    # Half a message, where the middle of a long output was left out, is no word of it either.
    lines = [line for line in printed.splitlines() if 0 < len(line.strip()) <= _WORDS_LIMIT and line[0] != "{"]
    return f": {one_line(lines[-1], _LAST_LIMIT)}" if lines else ""


def _gone(done: Exit) -> str:
    how = f"exit code {done.code}" if done.code is not None else f"signal {done.signal}"
    return f"it ended before its turn was over ({how})"


def account(
    guidance: Guidance,
    said: str,
    signal: Signal,
    done: Exit,
    *,
    output: Path,
    code: int | None,
    how: How = "ended",
    error: Clean | None = None,
    session: str = "",
) -> Report:
    """The report of an attempt whose process is ``done``, and which ended with ``code``.

    ``said`` is the text in which the agent speaks of itself, ``signal`` what it signals in there.
    """
    return Report(
        exit_code=code,
        how=how,
        error=error,
        signal=signal.kind,
        approach=signal.approach or read_approach(said, guidance.text),
        question=signal.question,
        options=signal.options,
        context=signal.context,
        phase=signal.phase,
        alternatives=signal.alternatives,
        session=session or signal.session,
        tokens=signal.tokens,
        cost=signal.cost,
        sample=signal.sample if signal.problem else None,
        output=f"output/{output.name}",
        output_at=(done.start, done.end),
        output_lost=admit(done.lost, limit=200),
        receipt=done.receipt,
    )
