"""Ordinary good work that resembles a loop: nothing is said about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from tests.detection.test_loop_histories import History, joined, ok, verdicts
from tests.detection.test_loop_rules import tool
from tests.detection.test_same_aim import changed

from unstuck.agents.streams.claude import ClaudeStream
from unstuck.detection.steps.results import says_well

FORMS = ("n * 100", "n ** 2 * 50", "100 << min(n, 6)", "(100 << min(n, 6)) + jitter(n)", "delay(n, cap=5_000)")
NAMES = ("orders", "users", "refunds", "search", "export", "menu")
CLEAN = "I reviewed the file and found no issues. The code handles errors properly and follows the conventions."


def quiet(history: History) -> bool:
    """Return whether nothing is said."""
    return not verdicts(history)


def reworked(call: str, results: Sequence[str], file: str = "src/retry.rs") -> History:
    """One place of a file is written in five forms, with a check after each."""
    edits = [changed(file, one, two) for one, two in pairwise(FORMS)]
    return joined(one + ok(call, result) for one, result in zip(edits, results, strict=True))


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("cargo build 2>&1 | tail -5", "   Compiling shop v0.1.0 (shop)\n    Finished `dev` profile in 1.2{}s"),
        ("cargo test | tail -3", "test result: ok. 42 passed; 0 failed; 0 ignored; finished in 0.4{}s"),
        ("dotnet build", "Build succeeded.\n    0 Warning(s)\n    0 Error(s)\n\nTime Elapsed 00:00:02.1{}"),
        ("mvn test", "[INFO] Tests run: 31, Failures: 0, Errors: 0, Skipped: 0\n[INFO] Total 1.{} s, BUILD SUCCESS"),
        ("ctest", "100% tests passed, 0 tests failed out of 12\nTotal Test time = 0.4{} sec"),
        (
            "npm run build",
            "vite v5.2.11 building\n✓ 34 modules transformed.\ndist/index.js 142.1{} kB\n✓ built in 1.{}s",
        ),
        ("bin/rails test", "10 runs, 24 assertions, 0 failures, 0 errors, 0 skips in 0.4{}s"),
        ("node --test", "# tests 10\n# pass 10\n# fail 0\n# duration_ms 42.{}"),
        ("npx eslint src", "src/old.js\n  12:7  warning  'x' is never used\n\n✖ 1 problem (0 errors, 1 warning)"),
        ("python check_links.py", "checked 48 links, 0 broken"),
        ("pytest -q | tail -2", "DeprecationWarning: fail_fast is deprecated\n42 passed, 1 xfailed in 1.2{}s"),
        ("go build ./... && ./shop --version", "shop 1.4.2 (go1.22)"),
        ("tsc && node main.js --help | head -2", "usage: main [options] <file>\n  -p, --port <n>  default 3000"),
        ("latexmk p.tex | tail -2", "Output written on p.pdf (12 pages).\nLatexmk: All targets are up-to-date"),
        ("helm lint chart", "==> Linting chart\n\n1 chart(s) linted, 0 chart(s) failed"),
    ],
)
def test_one_place_reworked_while_the_checks_pass(call: str, result: str) -> None:
    """A build or a test that passes each time has nothing else to say; one that fails has."""
    assert quiet(reworked(call, [result.replace("{}", str(n)) for n in range(4)]))


def test_one_value_turned_while_the_checks_pass() -> None:
    """A setting gets other numbers, and all stays well; where it stays wrong, something is said."""
    for result, well in (
        ("12 checks, 12 ok, 0 failed", True),
        ("nginx: configuration file nginx.conf test is successful", True),
        (" Container shop-db-1  Running\n Container shop-api-1  Started", True),
        ("12 checks, 10 ok, 2 failed: timeout is too short", False),
    ):
        turns = (changed("app.yml", f"pool: {n}", f"pool: {n + 1}") + ok("make smoke", result) for n in range(5))
        assert quiet(joined(turns)) == well


def test_a_query_that_becomes_much_faster() -> None:
    """One try that is a little slower than the one before does not hide the gain."""
    times = (812.2, 640.1, 655.8, 411.3)
    assert quiet(reworked("psql -f q.sql", [f"(1204 rows)\n\nTime: {time} ms" for time in times], "src/q.sql"))
    times = (812.2, 801.1, 822.8, 811.3)
    assert not quiet(reworked("psql -f q.sql", [f"(1204 rows)\n\nTime: {time} ms" for time in times], "src/q.sql"))


def test_a_page_reworded_while_its_site_is_built() -> None:
    """The number of pages says nothing about words for readers."""
    built = [f"  Pages | 24\n  Static files | 7\n\nTotal in 8{n} ms" for n in range(4)]
    assert quiet(reworked("hugo", built, "src/content/retry.md"))


@pytest.mark.parametrize("words", ["", "Took the screenshot and saved it as p.png"])
def test_a_style_tuned_by_pictures(words: str) -> None:
    """The result of Claude Code is a picture, with words or without; a picture is no empty result."""
    stream, seen = ClaudeStream(), []
    for n in range(8):
        style = {"file_path": "a.css", "old_string": f"gap: {n}px", "new_string": f"gap: {n + 1}px"}
        for name, given in (("Edit", style), ("Screenshot", {"path": "p.png"})):
            use = {"type": "tool_use", "id": f"{name}{n}", "name": name, "input": given}
            said = [{"type": "text", "text": words}, {"type": "image", "source": {"data": "AA"}}]
            result = "Updated" if name == "Edit" else said
            back = {"type": "tool_result", "tool_use_id": f"{name}{n}", "content": result}
            for kind, block in (("assistant", use), ("user", back)):
                seen += stream.take({"type": kind, "message": {"id": f"{kind}{n}{name}", "content": [block]}})
    assert quiet(seen)
    assert seen[-1].text.endswith("[image]")


def test_expected_trouble() -> None:
    """Errors that a test provokes, a task that has ended well, a log that goes on, a test that is left for later."""
    files = [changed(f"src/{name}.py", f"{name}(1)", f"{name}(one=1)") for name in NAMES]
    for call, result in (
        ("npm test 2>&1 | tail -6", "console.error\n  Error: invalid token\n\nTests: 30 passed, 30 total\nTime: 1.{}s"),
        ("docker compose ps -a shop", "shop-api Up {} seconds\nshop-migrate Exited (0) 2 hours ago"),
        ("docker compose logs api | tail -3", "ERROR telemetry: connection refused\nGET /v{} 200\nworker {} ready"),
        ("pytest -q 2>&1 | tail -3", "FAILED test_net.py::test_live - ConnectionError: offline\n1 failed, 3{} passed"),
    ):
        made = (one + ok(call, result.replace("{}", str(n))) for n, one in enumerate(files))
        assert quiet(joined(made)), call


def test_one_order_about_other_things() -> None:
    """Agents that are asked about other files or subjects may all find nothing, with the same words."""
    reviews = (
        tool("Task", CLEAN, description=f"Review {name}", prompt=f"Review src/{name}.py for injection, and report it.")
        for name in NAMES
    )
    assert quiet(joined(reviews))
    searches = (
        tool("Task", f"I searched the repository and found no {name}.", prompt=f"Search the repository for {name}.")
        for name in ("hard-coded passwords", "private keys", "API tokens", "unescaped queries", "eval calls")
    )
    assert quiet(joined(searches))


def test_one_answer_of_other_addresses() -> None:
    """Every route answers, whatever the form of the request; one that is asked in other forms says nothing new."""
    forms = ("curl -sI {}", "curl -s -I {}", "curl --head {}", "curl -I -s {}", "curl -sI '{}?day=1'")
    head = "HTTP/1.1 200 OK\ncontent-type: application/json\nserver: uvicorn"
    routes = [f"http://localhost:8000/{name}" for name in NAMES]
    asked = (ok(form.format(route), head) for form, route in zip(forms, routes, strict=False))
    assert quiet(joined(asked))
    assert not quiet(joined(ok(form.format(routes[0]), head) for form in forms))


def test_namespaces_searched_one_by_one() -> None:
    """Each search is somewhere else; the same namespace in other words is not."""
    none = "No resources found in {} namespace."
    looks = (ok(f"kubectl get pods -n {name} -l app=ledger", none.format(name)) for name in NAMES)
    assert quiet(joined(looks))


def test_branches_tried_and_given_up() -> None:
    """Several branches are tried for conflicts; one of them again and again is a loop."""
    made = (ok(f"git merge --no-commit {name}", f"merged {name}") + ok("git merge --abort") for name in NAMES)
    assert quiet(joined(made))
    again = (
        ok(f"git merge{flag} menu", f"merged {n}") + ok("git merge --abort") for n, flag in enumerate(("", " -q", ""))
    )
    assert not quiet(joined(again))


def test_thoughts_that_lead_on() -> None:
    """Each thought follows from the one before; none of them is a plan in other words."""
    thoughts = (
        "The parser should handle nested quotes first, because escapes depend on the quote that is open",
        "Escapes inside single quotes are literal, so the parser needs a state for the quote that is open",
        "With a state machine the parser can handle nested quotes and escapes in one pass over the input",
        "Comments begin outside of quotes only, so the same state decides whether a hash begins a comment",
        "Line continuations are escapes before a newline, which the state for escapes can handle as well",
        "Errors should name the position where the open quote began, so the parser keeps it beside its state",
    )
    said = (ok(json.dumps({"thought": one}), "{}", "mcp__thinking__sequentialthinking") for one in thoughts)
    assert quiet(joined(said))


@pytest.mark.parametrize(
    ("text", "well"),
    [
        ("12 passed in 3.1s", True),
        ("0 failures", True),
        ("Build complete! (3.2s)", True),
        ("warning: unused\nFinished in 2s", True),
        ("12 passed, 1 failed", False),
        ("1 error", False),
        ("errors: 0.58", False),
        ("compiled with 3 errors, 2 warnings", False),
        ("completed: the page is not valid", False),
        ("no complete rows", False),
        ("(12 rows)", False),
    ],
)
def test_results_that_say_that_all_is_well(text: str, well: bool) -> None:
    """A count of nothing bad is good news, a number alone is none."""
    assert says_well(text) == well
