"""An agent of the Agent Client Protocol: one process and one session per attempt."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from unstuck.agents.acp.turns import Turns
from unstuck.agents.acp_agents import program_of, quirks_of
from unstuck.agents.command.conversation_agent import ConversationAgent
from unstuck.agents.command.process_agent import CommandSpec
from unstuck.clock import Clock, SystemClock
from unstuck.contract import Guidance, Observer, Report, Task
from unstuck.processes import Exit
from unstuck.text import one_line

__all__ = ["AcpAgent"]


class AcpAgent(ConversationAgent[Turns]):
    """Runs ``spec`` once per attempt. ``folder`` is the run's; raw output goes below its ``output/``."""

    def __init__(
        self, spec: CommandSpec, *, folder: Path, environ: Mapping[str, str], limit: int, clock: Clock | None = None
    ) -> None:
        super().__init__(spec, folder=folder, environ=environ, limit=limit, hold="freeze" if spec.freeze else "none")
        self._program = program_of(spec.command)
        self.label = one_line(self._program[0])
        self._clock, self._quirks = clock or SystemClock(), quirks_of(self._program)
        self._used: dict[str, int] = {}

    def _command(self, guidance: Guidance) -> tuple[str, ...]:
        return self._program

    def _conversation(self, guidance: Guidance, observer: Observer) -> Turns:
        return Turns(
            guidance,
            observer,
            clock=self._clock,
            quirks=self._quirks,
            before=self._used.get(guidance.session or "", 0),
            is_suspended=lambda: guidance.attempt in self._suspended,
        )

    def _report(self, task: Task, guidance: Guidance, conversation: Turns, done: Exit, problem: str) -> Report:
        self._used[conversation.outcome.session] = conversation.updates.tokens
        return super()._report(task, guidance, conversation, done, problem)
