"""The recap: at most ten lines, and no number in it without an event behind it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unstuck.eventlog import events as e
from unstuck.eventlog.attention_stats import load_of, seconds_of
from unstuck.eventlog.envelope import Record, decode
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.record_reader import RunReader, Wanted
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.state import State
from unstuck.runs.queries.recap import recap_of
from unstuck.runs.queries.recap_lines import RecapLine, recap_lines
from unstuck.words.amounts import span, tokens_of

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
LOGS = {log.stem: list(read_records(log)) for log in sorted(GOLDEN.glob("*.jsonl"))}
"""Logs of real runs and rehearsals: questions, waits, timers, crashes, budgets, several tasks."""
_NUMBER = re.compile(r"\d+")


def texts(value: Any) -> Iterator[str]:
    """Every text and number of a record, and each duration as a person reads it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from (str(value), span(float(value)))
    else:
        yield str(value)


def known_numbers(line: RecapLine, log: dict[int, Record]) -> set[str]:
    """Every number that the events of a line record, count, add up to, or lie apart."""
    records = [log[seq] for seq in line.events]
    found = {text for record in records for text in texts(record.as_dict())}
    counts: Counter[Any] = Counter()
    for record in records:
        counts.update({record.name: 1, (record.name, getattr(record.event, "level", "")): 1})
        counts.update({(record.name, getattr(record.event, "choice", ""), getattr(record.event, "status", "")): 1})
    found |= {str(count) for count in counts.values()}
    named = {record.task for record in records if record.task}
    # "and 2 more" than the three that are named: of the tasks behind the line, or of the questions after the first.
    opened = sum(isinstance(one.event, e.GateOpened) for one in records)
    found |= {str(count) for count in range(1, max(len(named) - 3, opened - 4) + 1)}
    times = [seconds_of(record.time) or 0.0 for record in records]
    found |= {span(b - a) for a, b in product(times, times) if b >= a}
    used = [record.event for record in records if isinstance(record.event, e.UsageCounted)]
    found |= {tokens_of(sum(one.tokens for one in used)), f"${sum(one.cost or 0.0 for one in used):,.2f}"}
    found.add(span(sum(one.event.seconds for one in records if isinstance(one.event, e.AttemptEnded))))
    return {number for text in found for number in _NUMBER.findall(text)} | {str(seq) for seq in line.events}


def renamed(records: list[Record], letter: str, last: int) -> list[Record]:
    """The same run again behind event ``last``, with other tasks and questions."""
    names = {one.event.work.id for one in records if isinstance(one.event, e.TaskAdded)}
    gates = {one.event.gate for one in records if isinstance(one.event, e.GateOpened)}
    found = []
    for record in records:
        line = json.dumps(record.as_dict() | {"seq": last + record.seq})
        for name in names | gates:
            line = line.replace(f'"{name}"', f'"{name}{letter}"').replace(f'"{name}.', f'"{name}{letter}.')
        found.append(decode(line.encode()))
    return found


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[Record], int, float]:
    """A log made from those of real runs: several joined, cut off anywhere, with records left out, seen anywhere."""
    records = list(LOGS[draw(st.sampled_from(sorted(LOGS)))])
    for letter in "abcd"[: draw(st.integers(0, 4))]:
        records += renamed(LOGS[draw(st.sampled_from(sorted(LOGS)))], letter, records[-1].seq)
    records = records[: draw(st.integers(0, len(records)))]
    gone = draw(st.sets(st.integers(0, max(0, len(records) - 1)), max_size=6))
    records = [record for place, record in enumerate(records) if place not in gone]
    after = draw(st.integers(0, records[-1].seq if records else 0))
    since = seconds_of(draw(st.sampled_from(records)).time) if records and draw(st.booleans()) else 0.0
    return records, after, since or 0.0


@given(logs(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_number_without_an_event(log: tuple[list[Record], int, float], live: bool) -> None:
    """Each line names its events, which the log has, and each of its numbers follows from them; ten lines at most."""
    records, after, since = log
    by_seq = {record.seq: record for record in records}
    lines = recap_lines(recap_of(records, after=after, since=since), live=live)
    assert len(lines) <= 10
    assert bool(lines) == bool(records)
    for line in lines:
        assert line.events
        assert set(line.events) <= by_seq.keys()
        assert "\n" not in line.shown
        unknown = set(_NUMBER.findall(line.shown)) - known_numbers(line, by_seq)
        assert not unknown, f"{unknown} in {line.shown}"


def told(name: str, **options: Any) -> dict[str, list[str]]:
    """The lines about a recorded run by their kind."""
    lines: dict[str, list[str]] = {}
    for line in recap_lines(recap_of(LOGS[name], **options)):
        lines.setdefault(line.kind, []).append(line.shown)
    return lines


@pytest.mark.parametrize("name", sorted(name for name in LOGS if "drawn" not in name))
def test_every_view_counts_the_same_decisions(name: str, tmp_path: Path) -> None:
    """The recap lists the decisions that the filter of the log finds and the line about people counts."""
    state = State()
    for record in LOGS[name]:
        fold(state, record)
    listed = [seq for group in recap_of(LOGS[name]).decided for seq in group.events]
    (tmp_path / "events.jsonl").write_bytes((GOLDEN / f"{name}.jsonl").read_bytes())
    found = [record.seq for record in RunReader(tmp_path).records(Wanted(without_me=True))]
    assert sorted(listed) == found
    assert sum(load_of(state, 0.0).decided.values()) == len(found)


def test_what_passed_was_decided_waited_and_cost() -> None:
    """A whole run: its end, checks that passed, decisions by actor, waits and usage, each with its events."""
    lines = told("schema1")
    assert lines["run"] == ["run 20270115-080000: ended, not every task succeeded (#105)"]
    assert lines["passed"][0].startswith("passed: web by test -f web.ok")
    assert lines["passed"][0].endswith("(#46)")
    assert lines["ended"] == ["skipped: more (#104)"]
    policy, rule = lines["decided"]
    assert policy.startswith("decided without you by policy: 2× retry, 2× new approach, 2× research")
    assert rule == (
        "decided without you by rule: 1× stuck: retry, 1× question: choose, 1× stuck: skip (web, api, docs) "
        "(#41 #65 #103)"
    )
    assert lines["waited"] == ["waited: api 7s for the service (#21 #50)"]
    assert lines["used"][0].startswith("used: 13 attempts")


def test_what_needs_you_comes_first() -> None:
    """An open question stands in the first line, with its reason and the command that answers it."""
    first, *_ = recap_lines(recap_of(LOGS["schema1-time"]))
    assert first.kind == "needs"
    assert "needs you first: web: its time is up" in first.text
    assert "open since 08:00" in first.text
    assert first.text.endswith("unstuck answer g1-aaaa")


def test_many_tasks_are_counted() -> None:
    """Three tasks are named, and the number of the others is exact."""
    records = list(LOGS["schema1"])
    records += renamed(LOGS["schema1"], "a", records[-1].seq)
    (line,) = [one for one in recap_lines(recap_of(records)) if "by policy" in one.text]
    tasks = {record.task for record in records if record.seq in line.events}
    assert len(tasks) == 8
    assert "(web, api, docs and 5 more)" in line.text


def test_only_what_is_new() -> None:
    """After an event, what came before is left out, but for a question that is still open."""
    lines = told("schema1", after=103)
    assert set(lines) == {"run", "ended", "decided"}
    lines = told("schema1-time", after=17)
    assert "nothing has happened since then" in lines["run"][0]
    assert "needs" in lines


@pytest.mark.parametrize("name", LOGS)
def test_a_dead_run_is_not_called_at_work(name: str) -> None:
    """Without a supervisor, a run that has not ended is interrupted."""
    text = "\n".join(line.text for line in recap_lines(recap_of(LOGS[name]), live=False))
    assert "at work" not in text
