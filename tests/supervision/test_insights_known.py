"""Research findings that helped are given again in a later run when such a failure returns."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.escalation.research_targets import insights_about
from unstuck.eventlog import events as e
from unstuck.eventlog.memory.store import Memory, Remembered
from unstuck.runs.memory_commands import memory_rows
from unstuck.settings.models import Settings
from unstuck.text import Clean

LIMITS = {"max_retries": 1, "max_pivots": 0, "max_research": 1}
SETTINGS = Settings.model_validate({"failure_handler": LIMITS})
FAILS = (
    "Traceback (most recent call last):\\n"
    '  File \\"shop.py\\", line 2, in total\\n'
    "ValueError: the price of the cart is negative"
)


async def worked(
    root: Path, task: str, *, passes: int, answer: Answer | None = None, settings: Settings = SETTINGS
) -> list[str]:
    """Return the prompts of one run's agent until attempt number ``passes``, which passes the check."""
    told: list[str] = []
    (root / "shop.py").write_text("def total(cart):\n    return check(sum(cart))\n", encoding="utf-8")
    (root / "right").unlink(missing_ok=True)

    async def agent(guidance: Guidance) -> Report:
        told.append(guidance.text)
        if len(told) == passes:
            (guidance.workdir / "right").touch()
        return Report()

    work = Task(id=task, prompt=admit("Work."), verify=f'test -f right || {{ printf "{FAILS}\\n"; exit 1; }}')
    async with Supervisor.open(root, settings, person=True) as supervisor:
        working = asyncio.ensure_future(supervisor.supervise(work, agent))
        async for record in supervisor.events():
            if isinstance(record.event, e.GateOpened) and answer is not None:
                await supervisor.answer(record.event.gate, answer)
            if isinstance(record.event, e.TaskEnded):
                break
        await working
    return told


async def test_what_helped_once_is_told_at_the_first_failure(repo: Path) -> None:
    """The first run had to look into it; the second is told at its first retry, with the day and the task."""
    first = await worked(repo, "cart", passes=3)
    assert "Known since" not in "".join(first)
    assert "return check(sum(cart))" in first[2]
    later = await worked(repo, "basket", passes=2)
    assert "Known since 20" in later[1]
    assert "from the task cart, where it helped:\n" in later[1]
    assert "return check(sum(cart))" in later[1]


async def test_what_did_not_help_is_not_told(repo: Path) -> None:
    """Findings from before a person had to say how are no findings that helped."""
    await worked(repo, "cart", passes=4, answer=Answer(choice="show_me", text=admit("Take the absolute value.")))
    assert "Known since" not in "".join(await worked(repo, "basket", passes=2))
    memory = Memory(next(repo.rglob("memory.jsonl")))
    memory.load()
    assert {entry.outcome for entry in memory.entries("insight")} == {""}


@pytest.mark.parametrize(("other", "outcome"), [(False, "worked"), (True, "used")])
async def test_only_a_single_finding_is_said_to_have_worked(repo: Path, other: bool, outcome: str) -> None:
    """Of several findings that the last attempt was given none is known to have helped; a later run gets them still."""
    if other:
        (repo / "test_shop.py").write_text("from shop import total\n", encoding="utf-8")
    await worked(repo, "cart", passes=3)
    memory = Memory(next(repo.rglob("memory.jsonl")))
    memory.load()
    rows = list(memory_rows(memory, "insight"))
    assert len(rows) == 1 + other
    assert {row["outcome"] for row in rows} == {outcome}
    later = await worked(repo, "basket", passes=2)
    assert f"where it {'was used before the check passed' if other else 'helped'}:\n" in later[1]
    assert "return check(sum(cart))" in later[1]


async def test_each_finding_is_listed_and_forgotten_once(repo: Path) -> None:
    """Two rounds of research find the same, and it helps: one row each, and what is forgotten does not come back."""
    twice = Settings.model_validate({"failure_handler": LIMITS | {"max_research": 2}})
    await worked(repo, "cart", passes=4, settings=twice)
    memory = Memory(next(repo.rglob("memory.jsonl")))
    memory.load()
    rows = list(memory_rows(memory, "insight"))
    notes = [row["note"] for row in rows]
    assert notes
    assert len(notes) == len(set(notes))
    assert {row["outcome"] for row in rows} == {"worked"}
    assert len(memory.entries("insight")) == 2 * len(rows)  # as it was found, and as it helped
    memory.forget([rows[0]["memory"]])
    memory.load()
    assert [row["note"] for row in memory_rows(memory, "insight")] == notes[1:]


def known(**changes: Any) -> Remembered:
    texts = {
        "signature": "s",
        "approach": "ValueError: negative price",
        "cause": "",
        "note": "look at tax",
        "task": "t",
    }
    texts |= {"run": "r", "when": "2026-11-22T06:00:00Z"} | changes
    outcome = texts.pop("outcome", "worked")
    return Remembered(kind="insight", outcome=outcome, **{name: Clean(text) for name, text in texts.items()})


def test_this_very_failure_goes_before_one_like_it() -> None:
    """The same failure's insights alone, else those of one much alike; each once, two at most, the newest first."""
    like = known(signature="other", note="look at rounding")
    assert insights_about([like, known()], signature="s", headline="ValueError: negative price") == (
        "Known since 2026-11-22 from the task t, where it helped:\nlook at tax",
    )
    (alike,) = insights_about([like], signature="new", headline="ValueError: negative price")
    assert alike.endswith("look at rounding")
    assert insights_about([like], signature="new", headline="KeyError: 'user'") == ()
    assert insights_about([known(outcome="")], signature="s", headline="") == ()
    many = [known(note=note) for note in ("a", "a", "b", "c")]
    assert [one[-1] for one in insights_about(many, signature="s", headline="")] == ["a", "b"]
