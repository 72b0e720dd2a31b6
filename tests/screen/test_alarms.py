"""An unfocused screen notifies once of each thing that needs a person, and once when it is over."""

from __future__ import annotations

from collections.abc import Iterable

from unstuck_tui.notifications.alarms import HUSH_S, SETTLED_S, Alarm, AlarmRegister, Notification

WEB = Alarm("web", "stuck 1", "stuck after 3 retries: no key")
CART = Alarm("cart", "question 2", "Which port?")


class Watch:
    """A pager that is looked at once a second."""

    def __init__(self, *, is_away: bool = True, muted: Iterable[str] = ()) -> None:
        self.pager, self.now = AlarmRegister(), 0.0
        self.is_away, self.muted, self.over = is_away, set(muted), ""
        self.told: list[Notification] = []
        self.see()

    def see(self, *alarms: Alarm, seconds: float = 0.0) -> list[str]:
        """Return the notifications while these alarms are there for so long."""
        until, before = self.now + seconds, len(self.told)
        while True:
            self.told += self.pager.look(
                alarms, self.over, now=self.now, is_away=self.is_away, is_muted=self.muted.__contains__
            )
            if self.now >= until:
                return [page.text for page in self.told[before:]]
            self.now = min(until, self.now + 1.0)


def test_a_question_is_told_once_with_its_task() -> None:
    """However long it stays open, one notification says which task it is and what about."""
    watch = Watch()
    assert watch.see(WEB, seconds=3_600) == ["web needs you: stuck after 3 retries: no key"]
    assert watch.told[0].tasks == ("web",)


def test_the_same_alarm_200_times_in_five_minutes_is_one_and_one_resolved() -> None:
    """An alarm that comes and goes all the time is sent once, and once more when it has really gone."""
    watch = Watch()
    for _ in range(200):
        watch.see(WEB, seconds=0.75)
        watch.see(seconds=0.75)
    watch.see(seconds=3_600)
    assert [page.kind for page in watch.told] == ["needs_you", "resolved"]


def test_what_comes_again_at_once_is_told_again_only_after_a_while() -> None:
    """An alarm that was resolved and is there again is the same news for five minutes."""
    watch = Watch()
    watch.see(WEB, seconds=5)
    assert watch.see(seconds=SETTLED_S + 1) == ["resolved: web"]
    assert watch.see(WEB, seconds=HUSH_S - SETTLED_S - 10) == []
    assert watch.see(WEB, seconds=10) == ["web needs you: stuck after 3 retries: no key"]


def test_a_burst_is_one_notification() -> None:
    """Many at once are told together, by name as far as there is room."""
    watch = Watch()
    burst = [Alarm(f"t{number}", "stuck", "no") for number in range(9)]
    assert watch.see(*burst, seconds=60) == ["9 need you: t0, t1, t2, t3 and 5 more"]
    assert watch.see(seconds=120) == ["resolved: t0, t1, t2, t3 and 5 more"]


def test_one_after_the_other_is_told_every_ten_seconds_at_most() -> None:
    """A row of alarms, one a second, is told in a few notifications."""
    watch = Watch()
    alarms: list[Alarm] = []
    for number in range(30):
        alarms.append(Alarm(f"t{number}", "stuck", "no"))
        watch.see(*alarms, seconds=1)
    watch.see(*alarms, seconds=20)
    assert len(watch.told) <= 5
    assert {task for page in watch.told for task in page.tasks} == {f"t{number}" for number in range(30)}


def test_whoever_looks_at_the_screen_is_not_told() -> None:
    """Nothing goes out while the terminal is focused, nor afterwards about what was seen there."""
    watch = Watch(is_away=False)
    watch.see(WEB, seconds=10)
    watch.is_away = True
    assert watch.see(WEB, seconds=600) == []
    assert watch.see(WEB, CART, seconds=10) == ["cart needs you: Which port?"]


def test_whoever_comes_back_in_time_is_not_told() -> None:
    """An alarm that was not sent when somebody looks is not sent any more."""
    watch = Watch()
    watch.see(WEB, seconds=0.5)
    watch.is_away = False
    assert watch.see(WEB, seconds=5) == []


def test_what_was_over_before_it_went_out_is_not_told() -> None:
    """A question that somebody has answered at once needs nobody."""
    watch = Watch()
    watch.see(WEB, seconds=0.5)
    assert watch.see(seconds=600) == []


def test_what_is_there_already_when_one_begins_to_look_is_no_news() -> None:
    """Opening the screen of a run with open questions tells of nothing."""
    pager = AlarmRegister()
    looked = [
        pager.look([WEB], "", now=float(second), is_away=True, is_muted=lambda task: False) for second in range(100)
    ]
    assert not any(looked)


def test_a_muted_task_is_silent_and_the_others_are_not() -> None:
    """Muting one task leaves the rest as it was."""
    watch = Watch(muted=["web"])
    assert watch.see(WEB, CART, seconds=10) == ["cart needs you: Which port?"]
    assert watch.see(seconds=100) == ["resolved: cart"]


def test_what_was_muted_is_told_when_that_is_over() -> None:
    """A question that came while all was silent, and waits still, is told then; what I have seen myself is not."""
    watch = Watch(muted=["web", "cart"])
    assert watch.see(WEB, seconds=3_600) == []
    watch.is_away = False
    watch.see(WEB, CART)
    watch.is_away = True
    late = Alarm("web", "stuck 2", "no lock")
    assert watch.see(WEB, CART, late, seconds=60) == []
    watch.muted.clear()
    assert watch.see(WEB, CART, late, seconds=600) == ["web needs you: no lock"]


def test_the_end_of_the_run_is_told_once() -> None:
    """That the run has ended or is parked is told with its reason, beside what needs the person."""
    watch = Watch()
    watch.over = "paused: needs your answer"
    assert watch.see(WEB, seconds=600) == [
        "the run is over: paused: needs your answer",
        "web needs you: stuck after 3 retries: no key",
    ]


def test_the_same_task_with_another_failure_is_another_alarm() -> None:
    """Alarms are the same only by task and by what they are about."""
    watch = Watch()
    watch.see(WEB, seconds=5)
    assert watch.see(WEB, Alarm("web", "stuck 2", "other"), seconds=20) == ["web needs you: other"]


def test_what_is_long_over_takes_no_room() -> None:
    """A thousand alarms that have gone leave nothing behind."""
    watch = Watch()
    for number in range(20):
        watch.see(*(Alarm(f"t{number}.{part}", "stuck", "no") for part in range(50)))
        watch.see()
    watch.see(seconds=SETTLED_S + HUSH_S + 5)
    assert not watch.pager._known
