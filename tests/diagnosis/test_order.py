"""Several tests that fail are one failure, in whatever order the workers print them."""

from __future__ import annotations

from itertools import permutations

import pytest

from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose

TITLE = "=================================== {} ==================================="
SECTION = "_________________________________ {} _________________________________"
SUMMARY = {
    "test_zebra": "FAILED test_b.py::test_zebra - AssertionError: assert {'a': 1} == {'a': 2}",
    "test_apple": "FAILED test_b.py::test_apple - KeyError: 'apple'",
    "test_many[20]": "FAILED test_b.py::test_many[20] - assert 20 == 0",
}
LONG = {
    "test_zebra": """
    def test_zebra():
>       assert {"a": 1} == {"a": 2}
E       AssertionError: assert {'a': 1} == {'a': 2}

test_b.py:3: AssertionError""",
    "test_apple": """
    def test_apple():
>       raise KeyError("apple")
E       KeyError: 'apple'

test_b.py:5: KeyError""",
    "test_many[20]": """
n = 20

    @pytest.mark.parametrize("n", [3, 20, 100])
    def test_many(n):
>       assert n == 0
E       assert 20 == 0

test_b.py:8: AssertionError""",
}
NATIVE = {
    "test_zebra": """Traceback (most recent call last):
  File "/w/lib/python3.11/site-packages/_pytest/python.py", line 187, in pytest_pyfunc_call
    result = testfunction(**testargs)
  File "/w/test_b.py", line 3, in test_zebra
    assert {"a": 1} == {"a": 2}
AssertionError""",
    "test_apple": """Traceback (most recent call last):
  File "/w/test_b.py", line 5, in test_apple
    raise KeyError("apple")
KeyError: 'apple'""",
    "test_many[20]": """Traceback (most recent call last):
  File "/w/test_b.py", line 8, in test_many
    assert n == 0
AssertionError""",
}
ONE_LINE = {
    "test_zebra": "/w/test_b.py:3: AssertionError: assert {'a': 1} == {'a': 2}",
    "test_apple": "E   KeyError: 'apple'\n/w/test_b.py:5: KeyError: 'apple'",
    "test_many[20]": "/w/test_b.py:8: assert 20 == 0",
}


def told(output: str) -> Diagnosis:
    diagnosis = diagnose(output, exit_code=1)
    assert diagnosis is not None
    return diagnosis


def report(order: tuple[str, ...], sections: dict[str, str], *, titled: bool = True) -> str:
    """Return pytest's output when the tests end in this order."""
    lines = [TITLE.format("FAILURES")] if sections else []
    for test in order if sections else ():
        lines += [SECTION.format(test)] if titled else []
        lines.append(sections[test])
    lines += [TITLE.format("short test summary info"), *(SUMMARY[test] for test in order), "3 failed in 0.1s"]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("sections", "titled", "place"),
    [
        (LONG, True, "test_b.py:3"),
        (NATIVE, True, "/w/test_b.py:3"),
        (ONE_LINE, False, "/w/test_b.py:3"),
        ({}, False, None),
    ],
)
def test_tests_that_end_in_another_order(sections: dict[str, str], titled: bool, place: str | None) -> None:
    """With workers in parallel the order is chance: the same tests failing are the same failure, told at one place."""
    found = [told(report(order, sections, titled=titled)) for order in permutations(SUMMARY)]
    assert len({one.identity for one in found}) == 1
    assert {one.location for one in found} == {place}
    assert len({one.headline for one in found}) == 1


def test_the_place_and_the_words_are_of_one_test() -> None:
    """A test's words come from the summary if its section has only a traceback."""
    native = told(report(("test_apple", "test_zebra", "test_many[20]"), NATIVE))
    assert native.location == "/w/test_b.py:3"
    assert native.headline == "AssertionError: assert {'a': 1} == {'a': 2}"


def test_what_could_not_start_comes_first() -> None:
    """A fixture that is broken is told before the tests that ran, in every style."""
    error = "_________________________ ERROR at setup of test_uses __________________________\n"
    for sections, titled in ((LONG, True), (ONE_LINE, False)):
        output = report(tuple(SUMMARY), sections, titled=titled)
        output = (
            f"{TITLE.format('ERRORS')}\n{error}E       ValueError: no fixture\n\ntest_b.py:11: ValueError\n{output}"
        )
        assert told(output).headline == "ValueError: no fixture"
        assert told(output).location == "test_b.py:11"


def test_one_test_fewer_is_another_failure() -> None:
    """Progress shows even if the first failure is still there."""
    all_three, two = tuple(SUMMARY), tuple(SUMMARY)[:2]
    assert told(report(all_three, LONG)).identity != told(report(two, LONG)).identity


JEST = {
    "cart": """FAIL src/cart.test.js
  ● cart › adds

    expect(received).toBe(expected) // Object.is equality

    Expected: 3
    Received: 2

      at Object.toBe (src/cart.test.js:4:19)
""",
    "rates": """FAIL src/rates.test.js
  ● rates › reads

    TypeError: Cannot read properties of undefined (reading 'net')

      at rate (src/rates.js:9:21)
      at Object.rate (src/rates.test.js:7:12)
""",
}
CARGO = {
    "tests::adds": "---- tests::adds stdout ----\n\nthread 'tests::adds' (12) panicked at src/lib.rs:9:9:\n"
    "assertion `left == right` failed\n  left: 2\n right: 3\n",
    "tests::reads": "---- tests::reads stdout ----\n\nthread 'tests::reads' (13) panicked at src/lib.rs:20:31:\n"
    "called `Option::unwrap()` on a `None` value\n",
}


GO = {
    "TestAdds": "--- FAIL: TestAdds (0.02s)\n    cart_test.go:9: total = 4, want 3\n",
    "TestReads": "--- FAIL: TestReads (0.00s)\n    --- FAIL: TestReads/rate (0.01s)\n"
    "        cart_test.go:20: no rate\n",
}
# With -v what is said stands below the name of the test that goes on, and above the line that says that it failed.
GO_AT_LENGTH = {
    "TestAdds": "=== CONT  TestAdds\n    cart_test.go:9: total = 4, want 3\n--- FAIL: TestAdds (0.02s)\n",
    "TestReads": "=== CONT  TestReads/rate\n    cart_test.go:20: no rate\n"
    "--- FAIL: TestReads (0.00s)\n    --- FAIL: TestReads/rate (0.01s)\n",
}
UNITTEST = {
    "adds": "FAIL: test_adds (test_cart.Cart.test_adds)\n" + "-" * 70 + "\nTraceback (most recent call last):\n"
    '  File "/w/test_cart.py", line 9, in test_adds\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n',
    "reads": "ERROR: test_reads (test_cart.Cart.test_reads)\n" + "-" * 70 + "\nTraceback (most recent call last):\n"
    "  File \"/w/test_cart.py\", line 20, in test_reads\n    rates['x']\nKeyError: 'x'\n",
}
NODE = {
    "adds": "not ok 1 - adds\n  ---\n  failureType: 'testCodeFailure'\n  error: 'no sum'\n  code: 'ERR_TEST_FAILURE'\n"
    "  stack: |-\n    TestContext.<anonymous> (/w/cart.test.js:2:27)\n  ...\n",
    "reads": "    not ok 1 - reads\n      ---\n      failureType: 'testCodeFailure'\n      error: 'no rate'\n"
    "      code: 'ERR_TEST_FAILURE'\n      ...\nnot ok 2 - rates\n  ---\n  failureType: 'subtestsFailed'\n  ...\n",
}


@pytest.mark.parametrize(
    ("parts", "end", "place"),
    [
        (JEST, "Tests: 2 failed, 2 total\n", "src/cart.test.js:4"),
        (CARGO, "\ntest result: FAILED.", "src/lib.rs:9"),
        (GO, "FAIL\n", "cart_test.go:9"),
        (GO_AT_LENGTH, "FAIL\n", "cart_test.go:9"),
    ],
)
def test_other_runners_that_work_in_parallel(parts: dict[str, str], end: str, place: str) -> None:
    """jest's files and cargo's threads end in any order, too."""
    found = [told("\n".join(order) + end) for order in permutations(parts.values())]
    assert len({one.identity for one in found}) == 1
    assert {one.location for one in found} == {place}


@pytest.mark.parametrize(
    ("parts", "begin", "end", "tests"),
    [
        (JEST, "", "Tests: 2 failed, 2 total\n", "cart › adds rates › reads"),
        (
            CARGO,
            "test tests::reads ... FAILED\ntest tests::adds ... FAILED\ntest tests::fine ... ok\n\nfailures:\n\n",
            "\ntest result: FAILED.",
            "tests::adds tests::reads",
        ),
        (GO, "", "FAIL\n", "TestAdds TestReads/rate"),
        (UNITTEST, "", "FAILED (failures=1, errors=1)\n", "test_cart.Cart.test_adds test_cart.Cart.test_reads"),
        (NODE, "TAP version 13\n", "# fail 2\n", "adds reads"),
    ],
)
def test_every_test_that_failed_is_named(parts: dict[str, str], begin: str, end: str, tests: str) -> None:
    """Of several failed tests all are named, so that it shows when one of them was mended."""
    both = told(begin + "\n".join(parts.values()) + end)
    assert both.signature.metadata["test"] == tests
    assert told(next(iter(parts.values())) + end).identity != both.identity


def test_another_test_of_the_same_suite_is_another_failure() -> None:
    """mocha names the suites first and the test below them: all of that is what failed."""
    report = "  0 passing (3ms)\n  1 failing\n\n  1) cart\n       totals\n         {}:\n     TypeError: no net\n"
    frame = "      at Context.<anonymous> (cart.test.js:4:12)\n"
    adds, rounds = (told(report.format(name) + frame) for name in ("adds", "rounds"))
    assert adds.signature.metadata["test"] == "cart totals adds"
    assert not adds.signature.is_identical_to(rounds.signature)


def test_a_test_that_may_fail_has_not_failed() -> None:
    """A test that a TAP report marks as todo or skipped is no failure."""
    todo = "TAP version 13\nnot ok 1 - rounds # TODO\nnot ok 2 - reads # SKIP no network\nnot ok 3 - adds\n"
    assert told(todo).signature.metadata["test"] == "adds"
