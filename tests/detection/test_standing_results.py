"""Looks, keys, texts and messages after which all stands as before, with other work between."""

from __future__ import annotations

import pytest
from tests.detection.test_loop_histories import History, bad, joined, ok, read, says, user, verdicts
from tests.detection.test_loop_rules import tool
from tests.detection.test_same_aim import between

JOB = "curl -s https://api.example/exports/7"
LOOKS = (JOB, f"sleep 30; {JOB}", f"sleep 60 && {JOB} | jq -c .", f"http --body {JOB}")
PLAN = "# Plan: {}\n\n1. {} the code\n2. Write it\n3. Try it"
SCREEN = "VIM - Vi IMproved\n\n~\n~\n-- INSERT --"
PUT = "server {\n  listen 443 ssl;\n}"
DONE = "All the changes that you asked for are complete and the tests pass now."


def looks(*states: str) -> History:
    """Looks at one job in other forms, with waits in some and other work between."""
    return joined(ok(LOOKS[n % 4], state) + between(n) for n, state in enumerate(states))


def test_a_job_that_stands_is_told_after_six_looks_in_any_form() -> None:
    """Only the time of the look differs; one that comes on is waited for."""
    standing = [f'{{"state":"queued","progress":0,"checked_at":"2026-08-25T23:4{n}:05Z"}}' for n in range(6)]
    assert verdicts(looks(*standing[:5])) == []
    assert [said.kind for said in verdicts(looks(*standing))] == ["waiting"]
    assert verdicts(looks(*(f'{{"state":"queued for the export","place":{40 - n}}}' for n in range(8)))) == []


def test_a_job_that_has_ended_is_not_waited_for() -> None:
    """The third look in another form tells nothing; looks without a wait are no waiting."""
    ended = "2026-08-25 08:27:17 finished with errors, exit code 1"
    forms = ("tail -1 run.log", "sleep 30; tail -n 1 run.log", "tail -n1 run.log | cut -c1-99")
    assert [said.kind for said in verdicts(joined(ok(form, ended) for form in forms))] == ["loop"]
    assert verdicts(joined(ok(f"./run.sh part_{n}", ended) + between(n) for n in range(3))) == []


def test_keys_that_leave_the_screen_as_it_was() -> None:
    """Four of them by any tool; a screen that changes is another one."""
    keys = ("Escape ':wq' Enter", "C-c", "':q!' Enter", "C-[ ZZ")
    sent = [f"tmux send-keys -t work {key} && sleep 1 && tmux capture-pane -p -t work" for key in keys]
    assert verdicts(joined(ok(one, SCREEN) + between(n) for n, one in enumerate(sent)))
    assert verdicts(joined(ok(one, f"{SCREEN}\n{n} lines") + between(n) for n, one in enumerate(sent))) == []
    taps = [tool(f"mcp__phone__{name}", SCREEN, at=n) for n, name in enumerate(("tap", "press_key", "swipe", "tap"))]
    assert verdicts(joined(taps))


@pytest.mark.parametrize(("last", "told"), [(PUT, True), (PUT.replace("443", "80"), False)])
def test_one_text_by_several_tools_is_one_text(last: str, told: bool) -> None:
    """The last newline and the form of the path make no difference; another text does."""
    history = joined(
        (
            tool("Write", "written", file_path="/srv/shop/nginx/site.conf", content=PUT),
            ok(f"cat > nginx/site.conf <<'EOF'\n{PUT}\nEOF"),
            tool("Write", "written", file_path="/srv/shop/nginx/site.conf", content=f"{last}\n"),
        )
    )
    assert bool(verdicts(history)) is told


def test_one_text_in_files_of_one_name_is_not_written_again() -> None:
    """Each package gets its own."""
    assert (
        verdicts(joined(tool("Write", "ok", file_path=f"/srv/{n}/__init__.py", content="# made") for n in "abcd")) == []
    )


def test_plans_in_files_are_plans() -> None:
    """Four of them without a step of the work; other pages are work."""
    ways = ("Read", "Survey", "Map", "Study")
    names = ("PLAN.md", "PLAN.md", "docs/plan.md", "PLAN_v2.md")
    plans = [
        tool("Write", f"{len(way)} lines", file_path=f"/srv/{name}", content=PLAN.format("undo", way))
        for name, way in zip(names, ways, strict=True)
    ]
    assert verdicts(joined(plans))
    pages = [tool("Write", "ok", file_path=f"/srv/{way}.md", content=PLAN.format("undo", way)) for way in ways]
    assert verdicts(joined(pages)) == []


def test_a_call_that_does_nothing_is_no_step_between_messages() -> None:
    """The same message with others and no-ops between is told at the third time; after work it is said again."""
    waits = "The build is still running, so I wait for it to finish before I go on."
    idle = joined((says(waits), says("Now once more:"), ok("true")))
    assert any(waits[:30] in str(said.evidence) for said in verdicts(idle * 3))
    assert verdicts(joined(says(waits) + between(n) for n in range(4))) == []


def test_one_answer_to_other_requests() -> None:
    """A long one is told at the third time; a short one is polite."""
    asked = ("Continue.", "Please go on with it", "The export is missing")
    assert verdicts(joined(user(words) + says(DONE) for words in asked))
    assert verdicts(joined(user(words) + says("Done.") for words in asked)) == []


def test_programs_that_are_installed_one_after_the_other() -> None:
    """Each was missing and has been supplied; names that stay missing are guesses."""
    names = ("file", "sqlite3", "xxd", "wget", "dig", "strace", "jq")
    missing = [bad(f"which {name} && {name} --help", f"bash: line 1: {name}: command not found") for name in names]
    installed = [ok(f"apt-get install -y {name}", f"Setting up {name} (1.20-3) ...") for name in names]
    assert verdicts(joined(a + b for a, b in zip(missing, installed, strict=True))) == []
    assert verdicts(joined(missing))


def test_several_times_is_a_request_for_repeats() -> None:
    """A person who asks for several runs gets them."""
    run = ok("npx cypress run", "  Checkout\n    ✓ pays with a card\n\n  1 passing")
    assert verdicts(user("Run it several times, I want to know how often it fails.") + run * 7) == []
    assert verdicts(user("Run it, I want to know whether it fails.") + run * 3)


def test_reading_again_after_a_wait_is_no_watch() -> None:
    """Other files are read between waits."""
    assert (
        verdicts(joined(ok("sleep 5") + read(f"a{n}.py", f"x = {n}\n" * 9) + read("b.py", "y = 1") for n in range(2)))
        == []
    )


def test_a_name_in_other_spellings_that_is_never_found() -> None:
    """Four spellings with other work between; other names that share no spelling are other searches."""
    spellings = ("legacy.*discount", "get_legacy_discount", "legacyDiscount", "legacy_discounts")
    history = joined(bad(f"grep -rn '{one}' src", "") + between(n) for n, one in enumerate(spellings))
    assert verdicts(history)
    names = ("open_door", "shut_window", "roof_color", "wall_height")
    assert verdicts(joined(bad(f"grep -rn '{one}' src", "") + between(n) for n, one in enumerate(names))) == []
