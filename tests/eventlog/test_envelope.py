"""Records to bytes and back: nothing is lost, nothing is invented, and nothing acts on a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unstuck.contract import Guidance, Report, Task, Way
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog.envelope import Record, decode, encode
from unstuck.eventlog.events import EVENTS, Event, Unknown
from unstuck.text import Clean, admit, sanitise

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Any: to work them out from a codec takes each worker of a fresh clone two seconds."""

TEXTS = st.text(CHARACTERS).map(sanitise)
CLEAN = st.text(CHARACTERS).map(admit)
NUMBERS = st.integers(0, 2**53)
SECONDS = st.floats(0, 1e9, allow_nan=False)
OBJECTS = st.dictionaries(TEXTS, TEXTS | NUMBERS | st.none() | st.lists(TEXTS), max_size=3)
CLIMBS = st.builds(
    Climb, rung=st.sampled_from(["first", "human"]), retries=NUMBERS, seen=st.tuples(TEXTS), advice=st.tuples(TEXTS)
)
GUIDANCE = st.builds(
    Guidance, attempt=TEXTS, number=NUMBERS, level=st.just("retry"), text=CLEAN, workdir=st.just(Path("/tmp/tree"))
)
REPORTS = st.builds(Report, exit_code=st.none() | NUMBERS, error=st.none() | CLEAN, options=st.tuples(CLEAN, CLEAN))
st.register_type_strategy(Climb, CLIMBS)
st.register_type_strategy(Guidance, GUIDANCE)
st.register_type_strategy(Report, REPORTS)
st.register_type_strategy(Way, st.builds(Way, approach=CLEAN, text=CLEAN))
st.register_type_strategy(Task, st.builds(Task, id=TEXTS, prompt=CLEAN, needs=st.tuples(TEXTS)))


def field(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a field, as they come through the one door."""
    simple = {str: TEXTS, int: NUMBERS, float: SECONDS, Clean: CLEAN, bool: st.booleans()}
    if annotation in simple:
        return simple[annotation]
    said = str(annotation)
    if "dict[" in said:
        return OBJECTS if "int]" not in said else st.dictionaries(TEXTS, NUMBERS, max_size=3)
    if said.startswith("tuple[") and annotation.__args__[-1] is ...:
        return st.lists(field(annotation.__args__[0]), max_size=3).map(tuple)
    if said.startswith("tuple["):
        return st.tuples(*map(field, annotation.__args__))
    if get_origin(annotation) in (Union, UnionType):
        return st.one_of(*(st.none() if kind is type(None) else field(kind) for kind in annotation.__args__))
    return st.from_type(annotation)


def events(name: str) -> st.SearchStrategy[Event]:
    """Any event of this name."""
    kind = EVENTS[name]
    return st.builds(kind, **{key: field(info.annotation) for key, info in kind.model_fields.items()})


def a_record(event: Event | Unknown, name: str = "", **changes: Any) -> Record:
    """``event`` in an envelope."""
    given: dict[str, Any] = {
        "seq": 7, "time": "2026-11-21T20:14:09.565Z", "mono": 12.5, "run": "r1", "actor": "human", "task": "web",
        "attempt": "web.2", "cause": 3,
    }  # fmt: skip
    return Record(event=event, name=name or event.name, **{**given, **changes})


def line_of(record: Record) -> bytes:
    """The line that the log writer makes of ``record``, but for its checksum."""
    return b'{"v":%d,"seq":%d,' % (record.version, record.seq) + encode(record)[1:]


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_event_comes_back_as_it_was(name: str) -> None:
    """Whatever an event holds, the log gives it back."""

    @settings(max_examples=8)
    @given(events(name))
    def comes_back(event: Event) -> None:
        record = a_record(event)
        assert decode(line_of(record)) == record

    comes_back()


@given(st.text(CHARACTERS), st.sampled_from(["stop_requested", "not_known_yet"]))
def test_a_hostile_text_in_a_log_is_harmless(text: str, name: str) -> None:
    """A log is a file that anybody may have edited: what acts on a terminal is gone when it is read."""
    body = {"time": "t", "mono": 0, "run": "r", "actor": "human", "task": text, "event": name, "data": {"reason": text}}
    record = decode(json.dumps({"v": 1, "seq": 1, **body}).encode())
    for found in (record.task, record.event.model_dump()["reason"]):
        assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", found) is None
        assert found == sanitise(text)


def test_a_line_is_one_ascii_line() -> None:
    """No line end and no byte above 127 stands in a record, whatever is in its texts."""
    line = line_of(a_record(EVENTS["stop_requested"](reason="a\nb\r ü 🦀 \u2028")))
    assert line.isascii()
    assert b"\n" not in line
    assert b"\r" not in line


def test_an_event_of_a_later_version_is_kept_whole() -> None:
    """It can be written again as it was read, with fields that this version does not know."""
    record = a_record(Unknown(where="moon", steps=[1, {"two": None}]), "moon_landed", version=1)
    again = decode(line_of(record))
    assert isinstance(again.event, Unknown)
    assert again == record
    assert json.loads(encode(again)) == json.loads(encode(record))
    assert json.loads(encode(again))["data"] == {"where": "moon", "steps": [1, {"two": None}]}


def test_a_field_of_a_later_version_is_passed_over() -> None:
    """A known event with more in it is the known event."""
    line = line_of(a_record(EVENTS["stop_requested"](reason="x"))).replace(b'"reason":', b'"mood":"bad","reason":')
    assert decode(line).event == EVENTS["stop_requested"](reason="x")


def test_the_name_of_an_event_is_not_found_in_its_data() -> None:
    """A line that another program has written again, in another order, is the event that it is."""
    row = {"data": {"event": "usage_counted"}, "v": 1, "seq": 7, "time": "t", "mono": 1.5, "run": "r", "actor": "agent"}
    record = decode(json.dumps(row | {"task": "web", "attempt": "", "cause": 0, "event": "check_proved"}).encode())
    assert (record.name, record.event) == ("check_proved", EVENTS["check_proved"]())
    written = json.dumps(row | {"event": "check_proved"}, separators=(",", ":")).encode()
    assert decode(written).event == EVENTS["check_proved"]()


def test_a_known_name_with_another_shape_is_kept_as_unknown() -> None:
    """A later version may have changed an event: it is shown, never guessed at."""
    line = line_of(a_record(EVENTS["stop_requested"](reason="x"))).replace(b'"reason":"x"', b'"why":"x"')
    record = decode(line)
    assert isinstance(record.event, Unknown)
    assert record.name == "stop_requested"
    assert json.loads(encode(record))["data"]["why"] == "x"


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"null", b'{"v":1,"seq":1}', b"\xff", b'{"v":1,"seq":"x"}'])
def test_what_is_no_record_is_refused(line: bytes) -> None:
    """Never a half-read record."""
    with pytest.raises(ValueError):
        decode(line)


def test_a_prompt_of_a_megabyte_comes_back_whole() -> None:
    """A prompt is in the log to the last character, in any language."""
    text = admit("é" * 2**20, limit=2**21)
    guidance = Guidance(attempt="a", number=1, level="first", text=text, workdir=Path())
    record = a_record(EVENTS["attempt_started"](guidance=guidance))
    assert decode(line_of(record)) == record
