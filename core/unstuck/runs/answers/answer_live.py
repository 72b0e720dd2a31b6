"""Answering a gate of a live run, from anywhere, through its socket."""

from __future__ import annotations

from typing import Any

from unstuck.channel import call, socket_path
from unstuck.contract import Answer
from unstuck.errors import AnswerRefused, ChannelError
from unstuck.settings.paths import runtime_dir
from unstuck.workspace.project import Project

__all__ = ["answer_message", "answer_online"]


def answer_online(place: Project, gate: str, answer: Answer, environ: dict[str, str]) -> bool:
    """Give the answer to the live run; False where none is live. Raises AnswerRefused with what it said."""
    try:
        reply = call(socket_path(runtime_dir(environ), place.home), answer_message(gate, answer), timeout=30.0)
    except (ChannelError, OSError):
        return False
    if "error" in reply:
        raise AnswerRefused(str(reply["error"]))
    return True


def answer_message(gate: str, answer: Answer) -> dict[str, Any]:
    """An answer as it goes through the socket of a live run."""
    return {
        "do": "answer",
        "gate": gate,
        "choice": answer.choice,
        "text": answer.text,
        "number": answer.number,
        "scope": answer.scope,
    }
