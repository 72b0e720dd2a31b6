"""Permission rules in force: those for always, and those of the last run; how one is revoked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from unstuck.channel import call, socket_path
from unstuck.errors import ChannelError, NoReply, UnstuckError, UsageError
from unstuck.eventlog import events as e
from unstuck.eventlog.log.load_state import is_watch
from unstuck.eventlog.memory.permission_file import drop_rule, kept_rules
from unstuck.eventlog.storage.run_store import run_names
from unstuck.runs.answers.answer_live import CONFIRM_S
from unstuck.runs.answers.answer_offline import offline_journal
from unstuck.runs.queries.run_list import state_of
from unstuck.settings.paths import runtime_dir
from unstuck.supervision.attempt.permissions import grants
from unstuck.text import admit, one_line
from unstuck.workspace.project import Project


def permission_rows(place: Project) -> list[dict[str, Any]]:
    """Return the rules in force, each with its scope, and the run, task and question that gave it."""
    rows = [{"rule": rule, "scope": "always", "run": "", "task": "", "gate": ""} for rule in kept_rules()]
    for run in run_names(place.runs)[-1:]:
        state, _ = state_of(place, run)
        rows += [
            {"rule": one.rule, "scope": one.scope, "run": run, "task": one.task, "gate": one.gate}
            for one in grants(state)
            if one.scope != "always"
        ]
    return rows


def revoke(place: Project, rule: str, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Revoke ``rule`` for always and in the last run; return the revoked rows. Raises UsageError for no such rule."""
    rows = [row for row in permission_rows(place) if row["rule"] == rule]
    if not rows:
        raise UsageError(f"no such permission: {one_line(rule, 80)}; `unstuck permissions list` shows those in force")
    try:
        drop_rule(rule)
    except OSError as error:
        raise UsageError(f"the permissions cannot be written: {error}") from error
    for run in {row["run"] for row in rows} - {""}:
        if not _told(place, run, rule, environ):
            asyncio.run(_recorded(place, run, rule))
    return rows


def _told(place: Project, run: str, rule: str, environ: Mapping[str, str]) -> bool:
    """Tell the run, if it is live; False where none is."""
    path = socket_path(runtime_dir(environ), place.home, watch=is_watch(place.runs / run))
    try:
        reply = call(path, {"v": 1, "do": "revoke", "rule": rule}, timeout=CONFIRM_S)
    except NoReply:
        raise
    except (ChannelError, OSError):
        return False
    if "error" in reply:
        raise UnstuckError(str(reply["error"]))
    return True


async def _recorded(place: Project, run: str, rule: str) -> None:
    """Record the revocation in the log of a run that is not live."""
    async with offline_journal(place, run) as journal:
        journal.append(e.PermissionRevoked(rule=admit(rule, limit=300)), actor="human")
        await journal.committed()
