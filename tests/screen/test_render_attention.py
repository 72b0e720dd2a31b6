"""The header's line and the attention list: what needs a person, what will act by itself, and when."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

from unstuck.contract import Gate, Task
from unstuck.eventlog.state import GateRow, RunRow, State, TaskRow
from unstuck.text import Clean
from unstuck.words.labels import counted_group
from unstuck_tui.notifications.notifier import MuteList
from unstuck_tui.render.attention import attention_cells, attentions, empty_text, guide_lines
from unstuck_tui.render.header import header_line

COUNTS = {"needs you": 1, "working": 5, "waiting": 1, "blocked": 2, "done": 4, "failed": 1, "ready": 0}


def header(width: int, muted: str = "", **run: Any) -> str:
    row = RunRow(id="20261121-214500", project="shop", state="running", started="x")
    for name, value in run.items():
        object.__setattr__(row, name, value)
    return "".join(cell.text for cell in header_line(row, COUNTS, elapsed=761, width=width, muted=muted))


def gate(kind: Any = "stuck", task: str = "web", **context: Any) -> State:
    found = State()
    found.gates["g1"] = GateRow(gate=Gate(id="g1", type=kind, task=task, key="", context=context), opened="x")
    return found


def told(found: State, age: float = 130.0) -> str:
    (item,) = attentions(found, found.open_gates(), (), now=0.0, ages={"g1": age})
    return "".join(cell.text for cell in attention_cells(item, 120))


def test_the_cure_of_an_agent_follows_its_trouble() -> None:
    """Two lines of a question read as one sentence; those of a command stay as they are."""
    context = {"question": "codex is not signed in\nRun `codex login`.", "error_type": "agent_login"}
    assert "codex is not signed in: Run `codex login`." in told(gate("question", **context))
    assert "cat a cat b" in told(gate("permission", question="cat a\ncat b"))


def test_the_header_counts_by_state_and_word() -> None:
    """Project, run, time gone by, and every count with its glyph and word; none that is zero."""
    assert header(140).startswith(" unstuck  shop · run 20261121-214500 · 12:41")
    assert (
        header(140).rstrip().endswith("! 1 needs you   ▶ 5 working   … 1 waiting   ◌ 2 blocked   ✓ 4 done   ✗ 1 failed")
    )
    assert counted_group("needs you", 2) == "2 need you"


@pytest.mark.parametrize("width", range(40, 160, 7))
@pytest.mark.parametrize("cost", [0.0, 1234.5])
def test_the_header_fits(width: int, cost: float) -> None:
    """However narrow, it takes one line, and what needs the person is in it."""
    assert cell_len(header(width, cost=cost)) <= width
    assert "! 1" in header(width, cost=cost)
    assert "12:41" in header(width, cost=cost)


@pytest.mark.parametrize("width", range(60, 160, 7))
def test_what_is_muted_leaves_room_for_what_needs_the_person(width: int) -> None:
    """However long the name of a muted task, the counts and the time stay in the line; so does how a run ended."""
    muted = MuteList(lambda: 0.0)
    muted.cycle(["a-very-long-name-of-a-task.with_dots_" * 2, "b"])
    said = header(width, muted=muted.summary)
    assert cell_len(said) <= width
    assert ("! 1 needs you" if width > 60 else "! 1 ") in said
    assert "12:41  muted: a-" in said
    assert "muted: a-very-long-name-of… +1 60m" in muted.summary or width < 80
    assert "12:41  ended" in header(width, state="ended", exit_reason="incomplete")
    assert "! 1" in header(width, state="ended", exit_reason="incomplete")


@pytest.mark.parametrize(
    ("used", "said"),
    [
        ({"cost": 1.418, "tokens": 5}, "$1.42"),
        ({"cost": 0.0004}, "<$0.01"),
        ({"tokens": 999}, "999 tokens"),
        ({"tokens": 12_345}, "12.3k tokens"),
        ({"tokens": 2_500_000}, "2.5M tokens"),
    ],
)
def test_the_header_says_what_it_cost(used: dict[str, Any], said: str) -> None:
    """Dollars where an agent tells them, else tokens; where none tells anything, nothing is made up."""
    assert header(140, **used).rstrip().endswith(f"✗ 1 failed   {said}")
    assert "$" not in header(140)
    assert "tokens" not in header(140)


def test_the_header_says_how_it_ended() -> None:
    """A run that is over says so in words."""
    assert "every task succeeded" in header(160, state="ended", exit_reason="succeeded", exit_code=0)
    assert "paused: needs your answer" in header(160, state="parked", exit_reason="needs_person", exit_code=3)
    assert "stopping" in header(160, state="draining")


def test_what_is_blocked_is_said_before_the_problem() -> None:
    """The blocked tasks matter more than the failure, and are not the first to be cut."""
    found = gate(problem="expected 200 but got 401 " * 9, attempts={"retries": 3})
    for name in ("refunds", "invoices"):
        found.tasks[name] = TaskRow(task=Task(id=name, prompt=Clean("x"), needs=("web",)))
    assert "stuck after 3 retries · blocks refunds, invoices · expected 200" in told(found)


def test_a_question_that_blocks_others_begins_with_that() -> None:
    """A question without a failure begins with the tasks that it blocks, without a mark."""
    found = gate("question", question="You held it before it started.")
    found.tasks["later"] = TaskRow(task=Task(id="later", prompt=Clean("x"), needs=("web",)))
    assert told(found).split(maxsplit=2)[2].startswith("blocks later · You held it before it started.")


def test_a_stuck_task_says_what_was_tried() -> None:
    """One line says what is wrong, after how many tries, and since when it waits for a person."""
    said = told(gate(problem="expected 200", attempts={"retries": 3, "pivots": 1, "research": 0}))
    assert said.startswith(" ! web ")
    assert "stuck after 4 tries: expected 200" in said
    assert said.rstrip().endswith("waits for you  2m 10s")


@pytest.mark.parametrize(
    ("kind", "context", "said"),
    [
        ("timeout", {"elapsed_seconds": 900.0}, "its time is up after 15m 00s"),
        ("loop_detected", {"error_signature": "KeyError: currency"}, "repeats itself: KeyError: currency"),
        ("question", {"question": "Which\ncurrency?"}, "Which currency?"),
        ("integration", {"problem": "both change cart.py"}, "both change cart.py"),
        ("recovery", {}, "recovery"),
    ],
)
def test_every_kind_of_question(kind: str, context: dict[str, Any], said: str) -> None:
    """Each kind of question is told in a line of its own words."""
    assert said in told(gate(kind, **context))


def test_a_question_about_the_run() -> None:
    """A question that concerns no single task is the run's."""
    assert told(gate("remediation", task="", problem="pytest: not found", attempts=3)).startswith(" ! all tasks ")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_line_of_attention_is_as_wide_as_the_screen(width: int) -> None:
    """Also a question of a hundred kilobytes takes one line, and when it acts stays readable."""
    found = gate("question", question="why " * 25_000)
    (item,) = attentions(found, found.open_gates(), (), now=0.0, ages={"g1": 5.0})
    said = "".join(cell.text for cell in attention_cells(item, width))
    assert cell_len(said) == width
    assert said.rstrip().endswith("waits for you      5s")


def test_a_full_disk_comes_before_every_question() -> None:
    """It is in no record yet, so the screen says it itself: what stands still, and why; nothing can be answered."""
    found = gate()
    first, second = attentions(
        found, found.open_gates(), (), now=0.0, ages={"g1": 5.0}, held="events.jsonl: No space left on device"
    )
    said = "".join(cell.text for cell in attention_cells(first, 120))
    assert "no space on the disk: events.jsonl: No space left on device" in said
    assert "agents are suspended" in said
    assert first.gate == ""
    assert second.gate == "g1"


def watching(hooks: dict[str, bool]) -> list[str]:
    return list(guide_lines(State(run=RunRow(id="r", kind="watch", state="running")), hooks))


def test_a_watch_says_what_to_start() -> None:
    """Without a session it names the agents that can be watched, and what to type for one that cannot."""
    first, second = watching({"claude": True, "codex": False, "gemini": True})
    assert first == " Watching this project: start claude or gemini here in another terminal."
    assert second == " Hooks: claude ✓   codex ✗   gemini ✓   unstuck hooks install codex adds one"
    assert empty_text("watch") == "  no sessions yet: each becomes a task. Other agents: unstuck run -- COMMAND"
    assert cell_len(empty_text("watch")) <= 78
    assert "no agent has our hooks: type unstuck hooks install claude" in watching({"claude": False})[0]
    assert watching({}) == [" Watching this project."]


def test_a_newcomer_reads_every_line_of_the_guide_in_eighty_cells() -> None:
    """It says how a question is opened and left, and explains the signs; it goes with the first question."""
    asked, signs, tries = guide_lines(State(run=RunRow(id="r", kind="run", state="running")), {})
    assert "a opens a question, esc puts it aside" in asked
    assert "! needs you" in signs
    assert "●●○" in tries
    assert all(cell_len(line) <= 80 for line in (asked, signs, tries))
