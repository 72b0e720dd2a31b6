"""The app-server as an agent: one process for each attempt, behind its shim like every other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from unstuck.agents.appserver.conversation import Conversation
from unstuck.agents.command.command_agent import CommandSpec
from unstuck.agents.command.conversation_agent import alive, concluded
from unstuck.agents.command.process_agent import Processes, prompt_file, surroundings, worked
from unstuck.contract import Capabilities, Guidance, Observer, Receipt, Report, Task
from unstuck.processes import Exit, Launch

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

        try:
            process = await self._processes.start(
                guidance.attempt, launch, spawned=observer.spawned, progress=alive(observer), heard=talk.hear
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
        interrupted = "its turn was interrupted, not by unstuck" if stream.interrupted else ""
        return concluded(
            task,
            guidance,
            done,
            said=stream.said,
            output=output,
            session=stream.session,
            crashed=f"codex app-server: {problem}" if problem else interrupted,
            failed=stream.error if stream.failed else "",
            signals=self._spec.signals,
        )
