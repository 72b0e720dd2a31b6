"""Prefixes of continuous integration, containers, task runners and system logs change nothing about a failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from unstuck.diagnosis.parsing.line_prefix import without_prefixes
from unstuck.diagnosis.parsing.run_summary import contradiction
from unstuck.diagnosis.pipeline import diagnose

DATA = Path(__file__).parent.parent / "data"
START = datetime(2026, 5, 1, 12, 0, 30, tzinfo=UTC)


def at(number: int, pattern: str) -> str:
    """The time of a line; each is a little later than the one before."""
    return (START + timedelta(milliseconds=37 * number)).strftime(pattern)


# What each program prints before the line with this number.
PREFIXES: dict[str, Callable[[int], str]] = {
    "GitHub Actions": lambda number: at(number, "%Y-%m-%dT%H:%M:%S.%f7Z "),
    "gh run view --log": lambda number: "build (3.12)\tRun tests\t" + at(number, "%Y-%m-%dT%H:%M:%S.%f7Z "),
    "GitLab": lambda number: at(number, "%Y-%m-%dT%H:%M:%S.%fZ 00O "),
    "Jenkins": lambda number: at(number, "[%Y-%m-%dT%H:%M:%S.%fZ] "),
    "turbo": lambda _: "web:build: ",
    "turbo of a scope": lambda _: "@acme/web:test: ",
    "pnpm -r": lambda _: "packages/web test: ",
    "lerna": lambda _: "@acme/web: ",
    "docker compose": lambda _: "web-1  | ",
    "docker compose beside a longer name": lambda _: "web-1        | ",
    "docker logs -t": lambda number: at(number, "%Y-%m-%dT%H:%M:%S.%f789Z "),
    "foreman": lambda number: at(number, "%H:%M:%S web.1  | "),
    "kubectl logs --prefix": lambda _: "[pod/web-7d4b9c-x2x1k/app] ",
    "syslog": lambda number: at(number, "%b %e %H:%M:%S build01 ci[4242]: "),
    "journald": lambda number: at(number, "%Y-%m-%dT%H:%M:%S+0000 build01 ci[4242]: "),
    "ts": lambda number: at(number, "%b %d %H:%M:%S "),
    "a logger": lambda number: at(number, "%Y-%m-%d %H:%M:%S,123 "),
    "an indentation": lambda _: "    ",
    "a tab": lambda _: "\t",
    "compose in GitHub Actions": lambda number: at(number, "%Y-%m-%dT%H:%M:%S.%f7Z ") + "web-1  | ",
}
CASES = [
    (case["id"], case["output"], case["exit_code"])
    for name in ("failures.jsonl", "tools.jsonl", "tool_versions.jsonl")
    for case in map(json.loads, (DATA / name).read_text(encoding="utf-8").splitlines())
]


def behind(prefix: str, output: str) -> str:
    """The output with the prefix before each line."""
    lines = enumerate(output.rstrip("\n").split("\n"))
    return "".join(f"{PREFIXES[prefix](number)}{line}\n" for number, line in lines)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_prefix_hides_no_place(prefix: str) -> None:
    """Recorded outputs, others behind each prefix, have the type and the place that they have alone."""
    other = []
    for name, output, exit_code in CASES[list(PREFIXES).index(prefix) % 4 :: 4]:
        alone, found = diagnose(output, exit_code=exit_code), diagnose(behind(prefix, output), exit_code=exit_code)
        assert alone is not None
        assert found is not None
        if (found.error_type, found.location) != (alone.error_type, alone.location):
            other.append(name)
    assert other == []


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(
    "line", ["1 failed in 0.1s", "FAIL\texample.com/a [build failed]", "test result: FAILED. 1 passed; 2 failed;"]
)
def test_a_closing_line_behind_a_prefix_contradicts_exit_code_zero(prefix: str, line: str) -> None:
    """A container that ends with 0 after its tests have failed has not passed."""
    assert contradiction(behind(prefix, line)).startswith("printed ")
    assert contradiction(behind(prefix, f"collected 3 items\n{line}")).startswith("printed ")
    assert contradiction(behind(prefix, "3 passed in 0.1s")) == ""


def test_the_lines_of_each_service_stand_together() -> None:
    """Services that print at the same time do not tear each other's stack apart."""
    output = (
        "Attaching to db-1, web-1\n"
        "web-1  | Traceback (most recent call last):\n"
        "db-1   | ready to accept connections\n"
        'web-1  |   File "/app/shop.py", line 7, in total\n'
        "db-1   | checkpoint complete: wrote 4 buffers\n"
        "web-1  |     return prices[item]\n"
        "db-1   |\n"
        "web-1  | KeyError: 'apple'\n"
    )
    found = diagnose(output, exit_code=1)
    assert found is not None
    assert found.location == "/app/shop.py:7"
    assert found.headline == "KeyError: 'apple'"
    assert without_prefixes(output).split("\n")[:2] == ["Attaching to db-1, web-1", ""]


@pytest.mark.parametrize(
    ("output", "bare"),
    [
        ("web-1  | one\nweb-1  |\nweb-1  | two", "one\n\ntwo"),
        ("a\tb\t2026-05-01T12:00:30.1234567Z one", "one"),
        ("May  1 12:00:30 host cron[7]: one\nMay  1 12:00:30 host cron[7]: two", "one\ntwo"),
        ("\ufeff2026-05-01T12:00:30.1234567Z one\n2026-05-01T12:00:30.1234568Z   two", "one\n  two"),
        ("[web] one\n[web] two\n[api] three\n[api] four", "one\ntwo\nthree\nfour"),
        ("[api] one\n[web] two\n[api] three\n[web] four", "one\nthree\ntwo\nfour"),
        ("    one\n\n      two", "one\n\n  two"),
        ("    one\n\ttwo", None),
        ("  one\n  two", None),
        ("    one\ntwo", None),
        ("[ERROR] one\n[ERROR] two", None),
        ("[api] one\n[web] two", None),
        ("[1/2] one\n[2/2] two\n[web] three\n", None),
        ("error: one\nerror: two", None),
        ("fatal error: one\nfatal error: two", None),
        ("app/a.c in line: one\napp/a.c in line: two", None),
        ("a.c:3: one\na.c:3: two", None),
        ("a.c:3:5: one\na.c:3:5: two", None),
        ("1 | one\n2 | two", None),
        ("  | one\n13 | two", None),
        ("web-1  | one\ntwo\nthree", None),
        ("File | Lines\n---- | ----\na.js | 90\nb.js | 91", None),
        ("2026-05-01 one\n2026-05-01 two", None),
        ("12:00 one\n12:00 two", None),
        ("", None),
        ("\n\n", None),
    ],
)
def test_only_what_most_lines_share_is_a_prefix(output: str, bare: str | None) -> None:
    """A source line's number, a level, a place or a table's column is part of the message."""
    assert without_prefixes(output) == (output if bare is None else bare)


def test_half_of_the_lines_are_enough() -> None:
    """Lines of a task runner do not hide the prefix of the rest, which keeps its place."""
    assert without_prefixes("Starting\nweb:build: one\nweb:build: two\nDone") == "Starting\none\ntwo\nDone"
    assert without_prefixes("Starting\nNow\nweb:build: one\nweb:build: two\nDone").count("web:build: ") == 2
