"""Approval requests of the app-server: the action of each, and the results that allow or refuse it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unstuck.agents.appserver.stream import AppServerStream
from unstuck.agents.streams.stream import mapping, text
from unstuck.contract import Observation
from unstuck.text import Clean, admit

__all__ = ["Approval", "approval"]

_WHY_LIMIT = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An action that waits for approval: the results for yes, no, and no with the end of the turn.

    ``plain``: the request gives no reason; it waits only because every action does.
    """

    action: Observation
    why: Clean
    yes: Mapping[str, Any]
    no: Mapping[str, Any]
    end: Mapping[str, Any]
    plain: bool


def approval(stream: AppServerStream, method: str, params: Mapping[str, Any]) -> Approval | None:
    """Return the approval that a request asks for; None if no yes or no can answer it."""
    id = text(params, "itemId")
    why = admit(text(params, "reason") or text(params, "message"), limit=_WHY_LIMIT)
    yes: Mapping[str, Any] = {"decision": "accept"}
    no: Mapping[str, Any] = {"decision": "decline"}
    end: Mapping[str, Any] = {"decision": "cancel"}
    plain = not why and not params.get("networkApprovalContext") and text(params, "kind") in ("", "command")
    match method:
        case "item/commandExecution/requestApproval":
            command = text(params, "command")
            # A separately approved part of a command has its own id.
            own = text(params, "approvalId")
            action = stream.command(own or id, command) if command else stream.call(id)
        case "item/fileChange/requestApproval":
            plain = plain and not params.get("grantRoot")
            action = stream.call(id) or stream.tool(id, "apply_patch", {"root": params.get("grantRoot")})
        case "item/permissions/requestApproval":
            plain = False
            wanted = {key: value for key, value in mapping(params, "permissions").items() if value is not None}
            action = stream.tool(id, "more permissions", wanted)
            yes, no = {"permissions": wanted, "scope": "turn"}, {"permissions": {}, "scope": "turn"}
            end = no
        case "mcpServer/elicitation/request":
            plain = False
            action = stream.tool("", f"{text(params, 'serverName')} asks", {"message": text(params, "message")})
            fillable = not mapping(mapping(params, "requestedSchema"), "properties")
            no = end = {"action": "decline", "content": None, "_meta": None}
            # A form with fields can only be declined: unstuck fills in none.
            yes = {"action": "accept", "content": {}, "_meta": None} if fillable else no
        case _:
            return None
    if action is None:
        return None
    return Approval(action=action, why=why, yes=yes, no=no, end=end, plain=plain)
