"""Checks and warnings before the start of a plan."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from unstuck.agents.command.presets import model_in, reports_cost, reports_tokens
from unstuck.agents.hooks.hook_agents import KNOWN
from unstuck.diagnosis.agent_messages.troubles import known_agent
from unstuck.errors import UsageError
from unstuck.runs.doctor.first_look import first_look
from unstuck.runs.plans.failover import failover_warnings
from unstuck.runs.plans.plan import Plan
from unstuck.settings.models import Settings, plain_name
from unstuck.supervision.checks.check import detect_check
from unstuck.supervision.checks.check_command import check_warnings
from unstuck.text import Clean, admit
from unstuck.workspace.git.repo_status import under_way
from unstuck.workspace.git.repository import dirty
from unstuck.workspace.project import Project

_PATIENCE_S = 5.0  # for a shell to say which one it is


def prices_of(plan: Plan, settings: Settings) -> dict[str, tuple[float, float, bool]]:
    """Return the price of each agent of the plan that the settings name, and whether it reports no cost itself."""
    found = {}
    for name, planned in plan.agents.items():
        names = (name, known_agent(planned.command), model_in(planned.command))
        for pattern, price in settings.prices.items():
            if any(one and fnmatchcase(plain_name(one), plain_name(pattern)) for one in names):
                found[name] = (price.read, price.written, not reports_cost(planned.command))
                break
    return found


def require_prices(plan: Plan, settings: Settings) -> None:
    """Raise UsageError where a budget limits the cost of an agent that reports none and has no price."""
    if all(limit is None for limit in (settings.budget.cost, settings.budget.task_cost, settings.budget.attempt_cost)):
        return
    priced = prices_of(plan, settings)
    used = {name for planned in plan.tasks.values() for name in (planned.task.agent, *(planned.failover or ()))}
    for name in sorted(used):
        command = plan.agents[name].command
        known = known_agent(command)
        if not known or reports_cost(command) or plan.agents[name].signals:
            continue
        if not reports_tokens(command):
            raise UsageError(f"budget: agent {known} reports neither cost nor tokens: limit its `time`")
        if name not in priced:
            raise UsageError(
                f"budget: agent {known} reports no cost: give its price in the setting "
                f"`prices: {{{known}: {{read: N, written: N}}}}` (US dollars per million tokens), or limit its tokens"
            )


async def start_warnings(
    plan: Plan, place: Project, environ: Mapping[str, str], *, apart: bool, here: bool = True
) -> list[Clean]:
    """Return the warnings before the first attempt.

    ``apart``: tasks have worktrees of their own. ``here``: the agents work on this machine.
    """
    warnings = []
    if place.repository is not None and (what := under_way(place.repository.git_dir)):
        warnings.append(admit(f"the repository is in the middle of {what}: work starts from what is checked out now"))
    if apart and place.repository is not None:
        changed = await dirty(place.repository)
        if changed:
            some = ", ".join(changed[:3]) + (" …" if len(changed) > 3 else "")
            warnings.append(
                admit(f"uncommitted changes are not seen by tasks in their own worktrees: {some}", limit=500)
            )
    if place.repository is None:
        warnings.append(admit("no git repository here: every task works in this directory itself"))
    if any(planned.task.verify is None for planned in plan.tasks.values()):
        offered = detect_check(place.root)
        hint = f"; this project looks like it has one: {offered}" if offered else ""
        warnings.append(admit(f"without a check a task ends unverified{hint}", limit=500))
    return warnings + await asyncio.to_thread(
        lambda: [
            *_check_warnings(plan, environ),
            *(_looks(plan, place, environ) if here else ()),
            *(failover_warnings(plan, place, environ) if here else ()),
        ]
    )


def _looks(plan: Plan, place: Project, environ: Mapping[str, str]) -> Iterator[Clean]:
    """Yield what a first look at the agents of the plan finds."""
    checks: dict[str, list[str]] = {}
    for planned in plan.tasks.values():
        checks.setdefault(planned.task.agent, []).extend(filter(None, [planned.task.verify]))
    for name, own in sorted(checks.items()):
        look = first_look(plan.agents[name].command, dict.fromkeys(own), place.directory, environ)
        yield from map(admit, look.warnings)
        if look.agent in KNOWN:
            from unstuck.runs.doctor.programs import hooks  # most commands have none, and need not load it

            bad = (one for one in hooks(place, environ, look.agent) if not one.ok)
            yield from (admit(f"hooks: {one.value}; {one.mend}", limit=500) for one in bad)


def _check_warnings(plan: Plan, environ: Mapping[str, str]) -> list[Clean]:
    def is_bash() -> bool:
        asked = ["sh", "-c", 'echo "$BASH_VERSION"']
        try:
            said = subprocess.run(
                asked, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return bool(said.stdout.strip())

    return [admit(said, limit=500) for check in plan.checks() for said in check_warnings(check, is_bash=is_bash)]
