"""An answer that I have given three times to the same failure is offered as a rule, with its evidence."""

from __future__ import annotations

import re
import subprocess

import pytest
from tests.e2e.conftest import Unstuck

TELLS = 'grep -qi "touch *done" "$UNSTUCK_PROMPT_FILE" && touch done; true'


class Asked:
    """Runs that come to the same question, and end well once it is answered."""

    def __init__(self, unstuck: Unstuck, check: str, env: dict[str, str]) -> None:
        self._unstuck, self._env = unstuck, env
        self._run = ("run", "--headless", "--check", check, "--", "sh", unstuck.script("agent.sh", TELLS))

    def question(self) -> str:
        (self._unstuck.root / "done").unlink(missing_ok=True)
        assert self._unstuck.inside(*self._run, env=self._env).code == 3
        return str(self._unstuck.only_gate()["gate"])

    def is_worked_without_me(self) -> bool:
        (self._unstuck.root / "done").unlink(missing_ok=True)
        return self._unstuck.inside(*self._run, env=self._env).code == 0

    def answered(self, *answer: str) -> str:
        """The words after this answer; the run then ends well."""
        said = self._unstuck.inside("answer", self.question(), *answer).out
        assert self._unstuck.inside("run", "--headless", "--resume", "last", env=self._env).code == 0
        return said


@pytest.fixture
def asked(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> Asked:
    return Asked(unstuck, failing, no_climb)


def test_the_third_equal_answer_is_offered(unstuck: Unstuck, asked: Asked) -> None:
    """Blanks and capitals apart the same words: offered after the third, listed, applied only once promoted."""
    for words in ("TOUCH DONE", "touch  done"):
        assert "promote" not in asked.answered("show-me", words)
    assert "promote" not in unstuck.inside("memory", "list").out
    said = asked.answered("show-me", "Touch done")
    found = re.search(r"given 3 times to this failure, worked 2 of 2: `unstuck memory promote (\w+)`", said)
    assert found
    listed = unstuck.inside("memory", "list").out
    assert "given 3 times to this failure, worked 3 of 3" in listed
    rows = unstuck.inside("memory", "list", "--kind", "answer", "--json").rows
    assert [(row["given"], row["worked"], len(row["runs"])) for row in rows] == [(3, 3, 3)] * 3
    gate = asked.question()  # never applied by itself
    shown = unstuck.inside("show").out
    assert "Touch done; it worked (given 3 times to this failure, worked 3 of 3)" in shown
    (row,) = unstuck.inside("answer", gate, "show-me", "touch done", "--json").rows
    assert row["rule_offer"]["given"] == 4
    assert len(row["rule_offer"]["runs"]) == 4
    assert unstuck.inside("memory", "promote", found[1]).code == 0
    assert asked.is_worked_without_me()
    assert "promote" not in unstuck.inside("memory", "list").out
    assert all("given" not in row for row in unstuck.inside("memory", "list", "--json").rows)


def test_other_answers_are_not_offered(unstuck: Unstuck, asked: Asked) -> None:
    """Two ways to say it, another kind of answer, or one without words for an agent never add up to three."""
    for answer in (("show-me", "touch done"), ("show-me", "touch done, please"), ("retry", "touch done")):
        assert "promote" not in asked.answered(*answer)
    for _ in range(3):
        assert "promote" not in unstuck.inside("answer", asked.question(), "skip", "not now").out
    assert "promote" not in unstuck.inside("memory", "list").out


def test_an_answer_to_a_live_run_is_offered_too(
    unstuck: Unstuck, asked: Asked, failing: str, no_climb: dict[str, str]
) -> None:
    """The run that I answer is at work: the offer stands beside it, and the run goes on with the answer."""
    for _ in range(2):
        asked.answered("show-me", "touch done")
    (unstuck.root / "done").unlink()
    subprocess.run(["git", "add", "-A"], cwd=unstuck.root, check=True)
    subprocess.run(["git", "commit", "-qm", "the check"], cwd=unstuck.root, check=True)
    agent, go = unstuck.seen.parent / "agent.sh", unstuck.seen.parent / "go"
    (unstuck.root / "plan.yaml").write_text(
        f"agents:\n  a: {{command: [sh, {agent}]}}\n"
        f"  b: {{command: [sh, -c, 'until test -e {go}; do sleep 0.1; done']}}\n"
        f"tasks:\n  - {{id: task, agent: a, prompt: Work., verify: {failing}}}\n"
        "  - {id: other, agent: b, prompt: Wait., verify: 'true'}\n",
        encoding="utf-8",
    )
    live = unstuck.start("run", "plan.yaml", "--headless", "--json", env={**no_climb, "PYTHONUNBUFFERED": "1"})
    unstuck.until(live, b"gate_opened")
    said = unstuck.inside("answer", unstuck.only_gate()["gate"], "show-me", "touch done").out
    go.touch()
    live.communicate(timeout=60)
    assert live.returncode == 0
    assert "resume with" not in said
    assert "given 3 times to this failure" in said


def test_a_killed_run_counts_its_answer_once(unstuck: Unstuck, asked: Asked, no_climb: dict[str, str]) -> None:
    """Kill -9 while the agent works with my third answer, and before it: given three times, and offered once."""
    for _ in range(2):
        asked.answered("show-me", "touch done")
    gate = asked.question()
    unstuck.inside("answer", gate, "show-me", "touch done")
    for moment in (b"attempt_started", b"attempt_ended"):
        live = unstuck.start("run", "--headless", "--json", "--resume", "last", env=no_climb)
        unstuck.until(live, moment)
        live.kill()
        live.communicate(timeout=60)
    again = unstuck.inside("run", "--headless", "--resume", "last", env=no_climb)
    assert again.code == 0, again.errors
    rows = unstuck.inside("memory", "list", "--kind", "answer", "--json").rows
    assert [(row["given"], row["worked"]) for row in rows] == [(3, 3)] * 3
    assert unstuck.inside("memory", "list").out.count("given 3 times to this failure") == 1


def test_an_accepted_offer_takes_effect_and_is_revoked(unstuck: Unstuck, asked: Asked) -> None:
    """Promoted, the failure is worked without me; once the rule is forgotten I am asked again."""
    for _ in range(3):
        asked.answered("show-me", "touch done")
    (offered, *_) = unstuck.inside("memory", "list", "--kind", "answer", "--json").rows
    assert unstuck.inside("memory", "promote", offered["memory"]).code == 0
    assert asked.is_worked_without_me()
    (rule,) = unstuck.inside("memory", "list", "--kind", "rule", "--json").rows
    assert unstuck.inside("memory", "forget", rule["memory"]).code == 0
    assert asked.question()
