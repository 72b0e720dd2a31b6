"""What may be said to a live run over its socket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from unstuck.contract import Answer
from unstuck.errors import UnstuckError
from unstuck.processes import is_ours
from unstuck.supervision.gates import admitted
from unstuck.text import admit

if TYPE_CHECKING:
    from unstuck.supervision.supervisor import Supervisor

__all__ = ["Answers", "Hooks"]


class Hooks(Protocol):
    """A bridge that agents running elsewhere talk to through their hooks."""

    async def handle(self, payload: dict[str, Any], peer: Any, agent: str) -> dict[str, Any]: ...

    async def acknowledged(self, ack: str) -> None: ...


class Answers:
    """The handler of the run's socket: ``answer``, ``keep``, ``state`` and ``hook``."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def handle(self, message: dict[str, Any], peer: Any) -> dict[str, Any]:
        """One reply to one message; what is wrong with it comes back as ``error``."""
        match message.get("do"):
            case "answer":
                if is_ours(getattr(peer, "pid", 0)):
                    # Silence is never consent, and neither is what an agent says in the person's name.
                    return {"error": "an agent may not answer: this question is for a person", "code": 2}
                return await self._answer(message)
            case "keep":
                if is_ours(getattr(peer, "pid", 0)):
                    return {"error": "an agent may not stop the clock of a question", "code": 2}
                await self._supervisor.keep_open(str(message.get("gate", "")))
                return {"ok": True}
            case "state":
                supervisor = self._supervisor
                held = supervisor.core.journal.held
                return {"ok": True, "run": supervisor.run, "seq": supervisor.state.seq, "held": held}
            case "hook":
                return await self._hook(message, peer)
            case other:
                return {"error": f"unknown request {admit(str(other), limit=60)}"}

    async def _hook(self, message: dict[str, Any], peer: Any) -> dict[str, Any]:
        hooks, payload = self._supervisor.hooks, message.get("payload")
        if hooks is None or not isinstance(payload, dict):
            return {"ok": True}
        return await hooks.handle(payload, peer, str(message.get("agent", "")))

    async def acknowledged(self, ack: str) -> None:
        """A forwarder has printed what it was given."""
        if self._supervisor.hooks is not None:
            await self._supervisor.hooks.acknowledged(ack)

    async def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        number, said = message.get("number"), message.get("text", "")
        try:
            if not isinstance(said, str):
                raise TypeError("the text of an answer is a string")
            answer = Answer(
                choice=message.get("choice", ""),
                text=admitted(said),
                number=float(number) if number is not None else None,
                scope=message.get("scope", "once"),
            )
            gate = await self._supervisor.answer(str(message.get("gate", "")), answer)
        except (UnstuckError, TypeError, ValueError) as error:
            return {"error": str(error), "code": getattr(error, "exit_code", 2)}
        return {"ok": True, "gate": gate.id, "run": self._supervisor.run}
