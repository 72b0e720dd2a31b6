"""Diagnosing whole outputs: what is read, what is ignored, and what cannot hurt."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unstuck.diagnosis.enums import Cause, ErrorCategory, ErrorType, FailureType
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose, with_history

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Any: to work them out from a codec takes each worker of a fresh clone two seconds."""

FRAGMENTS = st.sampled_from(
    [
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in f',
        "KeyError: 'a'",
        "E   assert 1 == 2",
        "FAILED tests/test_a.py::test_b - KeyError",
        "    at fn (/app/a.js:1:2)",
        "Error: boom",
        "a.c:1:2: error: expected ';'",
        "CMake Error at CMakeLists.txt:3 (find_package):",
        "thread 'x' panicked at src/a.rs:1:2:",
        "thread 'x' panicked at 'left",
        " right', src/a.rs:1:2",
        "panic: no",
        "\tat a.B.c(B.java:3)",
        "Caused by: a.b.CException: no",
        "API Error: 429 {",
        "\x1b[31m",
        "\r",
        "",
    ]
)


def found(output: str | bytes, **more: object) -> Diagnosis:
    diagnosis = diagnose(output, exit_code=1, **more)  # type: ignore[arg-type]
    assert diagnosis is not None
    return diagnosis


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.text(CHARACTERS)
    | st.binary()
    | st.lists(FRAGMENTS | st.text(CHARACTERS, max_size=20), max_size=12).map("\n".join)
)
def test_never_raises(output: str | bytes) -> None:
    """Whatever a program prints, there is a diagnosis of clean text."""
    diagnosis = found(output)
    assert "\x1b" not in diagnosis.headline
    assert Diagnosis.from_dict(diagnosis.as_dict()) == diagnosis


@pytest.mark.parametrize("output", ["", b"", None, "\n\n", "\x00\x00", b"\xff\xfe\xfd"])
def test_silence_is_a_failure_too(output: str | bytes | None) -> None:
    """A command that fails without a word still gets a headline and a hint."""
    diagnosis = diagnose(output, exit_code=3)
    assert diagnosis is not None
    assert diagnosis.error_type is ErrorType.UNKNOWN
    assert diagnosis.fix_hint


def test_ten_megabytes_with_the_error_at_the_end() -> None:
    """A huge log is read at its head and its tail."""
    diagnosis = found("all is well\n" * 900_000 + "KeyError: 'the_end'\n")
    assert diagnosis.headline == "KeyError: 'the_end'"


def test_one_line_of_ten_megabytes() -> None:
    """One endless line ends nothing."""
    assert found("(" * 10_000_000).failure_type is FailureType.UNKNOWN


def test_colours_do_not_matter() -> None:
    """A coloured error is the same error."""
    assert found("\x1b[1;31mKeyError: 'a'\x1b[0m").identity == found("KeyError: 'a'").identity


def test_paths_become_relative_to_the_root() -> None:
    """Places inside the project are shown without the project's path."""
    output = 'Traceback (most recent call last):\n  File "/home/me/app/src/a.py", line 3, in f\nKeyError: 1\n'
    assert found(output, root="/home/me/app").location == "src/a.py:3"


def test_library_frames_are_not_the_place() -> None:
    """The place is the user's own line, even where a library raised."""
    output = (
        "Traceback (most recent call last):\n"
        '  File "app.py", line 3, in go\n    json.loads("x")\n'
        '  File "/usr/local/lib/python3.11/json/decoder.py", line 355, in raw_decode\n    raise JSONDecodeError\n'
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n"
    )
    assert found(output).location == "app.py:3"
    assert found(output).error_type is ErrorType.VALUE_ERROR


def test_a_clock_is_no_location() -> None:
    """12:33:44 in a log is a time, not a file and a line."""
    assert found("Compilation started at Sat Jul  8 15:19:25\nbuild.log: failed").location is None


def test_a_diagnosis_is_a_value() -> None:
    """Nobody can change what a failure was diagnosed as, and the same said of it anew is equal to it."""
    diagnosis = found("KeyError: 'a'")
    for value, name in ((diagnosis, "headline"), (diagnosis.signature, "subject")):
        assert replace(value) == value != replace(value, **{name: "another"})
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, "another")


def test_a_failing_test_is_a_failed_check() -> None:
    """Under a test runner a KeyError is a failed check of that test."""
    output = "FAILED tests/test_a.py::test_b - KeyError: 'x'\n1 failed in 0.02s\n"
    diagnosis = found(output)
    assert diagnosis.failure_type is FailureType.VERIFICATION_FAILED
    assert diagnosis.error_type is ErrorType.KEY_ERROR
    assert "test_b" in diagnosis.signature.subject


def test_other_failing_tests_are_another_failure() -> None:
    """Progress shows: with one test fewer failing it is not the same failure any more."""
    two = "FAILED tests/test_a.py::test_b - KeyError: 'x'\nFAILED tests/test_a.py::test_c - KeyError: 'x'\n"
    assert found(two).identity != found(two.splitlines()[0] + "\n").identity


def test_a_rate_limit_says_how_long_to_wait() -> None:
    """The service's own word on when to come back is kept."""
    diagnosis = found('API Error: 429 {"error":{"message":"Too many requests. Please retry after 41 s"}}')
    assert diagnosis.category is ErrorCategory.TRANSIENT
    assert diagnosis.signature.metadata["retry_after"] == "41"


def test_context_by_whole_phrases_only() -> None:
    """A full context window is recognised; a cancelled context of a Go program is not one."""
    assert found("Error: Maximum context length (128k tokens) exceeded").failure_type is FailureType.CONTEXT_EXHAUSTED
    assert found("  ⎿ Prompt is too long").failure_type is FailureType.CONTEXT_EXHAUSTED
    for said in ("You've hit the token limit", "maximum length exceeded", "Token limit: 128000 exceeded"):
        assert found(said).failure_type is FailureType.CONTEXT_EXHAUSTED
    assert found("You've hit the token limit per minute").failure_type is FailureType.UNKNOWN
    assert found("maximum length exceeded for field name").failure_type is FailureType.UNKNOWN
    assert found("fetch orders: context canceled").failure_type is FailureType.UNKNOWN
    assert found("context deadline exceeded").failure_type is FailureType.UNKNOWN


@pytest.mark.parametrize(
    "said",
    [
        "Codex ran out of room in the model's context window. Start a new thread or clear earlier history.",
        "The conversation history exceeded the model's context window",
        "Model gpt-4o has hit a token limit!",
        "Input tokens: ~130,000 of 128,000 -- possibly exhausted context window!",
        "Request too large: input tokens exceed the configured limit of 272000 tokens.",
        "prompt token count of 140000 exceeds the limit of 128000",
        "Conversation history too large to compact - exceeds model context limit",
        "[API Error: 400 InternalError.Algo.InvalidParameter: Range of input length should be [1, 258048]]",
        "Session too large to compact - context exceeds model limit even after stripping media",
    ],
)
def test_agents_words_for_a_full_context(said: str) -> None:
    """The words of known agents and services."""
    assert found(said).failure_type is FailureType.CONTEXT_EXHAUSTED


@pytest.mark.parametrize(
    "said",
    [
        "RuntimeError: the queue ran out of room",
        "Token limit exceeded per minute",
        "the number of tokens exceeds the limit of the bucket",
        "output tokens exceed the configured limit of 8192",
        "AssertionError: the execution context exceeds module limit",
    ],
)
def test_other_limits_are_no_full_context(said: str) -> None:
    """Queues, rates and the length of an answer have limits, too."""
    assert found(said).failure_type is not FailureType.CONTEXT_EXHAUSTED


def test_infrastructure_only_where_it_was_broken_before() -> None:
    """The text alone never blames the environment; a baseline that fails in the same way does."""
    output = "FAILED tests/test_a.py::test_b - KeyError: 'x'"
    assert found(output).category is ErrorCategory.AGENT_FAILURE
    assert found(output, pre_existing=True).category is ErrorCategory.INFRASTRUCTURE


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (124, ErrorType.TIMEOUT_ERROR),
        (137, ErrorType.RUNTIME_ERROR),
        (139, ErrorType.RUNTIME_ERROR),
        (-9, ErrorType.RUNTIME_ERROR),
        (-11, ErrorType.RUNTIME_ERROR),
    ],
)
def test_the_exit_code_speaks_where_the_output_does_not(code: int, kind: ErrorType) -> None:
    """A time-out or a kill is known by its exit code."""
    diagnosis = diagnose("collecting 120 items", exit_code=code)
    assert diagnosis is not None
    assert diagnosis.error_type is kind


def test_history_makes_the_cause_worse() -> None:
    """Failing twice more at the same place means that the approach is wrong."""
    output = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'a'\n"
    first = found(output)
    assert first.cause is Cause.SIMPLE_LOGIC
    assert found(output, history=[first, first]).cause is Cause.APPROACH_WRONG


TRACE = 'Traceback (most recent call last):\n  File "{}.py", line 3, in f\nKeyError: 1\n'


@pytest.mark.parametrize(
    ("output", "earlier", "cause"),
    [
        ("a.py:3: TypeError: no", ["a.py:3: TypeError: no"] * 2, Cause.APPROACH_WRONG),
        (TRACE.format("a"), [TRACE.format(name) for name in "bcd"], Cause.INTEGRATION_ISSUE),
        (TRACE.format("a"), [TRACE.format(name) for name in "bc"], Cause.SIMPLE_LOGIC),
        ("RuntimeError: no", ["HTTP 404: Not Found"], Cause.UNKNOWN_API),
        ("SyntaxError: no", ["SyntaxError: no"] * 3, Cause.SYNTAX_ERROR),
    ],
)
def test_one_diagnosis_serves_every_history(output: str, earlier: list[str], cause: Cause) -> None:
    """The cause after earlier failures needs no second look at the output."""
    history = [found(text) for text in earlier]
    alone = found(output)
    assert with_history(alone, history) == found(output, history=history)
    assert with_history(alone, history).cause is cause
    assert with_history(alone, ()) == alone


def test_secrets_do_not_reach_the_headline() -> None:
    """A token in an error message is not shown and not stored."""
    token = "ghp_" + "a1B2" * 9
    diagnosis = found(f"RuntimeError: bad credentials for {token}")
    assert token not in str(diagnosis.as_dict())


def test_a_fresh_diagnosis_of_a_later_version_reads() -> None:
    """Unknown words in a log fall back to the most general ones."""
    data = {**found("KeyError: 'a'").as_dict(), "failure_type": "NEW", "category": "cosmic", "cause": "moon"}
    read = Diagnosis.from_dict(data)
    assert read.failure_type is FailureType.UNKNOWN
    assert read.category is ErrorCategory.AGENT_FAILURE


def test_a_signal_is_the_same_to_a_shell_and_to_the_one_who_started_it() -> None:
    """A crash that is told as -11 is the failure that a shell tells as 139."""
    first, second = (diagnose("12 of 40 done", exit_code=code) for code in (-11, 139))
    assert first is not None
    assert second is not None
    assert first.identity == second.identity
    assert first.category == second.category


@pytest.mark.parametrize(
    ("file", "place"),
    [("/dev/shm/shop/app.py", "app.py:5"), ("/dev/fd/63", None), ("/dev/stdin", None)],
)
def test_a_project_in_memory_has_places_and_a_pipe_has_none(file: str, place: str | None) -> None:
    """A file of a project that lies in memory is a place; what was read from a pipe or typed is none."""
    told = (
        f'Traceback (most recent call last):\n  File "{file}", line 5, in total\n    sum(prices)\nKeyError: "total"\n'
    )
    found = diagnose(told, exit_code=1, root="/dev/shm/shop")
    assert found is not None
    assert found.location == place


def test_a_banner_is_no_run_of_pytest() -> None:
    """Lines of equal signs alone do not make a tool's error one of pytest."""
    said = "ERROR: could not load the plugin\n"
    banner, session = (
        diagnose(f"===== {title} =====\n{said}", exit_code=1) for title in ("Deploying", "test session starts")
    )
    assert banner is not None
    assert session is not None
    assert banner.category.value == "agent_failure"
    assert session.category.value == "configuration"


@pytest.mark.parametrize("code", ["", " [E_STOCK]"])
def test_an_error_of_a_users_own_class_has_its_code(code: str) -> None:
    """In JavaScript a line above a frame is an error whatever its class is called, with its code."""
    found = diagnose(f"OutOfStock{code}: no apples\n    at sell (/app/shop.js:7:3)\n", exit_code=1)
    other = diagnose("OutOfStock [E_OTHER]: no apples\n    at sell (/app/shop.js:7:3)\n", exit_code=1)
    assert found is not None
    assert other is not None
    assert found.location == "/app/shop.js:7"
    assert found.signature.context_hash != other.signature.context_hash
    assert found.headline == f"OutOfStock{code}: no apples"


def test_a_panic_in_the_library_is_at_its_caller() -> None:
    """A panic in Rust's library is placed at the user's own line, which only the backtrace names."""
    library = "/rustc/1a2b3c/library/alloc/src/vec/mod.rs"
    told = (
        f"thread 'main' panicked at {library}:12:5:\nno room\nstack backtrace:\n   0: alloc::vec::insert\n"
        f"             at {library}:12:5\n   1: shop::main\n             at ./src/main.rs:3:7\n"
    )
    found = diagnose(told, exit_code=101)
    assert found is not None
    assert (found.location, found.headline) == ("src/main.rs:3", "no room")


def test_of_an_image_the_failed_step_is_read() -> None:
    """Another step of an image's build that printed an error and went on is not what failed."""
    told = (
        "#7 0.1 error: the cache is cold\n#9 0.2 KeyError: 'port'\n#9 ERROR: process did not complete: exit code: 1\n"
        "Dockerfile:4\nERROR: failed to solve: process did not complete: exit code: 1\n"
    )
    found = diagnose(told, exit_code=1)
    assert found is not None
    assert (found.headline, found.location) == ("KeyError: 'port'", "Dockerfile:4")


def test_a_traceback_without_its_first_lines() -> None:
    """A traceback cut by `tail` keeps its place and class, also below an indentation."""
    told = '  File "shop.py", line 5, in main\n    return items[0]\n           ~~~~~^^^\nIndexError: out of range\n'
    for cut in (told, told.replace("\n", "\n    ").rstrip()):
        found = diagnose(f"starting\n{cut}", exit_code=1)
        assert found is not None
        assert (found.error_type.value, found.location) == ("INDEX_ERROR", "shop.py:5")
    prose = diagnose(f"{told.splitlines()[0]}\nis where it was\n", exit_code=1)
    assert prose is not None
    assert prose.location is None


@pytest.mark.parametrize(
    ("told", "kind", "place"),
    [
        ("error: Uncaught (in promise) Error: boom\n    at file:///w/a.ts:1:7\n", "RUNTIME_ERROR", "/w/a.ts:1"),
        ("error: Uncaught (in promise) TypeError: x\n    at file:///w/a.ts:1:7\n", "TYPE_ERROR", "/w/a.ts:1"),
        (
            "TS2322 [ERROR]: Type 'a' is not b.\nconst n;\n    at file:///w/a.ts:1:7\n\nerror: no\n",
            "TYPE_ERROR",
            "/w/a.ts:1",
        ),
        ("1 | const x = ;\n              ^\nerror: Unexpected ;\n    at /w/a.ts:1:11\n", "SYNTAX_ERROR", "/w/a.ts:1"),
        (
            "TSError: unable\na.ts:2:7 - error TS2322: Type 'a' is not b.\n    at f (/w/node_modules/n.js:1:1)\n",
            "TYPE_ERROR",
            "a.ts:2",
        ),
        (
            "  x Expected ','\n   ,-[a.js:3:1]\nError: Failed to compile\n    at f (/w/node_modules/s.js:1:1)\n",
            "SYNTAX_ERROR",
            "a.js:3",
        ),
        ("[eval]:1\nthrow 'late'\n^\nlate\n(Use `node --trace-uncaught`)\n\nNode.js v20.20.2\n", "RUNTIME_ERROR", None),
        (
            "TAP version 13\nnot ok 1 sum\n  ---\n  expected: 3\n  stack: |\n    at f (/w/t.js:2:10)\n  ...\n",
            "ASSERTION_ERROR",
            "/w/t.js:2",
        ),
        (
            "TAP version 13\nnot ok 1 - a\n  ---\n  failureType: 'testCodeFailure'\n  error: 'no db'\n  ...\n",
            "RUNTIME_ERROR",
            None,
        ),
        ("Sum   | FAIL |\n1 != 2\n1 test, 0 passed, 1 failed\n", "ASSERTION_ERROR", None),
        ("lua: a.lua:2: no till\nstack traceback:\n\t[C]: in function 'assert'\n", "ASSERTION_ERROR", "a.lua:2"),
        (
            "lua: no till\nstack traceback:\n\t[C]: in function 'assert'\n\ta.lua:5: in main chunk\n",
            "ASSERTION_ERROR",
            "a.lua:5",
        ),
        (
            "thread 'main' panicked at a.rs:2:5:\ncalled `Result::unwrap()` on an `Err` value: ParseIntError { }\n",
            "VALUE_ERROR",
            "a.rs:2",
        ),
        ("[ERROR]: couldn't resolve module 'zz'.\nOrigin: /w/play.yml:3:7\n", "IMPORT_ERROR", "/w/play.yml:3"),
        ("lerna notice cli v9.0.7\nlerna ERR! ENOPKG `package.json` does not exist\n", "RUNTIME_ERROR", None),
    ],
)
def test_what_a_tool_prints_in_several_lines(told: str, kind: str, place: str | None) -> None:
    """Errors of Deno, bun, ts-node, swc, TAP's producers, Lua, Rust and Ansible have their type and place."""
    found = diagnose(told, exit_code=1)
    assert found is not None
    assert (found.error_type.value, found.location) == (kind, place)


def test_a_failed_test_is_told_before_what_it_printed() -> None:
    """Node's own code for a failed test does not make its message less than what the program printed above it."""
    told = (
        "TAP version 13\n# curl: (7) Failed to connect to localhost\nnot ok 1 - a\n  ---\n"
        "  failureType: 'testCodeFailure'\n  error: 'no db'\n  code: 'ERR_TEST_FAILURE'\n  ...\n"
        "curl: (7) Failed to connect to localhost\n"
    )
    found = diagnose(told, exit_code=1)
    whole = diagnose(told.replace("no db", "test failed"), exit_code=1)
    assert found is not None
    assert whole is not None
    assert (found.headline, whole.error_type.value) == ("no db", "CONNECTION_ERROR")
