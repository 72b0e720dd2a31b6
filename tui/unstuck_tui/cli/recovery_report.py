"""``unstuck show --recovery``: what a run that was cut off has left, for people and for programs."""

from __future__ import annotations

import asyncio
import os

from unstuck.clock import SystemClock
from unstuck.errors import UsageError
from unstuck.runs.recovery_choices import what_is_left
from unstuck.settings.layers import default_user_file
from unstuck.settings.loading import load_settings
from unstuck.supervision.recovery.evaluator import Evaluation, evaluate
from unstuck.supervision.recovery.facts import RecoveryState
from unstuck.workspace.project import Project
from unstuck_tui.cli.common import complain, echo, print_json
from unstuck_tui.render.recovery import listing


def show_recovery(place: Project, run: str, *, check: bool, evaluate: bool, as_json: bool) -> None:
    """Print the facts; with ``as_json`` one object. Nothing is decided, and nothing but the check is run."""
    facts, problem = asyncio.run(_found(place, run, check=check, asked=evaluate))
    if as_json:
        print_json([facts.model_dump(mode="json")])
    else:
        for line in listing(facts):
            echo(line)
    if problem:
        complain(problem)


async def _found(place: Project, run: str, *, check: bool, asked: bool) -> tuple[RecoveryState, str]:
    environ = dict(os.environ)
    settings = load_settings(place.root, user_file=default_user_file(), environ=environ, overrides={})
    if asked and settings.evaluator is None:
        raise UsageError("no evaluator is set: set `evaluator` in your user settings")
    facts = await what_is_left(place, run, settings, environ, check=check)
    if not asked or settings.evaluator is None or not facts.tasks:
        return facts, ""
    found = await evaluate(settings.evaluator, facts, environ=environ, clock=SystemClock())
    return _with_proposals(facts, found), found.problem


def _with_proposals(facts: RecoveryState, found: Evaluation) -> RecoveryState:
    tasks = [
        task.model_copy(update={"proposal": found.proposals[task.task]}) if task.task in found.proposals else task
        for task in facts.tasks
    ]
    return facts.model_copy(update={"tasks": tuple(tasks)})
