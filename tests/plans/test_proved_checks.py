"""With `check_policy: {prove: true}` a check that passes fails without the work, and passes with the old tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.plans.conftest import Bench

TEST = """import unittest
import calc


class Add(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(2, 0), 2)
"""
STRONGER = TEST + "\n    def test_more(self):\n        self.assertEqual(calc.add(2, 3), 5)\n"
LOOSER = TEST.replace("2, 0), 2", "2, 0), 3")
WRONG = "def add(a, b):\n    return a - b\n"
CHECK = "python -B -m unittest -q test_calc"
REPAIRS = "printf 'def add(a, b):\\n    return a + b\\n' > calc.py"
ADDS_ONE = "printf 'def add(a, b):\\n    return a + 1\\n' > calc.py"
TESTS = "cp $OUT/stronger.py test_calc.py"
LOOSENS = "cp $OUT/looser.py test_calc.py"


@pytest.fixture(autouse=True)
def proves(monkeypatch: pytest.MonkeyPatch) -> None:
    """My own settings ask for a proof."""
    monkeypatch.setenv("UNSTUCK_CHECK_POLICY__PROVE", "true")


def plan(bench: Bench, script: str, check: str = CHECK, isolation: str = "worktree", **more: Any) -> Path:
    """A project whose test passes although its code is wrong, and a task to repair the code."""
    bench.write({"calc.py": WRONG, "test_calc.py": TEST})
    for name, text in (("stronger", STRONGER), ("looser", LOOSER)):
        (bench.outside / f"{name}.py").write_text(text, encoding="utf-8")
    task = {"id": "web", "agent": "worker", "prompt": "Repair it.", "verify": check, "isolation": isolation}
    return bench.plan(agents={"worker": bench.agent("worker", script)}, tasks=[task], **more)


def kept(bench: Bench, name: str, isolation: str) -> str:
    """A file of the result."""
    return bench.result(name) if isolation == "worktree" else (bench.root / name).read_text()


@pytest.mark.parametrize("isolation", ["worktree", "shared"])
def test_work_with_a_test_that_fails_without_it_is_proved(bench: Bench, isolation: str) -> None:
    """The new test fails on the old code and the old tests pass on the new: done, with the agent's files in place."""
    done = bench.run(plan(bench, f"{REPAIRS}; {TESTS}", isolation=isolation))
    assert done.code == 0, done.out + done.err
    assert "proved: it fails without the work" in done.out
    shown = bench.call("show").out
    assert "proved: its check fails without the work" in shown
    assert "passed before any work" not in shown
    assert kept(bench, "test_calc.py", isolation) == STRONGER
    assert "a + b" in kept(bench, "calc.py", isolation)


def test_work_that_no_test_shows_is_a_question(bench: Bench) -> None:
    """The check passes without the work, too: headless it pauses with 3; allowed, the task succeeds."""
    paused = bench.run(plan(bench, REPAIRS))
    assert paused.code == 3, paused.out + paused.err
    assert "the check passed, but it proves nothing: it passes without the work, too" in paused.out
    assert bench.call("answer", bench.gate(), "choose", "1").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert "a + b" in bench.result("calc.py")


def test_a_loosened_test_is_found_by_the_old_one(bench: Bench) -> None:
    """The changed test passes with the changed code, the old test does not: a question says so."""
    paused = bench.run(plan(bench, f"{ADDS_ONE}; {LOOSENS}"))
    assert paused.code == 3, paused.out + paused.err
    assert "it fails with the tests as they were" in paused.out


def test_refused_the_agent_is_told_and_works_on(bench: Bench) -> None:
    """I say no: the next attempt hears what is missing, adds a test, and is proved."""
    bench.run(plan(bench, f"{REPAIRS}; [ $n = 1 ] || {TESTS}"))
    assert bench.call("answer", bench.gate(), "choose", "2").code == 0
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert "it passes without the work, too" in bench.prompt("web.2")


def test_where_nobody_may_be_asked_it_counts_as_failed(bench: Bench) -> None:
    """`ask: never`: the next attempt is told, and adds a test."""
    path = plan(bench, f"{REPAIRS}; [ $n = 1 ] || {TESTS}", settings={"ask": "never"})
    done = bench.run(path)
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 2


def test_the_work_is_back_where_a_test_was_renamed(bench: Bench) -> None:
    """The old test exists neither before nor after its turn: the agent's code is still what I am left with."""
    check = "python -B -m unittest discover -q"
    done = bench.run(plan(bench, f"{REPAIRS}; {TESTS}; mv test_calc.py test_more.py", check, "shared"))
    assert done.code == 0, done.out + done.err
    assert "proved: it fails without the work" in done.out
    assert "a + b" in (bench.root / "calc.py").read_text()
    assert (bench.root / "test_more.py").read_text() == STRONGER
    assert not (bench.root / "test_calc.py").exists()


def test_work_that_cannot_be_put_back_is_no_success(bench: Bench) -> None:
    """A check that puts a pipe where my file was: the run does not end as succeeded, and says what to move away."""
    spoils = "if grep -q 'a - b' calc.py && [ -e $OUT/worked ]; then rm calc.py; mkfifo calc.py; exit 1; fi"
    check = f"{spoils}; {CHECK}".replace("$OUT", str(bench.outside))
    path = plan(bench, f"{REPAIRS}; {TESTS}; touch $OUT/worked", check, "shared")
    failed = bench.end(bench.start("run", path, "--headless"))
    assert failed.code == 1, failed.out + failed.err
    assert "move" in failed.err
    assert bench.statuses() == {"web": None}
    (bench.root / "calc.py").unlink()
    (bench.outside / "worked").unlink()
    resumed = bench.resume()
    assert "a + b" in (bench.root / "calc.py").read_text(), resumed.out + resumed.err


def test_a_killed_proof_puts_back_files_with_odd_names(bench: Bench) -> None:
    """Names that no line can show as they are come back, too: bytes that are no text, and signs that turn text."""
    bench.pipe("door")
    at_work = "grep -q 'a - b' calc.py && [ -e $OUT/worked ] && [ ! -e $OUT/killed ]"
    holds = f"if {at_work}; then echo here > $OUT/door; cat $OUT/door; fi"
    check = f"{holds}; {CHECK}".replace("$OUT", str(bench.outside))
    odd = (b"x\xff.txt", "\u202ertl.txt".encode(), b"a\nb.txt", b"\x1b[31mred.txt")
    names = bench.outside / "names.py"
    names.write_text(f"for name in {odd!r}:\n    open(name, 'wb').write(b'x')\n", encoding="utf-8")
    script = f"{REPAIRS}; {TESTS}; python3 {names}; touch $OUT/worked"
    process = bench.start("run", plan(bench, script, check, "shared"), "--headless")
    assert (bench.outside / "door").read_text() == "here\n"
    (bench.outside / "killed").touch()
    process.kill()
    bench.end(process)
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert set(odd) <= set(os.listdir(os.fsencode(bench.root)))


@pytest.mark.parametrize("isolation", ["worktree", "shared"])
def test_a_proof_that_was_killed_leaves_the_work_as_it_was(bench: Bench, isolation: str) -> None:
    """Killed while the old files stand there: resumed, the work is back, proved, and delivered."""
    bench.pipe("door")
    at_work = "grep -q 'a - b' calc.py && [ -e $OUT/worked ] && [ ! -e $OUT/killed ]"
    holds = f"if {at_work}; then echo here > $OUT/door; cat $OUT/door; fi"
    check = f"{holds}; {CHECK}".replace("$OUT", str(bench.outside))
    process = bench.start("run", plan(bench, f"{REPAIRS}; {TESTS}; touch $OUT/worked", check, isolation), "--headless")
    assert (bench.outside / "door").read_text() == "here\n"
    (bench.outside / "killed").touch()
    process.kill()
    bench.end(process)
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 1
    assert "a + b" in kept(bench, "calc.py", isolation)
    assert kept(bench, "test_calc.py", isolation) == STRONGER


def test_a_stop_in_the_middle_of_a_proof_puts_the_files_back(bench: Bench) -> None:
    """Ctrl+C while the old files stand there: my project has the agent's work when the run has ended."""
    bench.pipe("door")
    holds = "if grep -q 'a - b' calc.py && [ -e $OUT/worked ]; then echo here > $OUT/door; exec sleep 600; fi"
    check = f"{holds}; {CHECK}".replace("$OUT", str(bench.outside))
    process = bench.start("run", plan(bench, f"{REPAIRS}; {TESTS}; touch $OUT/worked", check, "shared"), "--headless")
    assert (bench.outside / "door").read_text() == "here\n"
    process.send_signal(2)
    ended = bench.end(process)
    assert ended.code == 130, ended.out + ended.err
    assert "a + b" in (bench.root / "calc.py").read_text()


def test_a_proof_is_nothing_to_undo(bench: Bench) -> None:
    """Undo offers only changes from before the proof."""
    done = bench.run(plan(bench, f"{REPAIRS}; {TESTS}", isolation="shared"))
    assert done.code == 0, done.out + done.err
    undone = bench.call("checkpoints", "undo", "--yes")
    assert undone.code != 0
    assert "no restore to undo" in undone.err
