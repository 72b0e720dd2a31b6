"""Answers to questions of a live run, sent through its socket."""

from __future__ import annotations

from typing import Any

from unstuck.channel import call, socket_path
from unstuck.contract import Answer
from unstuck.errors import AnswerRefused, ChannelError, NoReply
from unstuck.settings.paths import runtime_dir
from unstuck.workspace.project import Project

CONFIRM_S = 30.0
"""Seconds in which a live run has to confirm an answer, which it does once the answer is on disk."""


def answer_online(place: Project, gate: str, answer: Answer, environ: dict[str, str]) -> bool:
    """Give the answer to the live run; False where none is live.

    Raises AnswerRefused with the reason of the run, and NoReply where the run does not confirm the answer in time.
    """
    try:
        reply = call(
            socket_path(runtime_dir(environ), place.home), answer_message(gate, answer, "command"), timeout=CONFIRM_S
        )
    except NoReply:
        raise NoReply(
            f"the answer to {gate} was sent to the live run and is not confirmed after {CONFIRM_S:g} s: "
            "`unstuck show last` lists the questions that are still open"
        ) from None
    except (ChannelError, OSError):
        return False
    if "error" in reply:
        raise AnswerRefused(str(reply["error"]))
    return True


def answer_message(gate: str, answer: Answer, via: str) -> dict[str, Any]:
    return {
        "do": "answer",
        "gate": gate,
        "choice": answer.choice,
        "text": answer.text,
        "number": answer.number,
        "scope": answer.scope,
        "via": via,
    }
