"""The Codex app-server: one process per attempt, behind its shim."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from unstuck.agents.appserver.conversation import AppServerConversation
from unstuck.agents.command.conversation_agent import ConversationAgent
from unstuck.agents.command.process_agent import CommandSpec
from unstuck.contract import Guidance, Observer

__all__ = ["AppServerAgent"]


class AppServerAgent(ConversationAgent[AppServerConversation]):
    """Runs ``spec`` once per attempt. ``folder`` is the run's; raw output goes below its ``output/``.

    ``hold`` selects how it waits for a question: suspended with its processes, or held before its next action.
    """

    label = "codex app-server"

    def __init__(
        self,
        spec: CommandSpec,
        *,
        folder: Path,
        environ: Mapping[str, str],
        limit: int,
        hold: Literal["step", "freeze", "none"] = "freeze",
    ) -> None:
        super().__init__(spec, folder=folder, environ=environ, limit=limit, hold=hold)

    def _command(self, guidance: Guidance) -> tuple[str, ...]:
        return self._spec.command

    def _conversation(self, guidance: Guidance, observer: Observer) -> AppServerConversation:
        return AppServerConversation(guidance, observer, every=self.can.hold == "step")
