"""Lines of commands that show and delete runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from unstuck.contract import CheckResult, Guidance, Task
from unstuck.contract import Receipt as Ended
from unstuck.diagnosis.pipeline import diagnose
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.state import CheckRow, State, TaskBaseline, TaskRow
from unstuck.runs.deletion.execute import Destroyed
from unstuck.runs.deletion.inventory import Inventory, Item, Stays
from unstuck.text import Clean
from unstuck.words.log_text import event_line
from unstuck_tui.render.printed.columns import columns
from unstuck_tui.render.printed.deletion import inventory_lines, receipt_lines
from unstuck_tui.render.printed.summaries import FAILURES_HEAD, failure_cells, load_words, row_lines
from unstuck_tui.render.tasks.detail import failure_lines

LOAD: dict[str, Any] = {
    "asked": 2,
    "answered": 2,
    "answer_seconds": 160.0,
    "to_answer": 80.0,
    "waited_seconds": 3_725.0,
    "pages": 0,
    "decided": {"rule": 1, "timer": 0, "policy": 2},
}
NOTHING = LOAD | {"asked": 0, "to_answer": None, "waited_seconds": 0.0, "decided": {}}
ATTEMPT: dict[str, Any] = {
    "kind": "attempt", "attempt": "web.2", "rung": "retry", "turn": 1, "time": "2026-11-21T14:24:00.000Z",
    "seconds": 62.0, "state": "ended", "how": "ended", "approach": "raw body", "check": "failed",
    "headline": "assert 401 == 200", "checkpoint": "chk-20261121-142410",
}  # fmt: skip
QUESTION: dict[str, Any] = {
    "kind": "question", "id": "g1-aaaa", "type": "stuck", "time": "2026-11-21T14:31:00.000Z", "seconds": 80.0,
    "status": "delivered", "choice": "show-me", "text": "endpoint secret", "by": "human", "via": "",
    "checkpoint": "",
}  # fmt: skip


def test_a_timeline_of_a_task() -> None:
    """Attempts with rung, failure, approach, duration and checkpoint; questions with their answer and its time."""
    row = {
        "task": "web", "state": "ended", "status": "succeeded", "level": "human", "attempts": 3, "headline": "",
        "location": "", "tokens": 1200, "cost": None, "rungs": {"first": {"tokens": 1200, "cost": None}},
        "timeline": [
            ATTEMPT | {"attempt": "web.1", "rung": "first", "turn": 0, "approach": "", "checkpoint": ""},
            ATTEMPT,
            QUESTION,
            QUESTION | {"id": "g2-aaaa", "choice": "", "seconds": None, "status": "open"},
            ATTEMPT | {"rung": "human", "turn": 0, "check": "passed", "headline": "", "approach": ""},
            ATTEMPT | {"rung": "human", "turn": 0, "check": "", "headline": "", "state": "live", "seconds": None},
            ATTEMPT | {"check": "", "how": "timed_out", "headline": ""},
        ],
    }  # fmt: skip
    assert row_lines(row) == [
        "  web                  succeeded   asked you    3 attempts",
        "    used: 1200 tokens (first try 1200 tokens)",
        "    14:24:00Z  first try      ✗ assert 401 == 200  (1m 02s)",
        "    14:24:00Z  retry 1        ✗ assert 401 == 200 · raw body  (1m 02s)  chk-20261121-142410",
        "    14:31:00Z  asked          ! stuck g1-aaaa: show-me endpoint secret, by a person  (1m 20s)",
        "    14:31:00Z  asked          ! stuck g2-aaaa: waits for an answer",
        "    14:24:00Z  asked you      ✓  (1m 02s)  chk-20261121-142410",
        "    14:24:00Z  asked you      ▶ raw body  chk-20261121-142410",
        "    14:24:00Z  retry 1        ▷ timed out · raw body  (1m 02s)  chk-20261121-142410",
    ]
    long = row | {"timeline": [ATTEMPT] * 100}
    assert len(row_lines(long)) == 43
    assert row_lines(long)[2] == "    … 60 earlier (--json has all of it)"


def test_what_was_asked_of_people() -> None:
    """Only what there was is said."""
    assert load_words(LOAD) == (
        "2 questions, answered in 1m 20s on average; agents waited 1h 02m for a person; "
        "decided without a person: 1 by rule, 2 by policy"
    )
    assert load_words(LOAD | {"asked": 1, "to_answer": None, "decided": {}, "waited_seconds": 0, "pages": 1}) == (
        "1 question, none answered; 1 notification"
    )
    assert load_words(NOTHING) == ""


def test_a_run_of_several_days_says_each() -> None:
    """The run's own line, and one for each day on which anything was asked."""
    row = {"run": "r", "exit_reason": "", "state": "parked", "started": "2026-11-21T14:20:00.000Z", "tokens": 0}
    row |= {"cost": 1.5, "seconds": 3.0, "budget": {"time": 60.0}, "load": LOAD}  # type: ignore[dict-item]
    row["days"] = {"2026-11-21": LOAD, "2026-11-22": NOTHING, "2026-11-23": LOAD}  # type: ignore[assignment]
    lines = row_lines(row)
    assert lines[:2] == [
        "run r  paused  started 2026-11-21 14:20:00Z",
        "  used: cost 1.5, 3 s of work; budget: 1m 00s",
    ]
    assert [line.strip()[:10] for line in lines[2:]] == ["people: 2 ", "2026-11-21", "2026-11-23"]


def test_failures_stand_in_columns() -> None:
    """Whatever a failure says, it is one line of cells, and what stands in it cannot act on the terminal."""
    row = {
        "signature": "0217c15cabcdef12-00000000", "count": 9, "last": "2026-11-22T07:25:12.000Z",
        "error_type": "ASSERTION_ERROR", "location": "tests/test_webhook.py:9", "tasks": ["web", "api"],
        "rung": "asked", "worked": "", "headline": "assert\x1b[2J 401 == 200\nand more",
    }  # fmt: skip
    cells = failure_cells(row, 1_795_332_312 + 7200)
    assert dict(zip(FAILURES_HEAD, cells, strict=True)) == {
        "FAILURE": "0217c15c", "TIMES": "9", "LAST": "2 h ago", "TYPE": "ASSERTION_ERROR",
        "WHERE": "tests/test_webhook.py:9", "TASKS": "2", "LEVEL": "asked you", "SOLVED BY": "-",
        "WHAT": "assert 401 == 200 and more",
    }  # fmt: skip
    assert failure_cells(row | {"last": "\x1b[2Jsoon"}, 0)[2] == ""
    head, line = columns(FAILURES_HEAD, [cells])
    assert head.index("SOLVED BY") == line.index("-  ")


def test_every_event_is_one_line() -> None:
    """Also one that a run's own lines leave out, and one of several lines."""

    def told(event: e.Event, task: str = "web") -> str:
        when, name = "2026-11-22T07:25:12.000Z", event.name
        return event_line(Record(seq=7, time=when, mono=1, run="r", actor="policy", event=event, name=name, task=task))

    assert (
        told(e.TaskUnblocked(task_id="web"))
        == "     7  07:25:12Z  policy  web               task_unblocked          every task that it needs has succeeded"
    )
    assert told(e.GateOpened(gate="g1", type="stuck")).endswith("gate_opened             ! I am stuck and need help.")
    assert told(e.RunParked(gates=("g1",)), "").split()[3:5] == ["-", "run_parked"]


def test_what_would_go() -> None:
    """Kind by kind with counts and sizes, then what exists nowhere else, what stays, and what is in the way."""
    items = (
        Item(kind="logs", name="20261122-072445", size=355_000),
        Item(kind="worktrees", name="/state/web", size=2_048, holds="untracked files: half.txt"),
        Item(kind="gates", name="g1-aaaa (stuck)"),
        *(Item(kind="branches", name=f"unstuck/r/t{number}") for number in range(14)),
    )
    stays = (Stays(name="chk-1", reason="run b may go back to it"),)
    found = Inventory(name="r", run="r", items=items, stays=stays, blocked=("process 7 sh works in /state/web",))
    assert list(inventory_lines(found)) == [
        "run r would be deleted:",
        "       1  open question",
        "          g1-aaaa (stuck)",
        "       1  worktree (2.0 KiB)",
        "          /state/web  2.0 KiB",
        "      14  branches and references",
        *(f"          unstuck/r/t{number}" for number in range(12)),
        "          and 2 more",
        "       1  event log with its output, prompts and reports (347 KiB)",
        "          20261122-072445  347 KiB",
        "! exists nowhere else and would be lost:",
        "!         /state/web: untracked files: half.txt",
        "what stays:",
        "          chk-1: run b may go back to it",
        "obstacles:",
        "          process 7 sh works in /state/web",
    ]
    assert list(inventory_lines(Inventory(name="shop"))) == ["nothing of unstuck is left in shop"]


def test_what_went() -> None:
    """The receipt of every process, and either that nothing is left or what is."""
    receipt = Ended(ended=((7, 1.0, "terminated"), (8, 2.0, "killed")))
    done = Destroyed(inventory=Inventory(name="shop"), receipt=receipt, left=())
    assert list(receipt_lines(done)) == [
        "  process 7 terminated",
        "  process 8 killed",
        "everything of unstuck in shop is deleted: a search found nothing of it",
    ]
    left = Destroyed(inventory=Inventory(name="shop"), receipt=Ended(), left=("the reference x",))
    assert list(receipt_lines(left)) == ["! still there: the reference x"]


def test_the_screen_says_how_often_a_task_has_asked() -> None:
    """Beside the failure of the selected task stands what it has cost its person."""
    state = State()
    guidance = Guidance(attempt="web.1", number=1, level="first", text=Clean(""), workdir=Path("/"))
    answer = e.GateAnswered(gate="g1", choice="continue", effect="go_on")
    events: list[tuple[str, e.Event]] = [
        ("14:00", e.TaskAdded(work=Task(id="web", prompt=Clean("Do it.")))),
        ("14:00", e.AttemptStarted(guidance=guidance)),
        ("14:01", e.GateOpened(gate="g1", type="timeout")),
        ("14:03", answer),
        ("14:05", e.GateOpened(gate="g2", type="timeout")),
    ]
    for number, (time, event) in enumerate(events, 1):
        actor: Any = "human" if event is answer else "policy"
        when = f"2026-11-22T{time}:00.000Z"
        fold(
            state, Record(seq=number, time=when, mono=1, run="r", actor=actor, event=event, name=event.name, task="web")
        )
        lines = [
            "".join(cell.text for cell in line) for line in failure_lines(state, state.tasks["web"], None, width=60)
        ]
        assert any(line.startswith(" asked ") for line in lines) == (number > 3)
    assert " asked      2 times, answered in 2m 00s" in [line.rstrip() for line in lines]


def test_the_screen_shows_how_the_agent_ended() -> None:
    """Beside the failure of the check stands the agent's own end and its last line; after success nothing of it."""
    check = CheckRow(result="failed", ending="was killed by signal 9: out of memory?", said="building\nlinking [all]")
    task = Task(id="web", prompt=Clean("Do it."))
    row = TaskRow(task=task, check=check, diagnosis=diagnose("E       assert 1 == 2"))
    lines = ["".join(cell.text for cell in line).strip() for line in failure_lines(State(), row, None, width=100)]
    assert "agent      was killed by signal 9: out of memory? · linking [all]" in lines
    done = replace(row, status="succeeded")
    lines = ["".join(cell.text for cell in line) for line in failure_lines(State(), done, None, width=100)]
    assert not any("killed" in line for line in lines)


def test_a_checkpoint_is_passing_only_after_its_check_passed() -> None:
    """The detail calls the files before any work the start, unless their check passed."""

    def named(**fields: Any) -> str:
        row = TaskRow(task=Task(id="web", prompt=Clean("Build it.")), baseline="chk-1", **fields)
        lines = ["".join(cell.text for cell in line).split() for line in failure_lines(State(), row, None, width=100)]
        return next(words[0] for words in lines if words[-1].startswith("chk-"))

    def before(result: CheckResult) -> TaskBaseline:
        return TaskBaseline(command="make test", result=result)

    assert named(good="chk-1") == "start"
    assert named(good="chk-1", baseline_check=before("failed")) == "start"
    assert named(good="chk-1", baseline_check=before("passed")) == "passing"
    assert named(good="chk-2", baseline_check=before("failed")) == "passing"
