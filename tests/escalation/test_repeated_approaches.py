"""The same approach in other words ends at a person, and a plain retry does not. Real agents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.runs.plans.one_command import one_command
from unstuck.runs.plans.plan import one_task_plan
from unstuck.runs.run import RunOptions, start_run
from unstuck.workspace.project import locate

SEED = ("Using async await for fetch", "Using async/await with try-catch", "Using async await pattern")
SAME = ("Using async await for fetch",) * 9
OTHER = ("copy the parser", "cache every page", "split a table", "ask the server", "draw by hand")


async def worked(repo: Path, said: tuple[str, ...]) -> tuple[list[str], list[e.DirectiveIssued]]:
    """The prompts an agent got that states ``said`` one after the other and never passes, and what was decided."""
    seen = repo.parent / "seen"
    seen.mkdir()
    for number, approach in enumerate(said, 1):
        (seen / f"say.{number}").write_text(f"UNSTUCK {json.dumps({'signal': 'complete', 'approach': approach})}\n")
    agent = repo.parent / "agent.sh"
    agent.write_text(
        f"#!/bin/sh\ncd {seen}\nn=${{UNSTUCK_ATTEMPT##*.}}\n"
        'cp "$UNSTUCK_PROMPT_FILE" told.$n\ncat say.$n 2>/dev/null\n:'
    )
    decided: list[e.DirectiveIssued] = []

    def listen(record: Record) -> None:
        if isinstance(record.event, e.DirectiveIssued):
            decided.append(record.event)

    verify = "echo 'AssertionError: expected 3 but got 2'; exit 1"
    plan = one_task_plan(one_command(["sh", str(agent)], task="Fetch it", verify=verify))
    result = await start_run(plan, await locate(repo), RunOptions(listener=listen))
    assert result.exit_code == 3
    told = sorted(seen.glob("told.*"), key=lambda path: int(path.suffix[1:]))
    return [path.read_text(encoding="utf-8") for path in told], decided


async def test_the_same_idea_in_other_words_ends_at_a_person(repo: Path) -> None:
    """Three async-await approaches: the agent gets no fourth attempt."""
    told, decided = await worked(repo, SEED)
    assert len(told) == 3
    assert [event.level for event in decided] == ["retry", "retry", "human"]
    assert decided[-1].line == 9


@pytest.mark.parametrize("said", [SAME, OTHER, ()], ids=["the same", "others", "none"])
async def test_retries_of_one_approach_and_real_alternatives_are_no_circle(repo: Path, said: tuple[str, ...]) -> None:
    """The whole ladder is climbed: nine attempts, and no pivot goes to what has failed."""
    told, decided = await worked(repo, said)
    assert [event.level for event in decided] == ["retry"] * 3 + ["pivot"] * 3 + ["research"] * 2 + ["human"]
    assert len(told) == 9
    assert {event.line for event in decided} == {10}
    for approach in set(said[:4]):
        assert f"- {approach}\n" in told[4]
    ways = [event.approach for event in decided if event.level == "pivot"]
    assert len({*ways, *said}) == len(ways) + len(set(said))
