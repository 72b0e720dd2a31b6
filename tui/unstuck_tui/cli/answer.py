"""``unstuck answer``: close a gate from anywhere."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from unstuck.runs.answers.answer_live import answer_online
from unstuck.runs.answers.answer_rules import parse_answer
from unstuck_tui.cli.common import echo, here, project_option


@click.command(name="answer", context_settings={"ignore_unknown_options": True})
@click.argument("gate")
@click.argument("choice")
@click.argument("text", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--for",
    "scope",
    type=click.Choice(["once", "pattern", "task"]),
    help="Scope of `continue`, `show-me` and `retry`.",
)
@project_option
def command(gate: str, choice: str, text: tuple[str, ...], scope: str | None, project: Path) -> None:
    """Answer question GATE: show-me TEXT, skip [REASON], abandon [REASON], retry [APPROACH], extend DURATION, continue,
    stop, choose N, allow, deny [REASON] or done.

    A live run applies the answer at once. Otherwise it is saved, and `unstuck run --resume` applies it.
    """
    answer = parse_answer(choice, text, scope=scope)
    place = here(project, writes=True)
    if answer_online(place, gate, answer, dict(os.environ)):
        echo(f"{gate} answered: {answer.choice.replace('_', '-')}")
        return
    from unstuck.runs.answers.answer_offline import answer_offline

    run, _ = asyncio.run(answer_offline(place, gate, answer))
    echo(f"{gate} answered: {answer.choice.replace('_', '-')}; resume with: unstuck run --resume {run}")
