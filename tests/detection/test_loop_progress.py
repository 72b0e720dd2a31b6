"""Nudge, gate, progress and *not a loop*: what becomes of a repetition once it was noticed."""

from __future__ import annotations

import json
from typing import Any

from unstuck.contract import Observation, Verdict
from unstuck.detection import LoopDetector


class Agent:
    """Feeds steps to a detector and keeps what is said."""

    def __init__(self, detector: LoopDetector | None = None, agent: str = "") -> None:
        self.detector, self.agent = detector or LoopDetector(), agent

    def say(self, text: str, role: Any = "agent") -> Verdict | None:
        return self._feed(kind="message", text=text, role=role)

    def do(
        self, call: str, result: str = "", *, failed: bool = False, tool: str = "bash", **about: Any
    ) -> Verdict | None:
        self._feed(kind="action", text=call, tool=tool, approach=about.pop("approach", None))
        return self._feed(kind="failure" if failed else "success", text=result, tool=tool, **about)

    def fail(
        self, call: str = "make test", result: str = "test_login FAILED: wrong token", **about: Any
    ) -> Verdict | None:
        return self.do(call, result, failed=True, **about)

    @property
    def rounds(self) -> int:
        return self.detector.rounds("t", self.agent)

    def _feed(self, **fields: Any) -> Verdict | None:
        return self.detector.observe(Observation(task_id="t", agent_id=self.agent, **fields))


def test_a_cycle_of_two_is_named() -> None:
    """A, B, A, B, A, B: told at the third round, with both steps of the cycle."""
    agent = Agent()
    said = [verdict for _ in range(3) for verdict in (agent.do("ls", "a.txt"), agent.do("cat a.txt", "hello"))]
    assert [bool(verdict) for verdict in said] == [False] * 5 + [True]
    assert said[-1] is not None
    assert said[-1].steps == ("ls", "cat a.txt")
    assert said[-1].repeats == 3


def test_a_stuck_call_among_productive_ones() -> None:
    """One call that fails the same way is seen although something else succeeds between."""
    agent = Agent()
    said = [verdict for n in range(3) for verdict in (agent.fail(), agent.do(f"python gen.py {n}", f"wrote part {n}"))]
    assert said[4] is not None
    assert "make test → test_login FAILED" in said[4].evidence


def test_fifty_moves_and_seven_empty_answers() -> None:
    """Like commands on different files, and look-ups that find nothing, are work."""
    agent = Agent()
    assert not any(agent.do(f"mv old/{n}.py new/{n}.py") for n in range(50))
    assert not any(agent.do(f"grep -rn name_{n} src", "") for n in range(7))


def test_a_tree_that_comes_back() -> None:
    """Back at an earlier state of the files for the second time: both times are named by their steps."""
    agent = Agent()
    said = [agent.do(f"edit {n}", "ok", tool="edit", tree=tree) for n, tree in enumerate("abab")]
    assert said[:3] == [None] * 3
    assert said[3] is not None
    assert said[3].kind == "loop"
    assert "after step 3 as after step 1 and after step 4 as after step 2" in said[3].evidence


def test_another_commit_is_meant() -> None:
    """Going back to a commit on purpose is no loop."""
    agent = Agent()
    assert not any(agent.do(f"git checkout {tree}", "", tree=tree) for tree in "abababab")


def test_an_edit_that_is_taken_back_twice() -> None:
    """Forth, back, forth: seen from the edits alone, whatever the tool calls their parts."""
    agent = Agent()

    def edit(old: str, new: str) -> Verdict | None:
        return agent.do(f"Edit {json.dumps({'file_path': 'a.py', 'old_string': old, 'new_string': new})}", tool="edit")

    assert [bool(edit(*pair)) for pair in (("x = 1", "x = 2"), ("x = 2", "x = 1"), ("x = 1", "x = 2"))] == [0, 0, 1]


def test_a_told_pattern_gets_no_three_new_rounds() -> None:
    """After the nudge the agent does something else and comes back: the person is asked at the second round."""
    agent = Agent()
    nudged = [agent.do("cat a.py", "x = 1") for _ in range(3)][-1]
    assert nudged is not None
    assert nudged.nudge
    for n in range(4):
        agent.do(f"cat b{n}.py", f"y = {n}")
    agent.do("cat a.py", "x = 1")
    gated = agent.do("cat a.py", "x = 1")
    assert gated is not None
    assert gated.nudge is False
    assert gated.pattern == nudged.pattern


def test_a_told_failure_is_asked_about_when_it_comes_again() -> None:
    """A failure that the agent was told of goes to the person the next time, unless it got further meanwhile."""
    agent = Agent()
    assert [agent.fail() for _ in range(3)][-1] is not None
    agent.do("cat x", "y")
    again = agent.fail()
    assert again is not None
    assert not again.nudge


def test_a_nudge_for_waiting_is_worth_ten_more() -> None:
    """A waiting agent is nudged after ten rounds and asked about after twenty."""
    agent = Agent()
    said = [agent.do("sleep 30; ./status", "still running") for _ in range(20)]
    assert [number for number, verdict in enumerate(said, 1) if verdict] == [10, 20]
    assert [verdict.nudge for verdict in said if verdict] == [True, False]
    assert {verdict.kind for verdict in said if verdict} == {"waiting"}


def test_the_count_on_the_way() -> None:
    """``↻ 2/3`` is known before anything is said."""
    agent = Agent()
    counts = []
    for _ in range(3):
        agent.fail()
        counts.append(agent.rounds)
    agent.do("cat x", "y")
    assert [*counts, agent.rounds] == [0, 2, 3, 0]


def test_fewer_failures_are_progress() -> None:
    """Each time the count falls the streak begins anew; when it stays the loop is seen."""
    agent = Agent()
    said = [
        agent.fail("pytest -q", f"FAILED t.py::test_a - boom\n{left} failed in 3.{left}s") for left in (9, 6, 4, 4, 4)
    ]
    assert [bool(verdict) for verdict in said] == [False] * 4 + [True]


def test_other_failing_tests_are_progress_until_they_come_back() -> None:
    """Another failing test is progress; the first one again, and again, is not."""
    agent = Agent()
    said = [agent.fail("pytest -q", f"FAILED t.py::test_{name} - assert 1 == 2") for name in "abcaba"]
    assert said[:5] == [None] * 5
    assert said[5] is not None
    assert said[5].kind == "circular_fix"


def test_an_error_further_down_is_progress() -> None:
    """The same kind of error at a later line means that the earlier part works now."""
    agent = Agent()
    assert not any(agent.fail("node x.js", f"x.js:{line}: SyntaxError: unexpected token") for line in (3, 20, 44, 90))


def test_an_edit_that_was_applied_is_no_progress() -> None:
    """Patch, same failure, patch, same failure: seen however well the patches went in."""
    agent = Agent()
    said = [verdict for n in range(3) for verdict in (agent.do(f"patch {n}", "applied", tool="edit"), agent.fail())]
    assert said[-1] is not None


def test_an_automatic_nudge_is_no_word_of_the_person() -> None:
    """Messages of the system clear nothing; those of the person do."""
    agent = Agent()
    agent.fail()
    agent.say("You seem to be stuck.", role="system")
    agent.fail()
    agent.say("You seem to be stuck.", role="system")
    assert agent.fail() is not None
    agent.say("I have renewed the token", role="user")
    assert [agent.fail() for _ in range(2)] == [None, None]


def test_what_was_asked_for_so_often() -> None:
    """*Run it five times* allows five of it, in a message or in the task itself, and no more."""
    for ask in (
        lambda agent: agent.say("run it 5 times", role="user"),
        lambda a: a.detector.started("t", "Run it 5x."),
    ):
        agent = Agent()
        ask(agent)
        assert [bool(agent.do("./soak", "passed")) for _ in range(6)] == [False] * 5 + [True]


def test_circular_fix_needs_the_same_failure() -> None:
    """Like approaches with other failures are how one works through a list; with the same failure they are a circle."""
    like = ("fix parser for strings", "fix parser for arrays", "fix parser for maps", "fix the parser for sets")
    working, circling = Agent(), Agent()
    assert not any(working.fail("pytest", f"FAILED t.py::test_{n}", approach=idea) for n, idea in enumerate(like))
    found = [circling.fail("pytest", "FAILED t.py::test_all", approach=idea) for idea in like]
    assert found[2] is not None
    assert found[2].kind == "circular_fix"


def test_a_ring_of_three_ideas() -> None:
    """Six attempts are remembered: the third time round a ring of three ideas is a circle."""
    agent = Agent()
    said = [
        agent.fail("pytest", f"FAILED t.py::test_{n % 3} - deadlock", approach=("mutex", "queue", "semaphore")[n % 3])
        for n in range(9)
    ]
    assert [bool(verdict) for verdict in said] == [False] * 6 + [True] * 3
    assert {verdict.kind for verdict in said if verdict} == {"circular_fix"}


def test_not_a_loop_holds_for_whatever_was_seen_with_it() -> None:
    """A dismissed loop stays dismissed even if another rule sees the same steps."""
    agent = Agent()
    found = [agent.fail() for _ in range(3)][-1]
    assert found is not None
    agent.detector.dismiss("t", found.pattern)
    assert [agent.fail() for _ in range(9)] == [None] * 9
    assert [agent.fail("make lint", "lint: 4 problems") for _ in range(3)][-1] is not None


def test_a_new_attempt_starts_from_nothing() -> None:
    """Three attempts that each begin with the same look round are no loop inside one."""
    detector = LoopDetector()
    agent = Agent(detector)
    for _ in range(5):
        detector.started("t", "Mend the shop")
        assert agent.do("ls", "a b") is None
        assert agent.fail() is None


def test_what_counts_as_a_failure() -> None:
    """An outage, a wait and a search that finds nothing are not failures of the work."""
    agent = Agent()
    counted = []
    for call, said in (
        ("make test", "test_a FAILED"),
        ("curl https://api/x", "HTTP/1.1 503 Service Unavailable"),
        ("grep -rn old src", ""),
        ("grep -rn old src", "Exit code 1"),
        ("sleep 2; ./ready", "not ready yet"),
    ):
        agent.fail(call, said)
        counted.append(agent.detector.counts("t"))
    assert counted == [True, False, False, False, False]


def test_progress_is_known() -> None:
    """A check that passes after it failed, and one that gets further, are measured progress; an edit is not."""
    agent = Agent()
    seen = []
    for step in (
        lambda: agent.fail("pytest", "3 failed"),
        lambda: agent.do("patch", "applied", tool="edit"),
        lambda: agent.fail("pytest", "2 failed"),
        lambda: agent.do("pytest -q", "9 passed"),
    ):
        step()
        seen.append(agent.detector.progressed("t"))
    assert seen == [False, False, True, True]


def test_agents_of_a_task_are_apart() -> None:
    """Parallel agents that fail alike twice each are no loop."""
    detector = LoopDetector()
    assert not any(Agent(detector, name).fail() for name in ("one", "two") for _ in range(2))
