"""The selected task's story: its attempts by rung with evidence and durations, as the records tell it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from unstuck.contract import Guidance, Report, Task
from unstuck.diagnosis.pipeline import diagnose
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.state import State
from unstuck.text import Clean, admit
from unstuck.words.labels import held_word
from unstuck_tui.render.tasks.detail import output_lines, timeline_lines
from unstuck_tui.runs.history import KEPT, History

TRACE = 'Traceback (most recent call last):\n  File "shop/cart.py", line 18, in total\nTypeError: unsupported operand'


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


class Told:
    """A history that is fed record by record, a minute apart."""

    def __init__(self) -> None:
        self.history, self.state, self.count = History(), State(), 0
        self.say(e.TaskAdded(work=Task(id="web", prompt=admit("x"))))
        self.count = 0

    def say(self, event: e.Event, task: str = "web", attempt: str = "", actor: Any = "policy") -> None:
        self.count += 1
        record = Record(
            seq=self.count,
            time=f"2026-11-21T{14 + self.count // 60:02}:{self.count % 60:02}:00.000Z",
            mono=60.0 * self.count,
            run="r",
            actor=actor,
            event=event,
            name=event.name,
            task=task,
            attempt=attempt,
        )
        fold(self.state, record)
        self.history.see(record)

    def start(self, number: int, level: Any = "first", approach: str = "", task: str = "web") -> None:
        guidance = Guidance(
            attempt=f"{task}.{number}",
            number=number,
            level=level,
            text=Clean("x"),
            workdir=Path("/tree"),
            approach=Clean(approach) if approach else None,
        )
        self.say(e.AttemptStarted(guidance=guidance), task, guidance.attempt)

    def fail(self, number: int, seconds: float = 62.0, task: str = "web", output: str = TRACE) -> None:
        found = diagnose(output, exit_code=1)
        assert found is not None
        self.say(e.AttemptEnded(report=Report(exit_code=0), seconds=seconds), task, f"{task}.{number}")
        self.say(e.CheckFinished(result="failed", diagnosis=found.as_dict()), task, f"{task}.{number}")

    def direct(self, level: Any, limit: int, **counts: int) -> None:
        self.say(e.DirectiveIssued(level=level, line=10, climb=Climb(**counts), limit=limit))

    def lines(self, width: int = 80, now: float = 0.0, task: str = "web") -> list[str]:
        held = held_word(self.state, self.state.tasks[task])
        told = timeline_lines(self.history.of(task), self.state.attempts, now=now, width=width, held=held)
        return ["".join(cell.text for cell in line) for line in told]


def test_attempts_by_rung() -> None:
    """Each attempt is a line: when it began, its rung, what came of it, its approach and how long it took."""
    told = Told()
    told.start(1)
    told.fail(1, 130)
    told.direct("retry", 3, retries=1)
    told.start(2, "retry", approach="raw body")
    told.fail(2)
    told.direct("pivot", 2, pivots=1)
    told.start(3, "pivot", approach="use the SDK")
    first, second, third = told.lines()
    assert first.split() == ["14:01:00", "first", "try", "✗", "TypeError:", "unsupported", "operand", "2m", "10s"]
    half_of_100_cells = 48
    assert told.lines(half_of_100_cells)[0].startswith(" 14:01:00 ")
    assert "retry 1 of 3" in second
    assert "✗ same · raw body" in second
    assert second.rstrip().endswith("1m 02s")
    assert "new approach 1 of 2" in third
    assert "▶ use the SDK" in third


def test_a_missing_checkpoint_is_in_the_timeline() -> None:
    """The person sees that there is nothing to go back to; a checkpoint that was made takes no line."""
    told = Told()
    told.start(1)
    told.say(e.CheckpointCreated(id="chk-1", reason="baseline", purpose="baseline"))
    told.say(e.CheckpointCreated(id="none", reason="not possible: no space left", purpose="baseline"))
    _, line = told.lines()
    assert "no checkpoint" in line
    assert "! not possible: no space left" in line


def test_a_live_attempt_counts_up() -> None:
    """The duration of a live attempt counts up while it lasts, and stops after it."""
    told = Told()
    told.start(1)
    assert told.lines(now=60.0 + 75)[0].rstrip().endswith("1m 15s")
    told.fail(1, 80)
    assert told.lines(now=9_999.0)[0].rstrip().endswith("1m 20s")


@pytest.mark.parametrize(("standing", "word"), [("frozen", "suspended"), ("held", "held")])
def test_an_agent_that_waits_is_said_to_wait_as_it_does(standing: Any, word: str) -> None:
    """Suspended where it was stopped, held where it waits at its next tool call; the table says the same."""
    told = Told()
    told.start(1)
    told.say(e.GateOpened(gate="g1", type="timeout", attempt_id="web.1", standing=standing), "web", "web.1")
    assert f"‖ {word}" in told.lines(now=150.0)[0]


def test_a_suspended_attempt_does_not_count_on() -> None:
    """From the question on its time stands still, goes on with the answer, and is left out of what it took."""
    told = Told()
    told.start(1)  # at 1:00
    told.say(e.GateOpened(gate="g1", type="timeout", attempt_id="web.1"), "web", "web.1")  # at 2:00
    for now in (150.0, 9_999.0):
        assert told.lines(now=now)[0].rstrip().endswith("1m 00s")
    told.say(e.GateAnswered(gate="g1", choice="continue", effect="go_on"), "web", "web.1", actor="human")  # at 3:00
    assert told.lines(now=210.0)[0].rstrip().endswith("1m 30s")
    told.fail(1, 180)
    assert told.lines(now=9_999.0)[0].rstrip().endswith("2m 00s")


def test_question_and_answer_are_part_of_it() -> None:
    """The question, who answered it and with which words stand between the attempts they separate."""
    told = Told()
    told.start(1)
    told.fail(1)
    told.say(e.GateOpened(gate="g1", type="stuck"))
    told.say(
        e.GateAnswered(gate="g1", choice="show_me", text=Clean("endpoint secret"), effect="prepare"), actor="human"
    )
    told.start(2, "human")
    lines = told.lines()
    assert "asked       ! stuck" in lines[1]
    assert "› you: show me: endpoint secret" in lines[2]
    assert "as you said" in lines[3]


def test_what_happens_beside_the_ladder() -> None:
    """Waits, research, restores, loops, a time that is up and a flaky check each have their line."""
    told = Told()
    told.say(e.TransientErrorRetry(error_type="HTTP_ERROR", retry=2, delay_seconds=4, climb=Climb()))
    told.say(e.ResearchDone(insights=(Clean("a"), Clean("b"))))
    told.say(e.RestoreDone(target="chk-1", changed=4))
    told.say(e.LoopWarned(pattern="p", repeats=3, evidence=Clean("ls again")))
    assert "has been told" not in "\n".join(told.lines())
    told.say(e.LoopTold(pattern="p"))
    told.say(e.AgentTimeout(agent_id="a", task_id="web", elapsed_ms=900_000))
    told.say(e.CheckFlaked(command="make test"))
    told.say(e.TaskEnded(task_id="web", status="skipped", reason="later"))
    text = "\n".join(told.lines())
    for said in (
        "HTTP_ERROR, wait 2",
        "found 2 findings",
        "4 files (chk-1)",
        "3 times: ls again",
        "the agent has been told",
        "15m 00s",
        "flaky",
        " - skipped: later",
    ):
        assert said in text


def test_the_same_failure_in_several_tasks_is_counted_together() -> None:
    """The count of a failure, its tasks, and its first and last time are shown."""
    told = Told()
    for task in ("web", "cart"):
        told.start(1, task=task)
        told.fail(1, task=task)
    (seen,) = told.history.failures.values()
    assert seen.count == 2
    assert seen.tasks == {"web", "cart"}
    assert seen.first < seen.last


def test_what_was_before_comes_first() -> None:
    """A screen that is opened later reads the earlier part and puts it in front."""
    before, after = Told(), Told()
    before.start(1)
    before.fail(1, 30)
    after.count = before.count
    after.start(2)
    after.fail(2, 40)
    after.history.join(before.history)
    assert ["14:01" in after.lines()[0], "14:04" in after.lines()[1]] == [True, True]
    assert after.history.spent("web") == 70
    assert [seen.count for seen in after.history.failures.values()] == [2]


def test_a_long_life_stays_bounded() -> None:
    """Of a task that never ends only the last part is kept."""
    told = Told()
    for number in range(1, 500):
        told.start(number)
    assert len(told.lines()) == KEPT


@pytest.mark.parametrize("width", [40, 60, 119])
def test_lines_never_run_over(width: int) -> None:
    """Evidence of any length is cut at the edge, and so is output."""
    told = Told()
    told.start(1, approach="日本語 " * 200)
    assert all(cell_len(line) <= width for line in told.lines(width))
    shown = output_lines("a\tb" + "x" * 500 + "\n\x1b[2Jdone", width=width, note="end of attempt 1")
    assert all(sum(cell_len(cell.text) for cell in line) <= width for line in shown)
    assert "\x1b" not in "".join(cell.text for line in shown for cell in line)


def test_steps_told_to_the_supervisor_are_left_out_of_the_output() -> None:
    """Signals to the supervisor are left out of the output that people read."""
    lines = output_lines('Reading\nUNSTUCK {"step": "action", "text": "x"}\nUNSTUCK {"signal": "complete"}', width=60)
    assert [line[0].text.strip() for line in lines] == ["Reading", 'UNSTUCK {"signal": "complete"}']


def test_what_an_agent_printed_keeps_its_blanks_and_its_place() -> None:
    """Tabs and blanks of any kind stay as wide as they are; the first two columns are never an agent's."""
    printed = [line[0].text.rstrip() for line in output_lines("done\n\u3000\t! web needs you", width=60)]
    assert printed == ["  done", "          ! web needs you"]
