"""Restore of a task's tree to a checkpoint: only the task's own files, and many of them only with a yes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from unstuck.contract import Capabilities
from unstuck.errors import WorkspaceError
from unstuck.escalation.prompts import changes_said, set_back
from unstuck.eventlog import events as e
from unstuck.eventlog.event import MAX_PATHS_IN_EVENT
from unstuck.eventlog.state import TaskRow
from unstuck.processes.run_processes import written_to
from unstuck.supervision.checkpointing import INTERRUPTED, hand_over
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.gates.service import open_gate
from unstuck.text import admit, one_line
from unstuck.workspace.checkpoints.manager import Change, CheckpointStore, Plan

_OF_OTHERS = "changed while no attempt was at work"
_WRITTEN_TO = "another process writes to it"
_NAMED = 10


async def restore(core: RunContext, row: TaskRow, can: Capabilities) -> None:
    """Restore the task's own files as the directive asks; above a share of the tree only with a yes."""
    directive = row.directive
    assert directive is not None
    target = {"good": row.loads or row.good, "passing": row.good}.get(directive.restore, row.baseline)
    why = ""
    if not can.may_restore:
        why = "they are restored only with your permission."
    elif not target or target == "none" or directive.saved == "none":
        why = "there is no checkpoint to restore."
    elif core.repository is None:
        why = "without git nothing is restored."
    if not why:
        try:
            why = await _set_back(core, row, target)
        except WorkspaceError as error:
            why = str(error)
    if why:
        note = admit(f"The files are as you left them: {why}", limit=500)
        core.append(e.RestoreDone(target="", note=note), task=row.id, attempt=row.attempt)


async def _set_back(core: RunContext, row: TaskRow, target: str) -> str:
    """Restore and record it, or ask first; returns the reason why it is not possible."""
    tree = core.tree_of(row)
    store = core.checkpoints(tree)
    own = await store.written_by(row.id, target, itself=True)
    differing = {change.path for change in (await store.plan(target)).changes}
    kept = dict.fromkeys(sorted(differing - own), _OF_OTHERS) if own is not None else {}
    busy = await asyncio.to_thread(written_to, tree, differing) if tree == core.root else frozenset[str]()
    if busy:
        own = frozenset(differing if own is None else own) - busy
        kept |= dict.fromkeys(sorted(busy), _WRITTEN_TO)
    nothing_own = own is not None and not own
    if nothing_own and differing:
        return "what differs in them is not this task's own work."
    paths = own or ()
    plan = await store.plan(target, paths=paths)
    if not plan.is_within(core.settings.restore_share):
        said = _permission(core, row, plan)
        if said != "allow":
            return "restoring them was not allowed." if said else ""
    before = store.last_restore()
    done = None
    if not nothing_own:
        # What is set back is the task's own work, too.
        await store.create("before a reset", run=core.run, task=row.id, works=True)
        done = await store.restore(target, run=core.run, paths=paths)
        await hand_over(core, row)
    if done is not None and done.changes and (before is None or before.done):
        safety, changes = done.safety.id, done.changes
    else:
        safety, changes = await _done_before(core, row, store, target)
    _record(core, row, target, safety, changes_said([(change.status, change.path) for change in changes]), kept)
    return ""


async def _done_before(
    core: RunContext, row: TaskRow, store: CheckpointStore, target: str
) -> tuple[str, tuple[Change, ...]]:
    """Return the files and changes of a restore that a kill cut off from its event.

    Both are empty where there was nothing to set back.
    """
    last = store.last_restore()
    if last is None or not last.done or (last.target, last.run) != (target, core.run) or row.directive is None:
        return "", ()
    if (await store.get(last.safety)).number < (await store.get(row.directive.saved)).number:
        return "", ()  # that was for another directive
    return last.safety, await store.changed(last.safety, target, paths=last.paths)


def _record(
    core: RunContext, row: TaskRow, target: str, safety: str, changes: list[str], kept: Mapping[str, str]
) -> None:
    """Record what was set back, and the note to the agent about it; nothing where nothing was set back."""
    broken = row.directive is not None and row.directive.restore == "good"
    again = row.directive is not None and row.directive.checkpoint == INTERRUPTED
    handed_on = row.directive is not None and row.directive.restore == "passing"
    said = set_back(changes, broken=broken, again=again, handed_on=handed_on, saved=safety) if changes else ""
    left = [f"{one_line(path)} ({why})" for path, why in kept.items()]
    if left and changes:
        more = [f"and {len(left) - _NAMED} more"] if len(left) > _NAMED else []
        said += f"\nChanges that others made in this directory stay. They are in: {', '.join([*left[:_NAMED], *more])}."
    event = e.RestoreDone(
        target=target,
        safety=safety,
        changed=len(changes),
        note=admit(said, limit=2_000),
        changes=tuple(changes[:MAX_PATHS_IN_EVENT]),
        kept=tuple(map(one_line, left[:MAX_PATHS_IN_EVENT])),
    )
    core.append(event, task=row.id, attempt=row.attempt)


def _permission(core: RunContext, row: TaskRow, plan: Plan) -> str:
    """Return the answer to the question whether so much may be restored; empty where it is still open."""
    key = f"restore {row.attempt}"
    for asked in core.head.gates_of(row.id):
        if (asked.gate.type, asked.gate.key) == ("permission", key) and asked.gate.answer:
            return asked.gate.answer.choice
    if not core.may_ask:
        return "deny"
    lost = [one_line(change.path) for change in plan.changes if change.status != "return"]
    problem = f"Going back to {plan.checkpoint} overwrites or removes {len(lost)} of {plan.files} files"
    context = {
        "task_id": row.id,
        "agent_id": row.task.agent or row.task.agent_type,
        "problem": problem,
        "checkpoint": plan.checkpoint,
        "saved": row.directive.saved if row.directive is not None else "",
        "paths": lost[:MAX_PATHS_IN_EVENT],
        "paths_in_all": len(lost),
        "answers": {
            "allow": "the files are restored; the current files are saved first",
            "deny": "the files stay as they are; the agent continues with them and gets a note",
        },
    }
    open_gate(core, "permission", task=row.id, key=key, context=context)
    return ""
