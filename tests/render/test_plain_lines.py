"""Plain lines tell a listener, or a reader of a log, the same as the screen."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from unstuck.contract import Guidance, Report, Task
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.log.records import read_records
from unstuck.text import Clean
from unstuck_tui.render.printed.plain_output import PlainLines, in_words

GOLDEN = Path(__file__).parent.parent / "data" / "golden"


class Told:
    """Records as they come, and the lines they make; ``mono`` seconds after 14:00."""

    def __init__(self) -> None:
        self.plain, self.numbers = PlainLines(), count(1)
        self.tell(0, e.RunStarted(project="shop"))
        for name in ("web", "cart"):
            self.tell(0, e.TaskAdded(work=Task(id=name, prompt=Clean("Do it."))), name)

    def tell(self, mono: float, event: e.Event, task: str = "", attempt: str = "") -> list[str]:
        time = f"2026-11-22T14:{int(mono) // 60:02d}:{int(mono) % 60:02d}.000Z"
        fields: dict[str, Any] = {"task": task, "attempt": attempt, "actor": "policy", "run": "r", "name": event.name}
        record = Record(seq=next(self.numbers), time=time, mono=mono, event=event, **fields)
        return [line[11:] for line in self.plain.lines(record)]

    def begin(self, mono: float, task: str, limit: float = 900) -> list[str]:
        guidance = Guidance(attempt=f"{task}.1", number=1, level="first", text=Clean(""), workdir=Path("/"))
        return self.tell(mono, e.AttemptStarted(guidance=guidance, limit_s=limit), task, f"{task}.1")


@pytest.mark.parametrize(
    ("sign", "words"),
    [
        ("▶ attempt 2 (retry)", "begins attempt 2 (retry)"),
        ("  ✓ pytest -q", "  passed: pytest -q"),
        ("  ✗ assert 0 == 3", "  failed: assert 0 == 3"),
        ("✗ failed: three times", "failed: three times"),
        ("✓ succeeded", "succeeded"),
        ("× abandoned", "abandoned"),
        ("  ? stuck g1: unstuck answer g1 skip", "  question: stuck g1: unstuck answer g1 skip"),
        ("    tried: 3 retries", "    tried: 3 retries"),
        ("→ Phase 2/4: session-hook", "Phase 2/4: session-hook"),
    ],
)
def test_signs_are_words(sign: str, words: str) -> None:
    """A sign of the screen is a word here."""
    assert in_words(sign) == words


def test_no_line_begins_with_a_sign() -> None:
    """In every kept log each line says with letters what it is about."""
    for log in sorted(GOLDEN.glob("*.jsonl")):
        plain = PlainLines()
        for record in read_records(log):
            for line in plain.lines(record):
                said = line[11:].removeprefix(record.task).strip()
                assert not said or said[0] not in "▶✓✗!?→◷…↻~×", line


def test_who_needs_me_is_said_once_and_taken_back() -> None:
    """A question is said with its task, what it is about and its id; then silence, until it needs nobody any more."""
    told = Told()
    told.begin(1, "web")
    asked = told.tell(5, e.GateOpened(gate="g1", type="question", context={"question": "Which port?"}), "web")
    assert "needs you: web: Which port? (g1); waits until you answer" in asked
    assert not any("needs you:" in line for line in told.begin(6, "cart"))
    answered = told.tell(9, e.GateAnswered(gate="g1", choice="skip", effect="skipped"), "web")
    assert "no longer needs you: web (g1)" in answered


def test_what_acts_by_itself_is_said_with_its_time() -> None:
    """When time is up, when it is tried again, and what a timer answers: with the time of day, once."""
    told = Told()
    assert "acts automatically: web has used up its time at 14:10:01Z" in told.begin(1, "web", 600)
    warned = e.LoopWarned(pattern="a", repeats=2, evidence=Clean("again"))
    assert not any("acts by itself" in line for line in told.tell(2, warned, "web"))
    told.tell(3, e.AttemptEnded(report=Report(exit_code=1), seconds=2), "web", "web.1")
    retry = e.TransientErrorRetry(error_type="HTTP_ERROR", retry=1, delay_seconds=60, climb=Climb(transient=1))
    assert "acts automatically: web tries again at 14:01:04Z" in told.tell(4, retry, "web")
    told.tell(5, e.GateOpened(gate="g2", type="timeout"), "cart")
    timer = told.tell(6, e.TimerStarted(gate="g2", seconds=30, choice="extend"), "cart")
    assert any(line.startswith("acts automatically: g2 is answered with") and "14:00:36" in line for line in timer)


def test_how_far_it_is_said_when_something_comes_to_rest() -> None:
    """The counts of the header come when a task needs somebody or has ended, not at every step."""
    told = Told()
    assert not any(line.startswith("now:") for line in told.begin(1, "web"))
    ended = told.tell(2, e.TaskEnded(task_id="web", status="succeeded"), "web")
    assert "now: 1 queued, 1 done" in ended
