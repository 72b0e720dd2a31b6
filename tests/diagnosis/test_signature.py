"""Failure signatures: what is the same failure, what a related one, and what another."""

from __future__ import annotations

import time
import traceback

import pytest

from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.signatures.signature import FailureSignature, extract_failure_signature

TRACE = """
Traceback (most recent call last):
  File "backend/api/routes.py", line {line}, in authenticate
    user = db.users.find(id)
{error}
"""
NOT_SUBSCRIPTABLE = "TypeError: 'NoneType' object is not subscriptable"


def signature(line: int = 42, error: str = NOT_SUBSCRIPTABLE) -> FailureSignature:
    return extract_failure_signature(TRACE.format(line=line, error=error), agent_id="backend-dev-1", task_id="task-123")


def test_usage_example(capsys: pytest.CaptureFixture[str]) -> None:
    """The usage example for signatures runs as it is written."""
    error_output = """
Traceback (most recent call last):
  File "backend/api/routes.py", line 42, in authenticate
    user = db.users.find(id)
TypeError: 'NoneType' object is not subscriptable
"""

    signature = extract_failure_signature(error_output=error_output, agent_id="backend-dev-1", task_id="task-123")

    print(signature.error_type)
    print(signature.location)
    print(signature.context_hash)
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["ErrorType.TYPE_ERROR", "backend/api/routes.py:42"]
    assert len(said[2]) == 16
    assert int(said[2], 16) >= 0

    sig2 = FailureSignature.from_error(
        "TypeError: 'NoneType' object is not subscriptable",
        agent_id="backend-dev-1",
        task_id="task-124",
        stack_trace='  File "backend/api/routes.py", line 57, in authenticate',
    )
    assert sig2.agent_id == "backend-dev-1"
    assert sig2.task_id == "task-124"


def test_a_moved_line_is_the_same_failure() -> None:
    """Lines added above do not hide that it is still the same error."""
    assert signature(42).is_identical_to(signature(57))
    assert signature(42).identity == signature(57).identity
    assert signature(42).location != signature(57).location


def test_another_key_is_another_failure_but_related() -> None:
    """A KeyError for another key is not a loop, yet the two belong together."""
    one, two = signature(error="KeyError: 'a'"), signature(error="KeyError: 'b'")
    assert not one.is_identical_to(two)
    assert one.context_hash == two.context_hash
    assert one.is_similar_to(two)


def test_another_error_at_the_same_place_is_not_related() -> None:
    """The same function can fail for quite another reason."""
    assert not signature().is_similar_to(signature(error="ConnectionRefusedError: [Errno 111] Connection refused"))


def test_addresses_times_and_ids_do_not_matter() -> None:
    """What changes with every run is left out of the comparison."""
    one = extract_failure_signature("RuntimeError: pool <Pool object at 0x7f70ae7a2a10> closed after 1.52s")
    two = extract_failure_signature("RuntimeError: pool <Pool object at 0x7f11aa0b0c20> closed after 0.07s")
    assert one.is_identical_to(two)


def test_statuses_matter() -> None:
    """404 and 503 are two failures."""
    one = extract_failure_signature("curl: (22) The requested URL returned error: 404")
    two = extract_failure_signature("curl: (22) The requested URL returned error: 503")
    assert not one.is_identical_to(two)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SyntaxError: invalid syntax", ErrorType.SYNTAX_ERROR),
        ("TypeError: cannot access property of undefined", ErrorType.TYPE_ERROR),
        ("ModuleNotFoundError: No module named 'yaml'", ErrorType.IMPORT_ERROR),
        ("AttributeError: 'X' object has no attribute 'y'", ErrorType.ATTRIBUTE_ERROR),
        ("KeyError: 'a'", ErrorType.KEY_ERROR),
        ("ValueError: invalid literal for int()", ErrorType.VALUE_ERROR),
        ("IndexError: list index out of range", ErrorType.INDEX_ERROR),
        ("RuntimeError: closed", ErrorType.RUNTIME_ERROR),
        ("AssertionError: Expected 200 but got 404", ErrorType.ASSERTION_ERROR),
        ("TimeoutError: timed out", ErrorType.TIMEOUT_ERROR),
        ("ConnectionRefusedError: [Errno 111] Connection refused", ErrorType.CONNECTION_ERROR),
        ("requests.exceptions.HTTPError: 404 Client Error: Not Found", ErrorType.HTTP_ERROR),
        ("sqlite3.OperationalError: no such table: carts", ErrorType.DATABASE_ERROR),
        ("pydantic_core.ValidationError: 1 validation error for User", ErrorType.VALIDATION_ERROR),
        ("it is Tuesday", ErrorType.UNKNOWN),
    ],
)
def test_every_error_type(text: str, kind: ErrorType) -> None:
    """Each of the fourteen types, and UNKNOWN, is recognised from one bare line."""
    assert extract_failure_signature(text).error_type is kind
    assert FailureSignature._classify_error(text) is kind


def test_a_signature_survives_its_dictionary() -> None:
    """Nothing is lost on the way to the log and back."""
    one = signature()
    assert FailureSignature.from_dict(one.as_dict()) == one


def test_words_of_a_later_version_are_tolerated() -> None:
    """A log written by a later version still reads."""
    data = {**signature().as_dict(), "error_type": "QUANTUM_ERROR", "colour": "blue"}
    assert FailureSignature.from_dict(data).error_type is ErrorType.UNKNOWN


@pytest.mark.parametrize(("one", "other"), [("3", "4"), ("('a', 1)", "('a', 2)")])
def test_a_key_that_is_a_number_is_a_key(one: str, other: str) -> None:
    """KeyError: 3 and KeyError: 4 miss different keys; each is the same as itself."""
    first, second = (extract_failure_signature(f"KeyError: {key}") for key in (one, other))
    assert not first.is_identical_to(second)
    assert first.is_identical_to(extract_failure_signature(f"KeyError: {one}"))


def test_a_stack_without_its_heading() -> None:
    """``traceback.format_tb`` prints frames alone: the innermost of the user's own is the location."""

    def lookup(users: dict[str, int]) -> int:
        return users["nobody"]

    try:
        lookup({})
    except KeyError as error:
        frames = traceback.format_tb(error.__traceback__)
        line = error.__traceback__.tb_next.tb_lineno  # type: ignore[union-attr]
        signature = FailureSignature.from_error(str(error), "agent", "task", stack_trace="".join(frames))
    assert signature.location == f"{__file__}:{line}"
    assert signature.metadata["function"] == "lookup"


def test_the_time_of_a_failure() -> None:
    """A signature is stamped when it is made, unless the caller knows better."""
    before = time.time()
    assert before <= extract_failure_signature("ValueError: bad").timestamp <= time.time()
    assert FailureSignature.from_error("ValueError: bad", timestamp=1.5).timestamp == 1.5
