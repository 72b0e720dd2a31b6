"""``unstuck answer``: answer a question from anywhere."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unstuck.runs.answers.answer_live import answer_online
from unstuck.runs.answers.answer_rules import parse_answer
from unstuck_tui.cli.common import echo, here, json_option, print_json, project_option
from unstuck_tui.cli.names import OneOf, choices, questions, require_answer

if TYPE_CHECKING:
    from unstuck.contract import Answer
    from unstuck.eventlog.memory.offers import Offer
    from unstuck.workspace.project import Project


@click.command(name="answer", context_settings={"ignore_unknown_options": True})
@click.argument("gate", metavar="QUESTION", shell_complete=questions)
@click.argument("choice", shell_complete=choices)
@click.argument("text", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--for",
    "scope",
    type=OneOf(["once", "pattern", "task", "run", "always"]),
    help="Scope of `continue`, `show-me`, `retry`, `allow` and the `choose` that allows.",
)
@json_option("One JSON object.")
@project_option
def command(gate: str, choice: str, text: tuple[str, ...], scope: str | None, project: Path, as_json: bool) -> None:
    """Answer QUESTION: show-me TEXT, skip [REASON], abandon [REASON], retry [APPROACH], extend DURATION, continue,
    stop, choose N, allow, deny [REASON] or done.

    A live run applies the answer at once. Otherwise it is saved, and `unstuck run --resume` applies it.
    """
    require_answer(click.get_current_context(), choice)
    answer = parse_answer(choice, text, scope=scope)
    place = here(project, writes=True)
    given, run = answer.choice.replace("_", "-"), ""
    if not answer_online(place, gate, answer, dict(os.environ)):
        from unstuck.runs.answers.answer_offline import answer_offline

        run, _ = asyncio.run(answer_offline(place, gate, answer))
    offer = _offer(place, gate, answer)
    if as_json:
        row = {"gate": gate, "choice": given, "applied": not run, "resume": run}
        evidence = offer and {"id": offer.id, "given": offer.times, "worked": offer.worked, "runs": list(offer.runs)}
        print_json([row | ({"rule_offer": evidence} if evidence else {})])
        return
    echo(f"{gate} answered: {given}" + (f"; resume with: unstuck run --resume {run}" if run else ""))
    if offer is not None:
        echo(f"{offer.words}: `unstuck memory promote {offer.id}` makes it a rule, given without asking you")


def _offer(place: Project, gate: str, answer: Answer) -> Offer | None:
    """Return the rule that is offered after this answer."""
    if answer.choice not in ("show_me", "retry") or not answer.text:
        return None
    from unstuck.runs.answers.rule_offer import offer_of  # reads memory and log, which most answers need not

    return offer_of(place, gate, answer)
