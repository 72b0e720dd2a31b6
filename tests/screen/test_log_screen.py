"""The log screen: every record of a run, and those that somebody looks for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from rich.cells import cell_len
from tests.screen.conftest import Showing, Stage
from textual import events
from textual.widgets import Input

from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record, decode
from unstuck.eventlog.log.record_reader import RunReader, Wanted
from unstuck_tui.keys.actions import key_of
from unstuck_tui.render.log import record_lines
from unstuck_tui.runs.log.lines import LogLines
from unstuck_tui.runs.log.query import Query, QueryProblem, query_of
from unstuck_tui.screens.log import LogList, LogScreen


def found(log: Path, query: Query) -> list[int]:
    """The numbers of the records that are found."""
    lines = LogLines(log)
    lines.grow()
    return [index + 1 for index in lines.matching(query, 0, len(lines))]


def one_by_one(log: Path, query: Query) -> list[int]:
    """The same, by a look at every line."""
    return [place for place, line in enumerate(log.read_bytes().splitlines(keepends=True), 1) if query.finds(line)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("task:webhook", Wanted(tasks=("webhook",))),
        ("task:w*", Wanted(tasks=("w*",))),
        ("type:gate_opened", Wanted(types=frozenset({"gate_opened"}))),
        ("by:you", Wanted(actors=frozenset({"human"}))),
        ("TYPE:check_finished task:cart", Wanted(types=frozenset({"check_finished"}), tasks=("cart",))),
    ],
)
def test_what_is_typed_finds_what_the_command_finds(past_log: Path, text: str, wanted: Wanted) -> None:
    """The screen and `unstuck events` agree about what is looked for, however few lines are looked at for it."""
    expected = [record.seq for record in RunReader(past_log.parent).records(wanted)]
    assert expected
    assert found(past_log, query_of(text)) == one_by_one(past_log, query_of(text)) == expected


def test_words_are_looked_for_in_any_case(past_log: Path) -> None:
    """Words of what happened find its records, all of them together; what nobody said finds nothing."""
    hits = found(past_log, query_of("WEBHOOK unsupported"))
    assert hits == one_by_one(past_log, query_of("WEBHOOK unsupported")) == []
    hits = found(past_log, query_of("UNSUPPORTED operand"))
    assert hits == one_by_one(past_log, query_of("UNSUPPORTED operand")) != []
    assert len(found(past_log, query_of(""))) == past_log.read_bytes().count(b"\n")


def test_decided_without_me(past_log: Path) -> None:
    """Only what was decided by a rule, a timer or the ladder is left."""
    expected = [record.seq for record in RunReader(past_log.parent).records(Wanted(without_me=True))]
    assert found(past_log, query_of("").without_me()) == expected != []


def test_words_beyond_ascii_and_of_json(tmp_path: Path, past_log: Path) -> None:
    """A name is found as it is read, whatever JSON makes of it."""
    line = past_log.read_bytes().splitlines(keepends=True)[3]
    row = json.loads(line) | {"task": 'größe "a\\b"'}
    log = tmp_path / "events.jsonl"
    log.write_bytes(json.dumps(row, separators=(",", ":")).encode() + b"\n")
    assert found(log, query_of("Größe")) == [1]
    assert found(log, query_of('"a\\b"')) == [1]
    assert found(log, query_of("gross")) == []


@pytest.mark.parametrize("text", ["type:nothing_like_it", "by:nobody"])
def test_what_there_is_not_is_said(text: str) -> None:
    """An event or somebody that there is not is not looked for: the words say why."""
    with pytest.raises(QueryProblem, match=r"nothing_like_it|there is no actor"):
        query_of(text)


def test_all_that_stands_in_a_record_is_there() -> None:
    """Wide signs take more lines, not less text; blanks of any kind keep the JSON in its place, two columns in."""
    said = "漢字" * 40 + "\u00a0! end"
    event = e.RunStarted(project=said)
    time = "2027-01-15T08:00:00+00:00"
    record = Record(seq=1, time=time, mono=0.0, run="r", actor="policy", event=event, name=event.name)
    lines = ["".join(cell.text for cell in line) for line in record_lines(record, 60)]
    assert all(line.startswith("  ") and cell_len(line) <= 60 for line in lines)
    assert said.replace("\u00a0", " ") in "".join(line[2:] for line in lines)


def test_lines_come_and_go(tmp_path: Path, past_log: Path) -> None:
    """Lines written meanwhile are found, half a line is waited for, and lines that a repair cuts off are forgotten."""
    raw = past_log.read_bytes().splitlines(keepends=True)
    log = tmp_path / "events.jsonl"
    log.write_bytes(b"".join(raw[:3]) + raw[3][:20])
    lines = LogLines(log)
    lines.grow()
    assert len(lines) == 3
    log.write_bytes(b"".join(raw[:5]))
    lines.grow()
    assert len(lines) == 5
    assert lines.record(4) == decode(raw[4])
    log.write_bytes(b"".join(raw[:2]))
    lines.grow()
    assert len(lines) == 2
    assert lines.record(1) == decode(raw[1])


async def opened(stage: Stage) -> LogScreen:
    """The log, from the main screen."""
    await stage.pilot.press("l")
    await settled(stage)
    screen = stage.app.screen
    assert isinstance(screen, LogScreen)
    return screen


async def settled(stage: Stage) -> None:
    """All that is recorded has been read and looked through; of several searches only the last one comes to its end."""
    await stage.story.core.journal.committed()
    if isinstance(stage.app.screen, LogScreen):
        stage.app.screen.tick()
    while True:
        await stage.pilot.pause()
        working = [worker.wait() for worker in stage.app.workers if worker.node is stage.app.screen]
        if not working:
            return
        await asyncio.gather(*working, return_exceptions=True)


async def test_it_follows_a_live_run_until_somebody_looks_back(showing: Showing) -> None:
    """The newest record is in view as it comes; whoever moves up stays where they are until they follow again."""
    async with showing(story=True, pops=False) as stage:
        screen = await opened(stage)
        log = screen.query_one(LogList)
        assert "follows" in stage.text
        assert log.record.seq == log.line_total() == stage.story.core.head.seq
        stage.story.task("later")
        await settled(stage)
        assert log.record.task == "later"
        await stage.pilot.press("k")
        stage.story.task("latest")
        await settled(stage)
        assert "paused" in stage.text
        assert log.record.task != "latest"
        await stage.pilot.press("f")
        await settled(stage)
        assert log.record.task == "latest"
        await stage.pilot.press("escape")
        assert not isinstance(stage.app.screen, LogScreen)


async def test_whoever_reads_the_log_hears_of_a_question(showing: Showing) -> None:
    """Nothing comes up over the log; that a task asks is said there, with the key that answers it."""
    async with showing(story=True, pops=False) as stage:
        screen = await opened(stage)
        stage.story.asks("docs", "question", question="Which port?")
        await stage.story.core.journal.committed()
        stage.main.frame()
        await stage.pilot.pause()
        assert stage.app.screen is screen
        (said,) = [notice.message for notice in stage.app._notifications]
        assert said == "docs needs you: Which port? (a on the main screen)"


async def test_one_finds_a_record_and_reads_all_of_it(showing: Showing) -> None:
    """Words narrow the list as they are typed, enter shows the whole record, and esc leads back step by step."""
    async with showing(story=True, pops=False) as stage:
        screen = await opened(stage)
        total = screen.query_one(LogList).line_total()
        await stage.pilot.press("slash", *"type:gate_op")
        await settled(stage)
        assert f"1 of {total} events" in stage.text
        await stage.pilot.press("enter", "enter")
        await settled(stage)
        assert '"type": "stuck"' in stage.text
        await stage.pilot.press("escape", "escape")
        await settled(stage)
        assert screen.query_one(LogList).line_total() == total
        await stage.pilot.press("slash", *"by:x")
        await settled(stage)
        assert "there is no actor x" in stage.text
        screen.query_one("#words", Input).value = ""
        await stage.pilot.press("enter", "d")
        await settled(stage)
        assert "decided without you" in stage.text
        assert 0 < screen.query_one(LogList).line_total() < total
        await stage.pilot.press("d", "t")
        await settled(stage)
        assert "only webhook" in stage.text
        await stage.pilot.press("escape", "escape")
        assert not isinstance(stage.app.screen, LogScreen)


async def test_a_log_that_goes_away_is_said_and_comes_back(showing: Showing) -> None:
    """Its run is deleted while I look for words: the title says so, and what there is again is looked through."""
    async with showing(story=True, pops=False) as stage:
        await opened(stage)
        log = stage.story.core.journal.path
        log.rename(log.with_suffix(".away"))
        await stage.pilot.press("slash", *"web")
        await settled(stage)
        assert "the log cannot be read: No such file or directory" in stage.text
        log.with_suffix(".away").rename(log)
        await settled(stage)
        assert "cannot be read" not in stage.text
        assert "task_added" in stage.text


async def test_hostile_text_in_a_record_stays_text(showing: Showing) -> None:
    """An agent's words move no cursor and are no markup, neither in the list nor in the whole record."""
    async with showing() as stage:
        stage.story.task("[bold]x[/bold]\x1b[2J")
        screen = await opened(stage)
        await stage.pilot.press("enter")
        await settled(stage)
        assert "[bold]x[/bold]" in stage.text
        assert "\x1b" not in stage.text
        assert all(row[:2] == "  " for row in screen_rows(stage, screen))


def screen_rows(stage: Stage, screen: LogScreen) -> list[str]:
    """The lines of the record's page."""
    region = screen.query_one("#record").content_region
    return [row[region.x : region.right] for row in stage.rows()[region.y : region.bottom]]


async def test_keys_that_come_with_the_one_that_opens_the_log_wait_for_it(showing: Showing) -> None:
    """A fast typist, or a slow machine: what is not there yet is waited for, and the key counts."""
    async with showing() as stage:
        for key in (key_of("view.log"), key_of("logs.follow")):
            await stage.app.on_event(events.Key(key, key))
        await settled(stage)
        screen = stage.app.screen
        assert isinstance(screen, LogScreen)
        assert not screen.query_one(LogList).follows
