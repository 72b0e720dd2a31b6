"""Questions to people by day, and decisions made without them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from unstuck.contract import Actor, Guidance, Task
from unstuck.eventlog import events as e
from unstuck.eventlog.attention_stats import load_by_day, load_of, seconds_of
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.state import State, copied, dump, load
from unstuck.text import Clean

START = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)


class Story:
    """A run told minute by minute."""

    def __init__(self) -> None:
        self.state = State()
        self._numbers = count(1)
        self.tell(0, e.RunStarted(project="p"))

    def tell(
        self, minute: float, event: e.Event, *, task: str = "", actor: Actor = "policy", attempt: str = ""
    ) -> None:
        moment = START + timedelta(minutes=minute)
        fold(
            self.state,
            Record(
                seq=next(self._numbers), time=moment.isoformat().replace("+00:00", "Z"), mono=minute * 60, run="r",
                actor=actor, event=event, name=event.name, task=task, attempt=attempt,
            ),
        )  # fmt: skip

    def begin(self, minute: float, *tasks: str) -> None:
        for name in tasks:
            self.tell(minute, e.TaskAdded(work=Task(id=name, prompt=Clean("Do it."))), task=name)
            guidance = Guidance(attempt=f"{name}.1", number=1, level="first", text=Clean(""), workdir=Path("/"))
            self.tell(minute, e.AttemptStarted(guidance=guidance), task=name, attempt=f"{name}.1")

    def ask(self, minute: float, gate: str, task: str = "a", **fields: Any) -> None:
        self.tell(minute, e.GateOpened(gate=gate, type=fields.pop("type", "stuck"), **fields), task=task)

    def answer(self, minute: float, gate: str, *, actor: Actor = "human", rule: int | None = None) -> None:
        answered = e.GateAnswered(gate=gate, choice="continue", effect="go_on", rule=rule)
        self.tell(minute, answered, task=self.state.gates[gate].gate.task, actor=actor)

    def until(self, minute: float) -> float:
        return (START + timedelta(minutes=minute)).timestamp()


@pytest.fixture
def story() -> Story:
    return Story()


def test_a_question_counts_with_the_time_to_its_answer(story: Story) -> None:
    """Two questions, answered after two and after four minutes: three on average, six waited."""
    story.begin(0, "a", "b")
    story.ask(10, "g1")
    story.answer(12, "g1")
    story.ask(20, "g2", "b")
    story.answer(24, "g2")
    found = load_of(story.state, story.until(60))
    assert found.asked == 2
    assert found.answered == 2
    assert found.to_answer == 180.0
    assert found.waited_seconds == 360.0
    assert load_of(story.state, story.until(60), task="b").waited_seconds == 240.0


def test_an_open_question_waits_on_until_now(story: Story) -> None:
    """An unanswered question counts up to the moment of looking, also when no supervisor is left."""
    story.begin(0, "a")
    story.ask(10, "g1")
    story.tell(11, e.RunParked(gates=("g1",)))
    found = load_of(story.state, story.until(70))
    assert found.asked == 1
    assert found.answered == 0
    assert found.to_answer is None
    assert found.waited_seconds == 3600.0


def test_after_the_end_of_a_run_nothing_waits(story: Story) -> None:
    """A run that was ended with a question open waits for nobody any more."""
    story.begin(0, "a")
    story.ask(10, "g1")
    story.tell(15, e.RunEnded(exit_reason="interrupted", exit_code=130))
    assert load_of(story.state, story.until(600)).waited_seconds == 300.0


def test_two_questions_at_once_hold_a_task_only_once(story: Story) -> None:
    """Overlapping questions about one task are one wait; about two tasks they are two."""
    story.begin(0, "a", "b")
    story.ask(0, "g1", type="timeout")
    story.ask(2, "g2", type="loop_detected")
    story.ask(2, "g3", "b")
    for gate, minute in (("g1", 4), ("g2", 6), ("g3", 6)):
        story.answer(minute, gate)
    assert load_of(story.state, story.until(60)).waited_seconds == (6 + 4) * 60


def test_an_agent_that_runs_on_waits_for_nobody(story: Story) -> None:
    """A question beside which the agent works on costs no agent's minutes."""
    story.begin(0, "a")
    story.ask(1, "g1", standing="runs_on")
    story.answer(9, "g1")
    found = load_of(story.state, story.until(60))
    assert found.answered == 1
    assert found.waited_seconds == 0.0


def test_a_question_about_the_whole_run_holds_every_agent_at_work(story: Story) -> None:
    """While the budget is asked about, both agents stand still."""
    story.begin(0, "a", "b")
    story.ask(1, "g1", "", type="budget", key="tokens")
    story.answer(3, "g1")
    assert load_of(story.state, story.until(60)).waited_seconds == 2 * 120


def test_what_is_decided_without_a_person_is_told_by_whom(story: Story) -> None:
    """A rule asks nobody, a timer did ask; a policy that recovers or halts decides too, a person's own does not."""
    story.begin(0, "a")
    story.ask(1, "g1")
    story.answer(1, "g1", actor="policy", rule=0)
    story.ask(2, "g2", type="timeout")
    story.answer(3, "g2", actor="timer")
    story.tell(4, e.AttemptInterrupted(reason="killed"), task="a", attempt="a.1")
    story.tell(5, e.RecoveryDecided(choice="continue"), task="a")
    story.tell(6, e.RecoveryDecided(choice="continue"), task="a", actor="human")
    found = load_of(story.state, story.until(60))
    assert found.as_dict()["decided"] == {"rule": 1, "timer": 1, "policy": 1}
    assert found.asked == 1
    assert found.answered == 0
    assert found.waited_seconds == 60.0


def test_a_day_ends_at_midnight_where_the_person_is(story: Story) -> None:
    """A question from 23:00 to 01:00 makes an hour of waiting on each of two days, and its answer is the second's."""
    story.begin(0, "a")
    story.ask(60, "g1")
    story.answer(180, "g1")
    there = load_by_day(story.state, story.until(600), UTC)
    assert {day: (one.asked, one.answered, one.waited_seconds) for day, one in there.items()} == {
        "2026-11-21": (1, 0, 3600.0),
        "2026-11-22": (0, 1, 3600.0),
    }
    (day,) = load_by_day(story.state, story.until(600), timezone(timedelta(hours=9)))
    assert day == "2026-11-22"


@pytest.mark.parametrize("time", ["", "yesterday", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
def test_a_time_that_makes_no_sense_counts_for_nothing(story: Story, time: str) -> None:
    """A log may hold any text for a time: it is left out, and the rest is counted."""
    assert seconds_of(time) is None
    story.begin(0, "a")
    odd = e.GateOpened(gate="g1", type="stuck")
    fold(story.state, Record(seq=9, time=time, mono=1, run="r", actor="policy", event=odd, name=odd.name, task="a"))
    assert load_of(story.state, story.until(9)).asked == 0


def test_the_load_is_the_same_from_a_snapshot(story: Story) -> None:
    """A snapshot gives the same load and the same failures as the records."""
    story.begin(0, "a")
    story.ask(1, "g1", context={"signature": "s"})
    story.tell(3, e.RecoveryDecided(choice="continue"), task="a")
    again = load(dump(story.state))
    assert again is not None
    assert again == story.state == copied(story.state)
    assert load_of(again, story.until(9)) == load_of(story.state, story.until(9))


def test_notifications_count_for_the_run_and_their_tasks(story: Story) -> None:
    """Two notifications are two pages of the run, and one of the task that only the first was about."""
    story.begin(0, "a", "b")
    for minute, tasks in ((10, ("a", "b")), (20, ("b",))):
        sent = e.NotificationSent(kind="needs_you", way="bell", tasks=tasks, text=Clean("2 need you"))
        story.tell(minute, sent)
    assert load_of(story.state, story.until(60)).pages == 2
    assert load_of(story.state, story.until(60), task="a").pages == 1
    assert copied(story.state).pages == story.state.pages
