"""Several tests that fail are one failure, in whatever order the workers print them."""

from __future__ import annotations

from itertools import permutations

import pytest

from unstuck.diagnosis import Diagnosis, diagnose

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
    """What pytest prints when the tests end in this order."""
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
    """Where the sections only have tracebacks, the summary's words for that very test are told."""
    native = told(report(("test_apple", "test_zebra", "test_many[20]"), NATIVE))
    assert (native.location, native.headline) == ("/w/test_b.py:3", "AssertionError: assert {'a': 1} == {'a': 2}")


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
    """What was mended shows, also when the failure that is told first is still there."""
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


@pytest.mark.parametrize(
    ("parts", "end", "place"),
    [(JEST, "Tests: 2 failed, 2 total\n", "src/cart.test.js:4"), (CARGO, "\ntest result: FAILED.", "src/lib.rs:9")],
)
def test_other_runners_that_work_in_parallel(parts: dict[str, str], end: str, place: str) -> None:
    """jest's files and cargo's threads end in any order, too."""
    found = [told("\n".join(order) + end) for order in permutations(parts.values())]
    assert len({one.identity for one in found}) == 1
    assert {one.location for one in found} == {place}
