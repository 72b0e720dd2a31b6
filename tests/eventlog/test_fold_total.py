"""The fold is total: no record that can be read at all stops a run from being shown or gone on with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unstuck.eventlog.envelope import decode
from unstuck.eventlog.fold import fold
from unstuck.eventlog.state import State, dump

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
NONSENSE: tuple[Any, ...] = (None, 7, "x", [7], {"a": 7})
DEEP = 3


def spoilt(value: Any, depth: int = 0) -> Iterator[Any]:
    """``value`` with nonsense in its place or in one of its places, or with one of its fields gone."""
    yield from NONSENSE
    if depth == DEEP:
        return
    if isinstance(value, dict):
        for key in value:
            yield from ({**value, key: other} for other in spoilt(value[key], depth + 1))
            yield {name: kept for name, kept in value.items() if name != key}
    elif isinstance(value, list) and value:
        yield from ([other, *value[1:]] for other in spoilt(value[0], depth + 1))


@pytest.mark.parametrize("log", sorted(GOLDEN.glob("*.jsonl")), ids=lambda log: log.stem)
def test_nonsense_anywhere_in_a_record_stops_nothing(log: Path) -> None:
    """Each field of each event, and what is in it, replaced in turn: it is folded, and the state can be saved."""
    state, met = State(), set()
    for raw in log.read_bytes().splitlines():
        line = json.loads(raw)
        fold(state, decode(raw))
        if line["event"] in met:
            continue
        met.add(line["event"])
        for data in filter(lambda data: isinstance(data, dict), spoilt(line["data"])):
            fold(state, decode(json.dumps({**line, "data": data}).encode()))
        assert dump(state)
    assert state.unknown


@pytest.mark.parametrize("budget", [7, [1], "much", {"tokens": "many", "cost": None, "time": 60.0}])
def test_settings_of_a_record_may_be_nonsense(budget: Any) -> None:
    """A limit that is none limits nothing."""
    line = json.loads((GOLDEN / "schema1.jsonl").read_bytes().splitlines()[0])
    state = State()
    fold(state, decode(json.dumps({**line, "data": {**line["data"], "settings": {"budget": budget}}}).encode()))
    assert state.run.limits == ({"time": 60.0} if isinstance(budget, dict) else {})
