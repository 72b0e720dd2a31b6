"""Answers to questions of a live run, sent through its socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unstuck.channel import call, socket_path
from unstuck.contract import Answer
from unstuck.errors import AnswerRefused, ChannelError, GateUnknown, NoReply
from unstuck.settings.paths import runtime_dir
from unstuck.workspace.project import Project

CONFIRM_S = 30.0
"""Seconds in which a live run has to confirm an answer, which it does once the answer is on disk."""


def answer_online(
    place: Project, gate: str, answer: Answer, environ: Mapping[str, str], *, via: str = "command"
) -> bool:
    """Give the answer to the live run or watch that asked; False where none is live.

    Raises AnswerRefused with the reason of the run, and NoReply where the run does not confirm the answer in time.
    """
    message, unknown, is_run_live = answer_message(gate, answer, via), str(GateUnknown(gate)), False
    for watch in (False, True):
        try:
            reply = call(socket_path(runtime_dir(environ), place.home, watch=watch), message, timeout=CONFIRM_S)
        except NoReply:
            raise NoReply(
                f"the answer to {gate} was sent to the live run and is not confirmed after {CONFIRM_S:g} s: "
                "`unstuck show last` lists the questions that are still open"
            ) from None
        except (ChannelError, OSError):
            continue
        if "error" not in reply:
            return True
        if str(reply["error"]) != unknown:
            raise AnswerRefused(str(reply["error"]))
        is_run_live = is_run_live or not watch
    if is_run_live:
        raise AnswerRefused(unknown)
    return False


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
