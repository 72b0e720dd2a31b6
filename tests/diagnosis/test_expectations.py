"""An expectation of a check is a failed check; an expectation of a parser is a syntax error."""

from __future__ import annotations

import pytest

from unstuck import Execution, Failure, FailureHandler, FailureType, diagnose
from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.model import Diagnosis

VALUES = """
    Expected 200 but got 404
    expected 3, got 4
    expected exit code 0, got 1
    Expected status 200, received 500
    Expected string but received undefined
    expected foo found bar
    FAIL: expected output "ok" but found "error"
    check: expected value 3 after import, found 4
    Expected: 'abc' Actual: 'abd'
    Expected true, was false
    expected the error message "invalid syntax", got "ok"
    SystemExit: expected 3, got 4
    ./check.sh: line 4: expected 3, got 4
"""
TOKENS = """
    expected ';' before '}' token
    error: expected identifier, found `}`
    expected declaration specifiers or ‘...’ before ‘{’ token
    Expected a parameter or the end of the parameter list
    expected ']' found EOF
    'then' expected near 'print'
"""
STACKS = {
    "Python": 'Traceback (most recent call last):\n  File "check.py", line 3, in <module>\n    assert add(1, 2) == 3\n'
    "AssertionError\n",
    "node": "node:assert:126\n  throw new AssertionError(obj);\n  ^\n\nAssertionError [ERR_ASSERTION]: 3 == 4\n"
    "    at Object.<anonymous> (/home/dev/check.js:2:8)\n    at node:internal/main/run_main_module:28:49 {\n"
    "  generatedMessage: true,\n  code: 'ERR_ASSERTION',\n  actual: 3,\n  expected: 4\n}\n\nNode.js v20.11.0\n",
    "Java": 'Exception in thread "main" java.lang.AssertionError: three\n\tat Check.main(Check.java:5)\n',
    "Rust": "thread 'main' panicked at src/main.rs:5:5:\nassertion `left == right` failed\n  left: 3\n right: 4\n"
    "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
}


def lines(block: str) -> list[str]:
    return [line.strip() for line in block.strip().splitlines()]


def of_the_check(text: str) -> Diagnosis:
    found = diagnose(f"checking\n{text}\n", exit_code=1, phase="test")
    assert found is not None
    return found


@pytest.mark.parametrize("line", lines(VALUES))
def test_an_expected_value(line: str) -> None:
    """A check that expected another value has failed: the files are kept, and three retries take another way."""
    assert of_the_check(line).failure_type is FailureType.VERIFICATION_FAILED


@pytest.mark.parametrize("line", lines(TOKENS))
def test_an_expected_token(line: str) -> None:
    """A parser that expected another token is a broken build."""
    assert of_the_check(line).failure_type is FailureType.BROKEN_BUILD
    assert of_the_check(line).error_type is ErrorType.SYNTAX_ERROR


@pytest.mark.parametrize("language", STACKS)
def test_an_assertion_with_a_stack(language: str) -> None:
    """In the check it is a failed check; in a program that is run otherwise nothing says so."""
    found = of_the_check(STACKS[language])
    assert found.failure_type is FailureType.VERIFICATION_FAILED
    assert found.error_type is ErrorType.ASSERTION_ERROR


@pytest.mark.parametrize("language", STACKS)
def test_the_handler_retries_an_assertion_three_times(language: str) -> None:
    """The public handler's failure type follows the same words."""
    handler = FailureHandler()

    actions = [handler.handle(Failure(STACKS[language]), Execution()).action for _ in range(4)]
    assert actions == ["RETRY", "RETRY", "RETRY", "PIVOT"]
