"""Failures and looks with one aim: what lies between them, and what is said around their results."""

from __future__ import annotations

import pytest
from tests.detection.test_loop_histories import History, bad, joined, ok, read, verdicts
from tests.detection.test_loop_rules import tool

from unstuck.detection.steps.results import output_in

PAGE = "https://books.example/item/7"
BEFORE = "Exit code: 1\nWall time: 2.4 seconds\nOutput:\n"
AROUND = (
    "Command: {}\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: {}\nSignal: (none)\nProcess Group PGID: {}"
)


def between(number: int) -> History:
    """Look at something else."""
    return read(f"src/other_{number}.py", f"def other_{number}():\n    return {number} * 31")


def apart(*parts: History) -> History:
    """Steps with looks at other things between them."""
    return joined(step for number, part in enumerate(parts) for step in (part, between(number)))


@pytest.mark.parametrize(
    ("said", "output", "failed"),
    [
        (f"{BEFORE}FAILED test_a", "FAILED test_a", True),
        (f"{BEFORE}FAILED test_a".replace(": 1", ": 0"), "FAILED test_a", False),
        ("Chunk ID: a1\nWall time: 1.0 seconds\nProcess exited with code 2\nOutput:\nno rule", "no rule", True),
        (AROUND.format("make", "no rule", 2, 4711), "no rule", True),
        (AROUND.format("make", "(empty)", "(none)", 4711), "", False),
        ("Output: built\nProcess Group PGID: 4711", "built", False),
        ("Exit code: 1 is what the test expects", "Exit code: 1 is what the test expects", False),
        ("Output: 3 lines", "Output: 3 lines", False),
    ],
)
def test_words_of_a_harness_around_an_output_are_no_part_of_it(said: str, output: str, failed: bool) -> None:
    """The exit code in them tells a failure; text that only begins like them stays."""
    assert output_in(said) == (output, failed)


def test_a_failure_in_the_words_of_a_harness_is_the_same_failure() -> None:
    """A process group differs in each result, and the exit code is in the text alone."""
    assert verdicts(joined(ok("make", AROUND.format("make", "no rule for all", 2, 4711 + n)) for n in range(3)))
    passing = joined(ok("make", AROUND.format("make", f"built {n} files", 0, 4711 + n)) for n in range(5))
    assert verdicts(passing) == []


def test_a_page_that_refuses_every_client_is_blocked() -> None:
    """One address refuses three clients in other words; other addresses are other pages."""
    refusals = (
        tool("WebFetch", "Request failed with status code 403", failed=True, url=PAGE),
        ok(f"curl -s -o /tmp/p -w '%{{http_code}}' {PAGE}", "403"),
        bad(f"wget -q {PAGE}", "wget: server returned error: HTTP/1.1 403 Forbidden"),
    )
    assert [verdict.kind for verdict in verdicts(apart(*refusals))] == ["blocked"]
    others = [ok(f"curl -s -o /tmp/p -w '%{{http_code}}' {PAGE}{n}", "200" if n % 2 else "403") for n in range(6)]
    assert verdicts(apart(*others)) == []


def test_a_rebase_begun_again_after_each_abort_is_a_loop() -> None:
    """Neither its failure nor its abort is another commit to work from; a checkout is."""
    conflict = "CONFLICT (content): Merge conflict in a.py\nerror: could not apply 4be1c02... Round the total"
    stuck = [
        [*bad(f"git rebase {how}main", conflict), *ok("git rebase --abort", "")]
        for how in ("", "-q ", "", "-X theirs ")
    ]
    assert verdicts(apart(*stuck))
    moved = [[*bad("git rebase main", conflict), *ok(f"git checkout part-{n}", "")] for n in range(4)]
    assert verdicts(apart(*moved)) == []


def test_what_is_started_before_a_sleep_is_no_wait() -> None:
    """A server started again and refused is a failure; a port that is only looked at is waited for."""
    refused = "curl: (7) Failed to connect to localhost port 8080: Connection refused"
    started = "pkill -f app.js; node app.js > log 2>&1 & sleep 2; curl -s localhost:8080"
    assert verdicts(joined(bad(started, f"[1] {4711 + n}\n{refused}") for n in range(3)))
    assert verdicts(joined(bad("sleep 2; curl -s localhost:8080", refused) for n in range(3))) == []


def test_a_time_limit_in_minutes_is_no_difference() -> None:
    """A command that is cut off four times, after other times and at other priorities."""
    forms = ("{}", "time {}", "nice {}", "{} 2>&1 | tail -5")
    cut = [bad(form.format("npm run e2e"), f"Command timed out after {2 + n}m 0.0s") for n, form in enumerate(forms)]
    assert verdicts(apart(*cut))
    measured = [bad(f"./bench --part {n}", f"part {n}: the limit of 9m was reached at {n}m") for n in range(4)]
    assert verdicts(apart(*measured)) == []


def test_the_time_before_a_line_of_a_build_is_no_difference() -> None:
    """A build that stops at the same step, with other times, sizes and places below."""
    log = "#1 transferring context: {0}4B done\n#5 {0}.790 npm error code EUSAGE\nnpm error Missing: ws from lock file"
    end = "Dockerfile:{}\nERROR: failed to solve: process did not complete successfully: exit code: 1"
    stuck = [bad("docker build .", f"{log.format(n)}\n{end.format(n + 7)}") for n in range(1, 4)]
    assert verdicts(apart(*stuck))
    other = [bad("docker build .", f"#5 1.790 npm error code {code}\n{end.format(7)}") for code in ("EUSAGE", "E404")]
    assert verdicts(apart(*other, *other)) == []
