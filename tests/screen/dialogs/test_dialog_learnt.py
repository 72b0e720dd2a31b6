"""A question that I have answered before: the dialog says so first, and one key answers it again, or for good."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from unstuck import Answer
from unstuck.eventlog.memory.entry import learnt

Opening = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.mark.parametrize(("key", "scope"), [("0", "once"), ("9", "pattern")])
async def test_what_worked_before_is_one_key(opening: Opening, key: str, scope: str) -> None:
    """`0` tells the agent what helped the last time; `9` also lets it be told by itself from now on."""
    async with opening() as world:
        world.fails("one")
        await world.asked()
        gate = world.supervisor.state.gates[world.gate].gate
        memory = world.supervisor.core.memory
        words = {"approach": "show_me", "note": "use the shop's currency", "outcome": "worked"}
        about = {"signature": gate.context["signature"], "when": "2026-11-20T09:00:00Z", "task": "cart"}
        memory.remember(learnt("answer", **about, **words))
        await world.supervisor.answer(gate.id, Answer(choice="skip"))
        agent = world.fails("two")
        await world.asked()
        await world.awake()
        if not world.is_asking:
            await world.reopen()
        said = world.shown()
        assert "you answered this on 2026-11-20 with show me: use the shop's currency; it worked" in said
        assert said.index("As on 2026-11-20: it worked") < said.index("The same, and from now on")
        assert said.index("The same, and from now on") < said.index("Show me how")
        asked = world.gate
        await world.press(key)
        answer = await world.answered(asked)
        assert answer.choice == "show_me"
        assert answer.text == "use the shop's currency"
        assert answer.scope == scope
        await world.until(lambda: len(agent.told) == 3)
        assert "use the shop's currency" in agent.told[2].text
        assert [entry.note for entry in memory.entries("rule")] == ["use the shop's currency"] * (scope == "pattern")


async def test_the_third_equal_answer_is_offered_as_a_rule(opening: Opening) -> None:
    """Given in two runs before, and now once more: a notice with its evidence, and nothing becomes a rule by itself."""
    async with opening() as world:
        world.fails("one")
        await world.asked()
        gate = world.supervisor.state.gates[world.gate].gate
        memory = world.supervisor.core.memory
        for day in (19, 20):
            words = {"approach": "show_me", "note": "use the shop's currency", "outcome": "worked", "run": f"r{day}"}
            about = {"signature": gate.context["signature"], "when": f"2026-11-{day}T09:00:00Z", "task": "cart"}
            memory.remember(learnt("answer", **about, **words))
        await world.supervisor.answer(gate.id, Answer(choice="skip"))
        world.fails("two")
        await world.asked()
        await world.awake()
        if not world.is_asking:
            await world.reopen()
        asked = world.gate
        await world.press("0")
        await world.answered(asked)
        await world.until(lambda: any("given 3 times" in said for said in world.notices))
        (said,) = [one for one in world.notices if "given 3 times" in one]
        assert said.startswith("two: this answer was given 3 times to this failure, worked 2 of 2.")
        newest = next(entry for entry in memory.entries("answer") if entry.run == "r20")
        assert f"`unstuck memory promote {newest.id}`" in said
        assert memory.entries("rule") == ()
