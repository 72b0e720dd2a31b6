"""The lines of the task table: every state has a glyph and a word, and clocks run only where they run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from rich.cells import cell_len

from unstuck.contract import Gate, Guidance, OutcomeStatus, Task, Way
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog.state import AttemptRow, CheckRow, Failover, GateRow, RunRow, State, TaskRow, TaskState
from unstuck.text import Clean
from unstuck.words.labels import kind_mark, repeats_of
from unstuck_tui.render.attention import attentions
from unstuck_tui.render.format import Cell
from unstuck_tui.render.tasks.sorting import arranged, next_sorting
from unstuck_tui.render.tasks.table import (
    Columns,
    Needs,
    columns_for,
    header_cells,
    pips_of,
    problem_of,
    problem_width,
    task_cells,
)

LIMITS = {"retry": 3, "pivot": 3, "research": 2}
NOW = 1_000.0
TRACE = 'Traceback (most recent call last):\n  File "shop/cart.py", line 18, in total\nTypeError: unsupported operand'


def row(name: str = "web", **fields: Any) -> TaskRow:
    task = Task(id=name, prompt=Clean("x"), agent="backend-1", agent_type="backend", needs=fields.pop("needs", ()))
    return TaskRow(task=task, **fields)


def state(*rows: TaskRow) -> State:
    return State(run=RunRow(id="r", kind="plan", project="shop"), tasks={row.id: row for row in rows})


def at_work(*, left: float, limit: float) -> State:
    """One task whose attempt has so many seconds left."""
    started = NOW + left - limit
    guidance = Guidance(attempt="web.1", number=1, level="first", text=Clean("x"), workdir=Path("/tree"))
    found = state(row(state="running", attempt="web.1", attempts=1))
    found.attempts["web.1"] = AttemptRow(
        id="web.1", task="web", guidance=guidance, started=started, deadline=NOW + left, state="live"
    )
    return found


def with_gate(found: State, standing: Any = "") -> State:
    task = found.tasks["web"]
    gate = Gate(id="g1", type="timeout", task="web", key="wall", attempt=task.attempt or None, standing=standing)
    found.gates["g1"] = GateRow(gate=gate, opened="2026-01-01T00:00:00.000Z")
    found.tasks["web"] = replace(task, gate="g1")
    return found


def cells(found: State, name: str = "web", width: int = 120) -> tuple[Cell, ...]:
    return task_cells(found, found.tasks[name], columns(found, width), now=NOW, limits=LIMITS)


def columns(found: State, width: int, **needs: int) -> Columns:
    """The columns of a table with these tasks, and names that are long enough."""
    failure = max(problem_width(found, row) for row in found.tasks.values())
    repeats = max(repeats_of(found, row) for row in found.tasks.values())
    return columns_for(width, Needs(**{"task": 17, "agent": 13, "failure": failure, "repeats": repeats, **needs}))


def line(found: State, name: str = "web", width: int = 120) -> str:
    return "".join(cell.text for cell in cells(found, name, width))


@pytest.mark.parametrize("width", [60, 80, 83, 84, 120, 149, 150, 200])
def test_a_line_is_as_wide_as_the_table(width: int) -> None:
    """A line and the heading fill the width exactly, so that columns stand below their names."""
    found = at_work(left=90, limit=900)
    found.tasks["web"] = replace(found.tasks["web"], diagnosis=diagnose(TRACE), climb=Climb(repeats=3))
    assert cell_len(line(found, width=width)) == width
    assert cell_len(header_cells(columns_for(width, Needs()))[0].text) == width
    assert cell_len(header_cells(columns_for(width, Needs(1, 1, 1, 10, 90)))[0].text) == width
    wide = state(row("日本語の課題" * 9))
    assert cell_len(line(wide, "日本語の課題" * 9, width)) == width


def test_short_names_leave_the_room_to_the_failure() -> None:
    """No column is wider than what stands in it; long names leave enough to read what failed and where."""
    short, long = columns_for(120, Needs(8, 9, failure=60)), columns_for(120, Needs(99, 99, failure=60))
    assert short.task == 8
    assert short.agent == 9
    assert short.failure > long.failure >= 24


@pytest.mark.parametrize("width", [84, 96, 100, 110, 120, 150, 200])
@pytest.mark.parametrize("agent", ["backend_developer", "backend_developer-senior"])
def test_no_name_is_cut_while_cells_are_free(width: int, agent: str) -> None:
    """The names of agents are whole if nothing has failed yet."""
    found = state(row("models"))
    found.tasks["models"] = replace(
        found.tasks["models"], task=replace(found.tasks["models"].task, agent=agent), state="running"
    )
    now = columns(found, width, task=6, agent=len(agent), pips=10)
    told = "".join(cell.text for cell in task_cells(found, found.tasks["models"], now, now=NOW, limits=LIMITS))
    assert agent in told


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_several_approaches_are_told(width: int) -> None:
    """The level of a task says how many approaches work now, and how many of them have ended."""
    found = at_work(left=60, limit=100)
    way = Way(approach=Clean("one"), text=Clean("x"))
    attempt = found.attempts["web.1"]
    found.attempts["web.1"] = replace(attempt, guidance=replace(attempt.guidance, level="pivot", ways=(way, way, way)))
    assert "3 at once" in line(found, width=width)
    found.attempts["web.1"] = replace(found.attempts["web.1"], ways=((2, "failed"),))
    assert "2/3 at once" in line(found, width=width)


@pytest.mark.parametrize("width", [60, 80, 84, 120, 200])
def test_another_agent_is_marked(width: int) -> None:
    """A task that another agent has taken over shows it at every width, also without a column for agents."""
    change = Failover(before="claude", agent="codex", reason="outage", why="429", attempts=1)
    other = row(failovers=(change,))
    found = state(replace(other, task=replace(other.task, agent="codex")))
    assert "⇄" in line(found, width=width)
    assert cell_len(line(found, width=width)) <= width
    if width >= 84:
        assert "⇄ codex" in line(found, width=width)
    assert "⇄" not in line(state(row()), width=width)


@pytest.mark.parametrize("count", [2, 7])
def test_repetition_is_counted_to_its_end(count: int) -> None:
    """Nine failures of one kind look different from three, and a loop different from the way to it."""
    found = state(row(state="running", climb=Climb(repeats=count)))
    told = task_cells(found, found.tasks["web"], columns(found, 140), now=NOW, limits={**LIMITS, "loop": 5})
    (cell,) = (cell for cell in told if "×" in cell.text)
    assert cell.text.strip() == f"↻ ×{count}"
    assert cell.tone == ("bad" if count >= 5 else "wait")


def test_there_is_no_column_for_repetition_without_any() -> None:
    """Its cells are for what is wrong as long as nothing repeats itself."""
    names = (header_cells(columns_for(140, Needs(failure=60, repeats=count)))[0].text for count in (0, 1))
    assert ["REPEATS" in text for text in names] == [False, True]


def test_a_task_whose_files_are_saved_waits_for_a_free_place() -> None:
    """While as many tasks work as may, its check does not run: its line says what it waits for, and has no clock."""
    web = row(state="ready", baseline="chk-1")
    found = state(replace(web, task=replace(web.task, verify="pytest -q")), row("other", state="running"))
    found.run = replace(found.run, state="running")
    assert "checking" in line(found)
    found.run = replace(found.run, settings={"max_parallel": 1})
    told = task_cells(found, found.tasks["web"], columns(found, 120), now=NOW, limits=LIMITS, spent=3.0)
    text = "".join(cell.text for cell in told)
    assert "queued" in text
    assert "waits for a free place" in text
    assert "3s" not in text
    found.tasks["other"] = replace(found.tasks["other"], state="ended")
    assert "checking" in line(found)


def test_a_state_that_needs_the_person_stands_below_the_others() -> None:
    """Its filled ground begins a cell before its word, and no other column moves."""
    asks, works = with_gate(state(row(state="running"))), state(row(state="running"))
    assert line(asks).index("needs you") == line(works).index("working")
    assert cell_len(line(asks)) == cell_len(line(works)) == 120


def test_the_name_of_an_error_is_told_once() -> None:
    """Its message begins with it where no place is known."""
    told = {"signature": {"error_type": "TYPE_ERROR"}, "headline": "TypeError: no total"}
    found = state(row(state="running", diagnosis=Diagnosis.from_dict(told)))
    assert problem_of(found, found.tasks["web"], 30) == "TypeError  no total"


def test_no_type_is_added_that_would_cut_a_wide_text() -> None:
    """A sign of two cells counts as two."""
    told = {"signature": {"error_type": "TYPE_ERROR"}, "headline": "長" * 12}
    found = state(row(state="running", diagnosis=Diagnosis.from_dict(told)))
    assert problem_of(found, found.tasks["web"], 40) == f"TypeError  {'長' * 12}"


def test_of_a_place_the_folders_are_left_out_first() -> None:
    """A file and its line stay whole in a narrow column."""
    found = state(row(state="running", diagnosis=diagnose(TRACE.replace("shop/cart.py", f"{'deep/' * 9}cart.py"))))
    web = found.tasks["web"]
    assert [problem_of(found, web, width) for width in (23, 22, 21)] == [
        "TypeError  cart.py:18",
        "TypeError  cart.py:18",
        "TypeError  cart.py:18",
    ]
    assert problem_of(found, web, 20) == "TypeError cart.py:18"
    assert problem_of(found, web, 29).endswith("  deep/cart.py:18")
    assert "…" not in line(found, width=84)


def test_a_loop_is_told_where_its_column_has_no_room() -> None:
    """The number stands before the failure then."""
    found = state(row(state="running", climb=Climb(repeats=9), diagnosis=diagnose(TRACE)))
    assert " ×9 TypeError" in line(found, width=96)


@pytest.mark.parametrize("name", [name for name in get_args(TaskState) if name != "ended"])
def test_every_live_state_has_glyph_and_word(name: TaskState) -> None:
    """No state is told by colour alone."""
    told = line(state(row(state=name)))
    glyph, word = told[0], told[20:31].strip()
    assert glyph != " "
    assert word


def test_no_two_ends_look_the_same() -> None:
    """Each way to end has its own word, and success its own glyph."""
    told = {status: line(state(row(state="ended", status=status))) for status in get_args(OutcomeStatus)}
    assert all(status in told[status] for status in told)
    assert [status for status in told if told[status].startswith("✓")] == ["succeeded"]


def test_the_clock_of_an_attempt() -> None:
    """A running attempt shows what is left of its limit as a bar and as a time."""
    assert "▕━━  ▏     7:30" in line(at_work(left=450, limit=900))
    assert "    7:30" in line(at_work(left=450, limit=900), width=80)


@pytest.mark.parametrize(("left", "tone"), [(450, "work"), (150, "wait"), (60, "bad"), (-3, "bad")])
def test_little_time_looks_different(left: float, tone: str) -> None:
    """The last fifth and the last tenth of the limit have their own tones."""
    assert next(cell for cell in cells(at_work(left=left, limit=900)) if "▕" in cell.text).tone == tone


def test_an_open_question_stops_the_clock() -> None:
    """While a question is open the row says that it needs somebody, and no time runs down."""
    told = line(with_gate(at_work(left=450, limit=900)))
    assert told.startswith("! web")
    assert "needs you" in told
    assert "▕" not in told


@pytest.mark.parametrize(("standing", "said"), [("held", "held"), ("frozen", "suspended"), ("runs_on", "runs on")])
@pytest.mark.parametrize("width", [80, 120])
def test_what_the_agent_does_meanwhile(standing: str, said: str, width: int) -> None:
    """The row of a task with an open question says whether its agent is held, suspended or runs on."""
    assert f" {said} " in line(with_gate(at_work(left=450, limit=900), standing), width=width)


def test_waiting_for_time_is_not_waiting_for_a_person() -> None:
    """A passing trouble shows when it is tried again."""
    told = line(state(row(state="backoff", backoff_until=NOW + 3, attempts=1)))
    assert told.startswith("…")
    assert "retries in 0:03" in told
    outage = state(row(state="backoff", backoff_until=NOW + 300, backoff_outage=600.0, attempts=1))
    assert "outage in 5:00" in line(outage)
    (item,) = attentions(outage, (), ["web"], now=NOW, ages={})
    assert item.text == "waits out an outage (asks you in 15:00 at the latest): a passing trouble"
    assert item.then == "retries in    5:00"


@pytest.mark.parametrize(
    ("level", "climb", "said"),
    [
        ("first", Climb(), "first try"),
        ("retry", Climb(retries=2), "retry 2 of 3"),
        ("pivot", Climb(pivots=1), "new approach 1 of 3"),
        ("research", Climb(research=2), "research 2 of 2"),
        ("human", Climb(), "as you said"),
        ("continue", Climb(), "new session"),
    ],
)
def test_the_rung(level: str, climb: Climb, said: str) -> None:
    """The rung and how often it was used, of how often it may be."""
    assert f" {said} " in line(state(row(state="running", level=level, climb=climb, attempts=2)))


def test_the_tries_are_pips_beside_the_level() -> None:
    """Used tries of retry, new approach and research are filled, in groups; without room for them the level counts."""
    climb = Climb(retries=3, pivots=1)
    found = state(row(state="running", level="pivot", climb=climb, attempts=5))
    shown = columns(found, 120, pips=len(pips_of(climb, LIMITS)))
    told = "".join(cell.text for cell in task_cells(found, found.tasks["web"], shown, now=NOW, limits=LIMITS))
    assert " ●●● ●○○ ○○ new approach " in told
    assert "TRIED      LEVEL " in header_cells(shown)[0].text
    assert "new approach 1 of 3" in line(found)
    many = columns(found, 120, pips=len(pips_of(climb, {"retry": 9, "pivot": 9, "research": 9})))
    assert not many.pips


@pytest.mark.parametrize(("gate", "tone"), [("stuck", "ask"), ("question", "wait")])
def test_the_tries_are_red_when_all_are_used(gate: Any, tone: str) -> None:
    """The last group is amber; once the task has asked, its tries have the colour of what needs a person."""
    climb = Climb(retries=3, pivots=3, research=2)
    found = with_gate(state(row(state="waiting", level="research", climb=climb, attempts=9)))
    found.gates["g1"] = replace(found.gates["g1"], gate=replace(found.gates["g1"].gate, type=gate))
    shown = columns(found, 120, pips=10)
    told = task_cells(found, found.tasks["web"], shown, now=NOW, limits=LIMITS)
    assert [cell.tone for cell in told if cell.text.startswith("●")] == [tone]


@pytest.mark.parametrize(
    ("agent", "kind", "said"),
    [
        ("backend-1", "backend", False),
        ("backend_developer-signals", "backend_developer", False),
        ("", "documentation", False),
        ("claude", "default", False),
        ("claude", "backend", True),
        ("backends", "backend", True),
    ],
)
def test_a_type_that_the_name_says_is_not_said_again(agent: str, kind: str, said: bool) -> None:
    """The column TYPE has only what the column AGENT does not say."""
    found = row()
    found = replace(found, task=replace(found.task, agent=agent, agent_type=kind))
    assert kind_mark(found) == (kind if said else "")


def test_a_level_without_tries_has_no_pips() -> None:
    """A person may set a limit to 0; more tries than the limit, as after an answer, are no more than all."""
    assert pips_of(Climb(retries=5), {"retry": 2, "pivot": 0, "research": 1}) == "●● ○"


def test_what_needs_a_person_is_filled() -> None:
    """It is the strongest thing in the table, and a task that is done the weakest."""
    asked = cells(with_gate(at_work(left=450, limit=900)))
    assert [cell.text for cell in asked if cell.tone == "chip"] == [" needs you "]
    done = cells(state(row(state="ended", status="succeeded")))
    assert {cell.tone for cell in done[1:] if cell.text.strip()} == {"quiet"}


def test_names_that_differ_at_their_end_are_told_apart() -> None:
    """A name too long for its column is cut in its middle."""
    names = [f"refactor-the-payments-gateway-of-the-shop-{number}" for number in (17, 18)]
    told = [line(state(row(name)), name) for name in names]
    assert told[0].startswith("○ refactor…-shop-17 ")
    assert told[1].startswith("○ refactor…-shop-18 ")


@pytest.mark.parametrize(("kind", "asked"), [("stuck", True), ("question", False)])
@pytest.mark.parametrize("level", ["first", "research"])
def test_a_stuck_task_has_asked(kind: str, asked: bool, level: str) -> None:
    """At the top of the ladder stands the stuck question, however short the way; any other leaves the rung as it is."""
    found = with_gate(state(row(state="waiting", level=level, attempts=6)))
    gate = found.gates["g1"]
    found.gates["g1"] = replace(gate, gate=replace(gate.gate, type=kind))
    assert ("asked you" in line(found)) == asked


def test_repetition_is_told() -> None:
    """The same failure in a row counts up to the three that open the gate."""
    assert "↻ ×2" in line(state(row(state="running", climb=Climb(repeats=2))))
    assert "×" not in line(state(row(state="running", climb=Climb(repeats=1))))


def test_the_agents_last_words_stand_before_what_the_check_said() -> None:
    """Of an attempt that ended badly; a message that is the failure itself stands there once."""
    check = CheckRow(result="failed", ending="ended with exit code 1", said="starting\ncannot open the index")
    found = state(row(state="preparing", diagnosis=diagnose("E       assert 1 == 2"), check=check))
    assert "agent: cannot open the index · assert 1 == 2" in line(found, width=200)
    assert "agent: cannot open" in line(found, width=80)
    own = replace(check, said="Invalid API key")
    found = state(row(state="waiting", diagnosis=diagnose("Invalid API key", exit_code=1), check=own))
    assert line(found, width=200).count("Invalid API key") == 1
    assert "agent:" not in line(found, width=200)


def test_the_last_failure_and_its_place() -> None:
    """The failure's type with file and line; of a long place the end is kept."""
    found = state(row(state="running", diagnosis=diagnose(TRACE)))
    assert "TypeError  shop/cart.py:18" in line(found)
    deep = diagnose(TRACE.replace("shop/cart.py", "a/very/deep/directory/of/the/shop/cart.py"))
    assert line(state(row(state="running", diagnosis=deep))).rstrip().endswith("the/shop/cart.py:18")
    assert line(found, width=72).rstrip().endswith("TypeError  cart.py:18")
    assert line(found, width=66).rstrip().endswith("TypeError")


def test_a_blocked_task_names_what_it_needs() -> None:
    """Only what is not done yet is still needed."""
    done = row("models", state="ended", status="succeeded")
    assert "waits for webhook" in line(state(done, row(state="blocked", needs=("models", "webhook"))))


def test_filter_words_and_their_opposite() -> None:
    """All words have to be there, in name, agent, state or failure, sign by sign; with ! what has them is hidden."""
    found = state(row("cart"), row("web", state="running", diagnosis=diagnose(TRACE)), row("search"))
    assert arranged(found, "backend WORK", "plan", now=NOW) == ["web"]
    assert arranged(found, "unsupported", "plan", now=NOW) == ["web"]
    assert "TypeError  shop/cart.py:18" in line(found)
    assert arranged(found, "typeerror shop/cart.py:18", "plan", now=NOW) == ["web"]
    assert arranged(found, ".*([", "plan", now=NOW) == []
    assert arranged(found, "!queued", "plan", now=NOW) == ["web"]
    assert arranged(found, "!", "plan", now=NOW) == ["cart", "web", "search"]


def test_orders() -> None:
    """By name, by what is most urgent, by the least time left; then the plan's order again."""
    found = with_gate(at_work(left=50, limit=900))
    found.tasks = {"zoo": row("zoo", state="running"), **found.tasks, "art": row("art", state="ended", status="failed")}
    assert arranged(found, "", "name", now=NOW) == ["art", "web", "zoo"]
    assert arranged(found, "", "state", now=NOW) == ["web", "zoo", "art"]
    timed = at_work(left=50, limit=900)
    timed.tasks = {"zoo": row("zoo"), **timed.tasks}
    assert arranged(timed, "", "time", now=NOW) == ["web", "zoo"]
    assert [next_sorting("plan"), next_sorting("name")] == ["state", "plan"]


def test_a_question_stands_in_the_place_of_an_older_failure() -> None:
    """A task that asks about something else than its failure says what it asks."""
    found = with_gate(at_work(left=0, limit=900))
    found.tasks["web"] = replace(found.tasks["web"], diagnosis=diagnose(TRACE))
    assert "its time is up" in "".join(cell.text for cell in cells(found))
    stuck = replace(found.gates["g1"].gate, type="stuck")
    found.gates["g1"] = replace(found.gates["g1"], gate=stuck)
    assert "shop/cart.py:18" in "".join(cell.text for cell in cells(found))
