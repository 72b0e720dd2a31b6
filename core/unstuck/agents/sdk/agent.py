"""Claude Code through the Claude Agent SDK: one process per attempt, behind its shim."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from unstuck.agents.command.conversation_agent import ConversationAgent
from unstuck.agents.command.presets import resumed
from unstuck.agents.command.process_agent import CommandSpec
from unstuck.agents.optional_packages import sdk, sdk_program
from unstuck.agents.sdk.conversation import SdkConversation
from unstuck.contract import Guidance, Observer

__all__ = ["SdkAgent"]


class SdkAgent(ConversationAgent[SdkConversation]):
    """Runs ``spec`` once per attempt. ``folder`` is the run's; raw output goes below its ``output/``."""

    label = "Claude Agent SDK"

    def __init__(self, spec: CommandSpec, *, folder: Path, environ: Mapping[str, str], limit: int) -> None:
        environ = {**environ, "CLAUDE_CODE_ENTRYPOINT": "sdk-py"}
        super().__init__(spec, folder=folder, environ=environ, limit=limit, hold="step")

    def _command(self, guidance: Guidance) -> tuple[str, ...]:
        command = resumed(self._spec.command, guidance.session)
        return (sdk_program(command[0], self._environ), *command[1:])

    def _conversation(self, guidance: Guidance, observer: Observer) -> SdkConversation:
        return SdkConversation(sdk(), guidance, observer)
