"""The three classifications as their own functions: failure type, category and cause; and the error analysis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from unstuck.diagnosis.classification.categories import classify_error
from unstuck.diagnosis.classification.causes import Failure, classify_cause
from unstuck.diagnosis.classification.failure_types import classify_failure
from unstuck.diagnosis.classification.hints import analyze_error
from unstuck.diagnosis.enums import Cause, ErrorCategory, ErrorType, FailureType
from unstuck.diagnosis.pipeline import diagnose


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Error: Cannot find module './utils' from 'src/index.js'", FailureType.BROKEN_BUILD),
        ("a syntax error near line 3", FailureType.BROKEN_BUILD),
        ("compilation error", FailureType.BROKEN_BUILD),
        ("module not found: left-pad", FailureType.BROKEN_BUILD),
        ("ImportError: no", FailureType.BROKEN_BUILD),
        ("Unexpected token }", FailureType.BROKEN_BUILD),
        ("IndentationError: unexpected indent", FailureType.BROKEN_BUILD),
        ("parse error", FailureType.BROKEN_BUILD),
        ("AssertionError: Expected 200 but got 404", FailureType.VERIFICATION_FAILED),
        ("verification failed", FailureType.VERIFICATION_FAILED),
        ("test failed: login", FailureType.VERIFICATION_FAILED),
        ("got status code 500", FailureType.VERIFICATION_FAILED),
        ("Error: Maximum context length (128k tokens) exceeded", FailureType.CONTEXT_EXHAUSTED),
        ("token limit reached", FailureType.CONTEXT_EXHAUSTED),
        ("Error: Connection refused to database server", FailureType.UNKNOWN),
        ("an unexpected error in the React context", FailureType.UNKNOWN),
    ],
)
def test_failure_types(text: str, kind: FailureType) -> None:
    """Every indicator and every example gets the failure type that the definition gives it."""
    assert classify_failure(text, "subtask-1") is kind


def test_circular_only_where_the_history_says_so() -> None:
    """A history that goes in circles names what nothing else names; a broken build stays one."""
    assert classify_failure("still wrong", circular=True) is FailureType.CIRCULAR_FIX
    assert classify_failure("SyntaxError", circular=True) is FailureType.BROKEN_BUILD


@pytest.mark.parametrize(
    ("kind", "category"),
    [
        ("timeout", "transient"),
        ("network_error", "transient"),
        ("rate_limit", "transient"),
        ("agent_timeout", "agent_failure"),
        ("agent_crash", "agent_failure"),
        ("parse_failure", "agent_failure"),
        ("signal_missing", "agent_failure"),
        ("test_failure", "agent_failure"),
        ("ambiguous_requirement", "configuration"),
        ("missing_info", "configuration"),
        ("scope_unclear", "configuration"),
        ("task_limit_exceeded", "unrecoverable"),
        ("remediation_limit_exceeded", "unrecoverable"),
        ("anything", "agent_failure"),
    ],
)
def test_categories(kind: str, category: str) -> None:
    """Each error type has the category of the table, and a category is equal to its own word."""
    assert classify_error(SimpleNamespace(type=kind)) == category


@pytest.mark.parametrize("kind", ["test_failure", "lint_error", "type_error", "env_unavailable"])
def test_what_was_broken_before_is_infrastructure(kind: str) -> None:
    """A failing test is the agent's, unless it failed before the agent came."""
    assert classify_error(SimpleNamespace(type=kind, pre_existing=True)) is ErrorCategory.INFRASTRUCTURE


def test_an_error_without_attributes() -> None:
    """Anything at all can be classified."""
    assert classify_error(object()) is ErrorCategory.AGENT_FAILURE


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        (Failure("boom", phase="parse"), Cause.SYNTAX_ERROR),
        (Failure("SyntaxError: bad"), Cause.SYNTAX_ERROR),
        (Failure("Expected string but received undefined", phase="test"), Cause.TEST_ASSERTION),
        (Failure("Cannot find module 'x'"), Cause.DEPENDENCY_ISSUE),
        (Failure("ImportError: cannot import name 'x'"), Cause.DEPENDENCY_ISSUE),
        (Failure("TypeError: x is not a function"), Cause.SIMPLE_LOGIC),
        (Failure("TypeError: x is not a function", retry_count=2), Cause.APPROACH_WRONG),
        (Failure("boom", same_location_count=2), Cause.APPROACH_WRONG),
        (Failure("boom", involved_files=("a", "b", "c", "d")), Cause.INTEGRATION_ISSUE),
        (Failure("boom", involves_external_api=True), Cause.UNKNOWN_API),
        (Failure("boom", type="complex_logic"), Cause.COMPLEX_LOGIC),
        (Failure("boom"), Cause.SIMPLE_LOGIC),
    ],
)
def test_causes(failure: Failure, cause: Cause) -> None:
    """Each rule of the handler's classification applies."""
    assert classify_cause(failure) is cause


@pytest.mark.parametrize(
    "error",
    [
        '  File "a.py", line 1, in <module>\nKeyError: 1',
        "AttributeError: 'NoneType' object has no attribute 'x'",
        "the important thing is missing",
    ],
)
def test_words_inside_other_words_are_no_cause(error: str) -> None:
    """`<module>`, `NoneType` and `important` say nothing about modules, types and imports."""
    assert classify_cause(Failure(error, retry_count=5)) is Cause.SIMPLE_LOGIC


@pytest.mark.parametrize("classify", [lambda error: classify_cause(Failure(error)), classify_failure])
def test_of_a_long_error_the_two_ends_are_looked_at(classify: Callable[[str], str]) -> None:
    """However long an error is, no more than a bounded head and tail of it is searched."""
    said, filler = "SyntaxError: bad\n", "all is well\n" * 100_000
    at_the_ends = {classify(text) for text in (said, said + filler, filler + said)}
    assert len(at_the_ends) == 1
    assert classify(filler + said + filler) == classify("")
    assert classify("") not in at_the_ends


@dataclass
class Bare:
    error: str


def test_a_failure_of_the_callers_own_class() -> None:
    """Any object with an error will do."""
    assert classify_cause(Bare("SyntaxError")) is Cause.SYNTAX_ERROR


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("SyntaxError: bad", "syntax_error"),
        ("Unexpected token <", "syntax_error"),
        ("Expected: 1, but received 2", "test_assertion"),
        ("expect(value).toBe(3)", "test_assertion"),
        ("Cannot find module './a'", "import_error"),
        ("TypeError: x", "type_error"),
        ("Type 'string' is not assignable to type 'number'", "type_error"),
        ("ReferenceError: x is not defined", "runtime_error"),
        ("who knows", "unknown"),
    ],
)
def test_error_analysis(error: str, kind: str) -> None:
    """The analysis names the kind of fix and gives advice in words."""
    analysis = analyze_error(error)
    assert analysis.type == kind
    assert analysis.fix_hint
    assert bool(analysis.pattern) == (kind != "unknown")


def test_the_advice_names_the_module() -> None:
    """The hint for a missing module says which."""
    assert "./utils" in analyze_error("Error: Cannot find module './utils'").fix_hint


def test_a_signal_says_the_type_where_no_word_does() -> None:
    """A program that ended by an abort has failed while it ran; without an exit code nothing tells the type."""
    for code, error_type in ((134, ErrorType.RUNTIME_ERROR), (124, ErrorType.TIMEOUT_ERROR), (1, ErrorType.UNKNOWN)):
        found = diagnose("so far\n", exit_code=code)
        assert found is not None
        assert found.error_type is error_type
