"""Memory of a project at the command line: shown, turned into a rule, and deleted."""

from __future__ import annotations

import re

import pytest
from tests.e2e.conftest import Unstuck

from unstuck.eventlog.memory.entry import learnt
from unstuck.eventlog.memory.store import Memory


@pytest.fixture
def memory(unstuck: Unstuck) -> Memory:
    """One answer that worked, one that only ended its task, and an approach that failed."""
    folder = unstuck.root / ".git" / "unstuck"
    folder.mkdir()
    memory = Memory(folder / "memory.jsonl")
    when = "2026-11-20T09:00:00Z"
    memory.remember(learnt("approach", signature="s", approach="mock it", outcome="failed", note="boom", when=when))
    memory.remember(learnt("answer", signature="s", approach="skip", note="not now", when=when))
    memory.remember(
        learnt(
            "answer", signature="s", approach="show_me", outcome="worked", note="use \x1b[31mUTC", task="t", when=when
        )
    )
    return memory


def test_an_answer_becomes_a_rule_and_is_taken_back(unstuck: Unstuck, failing: str, no_climb: dict[str, str]) -> None:
    """An answer is turned into a rule by its id, and the next run's agent gets it until it is deleted."""
    agent = unstuck.script("agent.sh", 'grep -q "TOUCH DONE" "$UNSTUCK_PROMPT_FILE" && touch done; true')
    run = ("run", "--headless", "--verify", failing, "--", "sh", agent)
    assert unstuck.inside(*run, env=no_climb).code == 3
    unstuck.inside("answer", unstuck.only_gate()["gate"], "show-me", "TOUCH DONE")
    assert unstuck.inside("run", "--headless", "--resume", "last", env=no_climb).code == 0
    (answer,) = unstuck.inside("memory", "list", "--kind", "answer", "--json").rows
    assert answer["approach"] == "show_me"
    assert answer["note"] == "TOUCH DONE"
    assert answer["outcome"] == "worked"
    for _ in range(2):
        (rule,) = unstuck("memory", "promote", answer["memory"][:6], "--json").rows
        assert rule["kind"] == "rule"
        assert rule["holds"] is True
        assert rule["note"] == "TOUCH DONE"
    (unstuck.root / "done").unlink()
    assert unstuck.inside(*run, env=no_climb).code == 0
    (task,) = [row for row in unstuck.inside("show", "--json").rows if "task" in row]
    assert task["attempts"] == 2
    assert "Hint: TOUCH DONE" in unstuck.prompts()[1]
    assert unstuck.inside("memory", "forget", rule["memory"]).out == f"forgotten: rule {rule['memory']}\n"
    assert unstuck.inside("memory", "list", "--kind", "rule").out == "no rule is remembered here yet\n"


def test_each_is_a_line(unstuck: Unstuck, memory: Memory) -> None:
    """Oldest first: its id, when, what kind, how it ended and what was said, without a byte that moves the cursor."""
    ids = [entry.id for entry in reversed(memory.entries())]
    listed = [re.split(" {2,}", line) for line in unstuck.inside("memory", "list").out.splitlines()]
    assert [(line[0], *line[2:]) for line in listed] == [
        ("ID", "KIND", "OUTCOME", "WHAT"),
        (ids[0], "approach", "failed", "mock it (boom)"),
        (ids[1], "answer", "-", "skip not now"),
        (ids[2], "answer", "worked", "show-me use UTC"),
    ]
    assert [row["memory"] for row in unstuck.inside("memory", "list", "--json").rows] == ids


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("promote", "{skip}"), "cannot be made a rule: only a show-me or a retry with words can"),
        (("promote", "{approach}"), "cannot be made a rule"),
        (("promote", "zz"), "nothing is remembered as zz; `unstuck memory list` says what is"),
        (("promote", ""), "nothing is remembered as"),
        (("forget", "{skip}", "zz"), "nothing is remembered as zz"),
        (("forget",), "Missing argument 'ID...'"),
    ],
)
def test_what_cannot_be_done_is_said(unstuck: Unstuck, memory: Memory, words: tuple[str, ...], said: str) -> None:
    """One line, exit code 2, and nothing has changed."""
    before = memory.path.read_bytes()
    names = {"skip": memory.entries("answer")[1].id, "approach": memory.entries("approach")[0].id}
    done = unstuck.inside("memory", *(word.format(**names) for word in words))
    assert done.code == 2
    assert done.out == ""
    assert said in done.errors
    assert len(done.errors.splitlines()) == 1
    assert memory.path.read_bytes() == before


def test_nothing_is_remembered_in_a_new_project(unstuck: Unstuck) -> None:
    """Looking makes no file."""
    assert unstuck.inside("memory", "list").out == "nothing is remembered here yet\n"
    assert unstuck.inside("memory", "list", "--json").out == ""
    assert not (unstuck.root / ".git" / "unstuck" / "memory.jsonl").exists()


def test_a_damaged_line_is_told(unstuck: Unstuck, memory: Memory) -> None:
    """A line that something else has changed costs only itself, and the check-ups name it."""
    assert unstuck("run", "--headless", "--task", "x", "--verify", "true", "--", "true").code == 0
    assert unstuck("verify", "--json").rows[0]["memory"] == "good"
    assert "memory" not in {row["what"] for row in unstuck("doctor", "--json").rows}
    text = memory.path.read_bytes()
    memory.path.write_bytes(text.replace(b"mock it", b"lock it"))
    listed = unstuck("memory", "list", "--json").rows
    assert "lock it" not in {row["approach"] for row in listed}
    assert len(listed) >= 2
    said = f"{memory.path}: 1 line is damaged and left out"
    assert said in unstuck("verify").out
    assert unstuck("verify", "--json").rows[0]["memory"] == said
    (found,) = [row for row in unstuck("doctor", "--json").rows if row["what"] == "memory"]
    assert found["value"] == said
    assert found["mend"] == "delete these lines or the file: it only holds advice"
