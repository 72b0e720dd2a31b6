"""An agent that speaks the Agent Client Protocol: a process of its own for each attempt, and one session in it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from unstuck.agents.acp.transport import Wire
from unstuck.agents.acp.turns import Attempt
from unstuck.agents.acp_agents import program_of, quirks_of
from unstuck.agents.command.command_agent import CommandSpec
from unstuck.agents.command.conversation_agent import alive, concluded
from unstuck.agents.command.process_agent import Processes, prompt_file, surroundings, worked
from unstuck.clock import Clock, SystemClock
from unstuck.contract import Capabilities, Guidance, Observer, Receipt, Report, Task
from unstuck.processes import Exit, Launch
from unstuck.text import one_line

__all__ = ["AcpAgent"]

_CANCEL_S = 2.0
"""For how long an agent that is stopped may end its turn by itself, so that its session is whole."""


class AcpAgent:
    """Speaks with ``spec.command``. ``folder`` is the run's; raw output goes below its ``output/``."""

    def __init__(
        self, spec: CommandSpec, *, folder: Path, environ: Mapping[str, str], limit: int, clock: Clock | None = None
    ) -> None:
        hold: Literal["freeze", "none"] = "freeze" if spec.freeze else "none"
        self.can = Capabilities(
            hold=hold, tell=True, resume=True, fresh=True, stop=True, may_restore=True, signals=spec.signals
        )
        self._spec, self._command = spec, program_of(spec.command)
        self._folder, self._environ, self._limit = folder, environ, limit
        self._clock, self._quirks = clock or SystemClock(), quirks_of(self._command)
        self._processes = Processes(freeze=spec.freeze)
        self._talks: dict[str, Attempt] = {}
        self._used: dict[str, int] = {}

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Take as many turns as it needs. Raises AgentNotFound where the program cannot be started."""
        name, wire = guidance.attempt, Wire()
        output = self._folder / "output" / f"{name}.log"
        launch = Launch(
            command=self._command,
            cwd=guidance.workdir,
            environment=surroundings(self._environ, task, guidance, prompt_file(self._folder, guidance)),
            output=output,
            limit=self._limit,
            talks=True,
        )
        talk = self._talks[name] = Attempt(
            wire,
            guidance,
            observer,
            clock=self._clock,
            quirks=self._quirks,
            before=self._used.get(guidance.session or "", 0),
            is_still=lambda: self._processes.is_still(name),
        )

        try:
            process = await self._processes.start(
                name, launch, spawned=observer.spawned, progress=alive(observer), heard=wire.heard
            )
            wire.connect(process.say)
            done, problem = await worked(process, talk.run(), wire.end, output=output)
        finally:
            del self._talks[name]
            self._processes.ended(name)
            await talk.close()
        self._used[talk.conversation.session] = talk.updates.tokens
        return self._report(task, guidance, talk, done, problem, output)

    async def stop(self, attempt: str) -> Receipt:
        """End the attempt with everything it started; one that can hear it first ends its turn by itself."""
        talk = self._talks.get(attempt)
        if talk is not None and not self._processes.is_still(attempt):
            with suppress(TimeoutError):
                async with asyncio.timeout(_CANCEL_S):
                    await talk.cancel()
        return await self._processes.stop(attempt)

    def freeze(self, attempt: str) -> None:
        """Let the attempt stand still while a question is open, unless it is to run on."""
        self._processes.freeze(attempt)

    def thaw(self, attempt: str) -> None:
        """Let it go on."""
        self._processes.thaw(attempt)

    def _report(self, task: Task, guidance: Guidance, talk: Attempt, done: Exit, problem: str, output: Path) -> Report:
        return concluded(
            task,
            guidance,
            done,
            said=talk.updates.said,
            output=output,
            session=talk.conversation.session,
            crashed=f"{one_line(self._command[0])}: {problem}" if problem else "",
            failed=talk.problem,
            signals=self._spec.signals,
        )
