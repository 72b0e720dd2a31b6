"""Lines of a run without a screen: one for each event that matters, clean and short."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from unstuck.contract import Guidance, Receipt, Report, Task
from unstuck.escalation.ladder_state import Climb
from unstuck.eventlog.envelope import Record, decode
from unstuck.eventlog.events import EVENTS, Event, Unknown
from unstuck.text import Clean
from unstuck.words.labels import UNSEEN
from unstuck.words.log_text import log_text
from unstuck.words.narration import event_text, lines_of, summary

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
NASTY = "\x1b]0;evil\x07\x1b[31m[/red]\r\n\u202e" + "long " * 200
# Events that are the record's own business: whatever they say is said by a line before or after them.
SILENT = {
    "agent_crashed", "agent_seeks_guidance", "agent_spawned", "answer_delivered", "answer_sent", "backoff_over",
    "configuration_error", "directive_prepared", "divine_response_received", "proof_started", "result_integrated",
    "session_named", "setup_finished", "silence_noticed", "step_recorded", "task_added", "task_unblocked",
    "trees_cleaned", "usage_counted",
}  # fmt: skip
LEFT = Receipt(ended=((7, 1.0, "exited"), (8, 2.0, "terminated")))
GUIDANCE = Guidance(attempt="web.2", number=2, level="retry", text=Clean("Do it"), workdir=Path())
VALUES: dict[str, Any] = {
    "work": Task(id="web", prompt=Clean("Do it")),
    "guidance": GUIDANCE,
    "report": Report(exit_code=1),
    "climb": Climb(retries=1, pivots=1, research=1),
}
SPECIAL: dict[tuple[str, str], Any] = {
    ("agent_replaced", "reason"): "stuck",
    ("approach_ended", "result"): "failed",
    ("directive_issued", "level"): "retry",
    ("check_finished", "result"): "failed",
    ("baseline_checked", "result"): "failed",
    ("task_baseline_checked", "result"): "passed",
    ("check_proved", "problem"): Clean(""),
    ("check_proved", "note"): Clean(""),
    ("check_proved", "without_work"): "failed",
    ("checkpoint_created", "purpose"): "directive",
    ("recovery_decided", "choice"): "continue",
    ("recovery_proposed", "choice"): "retry",
    ("recovery_proposed", "reason"): Clean("words"),
    ("task_ended", "status"): "skipped",
    ("gate_opened", "type"): "stuck",
    ("gate_answered", "choice"): "show_me",
    ("gate_answered", "effect"): "prepare",
    ("directive_prepared", "level"): "retry",
    ("rung_chosen", "level"): "pivot",
    ("setup_finished", "passed"): True,
    ("result_integrated", "commit"): "none",
    ("timeout_warned", "clock"): "wall",
    ("attempt_budget_reached", "scope"): "task",
    ("attempt_budget_reached", "kind"): "cost",
    ("budget_warned", "kind"): "tokens",
    ("budget_reached", "kind"): "tokens",
    ("liveness_judged", "verdict"): "ACTIVE",
}


def an_event(name: str, text: str = "words") -> Event:
    """The event ``name`` with nothing but what it must have, every text being ``text``."""
    data: dict[str, Any] = {}
    for field, info in EVENTS[name].model_fields.items():
        if (name, field) in SPECIAL:
            data[field] = SPECIAL[name, field]
        elif not info.is_required():
            continue
        elif field in VALUES:
            data[field] = VALUES[field]
        elif info.annotation is int or info.annotation is float:
            data[field] = 1
        elif field in ("insights", "runs", "signals"):
            data[field] = (text,)
        else:
            data[field] = text
    return EVENTS[name](**data)


def lines(event: BaseModel, **changes: Any) -> tuple[str, ...]:
    """Return the lines of ``event`` about the task web."""
    envelope: dict[str, Any] = {
        "seq": 1,
        "time": "2026-11-21T20:14:09.565Z",
        "mono": 1.0,
        "run": "r1",
        "actor": "policy",
        "name": "x",
        "task": "web",
    }
    return lines_of(Record(event=event, **{**envelope, **changes}))  # type: ignore[arg-type]


def said(name: str, /, **changes: Any) -> list[str]:
    """Return the text of an event with these fields, without time and task."""
    event = an_event(name)
    event = type(event)(**{**{field: getattr(event, field) for field in type(event).model_fields}, **changes})
    return [line.removeprefix("20:14:09Z  web  ") for line in lines(event)]


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_event_says_something_or_is_known_to_be_silent(name: str) -> None:
    """No event is forgotten, and none falls over the least it may hold."""
    assert bool(lines(an_event(name))) == (name not in SILENT)


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_no_event_can_draw_on_the_terminal(name: str) -> None:
    """Whatever an agent put into a text: one clean line, not wider than a wide terminal."""
    for line in lines(an_event(name, NASTY), task="t" * 200):
        assert re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", line) is None
        assert len(line) <= 170


def test_an_event_of_a_later_version_is_shown() -> None:
    """A log of tomorrow can be looked at today."""
    assert lines(Unknown(), name="moon_landed") == ("20:14:09Z  web  (moon_landed: an event of a later version)",)


def test_a_checkpoint_says_why_in_words() -> None:
    """The id of a reason is put into words; a person's own words stay."""
    for reason, words in (("loads", "tests ran"), ("pivot", "before a new approach"), ("mine", "mine")):
        (one,) = said("checkpoint_created", id="chk-1", reason=reason, purpose="directive")
        assert one.endswith(f"  checkpoint chk-1 ({words})")


def test_research_is_told_by_its_sources() -> None:
    """Research without a result says so, and counts nothing."""
    (one,) = said("research_done", insights=("code at a.py:1:\nx = 1",))
    assert one.endswith("  → Found 1 finding: code at a.py:1")
    (none,) = said("research_done", insights=())
    assert none.endswith("  → Found nothing")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"hint": "close it", "limit": 3}, "  → Retry 1/3: close it"),
        ({"hint": "close it"}, "  → Retry 1: close it"),
        (
            {"line": 4, "reason": "known answer to x", "hint": "npm install"},
            "  → Retry, known answer to x: npm install",
        ),
        ({"level": "pivot", "approach": "use a table", "limit": 3}, "  → New approach 1/3: use a table"),
        ({"level": "research", "limit": 2}, "  → Research 1/2: Reading the code around the failure"),
        ({"level": "continue"}, "  → New session: the last one ran out of context"),
    ],
)
def test_what_comes_next_is_shown_with_its_number_and_limit(changes: dict[str, Any], line: str) -> None:
    """A person sees how far up the ladder a task is."""
    assert said("directive_issued", **{"line": 10, **changes}) == [line]


def test_why_a_new_approach_comes_early() -> None:
    """A change that grows while the failure stays is said below the approach; where an approach is from is not."""
    pivot = {"line": 10, "level": "pivot", "approach": "use a table", "limit": 3}
    grown = "the change grows (31, 91, 271 lines) and the failure stays"
    taken = "  → New approach 1/3: use a table"
    assert said("directive_issued", **pivot, reason=grown) == [taken, f"    {grown}"]
    assert said("directive_issued", **pivot, reason="from memory") == [taken]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"level": "human", "reason": "nothing is left"}, "→ Asks a person: nothing is left"),
        ({"level": "human", "answers": ("g1",)}, "→ Continues as answered"),
        ({"level": "first", "reason": "you wanted it again"}, "→ The same again: you wanted it again"),
    ],
)
def test_what_a_question_or_an_answer_says_is_said_again_only_in_a_list(changes: dict[str, Any], line: str) -> None:
    """In the log, where each record stands alone, it has words of its own; the lines of a run say it once."""
    event = an_event("directive_issued")
    event = event.model_copy(update={"line": 10, **changes})
    assert lines(event) == ()
    envelope = {"seq": 7, "time": "2026-11-20T20:14:09.123Z", "mono": 1, "run": "r", "actor": "policy", "task": "web"}
    assert event_text(Record(event=event, name="directive_issued", **envelope)) == line  # type: ignore[arg-type]


def test_a_wait_for_a_quota_is_said_in_hours() -> None:
    """Nobody reads 64750.5 s; and whether it then goes on or asks is the user's setting, not for the line to say."""
    wait = {"error_type": "HTTP_ERROR", "retry": 1}
    assert said("transient_error_retry", **wait, delay_seconds=64_750.5, quota=True) == [
        "  … HTTP_ERROR may pass: waits for the quota, 17h 59m (wait 1)"
    ]
    assert said("transient_error_retry", **wait, delay_seconds=4.0) == [
        "  … HTTP_ERROR may pass: again in 4 s (wait 1)"
    ]


def test_each_warning_has_a_line_of_its_own() -> None:
    """Two warnings do not run into one another."""
    assert said("run_started", project="web", warnings=("one", "two")) == ["run r1 in web", "! one", "! two"]


def test_the_stuck_gate_says_all_that_is_needed_to_decide() -> None:
    """The gate shows what was tried, the problem, the analysis, the checkpoint, and the command of the answer."""
    context = {
        "attempts": {"retries": 3, "pivots": 1, "research": 0},
        "approaches": ["use the SDK"],
        "problem": "signature never matches",
        "location": "web.py:3",
        "analysis": "The same failure 5 times in a row. " * 6,
        "checkpoint": "chk-1",
        "touches": ["shop"],
    }
    choices = ("show_me", "skip", "abandon", "retry")
    told = said("gate_opened", gate="g1", choices=choices, context=context, report="reports/web.5.md")
    assert told[:4] == [
        "! I am stuck and need help.",
        "    tried: 3 retries, 1 new approach",
        "      - use the SDK",
        "    problem: signature never matches web.py:3",
    ]
    assert told[4].startswith("    analysis: The same failure")
    assert told[5].startswith("      ")
    assert told[-4:] == [
        "    checkpoint saved: chk-1",
        "    waiting for this task: shop",
        "    details: unstuck show r1",
        "  ? stuck g1: unstuck answer g1 show-me TEXT | skip | abandon | retry [APPROACH]",
    ]


def test_a_question_shows_its_options_by_number() -> None:
    """`choose 2` means the second line."""
    context = {"question": "Which port?", "options": ["80", "8080"]}
    told = said("gate_opened", gate="g1", type="question", choices=("choose", "show_me"), context=context)
    assert told == [
        "! Which port?",
        "    1. 80",
        "    2. 8080",
        "  ? question g1: unstuck answer g1 choose N | show-me TEXT",
    ]


@pytest.mark.parametrize("kind", ["timeout", "loop_detected", "integration", "remediation", "stuck", "question"])
def test_a_gate_of_a_later_version_is_shown(kind: str) -> None:
    """Contexts with nothing in them, or with values of other kinds, are no reason to fall over."""
    for context in ({}, {"attempts": 3, "timeout_seconds": "x", "options": [1], "touches": [1], "analysis": 5}):
        assert "unstuck answer g1" in said("gate_opened", gate="g1", type=kind, context=context)[-1]


@pytest.mark.parametrize(
    ("name", "changes", "line"),
    [
        ("attempt_ended", {"report": Report(exit_code=0), "seconds": 1.26}, "  agent ended (1.3 s)"),
        ("attempt_ended", {"report": Report(exit_code=3), "seconds": 61.0}, "  agent ended (exit code 3, 61 s)"),
        ("attempt_ended", {"report": Report(how="timed_out")}, "  agent ran out of time (0.0 s)"),
        ("attempt_ended", {"report": Report(exit_code=0, receipt=LEFT), "seconds": 1.0},
         "  agent ended (1.0 s); it left 1 process behind: 8 terminated"),
        ("attempt_ended", {"report": Report(how="timed_out", receipt=LEFT)}, "  agent ran out of time (0.0 s)"),
        ("check_finished", {"result": "passed", "command": "pytest -q"}, "  ✓ pytest -q"),
        ("check_finished", {"result": "passed", "command": "make", "tests": (4, 4)}, "  ✓ make (4/4 tests)"),
        ("check_finished", {"result": "failed", "exit_code": 1, "tests": (0, 1)}, "  ✗ exit code 1 (0/1 test)"),
        ("check_finished", {"result": "could_not_run", "problem": "no pytest"}, "  ! no pytest"),
        (
            "check_finished",
            {"diagnosis": {"headline": "boom", "signature": {"location": "a.py:1"}}},
            "  ✗ boom a.py:1",
        ),
        ("run_ended", {"exit_reason": "incomplete", "counts": {"succeeded": 2, "skipped": 1}},
         "ended: incomplete (2 succeeded, 1 skipped)"),
        ("stop_receipt", {"ended": ((1, 1.0, "x"),), "alive": ((2, 1.0),)}, "  stopped 1 process: 1 x; still alive: 2"),
        ("restore_done", {"target": "chk-1", "changed": 1}, "  files restored to chk-1 (1 file changed)"),
        ("checkpoint_created", {"id": "none", "reason": "no space"}, "  ! no checkpoint: no space"),
        ("gate_answered", {"gate": "g1", "choice": "show_me", "text": "so"}, "  g1 answered by a rule: show-me: so"),
    ],
)  # fmt: skip
def test_lines_read_well(name: str, changes: dict[str, Any], line: str) -> None:
    """Numbers, plurals and reasons are as a person would say them."""
    assert said(name, **changes) == [line]


def test_the_phase_of_a_task_in_its_plan() -> None:
    """Once, before the first attempt, and not where the task is the only one; the log's line is that of the attempt."""
    first = Guidance(attempt="web.1", number=1, level="first", text=Clean("Do it"), workdir=Path())
    assert said("attempt_started", guidance=first, phase=(2, 4)) == ["→ Phase 2/4: web", "▶ attempt 1"]
    assert said("attempt_started", guidance=first) == ["▶ attempt 1"]
    assert said("attempt_started", guidance=GUIDANCE, phase=(2, 4)) == ["▶ attempt 2 (retry)"]
    envelope = {"seq": 7, "time": "2026-11-20T20:14:09.123Z", "mono": 1, "run": "r", "actor": "policy", "task": "web"}
    begun = EVENTS["attempt_started"](guidance=first, phase=(2, 4))
    ended = EVENTS["attempt_ended"](report=Report(phase=Clean("GREEN: Implementing"), exit_code=0))
    texts = [event_text(Record(event=event, name="x", **envelope)) for event in (begun, ended)]  # type: ignore[arg-type]
    assert texts == ["▶ attempt 1", "agent ended (0.0 s)"]
    assert [line[16:] for line in lines(ended)] == ["  → Phase: GREEN: Implementing", "  agent ended (0.0 s)"]


def test_silent_checks_stay_silent() -> None:
    """A task without a check has nothing to report but its own end."""
    assert said("check_finished", result="none") == []


def test_the_last_lines_say_what_to_do_now() -> None:
    """The last lines say how it ended, where the results are, which questions wait, and how to go on."""
    assert summary("r1", "succeeded", branch="unstuck/r1/_run") == (
        "run r1: every task succeeded",
        "  the results are on the branch unstuck/r1/_run; take them with: git merge unstuck/r1/_run",
    )
    assert summary("r1", "needs_person", gates=["g1", "g2"]) == (
        "run r1: paused: needs your answer",
        "  read with: unstuck show r1",
        "  answer with: unstuck answer g1 CHOICE",
        "  answer with: unstuck answer g2 CHOICE",
        "  then resume with: unstuck run --resume r1",
    )
    assert summary("r1", "interrupted")[-1] == "  resume with: unstuck run --resume r1"
    assert summary("r1", "budget")[-1] == "  resume with: unstuck run --resume r1 --budget LIMITS"
    assert summary("r1", "incomplete") == ("run r1: ended, not every task succeeded",)
    assert summary("r1", UNSEEN, watch=True) == (
        "run r1: no session was seen",
        "  watch agents with: unstuck hooks install AGENT; run one with: unstuck run -- COMMAND",
    )


def test_every_event_says_something_in_a_log() -> None:
    """The log has a sentence for each event, also for those that the run's own lines leave out."""
    records = [decode(line) for log in GOLDEN.glob("*.jsonl") for line in log.read_bytes().splitlines(keepends=True)]
    assert {record.name for record in records} >= {"agent_spawned", "usage_counted", "task_added", "checkpoint_created"}
    assert [record.name for record in records if not log_text(record)] == []
