"""Words of the dialogs, and the choice of dialog, without a screen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from textual.screen import Screen

from unstuck import Answer, AnswerRefused, Gate, Task, admit
from unstuck.eventlog.state import GateRow, State, TaskRow
from unstuck.runs.answers.question import AnswerOption, Question, question_of, to_answer
from unstuck.supervision.gates.gate_types import CHOICES, SURVIVOR_CHOICES
from unstuck_tui.control.question_controller import TYPING_S, PopUpChoice, next_to_answer
from unstuck_tui.dialogs.confirm import ConfirmDialog
from unstuck_tui.dialogs.question_dialog import QuestionDialog
from unstuck_tui.dialogs.quit import QuitDialog
from unstuck_tui.dialogs.takeover import TakeoverDialog
from unstuck_tui.dialogs.what_if import WhatIfDialog
from unstuck_tui.keys.actions import ACTIONS, actions_of
from unstuck_tui.screens.reading import HelpScreen, RecapScreen
from unstuck_tui.screens.recovery import RecoveryScreen

HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\u202e[/nope][@click=app.quit]x[/]\u200b\x00\r\n" + "y" * 10_000


def gate(kind: Any, task: str = "web", attempt: str | None = None, **context: Any) -> GateRow:
    asked = Gate(id=f"g-{task}", type=kind, task=task, key="k", context=context, choices=CHOICES[kind], attempt=attempt)
    return GateRow(gate=asked, opened="2026-11-21T20:14:09.565Z")


def state_of(*rows: TaskRow) -> State:
    return State(tasks={row.id: row for row in rows})


def task(name: str, *needs: str, **row: Any) -> TaskRow:
    return TaskRow(task=Task(id=name, prompt=admit("x"), needs=needs), **row)


def option(question: Question, name: str) -> AnswerOption:
    return next(option for option in question.options if option.name == name)


# Which question comes up


def test_a_new_question_comes_up_once() -> None:
    """The first time it is seen, and never again by itself."""
    asking = PopUpChoice()
    row = gate("stuck")
    assert asking.to_pop([row], now=10.0, busy=False, last_key=None) == row.id
    assert asking.to_pop([row], now=11.0, busy=False, last_key=None) == ""


@pytest.mark.parametrize(
    ("busy", "last_key", "pops"),
    [
        (True, None, False),
        (False, 10.0, False),
        (False, 10.0 - TYPING_S + 0.01, False),
        (False, 10.0 - TYPING_S, True),
        (False, None, True),
    ],
)
def test_nobody_is_interrupted(busy: bool, last_key: float | None, pops: bool) -> None:
    """A dialog or a text field, or a key in the last two seconds: it waits, and comes up as soon as I am free."""
    asking = PopUpChoice()
    row = gate("stuck")
    assert bool(asking.to_pop([row], now=10.0, busy=busy, last_key=last_key)) == pops
    assert bool(asking.to_pop([row], now=99.0, busy=False, last_key=None)) != pops
    assert asking.to_pop([row], now=100.0, busy=False, last_key=None) == ""


def test_a_question_that_was_opened_comes_up_no_more() -> None:
    """I have opened it myself and put it off: it stays in the list."""
    asking = PopUpChoice()
    asking.seen("g-one")
    assert asking.to_pop([gate("stuck", "one")], now=10.0, busy=False, last_key=None) == ""


def test_two_at_once() -> None:
    """One comes up, and when it is dealt with the other."""
    asking = PopUpChoice()
    rows = [gate("stuck", "one"), gate("stuck", "two")]
    assert asking.to_pop(rows, now=10.0, busy=False, last_key=None) == "g-one"
    assert asking.to_pop(rows, now=11.0, busy=True, last_key=None) == ""
    assert asking.to_pop(rows, now=12.0, busy=False, last_key=None) == "g-two"
    assert asking.to_pop(rows, now=13.0, busy=False, last_key=None) == ""


@pytest.mark.parametrize("kind", sorted(set(CHOICES) - {"stuck"}))
def test_only_a_stuck_task_interrupts(kind: str) -> None:
    """A time-out, a loop, a question and all the others wait in the list, whatever is done at the keys."""
    assert PopUpChoice().to_pop([gate(kind)], now=10.0, busy=False, last_key=None) == ""
    assert PopUpChoice().to_pop([gate(kind), gate("stuck", "two")], now=10.0, busy=False, last_key=None) == "g-two"


def test_which_one_is_answered_next() -> None:
    """That of the selected task, else the one that has waited longest; first those whose answer is not on its way."""
    rows = [gate("stuck", "one"), gate("stuck", "two")]
    assert next_to_answer(rows) == "g-one"
    assert next_to_answer(rows, "two") == "g-two"
    assert next_to_answer(rows, "elsewhere") == "g-one"
    assert next_to_answer([]) == ""
    assert next_to_answer(rows, "one", sending={"g-one"}) == "g-two"
    assert next_to_answer(rows, sending={"g-one"}) == "g-two"
    assert next_to_answer(rows, "two", sending={"g-one", "g-two"}) == "g-two"


# What can be chosen


@pytest.mark.parametrize("kind", sorted(CHOICES))
def test_every_answer_has_a_key(kind: str) -> None:
    """Every choice that a gate takes can be made in its dialog, each by a key of its own."""
    question = question_of(state_of(task("web")), gate(kind, options=["a", "b"]))
    assert {option.choice for option in question.options} == set(CHOICES[kind])
    keys = [option.key for option in question.options]
    assert all(keys)
    assert len(set(keys)) == len(keys)


_SAME = {
    "tell": "show_me", "continue__once": "continue", "leave": "continue", "first": "restart", "deny": "no",
    "stay": "no", "yes": "allow", "allow__task": "this task", "continue__task": "this task",
}  # fmt: skip
"""Choices with another name for the same in their own question."""
_OWN = {
    ("timeout", "stop"): "restart", ("recovery", "stop"): "restart",
    ("remediation", "retry"): "check", ("integration", "retry"): "check", ("room", "retry"): "check",
    ("remediation", "skip"): "continue",
}  # fmt: skip
"""Choices whose name means something else in this question."""


def test_one_key_has_one_meaning_in_all_dialogs() -> None:
    """The digits keep the order of the question of a stuck task; every other choice has a letter."""
    meanings: dict[str, set[str]] = {}
    for action in ACTIONS:
        if action.does.startswith("choose("):
            name = action.id.partition(".")[2]
            meaning = _OWN.get((action.area, name), _SAME.get(name, name))
            for key in action.keys.split(","):
                meanings.setdefault(key, set()).add(meaning)
    assert {key: found for key, found in meanings.items() if len(found) > 1} == {}
    digits = {key: found for key, found in meanings.items() if key.isdigit()}
    assert digits == {"1": {"show_me"}, "2": {"skip"}, "3": {"abandon"}, "4": {"retry"}}


def test_no_choice_takes_a_key_that_every_dialog_has() -> None:
    """Nor one of an offered option (1 to 9) or of an earlier answer (0 and 9), where those may be asked for."""
    choices = {
        (action.area, key) for action in ACTIONS if action.does.startswith("choose(") for key in action.keys.split(",")
    }
    shared = {key for action in actions_of("dialog", "choices") for key in action.keys.split(",")}
    assert shared & {key for _, key in choices} == set()
    assert {key for area, key in choices if area == "question" and key.isdigit()} == set()
    assert {"0", "9"} & {key for _, key in choices} == set()


@pytest.mark.parametrize(
    "screen",
    [QuestionDialog, QuitDialog, TakeoverDialog, ConfirmDialog, WhatIfDialog, HelpScreen, RecapScreen, RecoveryScreen],
)
def test_q_does_what_escape_does(screen: type[Screen[Any]]) -> None:
    """In all that lies over a screen."""
    keys = screen._merge_bindings().key_to_bindings
    assert [binding.action for binding in keys["q"]] == [binding.action for binding in keys["escape"]]


@pytest.mark.parametrize("kind", ["integration", "disk", "remediation", "recovery"])
def test_try_again_takes_no_text_where_nobody_would_read_it(kind: str) -> None:
    """Only an agent reads an approach; a merge does not."""
    question = question_of(state_of(task("web")), gate(kind))
    assert to_answer(question.gate, option(question, "retry"), "") == Answer(choice="retry")


def test_an_agent_that_is_still_at_work_is_a_question_of_its_own() -> None:
    """Only what can be done about it is offered, and the question names the processes."""
    row = gate("recovery", problem="a process of this attempt is still running", processes=["12 (since 3.00)"])
    survivors = question_of(
        state_of(task("web")), GateRow(gate=replace(row.gate, choices=SURVIVOR_CHOICES), opened=row.opened)
    )
    assert {shown.name for shown in survivors.options} == set(SURVIVOR_CHOICES)
    assert survivors.title == "web has outlived its supervisor"
    assert ("Processes", "12 (since 3.00)") in survivors.facts


def test_what_cannot_be_says_why() -> None:
    """A choice that does nothing at its gate, a loop without a pattern, a choice that this gate does not have."""
    row = gate("recovery", refused={"done": "its check fails now"})
    without = GateRow(gate=replace(row.gate, choices=("continue", "retry")), opened=row.opened)
    recovery = question_of(state_of(task("web")), without)
    assert option(recovery, "done").refused == "not possible: its check fails now"
    with pytest.raises(AnswerRefused, match="its check fails now"):
        to_answer(recovery.gate, option(recovery, "done"), "")
    loop = question_of(state_of(task("web")), gate("loop_detected"))
    assert "no pattern is known" in option(loop, "continue__pattern").refused
    assert option(loop, "continue__task").refused == ""
    known = question_of(state_of(task("web")), gate("loop_detected", error_signature="KeyError"))
    assert option(known, "continue__pattern").refused == ""
    row = gate("stuck")
    fewer = GateRow(gate=Gate(id="g", type="stuck", task="web", key="k", choices=("skip",)), opened=row.opened)
    assert "does not take it" in option(question_of(state_of(task("web")), fewer), "abandon").refused


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("block", "refunds, invoices stay blocked"),
        ("run", "refunds, invoices go on without it"),
        ("skip", "refunds, invoices are skipped too"),
    ],
)
def test_what_falls_with_a_task(rule: str, said: str) -> None:
    """Those that need it, directly and through others, and what the plan says becomes of them."""
    state = state_of(task("web", after_skip=rule), task("refunds", "web"), task("invoices", "refunds"), task("other"))
    question = question_of(state, gate("stuck", checkpoint="chk-1"))
    assert option(question, "skip").touches == f"You are asked again when you resume; {said}."
    assert said in option(question, "abandon").touches
    assert ("Saved", "chk-1") in question.facts


def test_a_restore_that_takes_much_says_so() -> None:
    """A large restore is asked about with its size and files; any other question is not."""
    context = {"problem": "30 of 40 files would be overwritten", "checkpoint": "chk-1", "paths": ["a", "b"]}
    question = question_of(state_of(task("web")), gate("permission", **context))
    assert question.title == "web asks to restore its files"
    assert question.problem == context["problem"]
    assert ("Files", "a, b") in question.facts
    assert question_of(state_of(task("web")), gate("permission")).title == "web wants to do something"


def test_why_an_agent_may_not_is_asked() -> None:
    """A permission question shows the agent's own reason; a no takes a reason, which the agent is told."""
    context = {"problem": "make deploy", "context": "it wants the network", "saved": "chk-1"}
    row = gate("permission", attempt="web.1", **context)
    question = question_of(state_of(task("web")), row)
    assert question.title == "web wants to do something"
    assert question.problem == "make deploy"
    assert {("Context", "it wants the network"), ("Saved", "chk-1")} <= set(question.facts)
    assert option(question, "allow").takes == ""
    assert option(question, "deny").takes == "reason"
    answer = to_answer(row.gate, option(question, "deny"), "not on a Friday")
    assert answer == Answer(choice="deny", text=admit("not on a Friday"))
    assert to_answer(row.gate, option(question, "deny"), "") == Answer(choice="deny")
    restore = question_of(state_of(task("web")), gate("permission", checkpoint="chk-1"))
    assert option(restore, "deny").takes == ""


def test_many_that_wait_are_counted() -> None:
    """Four are named, the others are a number; a circle does not hang it."""
    state = state_of(task("web", "n8"), *(task(f"n{number}", "web") for number in range(9)))
    assert "n0, n1, n2, n3 and 6 more stay blocked" in option(question_of(state, gate("stuck")), "skip").touches


def test_nothing_is_saved_without_a_checkpoint() -> None:
    """It says so, and promises nothing about files."""
    question = question_of(state_of(task("web")), gate("stuck", checkpoint=""))
    assert ("Saved", "nothing: no checkpoint could be made") in question.facts
    assert "keeps" not in option(question, "retry").touches


@pytest.mark.parametrize("kind", sorted(CHOICES))
@pytest.mark.parametrize("value", [None, 7, HOSTILE, [HOSTILE, None, 3], {"retries": HOSTILE, HOSTILE: 2}])
def test_any_context_can_be_shown(kind: str, value: Any) -> None:
    """Whatever stands in a gate's context, of this version or another, what is shown is plain, short text."""
    names = (
        "task_id agent_id problem location attempts analysis insights approaches checkpoint touches question signature "
        "elapsed_seconds timeout_seconds started_at detected_at window_size error_signature options paths tree branch "
        "check"
    )
    question = question_of(state_of(task("web")), gate(kind, **dict.fromkeys(names.split(), value)))
    said = [question.title, question.problem, question.where, *(text for fact in question.facts for text in fact)]
    for choice in question.options:
        said += [choice.label, choice.touches, choice.refused, choice.key]
    for text in said:
        assert len(text) <= 2_500
        assert all(character == "\n" or character.isprintable() for character in text)
        assert "\u202e" not in text


def test_what_a_person_writes_is_admitted() -> None:
    """A text that was pasted with escapes reaches the agent without them."""
    question = question_of(state_of(task("web")), gate("stuck"))
    answer = to_answer(question.gate, option(question, "show_me"), "\x1b[31mred\x1b[0m\nline two  ")
    assert answer == Answer(choice="show_me", text=admit("red\nline two"))


def test_an_answer_is_never_cut() -> None:
    """An answer that is longer than an agent can be told is refused with both lengths, not shortened silently."""
    stuck = question_of(state_of(task("web")), gate("stuck"))
    with pytest.raises(AnswerRefused, match="at most 20,000 characters; this one has 20,001"):
        to_answer(stuck.gate, option(stuck, "show_me"), "x" * 20_001)
    assert len(to_answer(stuck.gate, option(stuck, "show_me"), "x" * 20_000).text) == 20_000


def test_what_happens_while_it_is_left_open() -> None:
    """About a task, its agent takes no step; a question about the whole run speaks of no agent."""
    assert "the agent waits" in question_of(state_of(task("web")), gate("stuck")).leaving
    for kind in ("remediation", "budget"):
        assert "agent" not in question_of(state_of(), gate(kind, task="", attempts=0)).leaving


# What was answered before


LEARNT = {
    "choice": "retry",
    "text": "use the raw body",
    "when": "2026-11-20T09:00:00Z",
    "outcome": "worked",
    "task": "a",
}


def test_an_answer_that_worked_comes_first() -> None:
    """It stands above the usual choices, with its words, and makes the same answer again."""
    row = gate("stuck", learnt=LEARNT, signature="s")
    question = question_of(state_of(task("web")), row)
    assert [option.name for option in question.options[:3]] == ["as_before", "always", "show_me"]
    assert ("Before", "you answered this on 2026-11-20 with retry: use the raw body; it worked") in question.facts
    assert to_answer(row.gate, option(question, "as_before"), "") == Answer(
        choice="retry", text=admit("use the raw body")
    )
    assert to_answer(row.gate, option(question, "always"), "").scope == "pattern"


@pytest.mark.parametrize(
    "learnt",
    [
        {**LEARNT, "outcome": "failed"},
        {**LEARNT, "choice": "abandon"},
        {**LEARNT, "text": ""},
        HOSTILE,
        {"choice": HOSTILE, "text": HOSTILE, "when": HOSTILE, "outcome": "worked"},
    ],
)
def test_what_did_not_help_is_only_said(learnt: Any) -> None:
    """An earlier answer that failed, or makes no sense, is no choice; it is one harmless line."""
    question = question_of(state_of(task("web")), gate("stuck", learnt=learnt, signature="s"))
    assert question.options[0].name == "show_me"
    assert all(line.isprintable() and len(line) < 1_000 for _, line in question.facts)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (gate("question", checkpoint="chk-1"), "chk-1"),
        (gate("permission", checkpoint="chk-0", saved="chk-1"), "chk-1"),
        (
            gate("budget", task="", checkpoint="chk-1", checkpoints={"web": "chk-1", "api": "chk-2"}),
            "web chk-1, api chk-2",
        ),
        (gate("loop_detected", attempt="web.1", checkpoint="", not_saved="it runs on"), "nothing: it runs on"),
        (gate("disk", not_saved="the disk is full"), "nothing: the disk is full"),
        (gate("timeout", attempt="web.1"), None),
    ],
)
def test_every_question_says_where_the_files_are_safe(asked: GateRow, said: str | None) -> None:
    """Under which checkpoint, for each task where several stand still, or why there is none; old logs may not know."""
    facts = dict(question_of(state_of(task("web")), asked).facts)
    assert facts.get("Saved") == said


def test_a_contradicted_check_offers_a_command_that_tells_the_truth() -> None:
    """The third option takes a command and begins with the suggested one; the others take nothing."""
    row = gate(
        "question",
        question="the check exited with 0 but printed 1 failed: does a pipe or `|| true` hide its exit code?",
        options=["treat it as failed from now on", "believe its exit code from now on", "edit the check"],
        check="pytest -q | tail -3",
        suggested="bash -o pipefail -c 'pytest -q | tail -3'",
        text_for=3,
    )
    question = question_of(state_of(task("web")), row)
    edit = option(question, "option_3")
    assert edit.takes == "command"
    assert edit.text == "bash -o pipefail -c 'pytest -q | tail -3'"
    answer = to_answer(question.gate, edit, "pytest -q")
    assert (answer.choice, answer.number, answer.text) == ("choose", 3.0, "pytest -q")
    with pytest.raises(AnswerRefused, match="needs a text"):
        to_answer(question.gate, edit, "  ")
    assert option(question, "option_1").takes == ""
    assert ("Check", "pytest -q | tail -3") in question.facts


def test_the_last_sign_is_seen_from_the_question() -> None:
    """Eleven minutes later the question still says when the last sign was, and not that it was just now."""
    row = replace(gate("timeout", last_sign="output, 15 s ago"), opened="2026-11-21T14:20:00.000Z")
    facts = dict(question_of(state_of(task("web")), row).facts)
    assert facts["Last sign"].startswith("output, 15 s before this question, which came at ")
    assert " ago" not in facts["Last sign"]
