"""Delivery of a run's results: they stay on the run's branch, or are brought to the person's own.

Every step may be done again after a kill: what has arrived is not brought in twice.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from unstuck.errors import DeliveryRefused, WorkspaceError
from unstuck.eventlog import events as e
from unstuck.eventlog.event import MAX_PATHS_IN_EVENT
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.state import GateRow, State
from unstuck.eventlog.storage.run_store import run_names
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.signals import Subject
from unstuck.supervision.gates.service import open_gate
from unstuck.text import admit, one_line
from unstuck.workspace.git.repo_status import branch_of
from unstuck.workspace.git.repository import DELIVERY
from unstuck.workspace.project import Project
from unstuck.workspace.worktrees.delivery import Delivery, cut_off
from unstuck.workspace.worktrees.worktrees import Worktrees

REFUSED = "delivery_refused"
"""Halt reason of a run whose results conflict where nobody may be asked. A resume tries again."""

_KEY = "delivery"
_GONE = "gone"
_PATIENCE_S = 10.0


async def deliver(core: RunContext) -> None:
    """Bring the results to the branch that was checked out, as the setting ``results`` has it.

    Where it cannot be done as things are, a person is asked and, where one is there, waited for; the results stay whole
    on the run's branch meanwhile.
    """
    trees = core.worktrees
    if core.settings.results == "branch" or trees is None or not core.head.run.branch:
        return
    while True:
        changed = core.signals.next(Subject.DELIVERY)  # before git is asked: a change meanwhile is not missed
        if not (await _is_due(core, trees) and _is_over(core.head)):
            return
        gate = _last_gate(core.head)
        if gate is not None and gate.status == "open":
            if not core.person and gate.gate.acts_at is None:
                return
            await changed.wait()
        elif gate is not None and gate.status == "answered" and gate.effect != "integrate":
            tip = await _tip(trees)
            core.append(e.ResultsDelivered(tip=tip, branch=one_line(core.head.run.branch)), actor=gate.by or "human")
            core.append(e.AnswerDelivered(gate=gate.id))
        else:
            await _try(core, trees, gate)


async def cut_deliveries(place: Project, patience: float = 0.0) -> list[str]:
    """Return the runs that were killed while they brought their results to a branch. Changes nothing.

    While a delivery is at work, there is none; ``patience`` is how many seconds its end is waited for.
    """
    repo = place.repository
    return await cut_off(repo, patience) if repo is not None and (repo.common / "unstuck" / DELIVERY).exists() else []


async def settle_deliveries(place: Project) -> list[str]:
    """Undo what :func:`cut_deliveries` names, unless git came to its end; return a line about each."""
    return [await _settled(place, run) for run in await cut_deliveries(place, _PATIENCE_S)]


async def _settled(place: Project, run: str) -> str:
    assert place.repository is not None
    states = (
        current_state(home / "runs" / run)[0] for home in (place.home, *place.others) if run in run_names(home / "runs")
    )
    branch = next((state.run.branch for state in states), "") or await branch_of(place.root) or ""
    trees = Worktrees(place.repository, place.home, run)
    became = await Delivery(place.repository, trees, run, branch).settle()
    how = {
        "undone": f"undone; `unstuck run --resume {run}` brings them in",
        "busy": f"git is at work in {place.root}, so your files may hold half of them until the next command",
    }
    return f"run {run} was killed while its results went to {branch}: {how.get(became, 'they have arrived')}"


async def _save(core: RunContext, tree: Path) -> list[str]:
    """Save the files of a person's tree before results go over them; the paths that could not be."""
    saved = await core.checkpoints(tree).create("before the results", run=core.run)
    return [entry.path for entry in saved.left_out]


def _is_over(state: State) -> bool:
    """Return whether nothing but the delivery is left to do or to decide."""
    others = [row for row in state.open_gates() if row.gate.key != _KEY]
    return state.run.state == "running" and not state.run.stopping and not others


async def _is_due(core: RunContext, trees: Worktrees) -> bool:
    """Return whether there are results that have not gone anywhere yet."""
    arrived = any(row.integrated not in ("", "none", "unchanged") for row in core.head.tasks.values())
    return arrived and core.head.run.delivered != await _tip(trees)


async def _tip(trees: Worktrees) -> str:
    try:
        return await trees.tip()
    except WorkspaceError:
        return _GONE


def _last_gate(state: State) -> GateRow | None:
    rows = [row for row in state.gates.values() if (row.gate.type, row.gate.key) == ("integration", _KEY)]
    return rows[-1] if rows else None


async def _try(core: RunContext, trees: Worktrees, gate: GateRow | None) -> None:
    branch = core.head.run.branch
    context: dict[str, Any]
    try:
        assert core.repository is not None
        delivery = Delivery(core.repository, trees, core.run, branch, save=partial(_save, core))
        tip = await trees.tip()
        commit = await delivery.deliver("merge" if core.settings.results == "merge" else "fast_forward")
    except (WorkspaceError, OSError) as error:
        paths = error.paths[:MAX_PATHS_IN_EVENT] if isinstance(error, DeliveryRefused) else ()
        context = {"paths": [one_line(path) for path in paths], "problem": admit(str(error), limit=2_000)}
    else:
        core.append(e.ResultsDelivered(tip=tip, branch=one_line(branch), commit=commit))
        if gate is not None and gate.status == "answered":
            core.append(e.AnswerDelivered(gate=gate.id))
        return
    if gate is not None and gate.status == "answered":
        core.append(e.AnswerDelivered(gate=gate.id))
    if not core.may_ask:
        core.append(e.WorkflowFailed(reason=REFUSED, details=admit(str(context["problem"]), limit=2_000)))
        return
    left = f"the results stay on {trees.branch}"
    context |= {
        "not_saved": "no file was changed: the results are complete on their branch",
        "target": one_line(branch),
        "branch": trees.branch,
        "answers": {
            "retry": f"they are brought to {one_line(branch)} again: once what is in the way has gone",
            "skip": left,
            "abandon": left,
        },
    }
    open_gate(core, "integration", task="", key=_KEY, context=context)
