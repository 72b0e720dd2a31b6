"""The failure handler's four output examples, worked by the supervisor: what it does, and the lines it prints."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings
from unstuck.words.narration import lines_of

# The check says what the example says, until the work is done.
CHECK = "test -f done || { cat said; exit 1; }"
REFUSED = "HTTPError: 404 Client Error: the library does not support this provider"


class Agent:
    """Leaves the check to say these things, one an attempt; after the last one the work is done."""

    def __init__(self, says: Sequence[str]) -> None:
        self.says, self.told = says, list[Guidance]()

    async def __call__(self, guidance: Guidance) -> Report:
        self.told.append(guidance)
        said = self.says[len(self.told) - 1] if len(self.told) <= len(self.says) else ""
        (guidance.workdir / "said").write_text(f"{said}\n", encoding="utf-8")
        if not said:
            (guidance.workdir / "done").touch()
        return Report(exit_code=0)


async def trace(repo: Path, task: str, says: Sequence[str], **limits: int) -> tuple[list[str], Agent, dict[str, Any]]:
    """The lines that are printed for ``task``, without their times; its agent; the context of its question, if any."""
    settings = Settings.model_validate({"failure_handler": limits})
    agent, lines, context = Agent(says), list[str](), dict[str, Any]()
    async with Supervisor.open(repo, settings, person=True) as supervisor:
        work = Task(id=task, prompt=admit(task), verify=CHECK)
        working = asyncio.ensure_future(supervisor.supervise(work, agent))
        async for record in supervisor.events():
            lines += [line.partition(f"{task}  ")[2] for line in lines_of(record)]
            if isinstance(record.event, e.GateOpened):
                context |= record.event.context
                await supervisor.answer(record.event.gate, Answer(choice="skip"))
                break
            if isinstance(record.event, e.TaskEnded):
                break
        await working
    return lines, agent, context


def steps(lines: Sequence[str]) -> list[str]:
    """Return failure, reaction and outcome of each step, each up to its colon or its place."""
    marks = ("  ✗", "  →", "✓")
    return [line.strip().partition(": ")[0].partition("  ")[0] for line in lines if line.startswith(marks)]


async def test_successful_retry(repo: Path) -> None:
    """✗ Test failed, → Retry 1/3, ✓ Session Hook."""
    says = ["Test failed: Expected string but received undefined"]
    lines, agent, _ = await trace(repo, "session-hook", says)
    assert steps(lines) == ["✗ Test failed", "→ Retry 1/3", "✓ succeeded"]
    assert "  ✗ Test failed: Expected string but received undefined" in lines
    assert "Expected string but received undefined" in agent.told[1].text


async def test_successful_pivot(repo: Path) -> None:
    """✗, → Retry 1/3, ✗, → New approach 1/3 with another approach on the files as they were, ✓ Protected Routes."""
    says = ["Middleware not working with App Router", "ImportError: cannot import name 'match' from 'routes'"]
    lines, agent, _ = await trace(repo, "protected-routes", says)
    assert steps(lines) == [
        "✗ Middleware not working with App Router",
        "→ Retry 1/3",
        "✗ ImportError",
        "→ New approach 1/3",
        "✓ succeeded",
    ]
    assert "Take a different one, from the start" in agent.told[2].text
    assert agent.told[2].approach == "use_alternative_library"


async def test_research_success(repo: Path) -> None:
    """→ Retry 1/3, → New approach 1/3, → Research 1/2, → Found something, and the agent has it; ✓ OAuth Integration."""
    (repo / "oauth.py").write_text("def refresh():\n    return token_endpoint\n", encoding="utf-8")
    says = ["Token refresh failing", "ImportError: cannot import name 'token_endpoint' from 'oauth'", REFUSED]
    lines, agent, _ = await trace(repo, "oauth", says)
    assert [step.partition(" 404")[0] for step in steps(lines)] == [
        "✗ Token refresh failing",
        "→ Retry 1/3",
        "✗ ImportError",
        "→ New approach 1/3",
        "✗ HTTPError",
        "→ Research 1/2",
        *[step for step in steps(lines) if step.startswith("→ Found")],
        "✓ succeeded",
    ]
    assert any(step.startswith("→ Found") for step in steps(lines))
    assert "First understand the problem, then name a new approach" in agent.told[3].text


async def test_stuck_needs_help(repo: Path) -> None:
    """Three retries, an alternative, two rounds of research, then the question with its checkpoint and four options."""
    says = ["AssertionError: webhook signature verification failing"] * 9
    lines, agent, context = await trace(repo, "payment", says, max_pivots=1)
    assert [step for step in steps(lines) if not step.startswith(("✗", "→ Found"))] == [
        "→ Retry 1/3",
        "→ Retry 2/3",
        "→ Retry 3/3",
        "→ New approach 1/1",
        "→ Research 1/2",
        "→ Research 2/2",
    ]
    assert len(agent.told) == 7
    assert context["attempts"] == {"retries": 3, "pivots": 1, "research": 2}
    shown = [line.strip() for line in lines]
    asked = shown[shown.index("! I am stuck and need help.") :]
    assert asked[1] == "tried: 3 retries, 1 new approach, 2 rounds of research"
    assert "problem: AssertionError: webhook signature verification failing" in asked
    assert f"checkpoint saved: {context['checkpoint']}" in asked
    assert context["checkpoint"].startswith("chk-")
    question = context["question"]
    assert question.startswith(
        "I am stuck on: AssertionError: webhook signature verification failing\n\nWhat I tried:\n"
    )
    assert question.endswith(
        "Options:\n1. Show me how to do this\n2. Skip this part for now\n3. Abandon the task\n"
        "4. Try again with a different approach: [describe]\n\nWhat should I do?"
    )
