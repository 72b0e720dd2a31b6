"""Malformed lines of an app-server are reported and break nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from unstuck.agents.appserver.jsonrpc import JsonRpc
from unstuck.agents.command.jsonl_reader import ProtocolProblem


class Ends:
    """One conversation, and all that came of it."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.told: list[str] = []
        self.problems: list[str] = []
        self.wire = JsonRpc(
            lambda words: self.said.append(json.loads(words)),
            told=lambda method, params: self.told.append(method),
            asked=lambda id, method, params: self.wire.refuse(id, method),
            broken=self._broken,
        )

    def _broken(self, problem: ProtocolProblem) -> None:
        self.problems.append(str(problem))

    def hear(self, *lines: str) -> None:
        self.wire.feed("".join(f"{line}\n" for line in lines).encode())


@pytest.mark.parametrize("id", ['"\\ud800"', '"x"', "0", "-7", "9" * 4_000])
def test_its_own_ids_come_back(id: str) -> None:
    """Whatever text or number it counts its requests with, half a character too; and what follows is heard."""
    ends = Ends()
    ends.hear(f'{{"id": {id}, "method": "no/such\\udc00"}}', '{"method": "next"}')
    assert [one["id"] for one in ends.said] == [json.loads(id)]
    assert ends.told == ["next"]
    assert ends.problems == []


@pytest.mark.parametrize("id", ["null", "[1]", "{}", "1.5", "NaN", "[" * 900 + "]" * 900])
def test_a_request_that_could_not_be_answered(id: str) -> None:
    """Its conversation ends with one line: it would wait for ever."""
    ends = Ends()
    ends.hear(f'{{"id": {id}, "method": "item/commandExecution/requestApproval"}}', '{"method": "next"}')
    assert ends.said == []
    assert ends.told == []
    (problem,) = ends.problems
    assert problem.startswith("it said what is no message of its protocol: ")


async def test_answers_to_what_was_not_asked() -> None:
    """They answer nothing, also where their id only equals one that was asked."""
    ends = Ends()
    asking = asyncio.ensure_future(ends.wire.ask("initialize", {}))
    await asyncio.sleep(0)
    ends.hear(*(f'{{"id": {id}, "result": "wrong"}}' for id in ("true", "1.0", '"1"', "2", "null", "[1]")))
    ends.hear('{"id": 1, "result": "right"}', '{"id": 1, "result": "again"}')
    assert await asking == "right"
    assert ends.problems == []
