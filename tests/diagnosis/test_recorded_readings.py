"""Each recorded failure is read as in `tests/data/readings.json`, so that a change is a visible difference."""

from __future__ import annotations

import json

from tests.diagnosis.regenerate_readings import DATA, readings


def test_every_recorded_failure_is_read_as_before() -> None:
    """A change of a rule that changes a reading is seen, and is meant."""
    expected = json.loads((DATA / "readings.json").read_text(encoding="utf-8"))
    found = readings()
    assert {key: one for key, one in found.items() if expected.get(key) != one} == {}
    assert expected.keys() == found.keys()
