"""Parsers of test runners with reports of their own: minitest, Perl's Test::More, doctest."""

from __future__ import annotations

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsers.base import Finding, all_of, is_library, place

MINITEST = Lazy(r"\s*\d{1,5}\) (?P<what>Failure|Error):$")
MINITEST_TEST = Lazy(r"(?P<test>\S.{0,200}?)(?: \[(?P<file>[^\s\]]{1,300}):(?P<line>\d{1,7})\])?:$")
MINITEST_AT = Lazy(r"\s+(?P<file>\S{1,300}\.rb):(?P<line>\d{1,7}):in [`'](?P<function>.{1,200})'$")
MINITEST_LINES = 3


def minitest(text: str, lines: list[str]) -> Finding | None:
    """Return the failed test that is first in the code, because tests run in any order."""
    starts = [number for number, line in enumerate(lines) if MINITEST.match(line)]
    reports = [one for one in (_minitest(lines[start + 1 : start + 30]) for start in starts) if one is not None]
    if not reports:
        return None
    first = min(reports, key=lambda one: (one.test, one.headline))
    first.test = all_of(one.test for one in reports)
    return first


def _minitest(lines: list[str]) -> Finding | None:
    """Return the finding of one test: its name, the assertion's place and message; an error has a stack below it."""
    test = MINITEST_TEST.match(lines[0]) if lines else None
    if test is None:
        return None
    end = lines.index("") if "" in lines else len(lines)
    messages = [line.strip() for line in lines[1:end]] or [f"{test['test']} failed"]
    frames = (MINITEST_AT.match(line) for line in lines[1:] if ":in " in line)
    at = next((frame for frame in frames if frame and not is_library(frame["file"])), None)
    spot = test if test["file"] else at
    name = "AssertionError" if test["file"] else messages[0].partition(":")[0].rpartition("::")[2]
    return Finding(
        weight=91,
        headline=messages[0],
        name=name,
        location=place(spot["file"], spot["line"]) if spot else None,
        function=at["function"] if at and not test["file"] else "",
        test=test["test"],
        detail=" ".join(messages[1:MINITEST_LINES]),
        kind="test",
    )


PERL_TEST = Lazy(
    r"\s*#\s+Failed (?:test '(?P<test>.{1,300})'|test)(?: at (?P<file>\S{1,300}) line (?P<line>\d{1,7})\.)?$"
)
PERL_AT = Lazy(r"\s*#\s+(?:in |at )(?P<file>\S{1,300}) (?:at )?line (?P<line>\d{1,7})\.$")
PERL_SAID = Lazy(r"\s*#\s+(got|expected): (.{1,200})$")


def perl_test(text: str, lines: list[str]) -> Finding | None:
    """``#   Failed test 'name'``, its place on that line or the next, and what it got and expected."""
    for number, line in enumerate(lines):
        failed = PERL_TEST.match(line) if "Failed test" in line else None
        if failed is None:
            continue
        below = lines[number + 1 : number + 6]
        spot = failed if failed["file"] else next(filter(None, map(PERL_AT.match, below[:1])), None)
        compared = [match for match in map(PERL_SAID.match, below) if match]
        return Finding(
            weight=92,
            headline=f"{failed['test'] or 'test'} failed",
            name="AssertionError",
            location=place(spot["file"], spot["line"]) if spot else None,
            test=failed["test"] or "",
            detail=" ".join(f"{'actual' if match[1] == 'got' else match[1]}: {match[2]}" for match in compared),
            kind="test",
        )
    return None


DOCTEST = Lazy(r'File "(?P<file>[^"\n]{1,500})", line (?P<line>\d{1,7}), in (?P<test>\S{1,300})$')


def doctest(text: str, lines: list[str]) -> Finding | None:
    """Return the first example that printed something else, or raised."""
    for number, line in enumerate(lines[:-2]):
        spot = DOCTEST.match(line) if lines[number + 1] == "Failed example:" else None
        if spot is None:
            continue
        example, below = lines[number + 2].strip(), lines[number + 3 : number + 40]
        end = next((at for at, line in enumerate(below) if line.startswith("****")), len(below))
        fields = {
            line.rstrip(":"): below[at + 1].strip() for at, line in enumerate(below[: end - 1]) if line[-1:] == ":"
        }
        raised = "Exception raised" in fields
        return Finding(
            weight=91,
            headline=below[end - 1].strip() if raised and end else f"{example} failed",
            name="" if raised else "AssertionError",
            location=place(spot["file"], spot["line"]),
            test=spot["test"],
            detail=f"expected: {fields.get('Expected', '')} actual: {fields.get('Got', '')}",
            kind="test",
        )
    return None
