"""The app-server as an agent: one process for each attempt, behind its shim like every other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from unstuck.agents.appserver.conversation import Conversation
from unstuck.agents.attempts import How, Processes, account, prompt_file, surroundings, worked
from unstuck.agents.command import CommandSpec
from unstuck.agents.signals import read_signal
from unstuck.contract import Capabilities, Guidance, Observation, Observer, Receipt, Report, Task
from unstuck.errors import RecordError
from unstuck.processes import Exit, Launch
from unstuck.text import admit

__all__ = ["AppServerAgent"]

_INTERRUPT_S = 2.0
"""Seconds in which a turn has to end by itself before its process is ended."""


class AppServerAgent:
    """Runs ``spec`` once per attempt. ``folder`` is the run's; what is said goes below its ``output/``.

    ``hold`` is how it stands still for a question: frozen with all it has started, or before its next action.
    """

    def __init__(
        self,
        spec: CommandSpec,
        *,
        folder: Path,
        environ: Mapping[str, str],
        limit: int,
        hold: Literal["step", "freeze", "none"] = "freeze",
    ) -> None:
        self.can = Capabilities(
            hold=hold, tell=True, resume=True, fresh=True, stop=True, may_restore=True, signals=spec.signals
        )
        self._spec, self._folder, self._environ, self._limit = spec, folder, environ, limit
        self._processes = Processes(freeze=hold == "freeze")
        self._talks: dict[str, Conversation] = {}

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """One turn, and those that a person's words add to it. Raises AgentNotFound where it cannot be started."""
        output = self._folder / "output" / f"{guidance.attempt}.log"
        launch = Launch(
            command=self._spec.command,
            cwd=guidance.workdir,
            environment=surroundings(self._environ, task, guidance, prompt_file(self._folder, guidance)),
            output=output,
            limit=self._limit,
            talks=True,
        )
        talk = self._talks[guidance.attempt] = Conversation(guidance, observer, every=self.can.hold == "step")

        def alive(total: int, tail: str) -> None:
            with suppress(RecordError):
                observer.see(Observation(kind="alive"))

        try:
            process = await self._processes.start(
                guidance.attempt, launch, spawned=observer.spawned, progress=alive, heard=talk.hear
            )
            done, problem = await worked(process, talk.work(process.say), talk.ended, output=output)
        finally:
            del self._talks[guidance.attempt]
            self._processes.ended(guidance.attempt)
            await talk.close()
        return self._report(task, guidance, talk, done, problem, output)

    async def stop(self, attempt: str) -> Receipt:
        """Interrupt the turn, then end the process with everything it started."""
        talk = self._talks.get(attempt)
        if talk is not None and not self._processes.is_still(attempt):
            with suppress(TimeoutError):
                async with asyncio.timeout(_INTERRUPT_S):
                    await talk.interrupt()
        return await self._processes.stop(attempt)

    def freeze(self, attempt: str) -> None:
        """Let the attempt stand still while a question is open, unless it is to run on."""
        self._processes.freeze(attempt)

    def thaw(self, attempt: str) -> None:
        """Let it go on."""
        self._processes.thaw(attempt)

    def _report(
        self, task: Task, guidance: Guidance, talk: Conversation, done: Exit, problem: str, output: Path
    ) -> Report:
        stream = talk.stream
        signal = read_signal(stream.said, task.id)
        how: How = "ended"
        if problem:
            how = "crashed"
            problem = f"codex app-server: {problem}"
        elif stream.interrupted:
            how, problem = "crashed", "its turn was interrupted, not by unstuck"
        elif stream.failed:
            problem = stream.error
        elif self._spec.signals and signal.problem:
            how = "no_signal" if signal.problem == "missing" else "bad_signal"
        return account(
            guidance,
            stream.said,
            signal,
            done,
            output=output,
            code=1 if problem else 0,
            how=how,
            error=admit(problem, limit=4_000) if problem else None,
            session=stream.session,
        )
