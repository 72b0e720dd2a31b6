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
    """Values that change with every run are left out of the comparison."""
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


# One failure twice, with what changes between two runs.
SAME = [
    ("server failed: Dec 10 07:08:28 lost", "server failed: Jan  3 17:01:02 lost"),
    ("[Mon Dec 05 07:57:02 2005] error: bad child", "[Tue Jan 17 01:00:59 2006] error: bad child"),
    ("10/Dec/2024:07:08:28 +0000 failed", "3/Jan/2025:17:08:28 +0100 failed"),
    ("error: expired Sun, 10 Dec 2024 07:08:28 GMT", "error: expired Wed, 03 Jan 2025 17:08:28 GMT"),
    ("I0501 12:00:01.123456 1234 f.go:12] failed", "I1223 02:40:01.003456 9234 f.go:12] failed"),
    ("error: certificate expired on March 3, 2025", "error: certificate expired on December 14, 2026"),
    ("error: pod app-7d9f8b6c5-x2x4z not ready", "error: pod app-5c8d4f7b9d-k9l2m not ready"),
    ("error: pod agent-x2x4z not ready", "error: pod agent-k9l2m not ready"),
    ("cannot open '/tmp/tmpab12cd34'", "cannot open '/tmp/tmpzz_9k3mq'"),
    ("cannot open /tmp/tmp.aB3dE", "cannot open /tmp/tmp.Zk9Qw"),
    ("cannot open tmp.aB3dExyzQW", "cannot open tmp.ZZ11aaBBcc"),
    ("FileNotFoundError: '/tmp/pip-req-build-k3j2h1_x'", "FileNotFoundError: '/tmp/pip-req-build-0asdf9__'"),
    ("failed in /tmp/pip-xyz", "failed in /tmp/pip-abc"),
    ("failed in /tmp/pytest-of-root/pytest-12/test_a0/x", "failed in /tmp/pytest-of-root/pytest-13/test_a0/x"),
    ("order 01ARZ3NDEKTSV4RRFFQ69G5FAV not found", "order 01BX5ZZKBKACTAV9WEVGEMMVS0 not found"),
    ("event_01h455vb4pex5vsknk084sn02q was lost", "event_01h455vb4pex5vsknk084sn0zz was lost"),
    ("order 01h455vb4pex5vsknk084sn02q was lost", "order 01j0a1b2c3d4e5f6g7h8j9k0m1 was lost"),
    ("request cm3k2x9z80001v8l2h4j6k8m0 failed", "request cm9a8b7c60002w9m3i5k7l9n1 failed"),
    ("backup-2026-Jan-05.tar is damaged", "backup-2026-Dec-31.tar is damaged"),
    ("/usr/bin/ld: /tmp/ccT3x9Qa.o: bad value", "/usr/bin/ld: /tmp/ccZq81Lm.o: bad value"),
    ("error: timed out after 1m 23s", "error: timed out after 4m 2s"),
    ("error: timed out after 1h2m3s", "error: timed out after 44s"),
    ("error in com.sun.$Proxy42 call", "error in com.sun.$Proxy7 call"),
    ("[gw0] error: node down", "[gw3] error: node down"),
    ("limit reached, resets 3pm", "limit reached, resets 8:30pm"),
    ("error: quota resets Oct 6 at 1:00:00", "error: quota resets Nov 26 at 12:00:00"),
    (
        "HASH(0x55d0) is not a CODE reference at a.pl line 3, <STDIN> line 42.",
        "HASH(0x99aa) is not a CODE reference at a.pl line 9, <STDIN> line 7.",
    ),
    ("lua: a.lua:3: table: 0x55a1b2 is no basket", "lua: a.lua:9: table: 0x7fa1b2 is no basket"),
    (
        "Error in f(x) : bad <environment: 0x55d5c8>\nExecution halted\n",
        "Error in f(x) : bad <environment: 0x11d5c8>\nExecution halted\n",
    ),
    (
        "run.hs: no 4\nCallStack (from HasCallStack):\n  error, called at run.hs:1:8 in main:Main",
        "run.hs: no 4\nCallStack (from HasCallStack):\n  error, called at run.hs:9:8 in main:Main",
    ),
    ("cp: cannot stat '/var/folders/ab/T/tmp8a7b6c5d/x'", "cp: cannot stat '/var/folders/cd/T/tmpqqq6c5d1/x'"),
    ("mv: cannot move '/tmp/build-ab12cd3_' to 'x'", "mv: cannot move '/tmp/build-zz99cd3_' to 'x'"),
]
# Two failures that look alike.
OTHER = [
    ("cannot open /tmp/ccindex.json", "cannot open /tmp/ccnames.json"),
    ("field_of_the_first_and_the_second is bad", "field_of_the_first_and_the_seventh is bad"),
    ("customer_identification_a is bad", "customer_identification_b is bad"),
    ("cannot open /tmp/config", "cannot open /tmp/data"),
    ("cannot open tmp.json", "cannot open tmp.yaml"),
    ("error: pod app-mysql not ready", "error: pod app-redis not ready"),
    ("error: Marker 10 bad", "error: Decoder 10 bad"),
    ("error: svc web-front bad", "error: svc web-backs bad"),
    ("invalid weekday 'Monday'", "invalid weekday 'Tuesday'"),
    ("pip-tools failed", "pip-audit failed"),
    ("cannot open '/tmp/my-settings'", "cannot open '/tmp/my-profiles'"),
    ("error: May be wrong", "error: Jun be wrong"),
    ("order ABCDEFGHJKMNPQRSTVWXYZABCD not found", "order ABCDEFGHJKMNPQRSTVWXYZABCE not found"),
    ("cannot import tmpfile", "cannot import tmpname"),
    ("error: module sun.security bad", "error: module mon.security bad"),
    ("Error in f(x) : bad a\nExecution halted\n", "Error in f(x) : bad b\nExecution halted\n"),
    ("Error in f(x) : bad\nExecution halted\n", "Error in g(x) : bad\nExecution halted\n"),
    ("lua: a.lua:3: no basket", "lua: b.lua:3: no basket"),
    (
        "run.hs: no a\nCallStack (from HasCallStack):\n  error, called at run.hs:1:8 in main:Main",
        "run.hs: no b\nCallStack (from HasCallStack):\n  error, called at run.hs:1:8 in main:Main",
    ),
    ("bad a at a.pl line 3.", "bad b at a.pl line 3."),
    ("FileNotFoundError: '/tmp/run1/a.csv'", "FileNotFoundError: '/tmp/run1/b.csv'"),
    ("error: limit 512m", "error: limit 256m"),
    ("error: memory is 5d", "error: memory is 6d"),
    ("pip-compile: bad", "pip-sync: bad"),
    ("cannot import tmp_folders", "cannot import tmp_buffers"),
]


@pytest.mark.parametrize(("one", "again"), SAME)
def test_what_changes_with_every_run_is_no_part_of_a_failure(one: str, again: str) -> None:
    """Another day, process, pod, temporary file or id is the same failure."""
    assert extract_failure_signature(one).is_identical_to(extract_failure_signature(again))


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_a_name_that_looks_temporary_is_part_of_a_failure(one: str, other: str) -> None:
    """Another file, pod, size, function or message is another failure."""
    assert not extract_failure_signature(one).is_identical_to(extract_failure_signature(other))
