"""Memory of a project between runs."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from unstuck.errors import RecordError
from unstuck.eventlog.memory.entry import ENTRIES_LIMIT, learnt, line_of, rule_words
from unstuck.eventlog.memory.offers import offers
from unstuck.eventlog.memory.store import READ_LIMIT, Memory
from unstuck.text import Clean


def reloaded(path: Path) -> Memory:
    memory = Memory(path)
    memory.load()
    return memory


def tried(memory: Memory, approach: str, outcome: str, *, signature: str = "s1", cause: str = "test_assertion") -> None:
    memory.remember(learnt("approach", signature=signature, approach=approach, outcome=outcome, cause=cause))  # type: ignore[arg-type]


def test_a_new_project_remembers_nothing(tmp_path: Path) -> None:
    """Without a file everything is empty and nothing is created."""
    memory = reloaded(tmp_path / "memory.jsonl")
    assert len(memory) == 0
    assert memory.skipped == 0
    assert memory.entries() == ()
    assert memory.failed("s") == frozenset()
    assert not memory.path.exists()


def test_what_one_run_learns_the_next_one_knows(tmp_path: Path) -> None:
    """Approaches, insights and answers come back whole in another run, and only the owner may read them."""
    memory = Memory(tmp_path / "memory.jsonl")
    tried(memory, "mock the clock", "failed")
    memory.remember(
        learnt(
            "insight",
            signature="s1",
            approach="",
            outcome="",
            cause="test_assertion",
            note="uses UTC",
            task="t",
            run="r",
        )
    )
    memory.remember(learnt("answer", signature="s1", approach="retry", outcome="worked", note="pin\nit" * 2_000))
    memory.remember(learnt("rule", signature="s1", note="a", when="2026-11-20T10:00:00Z"))
    later = reloaded(memory.path)
    assert later.entries() == memory.entries()
    assert [entry.kind for entry in later.entries()] == ["rule", "answer", "insight", "approach"]
    insight = later.entries("insight", signature="s1")[0]
    assert insight.note == "uses UTC"
    assert insight.task == "t"
    assert insight.run == "r"
    assert later.entries("insight", signature="s2") == ()
    assert later.entries("rule")[0].when == "2026-11-20T10:00:00Z"
    assert memory.path.stat().st_mode & 0o777 == 0o600


def test_the_last_use_of_an_approach_counts(tmp_path: Path) -> None:
    """An approach that failed against a failure is avoided until it works."""
    memory = Memory(tmp_path / "memory.jsonl")
    tried(memory, "a", "failed")
    tried(memory, "b", "failed")
    tried(memory, "c", "worked", signature="s2")
    tried(memory, "d", "worked", signature="s3", cause="other")
    tried(memory, "b", "worked")
    tried(memory, "c", "failed", signature="s3", cause="other")
    for seen in (memory, reloaded(memory.path)):
        assert seen.failed("s1") == {"a"}
        assert seen.failed("s3") == {"c"}


@pytest.mark.parametrize(
    "bad",
    [
        b"\n", b"hello\n", b"[]\n", b"null\n", b'{"kind":"gossip"}\n', b"\xff\xfe\x00\n", b"[" * 100_000 + b"\n",
        b'{"kind":"approach","signature":5}\n', b'{"kind":"approach","outcome":"maybe"}\n', b'{"kind":["approach"]}\n',
        b'{"kind":"approach","outcome":{}}\n', b'{"kind":"approach","note":"' + b"x" * 200_000 + b"\n",
    ],
)  # fmt: skip
def test_a_bad_line_is_skipped_and_counted(tmp_path: Path, bad: bytes) -> None:
    """Whatever stands between two good lines, both are remembered and one line is counted."""
    memory = Memory(tmp_path / "memory.jsonl")
    tried(memory, "a", "failed")
    good = memory.path.read_bytes()
    memory.path.write_bytes(good + bad + good)
    memory.load()
    assert len(memory) == 2
    assert memory.skipped == 1


def test_a_torn_line_does_not_swallow_the_next(tmp_path: Path) -> None:
    """A line that a killed run left half written costs that line only."""
    memory = Memory(tmp_path / "memory.jsonl")
    tried(memory, "a", "failed")
    memory.path.write_bytes(memory.path.read_bytes()[:-10])
    tried(Memory(memory.path), "b", "failed")
    later = reloaded(memory.path)
    assert later.failed("s1") == {"b"}
    assert later.skipped == 1


def test_texts_are_cleaned_on_the_way_in_and_out(tmp_path: Path) -> None:
    """Terminal escapes reach neither the file nor, written there by somebody else, the screen."""
    memory = Memory(tmp_path / "memory.jsonl")
    tried(memory, "use \x1b]52;c;aGk=\x07pytest\u2028", "failed", signature="\x1b[2Js1")
    assert "\\u001b" not in memory.path.read_text()
    assert memory.failed("s1") == memory.failed("\x1b[2Js1") == {"use pytest\n"}
    with memory.path.open("a") as file:
        file.write(json.dumps({"kind": "answer", "note": "\x1b[31mred", "signature": "s2"}) + "\n")
    memory.load()
    assert [entry.note for entry in memory.entries("answer")] == ["red"]


def test_the_longest_texts_are_read_back(tmp_path: Path) -> None:
    """Texts are cut to a bound at which their line is still read, whatever they are made of."""
    memory = Memory(tmp_path / "memory.jsonl")
    long = "😀" * 100_000
    memory.remember(learnt("insight", signature=long, approach=long, cause=long, note=long, task=long, run=long))
    later = reloaded(memory.path)
    assert later.entries() == memory.entries()
    assert later.skipped == 0
    assert later.entries(signature=long) == later.entries()


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Of a long history the newest five thousand lines are kept in memory."""
    memory = Memory(tmp_path / "memory.jsonl")
    tried(memory, "old", "failed")
    (old,) = memory.entries()
    with memory.path.open("ab") as file:
        file.writelines(line_of(replace(old, approach=Clean(f"a{number}"))) for number in range(ENTRIES_LIMIT))
    memory.load()
    assert len(memory) == ENTRIES_LIMIT
    assert "old" not in memory.failed("s1")
    tried(memory, "new", "failed")
    memory.load()
    assert len(memory) == ENTRIES_LIMIT
    assert {"a0", "new"} - memory.failed("s1") == {"a0"}


def test_only_the_end_of_a_huge_file_is_read(tmp_path: Path) -> None:
    """A file that has grown without end holds no run up: what is newest is known, the rest is not looked at."""
    memory = Memory(tmp_path / "memory.jsonl")
    memory.remember(learnt("approach", signature="old", approach="a", outcome="failed", cause=""))
    os.truncate(memory.path, 2**32)
    memory.remember(learnt("approach", signature="new", approach="b", outcome="worked", cause=""))
    memory.load()
    assert [entry.signature for entry in memory.entries()] == ["new"]
    assert memory.skipped <= READ_LIMIT // 2**19 + 1


def test_no_other_run_can_write_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a line is written, another process that wants to write has to wait, and afterwards it need not."""
    memory = Memory(tmp_path / "memory.jsonl")
    refused: list[bool] = []

    def lockable() -> bool:
        with memory.path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    def write_and_look(fd: int, data: bytes) -> None:
        os.write(fd, data)
        refused.append(not lockable())

    monkeypatch.setattr("unstuck.eventlog.memory.store.write_all", write_and_look)
    tried(memory, "a", "failed")
    assert refused == [True]
    assert lockable()


WRITER = """
import sys
from pathlib import Path
from unstuck.eventlog.memory.store import Memory
from unstuck.text import Clean
from unstuck.eventlog.memory.entry import learnt
memory = Memory(Path(sys.argv[1]))
for number in range(50):
    memory.remember(learnt("approach", signature="s", approach=f"{sys.argv[2]}-{number}", outcome="failed", cause="c"))
"""


def test_runs_at_the_same_time_share_one_memory(tmp_path: Path, start: Callable[..., subprocess.Popen[bytes]]) -> None:
    """Several processes that write at once lose no line and mix none."""
    path = tmp_path / "memory.jsonl"
    writers = [start("-c", WRITER, path, str(who), program=sys.executable) for who in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    memory = reloaded(path)
    assert memory.skipped == 0
    assert memory.failed("s") == {f"{who}-{number}" for who in range(4) for number in range(50)}


def test_a_memory_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    """A directory in its place, or none at all, is one clear line."""
    with pytest.raises(RecordError, match="cannot be read"):
        Memory(tmp_path).load()
    with pytest.raises(RecordError, match="cannot be written"):
        tried(Memory(tmp_path / "none" / "memory.jsonl"), "a", "failed")


def test_a_changed_line_is_never_taken_for_what_was_learnt(tmp_path: Path) -> None:
    """Whichever byte of a line is changed, the line says what it said or nothing, and the lines around it stay."""
    path = tmp_path / "memory.jsonl"
    memory = Memory(path)
    for approach in ("first", "second", "third"):
        tried(memory, approach, "failed")
    first, second, third = path.read_bytes().splitlines(keepends=True)
    for place in range(len(second) - 1):
        path.write_bytes(first + second[:place] + bytes([second[place] ^ 1]) + second[place + 1 :] + third)
        known = reloaded(path)
        assert {entry.approach for entry in known.entries()} == {"first", "third"}, second[:place]
        assert known.skipped >= 1


def test_a_memory_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Lines without a checksum count as before, with the ids that they had, also between new ones."""
    path = tmp_path / "memory.jsonl"
    memory = Memory(path)
    tried(memory, "first", "failed")
    (first,) = memory.entries()
    old = json.dumps(asdict(first)).encode() + b"\n"
    path.write_bytes(old + path.read_bytes())
    known = reloaded(path)
    assert known.entries() == (first, first)
    assert known.skipped == 0
    assert first.id == hashlib.sha256(old).hexdigest()[:10]


def test_equal_answers_are_offered_as_a_rule_until_they_are_one() -> None:
    """The same words count in whatever case and spacing they were typed; a rule in other words is another matter."""
    texts = ("Use the  fake clock", "use the fake clock", "Use the fake clock")
    given = [
        learnt("answer", signature="s1", approach="retry", note=text, task="web", run=f"r{number}")
        for number, text in enumerate(texts)
    ]
    assert offers(given[1:]) == {}
    assert {offer.times for offer in offers(given).values()} == {3}
    for note, is_offered in ((rule_words("retry", "Use the FAKE clock"), False), ("Use the real clock", True)):
        rule = learnt("rule", signature="s1", approach="retry", note=note, task="web", run="r9")
        assert bool(offers([rule, *given])) == is_offered
