"""Claude Code through the SDK as an agent: one process for each attempt, behind its shim like every other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from unstuck.agents.command.command_agent import CommandSpec
from unstuck.agents.command.conversation_agent import alive, concluded
from unstuck.agents.command.presets import resumed
from unstuck.agents.command.process_agent import Processes, prompt_file, surroundings, worked
from unstuck.agents.sdk.conversation import Conversation
from unstuck.agents.sdk.optional_package import program, sdk
from unstuck.contract import Capabilities, Guidance, Observer, Receipt, Report, Task
from unstuck.processes import Exit, Launch

__all__ = ["SdkAgent"]

_INTERRUPT_S = 2.0
"""Seconds in which the program has to answer an interrupt before its process is ended."""
_OF_THE_SDK = {"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}


class SdkAgent:
    """Runs ``spec`` once per attempt. ``folder`` is the run's; what is said goes below its ``output/``."""

    def __init__(self, spec: CommandSpec, *, folder: Path, environ: Mapping[str, str], limit: int) -> None:
        self.can = Capabilities(
            hold="step", tell=True, resume=True, fresh=True, stop=True, may_restore=True, signals=spec.signals
        )
        self._spec, self._folder, self._environ, self._limit = spec, folder, environ, limit
        self._processes = Processes(freeze=False)
        self._talks: dict[str, Conversation] = {}

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """One turn, and those that a person's words add to it. Raises AgentNotFound where it cannot be started."""
        talk = self._talks[guidance.attempt] = Conversation(sdk(), guidance, observer)
        output = self._folder / "output" / f"{guidance.attempt}.log"
        file = prompt_file(self._folder, guidance)
        command = resumed(self._spec.command, guidance.session)
        launch = Launch(
            command=(program(command[0], self._environ), *command[1:]),
            cwd=guidance.workdir,
            environment=surroundings(self._environ, task, guidance, file) | _OF_THE_SDK,
            output=output,
            limit=self._limit,
            talks=True,
        )

        try:
            process = await self._processes.start(
                guidance.attempt, launch, spawned=observer.spawned, progress=alive(observer), heard=talk.hear
            )
            done, problem = await worked(process, talk.work(process.say), talk.ended, output=output)
        finally:
            del self._talks[guidance.attempt]
            self._processes.ended(guidance.attempt)
        return self._report(task, guidance, talk, done, problem, output)

    async def stop(self, attempt: str) -> Receipt:
        """Interrupt the turn, then end the process with everything it started."""
        if talk := self._talks.get(attempt):
            with suppress(TimeoutError):
                async with asyncio.timeout(_INTERRUPT_S):
                    await talk.interrupt()
        return await self._processes.stop(attempt)

    def _report(
        self, task: Task, guidance: Guidance, talk: Conversation, done: Exit, problem: str, output: Path
    ) -> Report:
        return concluded(
            task,
            guidance,
            done,
            said=talk.stream.said,
            output=output,
            session=talk.stream.session,
            crashed=f"Claude Agent SDK: {problem}" if problem else "",
            failed=talk.stream.error,
            signals=self._spec.signals,
        )
