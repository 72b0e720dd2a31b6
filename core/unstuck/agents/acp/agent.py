"""An agent that speaks the Agent Client Protocol: a process of its own for each attempt, and one session in it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from unstuck.agents.acp.attempt import Attempt
from unstuck.agents.acp.known import program_of, quirks_of
from unstuck.agents.acp.wire import Wire
from unstuck.agents.attempts import How, Processes, account, prompt_file, surroundings, worked
from unstuck.agents.command import CommandSpec
from unstuck.agents.signals import read_signal
from unstuck.clock import Clock, SystemClock
from unstuck.contract import Capabilities, Guidance, Observation, Observer, Receipt, Report, Task
from unstuck.errors import RecordError
from unstuck.processes import Exit, Launch
from unstuck.text import admit, one_line

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

        def alive(total: int, tail: str) -> None:
            # Where nothing can be recorded any more the attempt itself ends for that reason.
            with suppress(RecordError):
                observer.see(Observation(kind="alive"))

        try:
            process = await self._processes.start(
                name, launch, spawned=observer.spawned, progress=alive, heard=wire.heard
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
        said = talk.updates.said
        signal = read_signal(said, task.id)
        how: How = "ended"
        if problem:
            how = "crashed"
            problem = f"{one_line(self._command[0])}: {problem}"
        elif talk.problem:
            problem = talk.problem
        elif self._spec.signals and signal.problem:
            how = "no_signal" if signal.problem == "missing" else "bad_signal"
        return account(
            guidance,
            said,
            signal,
            done,
            output=output,
            code=1 if problem else 0,
            how=how,
            error=admit(problem, limit=4_000) if problem else None,
            session=talk.conversation.session,
        )
