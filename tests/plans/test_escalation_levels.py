"""Every escalation level changes the prompt of the next attempt and its files."""

from __future__ import annotations

import json

from tests.plans.conftest import Bench

from unstuck.eventlog.events import DirectiveIssued
from unstuck.eventlog.fold import fold
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.state import State, dump, load

CHECK = "import os, app\n\nassert os.path.exists('page.html') or app.page() == 2, 'no page'\n"
CLIMB = {"max_retries": 1, "max_pivots": 1, "max_research": 1}


def alone(bench: Bench, script, *, verify, settings=None, **task):
    """A plan of one task in a work tree of its own."""
    return bench.plan(
        agents={"worker": bench.agent("worker", script)},
        tasks=[{"id": "web", "prompt": "Build the page.", "isolation": "worktree", "verify": verify, **task}],
        settings=settings or {},
    )


def test_each_level_changes_the_prompt_and_the_files(bench: Bench) -> None:
    """Retry keeps my edits, pivot sets them back and names another way, research hands over what it found."""
    bench.write({"app.py": "def page():\n    return 1\n", "old.txt": "old\n", "check.py": CHECK})
    script = (
        'cat old.txt attempt-* made > "$OUT/saw.$n" 2>/dev/null; echo "mine $n" >> old.txt; echo "$n" > attempt-$n\n'
        "[ $n != 4 ] || echo right > page.html"
    )
    check = "python -B check.py"
    done = bench.run(alone(bench, script, verify=check, settings={"failure_handler": CLIMB}))
    assert done.code == 0, done.out + done.err
    first, retry, pivot, research = (bench.prompt(f"web.{n}") for n in (1, 2, 3, 4))
    assert first.startswith("Build the page.")
    assert "did not pass" not in first
    assert all(text.startswith("Build the page.") for text in (retry, pivot, research))
    assert "The last attempt did not pass the check" in retry
    assert "Problem: AssertionError: no page (check.py:3)" in retry
    assert "Hint: " in retry
    assert "Take a different one" in pivot
    approach = next(line for line in pivot.splitlines() if line.startswith("Approach: ")).removeprefix("Approach: ")
    assert "set back" in pivot
    assert "First understand the problem" in research
    assert "Gathered:" in research
    assert "app.page() == 2" in research
    assert f"- {approach}" in research

    saw = [(bench.outside / f"saw.{n}").read_text() for n in (1, 2, 3, 4)]
    assert saw[0] == "old\n"
    assert saw[1] == "old\nmine 1\n1\n"
    assert saw[2] == "old\n"
    assert saw[3] == "old\nmine 3\n3\n"
    assert bench.result("old.txt") == "old\nmine 3\nmine 4\n"
    assert "attempt-1" not in bench.results()


PAGE_TEST = (
    "import unittest\nimport app\n\n\nclass Page(unittest.TestCase):\n"
    "    def test_page(self):\n        self.assertEqual(app.x, 2)\n"
)
PAGE_CHECK = "python -B -m unittest -q test_page"


def test_a_build_that_an_attempt_broke_goes_back_to_where_it_loaded(bench: Bench) -> None:
    """A broken build is saved and set back to where the tests had run; earlier work is kept."""
    bench.write({"app.py": "x = 1\n", "test_page.py": PAGE_TEST})
    script = (
        'cat app.py > "$OUT/saw.$n"; case $n in 1) echo "y = 1" >> app.py;; '
        '2) echo "x = (" > app.py; echo mine > new.txt;; *) echo "x = 2" >> app.py;; esac'
    )
    done = bench.run(alone(bench, script, verify=PAGE_CHECK))
    assert done.code == 0, done.out + done.err
    saw = [(bench.outside / f"saw.{n}").read_text() for n in (1, 2, 3)]
    assert saw == ["x = 1\n", "x = 1\ny = 1\n", "x = 1\ny = 1\n"]
    assert "set back" not in bench.prompt("web.2")
    assert "SyntaxError" in bench.prompt("web.3")
    assert "because the build was broken (files: 2).\n- changed back app.py\n- removed" in bench.prompt("web.3")
    (restored,) = bench.events("restore_done")
    safety = restored["data"]["safety"]
    assert f"files restored to {restored['data']['target']} (2 files changed): changed back app.py, removed" in done.out
    assert f"to get them back: unstuck checkpoints restore {safety}" in done.out
    assert f"They are saved: unstuck checkpoints diff {safety} shows them." in bench.prompt("web.3")
    shown = bench.call("checkpoints", "diff", restored["data"]["target"], safety)
    assert "+x = (" in shown.out
    assert bench.result("app.py") == "x = 1\ny = 1\nx = 2\n"


def test_a_deleted_module_comes_back_with_all_that_was_done_before(bench: Bench) -> None:
    """A deleted module that the tests import is restored to where they ran, not to the beginning."""
    bench.write({"app.py": "x = 1\n", "test_page.py": PAGE_TEST})
    script = 'case $n in 1) echo "y = 1" >> app.py;; 2) rm app.py;; *) echo "x = 2" >> app.py;; esac'
    done = bench.run(alone(bench, script, verify=PAGE_CHECK))
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 3
    assert "- brought back app.py" in bench.prompt("web.3")
    assert bench.result("app.py") == "x = 1\ny = 1\nx = 2\n"


def test_breaking_it_again_and_again_loses_nothing_that_ran(bench: Bench) -> None:
    """An agent that works and breaks in turns goes back each time to what last ran, and gets to the end."""
    bench.write({"app.py": "x = 1\n", "test_page.py": PAGE_TEST})
    script = (
        'case $n in 2|4) echo "x = (" >> app.py;; 5) echo "x = 2" >> app.py;; *) echo "y = $n" >> app.py;; esac\n'
        'cp app.py "$OUT/left.$n"'
    )
    done = bench.run(alone(bench, script, verify=PAGE_CHECK, settings={"failure_handler": {"max_retries": 5}}))
    assert done.code == 0, done.out + done.err
    assert [event["data"]["changed"] for event in bench.events("restore_done")] == [1, 1]
    assert bench.result("app.py") == "x = 1\ny = 1\ny = 3\nx = 2\n"


def test_a_reset_that_a_kill_kept_off_the_record_is_told_all_the_same(bench: Bench) -> None:
    """Killed between setting back and its record, the run goes on with the same decision and says what was set back."""
    bench.write({"app.py": "x = 1\n", "test_page.py": PAGE_TEST})
    bench.pipe("wait")
    script = (
        'case $n in 1) echo "y = 1" >> app.py;; 2) echo "x = (" > app.py; echo mine > new.txt;; '
        '*) echo here > "$OUT/wait"; cat "$OUT/wait"; echo "x = 2" >> app.py;; esac'
    )
    process = bench.start("run", alone(bench, script, verify=PAGE_CHECK), "--headless")
    with open(bench.outside / "wait", encoding="utf-8") as pipe:
        assert pipe.read() == "here\n"
    process.kill()
    bench.end(process)
    log = bench.folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    names = [json.loads(line)["event"] for line in lines]
    (before,) = bench.events("restore_done")
    directives = [event["data"] for event in bench.events("directive_issued")]
    log.write_bytes(b"".join(lines[: names.index("restore_done")]))
    for snapshot in bench.folder.glob("state.json*"):
        snapshot.unlink()
    bench.agent("worker", "echo 'x = 2' >> app.py")
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert [event["data"] for event in bench.events("directive_issued")] == directives
    (after,) = bench.events("restore_done")
    assert after["data"] == before["data"]
    assert "- changed back app.py\n- removed new.txt" in bench.prompt("web.3")
    assert bench.result("app.py") == "x = 1\ny = 1\nx = 2\n"


def test_what_a_decision_rests_on_is_on_record(bench: Bench) -> None:
    """Before each decision the log and its snapshot alone say how far the files came, before and after the attempt."""
    bench.write({"app.py": "x = 1\n", "test_page.py": PAGE_TEST})
    script = 'case $n in 1) echo "y = 1" >> app.py;; 2) echo "x = (" > app.py;; *) echo "x = 2" >> app.py;; esac'
    done = bench.run(alone(bench, script, verify=PAGE_CHECK))
    assert done.code == 0, done.out + done.err
    records = list(read_records(bench.folder / "events.jsonl"))
    state, decided = State(), []
    for record in records:
        if isinstance(record.event, DirectiveIssued):
            again = load(dump(state))
            assert again == state
            row = again.tasks["web"]
            decided.append((row.before.extent.stage, row.files.extent.stage, bool(row.loads), record.event.restore))
        fold(state, record)
    assert decided == [("", "run", False, ""), ("run", "parse", True, "good")]


def test_a_build_that_never_worked_is_not_set_back(bench: Bench) -> None:
    """A retry keeps the agent's work if nothing is known to have loaded."""
    bench.write({"app.py": "x = [\n", "test_page.py": PAGE_TEST})
    script = 'cat app.py > "$OUT/saw.$n"; if [ $n = 1 ]; then echo "x = (" > app.py; else echo "x = 2" > app.py; fi'
    done = bench.run(alone(bench, script, verify=PAGE_CHECK))
    assert done.code == 0, done.out + done.err
    assert (bench.outside / "saw.2").read_text() == "x = (\n"
    assert "it does not even load or compile" in bench.prompt("web.2")
    assert "set back" not in bench.prompt("web.2") + done.out
    assert not bench.events("restore_done")


def test_a_build_that_worked_before_any_work_is_set_back(bench: Bench) -> None:
    """The tests ran on the first files, so an attempt after which nothing loads is taken back, the very first too."""
    bench.write({"app.py": "x = 1\n", "test_page.py": PAGE_TEST})
    script = 'cat app.py > "$OUT/saw.$n"; if [ $n = 1 ]; then echo "x = (" > app.py; else echo "x = 2" > app.py; fi'
    done = bench.run(alone(bench, script, verify=PAGE_CHECK))
    assert done.code == 0, done.out + done.err
    assert (bench.outside / "saw.2").read_text() == "x = 1\n"
    assert "- changed back app.py" in bench.prompt("web.2")


def test_a_transient_failure_is_waited_out(bench: Bench) -> None:
    """Too many requests: the same words again after a moment, no rung used, and the record says it passed."""
    script = "[ $n != 1 ] || { echo 'HTTP 429 Too Many Requests' >&2; exit 1; }; echo ok > done.txt"
    done = bench.run(alone(bench, script, verify="test -f done.txt"))
    assert done.code == 0, done.out + done.err
    assert bench.prompt("web.2") == bench.prompt("web.1")
    (retry,) = bench.events("transient_error_retry")
    assert retry["data"]["retry"] == 1
    assert retry["data"]["delay_seconds"] == 1.0
    (resolved,) = bench.events("transient_error_resolved")
    assert resolved["data"]["total_retries"] == 1
    assert not bench.events("directive_issued")


def test_a_full_context_goes_on_in_a_new_session(bench: Bench) -> None:
    """A new session goes on from the files when the context ran out; the files stay."""
    script = (
        "[ $n = 1 ] || { echo whole >> work.txt; exit; }\n"
        "echo half > work.txt; echo 'Error: prompt is too long: 210000 tokens > 200000 maximum'; exit 1"
    )
    done = bench.run(alone(bench, script, verify="grep -q whole work.txt"))
    assert done.code == 0, done.out + done.err
    assert "ran out of context" in bench.prompt("web.2")
    assert "Done so far in the files:\n- added work.txt" in bench.prompt("web.2")
    assert bench.result("work.txt") == "half\nwhole\n"
    assert [event["data"]["level"] for event in bench.events("directive_issued")] == ["continue"]


def test_the_same_idea_in_other_words_asks(bench: Bench) -> None:
    """An agent that names the same idea three times is going in circles: the person is asked."""
    script = (
        "case $n in 1) w='Using async await with try catch';; 2) w='Trying async await pattern with try catch';;\n"
        "*) w='Using async await with proper try catch';; esac\n"
        'echo "UNSTUCK {\\"signal\\": \\"complete\\", \\"approach\\": \\"$w\\"}"'
    )
    check = "echo 'AssertionError: assert 1 == 2'; exit 1"
    done = bench.run(alone(bench, script, verify=check))
    assert done.code == 3, done.out + done.err
    assert bench.attempts("web") == 3
    (gate,) = bench.gates().values()
    assert gate.type == "stuck"
    assert bench.events("directive_issued")[-1]["data"]["line"] == 9


def test_a_pattern_goes_straight_to_the_person(bench: Bench) -> None:
    """A failure that my settings send to me is not tried again first."""
    settings = {"failure_handler": {"skip_to_ask": ["licen[cs]e"]}}
    plan = alone(bench, "true", verify="echo 'Error: no license for this'; exit 1", settings=settings)
    assert bench.run(plan).code == 3
    assert bench.attempts("web") == 1
    assert next(iter(bench.gates().values())).type == "stuck"


def test_a_known_answer_is_given_once(bench: Bench) -> None:
    """A hint from my settings is in the next prompt, once for the same failure."""
    rule = {"pattern": "no such table", "action": "apply the migrations first"}
    settings = {"failure_handler": {"auto_resolve": [rule], **CLIMB, "max_pivots": 0, "max_research": 0}}
    plan = alone(bench, "true", verify="echo 'Error: no such table: users'; exit 1", settings=settings)
    assert bench.run(plan).code == 3
    assert "apply the migrations first" in bench.prompt("web.2")
    assert "apply the migrations first" not in bench.prompt("web.3")
    assert bench.attempts("web") == 3


def test_direct_mode_is_retry_then_ask(bench: Bench) -> None:
    """A task in direct mode never pivots or researches."""
    plan = alone(bench, "true", verify="echo 'AssertionError: 1'; exit 1", mode="direct")
    assert bench.run(plan).code == 3
    assert {event["data"]["level"] for event in bench.events("directive_issued")} == {"retry", "human"}
    assert bench.attempts("web") == 4
