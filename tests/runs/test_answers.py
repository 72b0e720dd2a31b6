"""Answers given beforehand: rules from a file, and words from a command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from unstuck.contract import Answer, Gate
from unstuck.errors import AnswerRefused, PlanError
from unstuck.runs.answers.answer_file import load_answers
from unstuck.runs.answers.answer_rules import AnswerRules, parse_answer

STUCK = ("show_me", "skip", "abandon", "retry")


def gate(type: Any = "stuck", task: str = "web-1", choices: tuple[str, ...] = STUCK) -> Gate:
    """An open gate."""
    return Gate(id="g1", type=type, task=task, key="", choices=choices)


@pytest.fixture
def rules(tmp_path: Path) -> Callable[[str], AnswerRules]:
    """Write rules and read them."""

    def rules(text: str) -> AnswerRules:
        path = tmp_path / "answers.yaml"
        path.write_text(text, encoding="utf-8")
        return load_answers(path)

    return rules


def test_first_match_is_used_once(rules: Callable[[str], AnswerRules]) -> None:
    """The first rule that matches answers, once; then the next one does; then nobody."""
    found = rules("- {gate: stuck, task: 'web*', answer: retry, approach: use the cache}\n- {answer: skip}\n")
    assert found.match(gate()) == (0, Answer(choice="retry", text="use the cache"))
    assert found.match(gate()) == (1, Answer(choice="skip"))
    assert found.match(gate()) is None
    assert found.used == {0, 1}


def test_always(rules: Callable[[str], AnswerRules]) -> None:
    """A rule that is meant for always answers again and again."""
    found = rules("- {answer: skip, always: true}\n")
    assert [found.match(gate()) for _ in range(3)] == [(0, Answer(choice="skip"))] * 3
    found.mark_used(0)
    assert found.match(gate()) is not None


def test_a_resumed_run_does_not_use_it_again(rules: Callable[[str], AnswerRules]) -> None:
    """A rule that was used before the run was interrupted stays used."""
    found = rules("- {answer: retry}\n- {answer: skip}\n")
    found.mark_used(0)
    assert found.match(gate()) == (1, Answer(choice="skip"))


def test_patterns(rules: Callable[[str], AnswerRules]) -> None:
    """Gate and task are patterns; a hyphen in a gate's name counts as an underscore, in a task's name it does not."""
    found = rules("- {gate: loop-detected, task: 'web-?', answer: continue, scope: pattern, always: true}\n")
    choices = (*STUCK, "continue")
    assert found.match(gate("loop_detected", choices=choices)) == (0, Answer(choice="continue", scope="pattern"))
    assert found.match(gate("stuck", choices=choices)) is None
    assert found.match(gate("loop_detected", "web_1", choices)) is None
    assert found.match(gate("loop_detected", "WEB-1", choices)) is None


def test_a_choice_that_is_not_offered(rules: Callable[[str], AnswerRules]) -> None:
    """A rule whose answer is not a choice of the gate does not match and is not used up."""
    found = rules("- {answer: extend, number: 10m}\n- {answer: skip}\n")
    assert found.match(gate()) == (1, Answer(choice="skip"))
    assert found.match(gate("timeout", choices=("extend", "stop"))) == (0, Answer(choice="extend", number=600.0))


def test_an_option_that_there_is_not(rules: Callable[[str], AnswerRules]) -> None:
    """The fifth option where there are two does not match: the rule is kept, and the next one answers."""
    found = rules("- {answer: choose, number: 5}\n- {answer: skip, always: true}\n")
    choices = ("choose", "show_me", "skip", "abandon")
    asked = replace(gate("question", choices=choices), context={"options": ["80", "8080"]})
    assert found.match(asked) == (1, Answer(choice="skip"))
    assert found.match(replace(asked, context={"options": list("abcde")})) == (0, Answer(choice="choose", number=5.0))


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ("answer: show-me, text: do it so", Answer(choice="show_me", text="do it so")),
        ("answer: show_me, approach: do it so", Answer(choice="show_me", text="do it so")),
        ("answer: choose, number: 2", Answer(choice="choose", number=2.0)),
        ("answer: extend, number: 90", Answer(choice="extend", number=90.0)),
        ("answer: done", Answer(choice="done")),
    ],
)
def test_every_kind(rules: Callable[[str], AnswerRules], rule: str, answer: Answer) -> None:
    """Every kind of answer can be given by rule."""
    assert rules(f"- {{{rule}}}\n").rules[0].answer == answer


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("answer: skip\n", 1, "must be a list"),
        ("- {answer: skip}\n- {answer: skpi}\n", 2, "did you mean `skip`"),
        ("- {answer: skip}\n- {gate: stukc, answer: skip}\n", 2, "did you mean `stuck`"),
        ("- {gate: stuck, answer: continue}\n", 1, "only show_me, skip, abandon, retry"),
        ("- {gate: stuck}\n", 1, "needs `answer`"),
        ("- {answer: show_me}\n", 1, "needs the text"),
        ("- {answer: extend}\n", 1, "needs a duration"),
        ("- {answer: extend, number: soon}\n", 1, "extend"),
        ("- {answer: choose, number: 0}\n", 1, "number of an option"),
        ("- {answer: choose, number: 1.5}\n", 1, "number of an option"),
        ("- {answer: stop, text: because}\n", 1, "takes no text"),
        ("- {answer: skip, number: 3}\n", 1, "takes no number"),
        ("- {answer: skip, scope: task}\n", 1, "takes no scope"),
        ("- {answer: continue, scope: ever}\n", 1, "once, pattern, task"),
        ("- {answer: retry, approach: a, text: b}\n", 1, "are the same"),
        ("- {answer: retry, approach: ''}\n", 1, "`approach` is blank"),
        ("- {answer: skip, always: maybe}\n", 1, "true or false"),
        ("- {answer: skip, tasks: x}\n", 1, "did you mean `task`"),
        ("- {answer: skip\n", 2, "not YAML"),
        ("- skip\n", 1, "must be a mapping"),
    ],
)
def test_wrong_rules(rules: Callable[[str], AnswerRules], text: str, line: int, problem: str) -> None:
    """A wrong rule is refused with the file, its line and what is wrong."""
    with pytest.raises(PlanError) as caught:
        rules(text)
    assert problem in caught.value.problem
    assert caught.value.line == line
    assert Path(caught.value.file).name == "answers.yaml"


@pytest.mark.parametrize(
    ("words", "scope", "answer"),
    [
        ("show-me use the endpoint secret", None, Answer(choice="show_me", text="use the endpoint secret")),
        ("skip", None, Answer(choice="skip")),
        ("skip it comes on Monday", None, Answer(choice="skip", text="it comes on Monday")),
        ("abandon", None, Answer(choice="abandon")),
        ("show-me use it", "pattern", Answer(choice="show_me", text="use it", scope="pattern")),
        ("retry", None, Answer(choice="retry")),
        ("retry with the raw body", None, Answer(choice="retry", text="with the raw body")),
        ("extend 10m", None, Answer(choice="extend", number=600.0)),
        ("extend 1h 30m", None, Answer(choice="extend", number=5400.0)),
        ("continue", None, Answer(choice="continue")),
        ("continue", "task", Answer(choice="continue", scope="task")),
        ("choose 2", None, Answer(choice="choose", number=2.0)),
        ("choose 3 pytest -q tests", None, Answer(choice="choose", number=3.0, text="pytest -q tests")),
        ("allow", None, Answer(choice="allow")),
        ("deny", None, Answer(choice="deny")),
        ("deny not on a Friday", None, Answer(choice="deny", text="not on a Friday")),
        ("stop", None, Answer(choice="stop")),
        ("done", None, Answer(choice="done")),
    ],
)
def test_words_of_a_command(words: str, scope: str | None, answer: Answer) -> None:
    """Every answer that the command takes means what it says."""
    choice, *rest = words.split()
    assert parse_answer(choice, rest, scope=scope) == answer


@pytest.mark.parametrize(
    ("words", "scope", "problem"),
    [
        ("show-me", None, "show-me needs the text"),
        ("show-me " + "x" * 20_001, None, "at most 20,000 characters; this one has 20,001"),
        ("retry \x1b[31m\x07", None, "contains only control characters"),
        ("retry " + "x" * 1_000_000, None, "at most 20,000 characters; this one has 1,000,000"),
        ("stop now", None, "stop takes no text"),
        ("extend", None, "needs a duration"),
        ("extend never", None, "extend: "),
        ("choose", None, "number of an option"),
        ("choose two", None, "number of an option"),
        ("retri", None, "did you mean `retry`"),
        ("skip", "task", "takes no scope"),
        ("continue", "ever", "no such scope: ever"),
    ],
)
def test_words_that_mean_nothing(words: str, scope: str | None, problem: str) -> None:
    """Text that cannot be an answer is refused in one line that says why."""
    choice, *rest = words.split()
    with pytest.raises(AnswerRefused) as caught:
        parse_answer(choice, rest, scope=scope)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_text_is_admitted() -> None:
    """A terminal escape in an answer does not reach the agent; text that is nothing else is no text."""
    assert "\x1b" not in parse_answer("retry", ["use\x1b[31m", "red"], scope=None).text
    with pytest.raises(AnswerRefused):
        parse_answer("show-me", ["\x1b[31m"], scope=None)
