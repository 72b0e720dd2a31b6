"""Sessions recorded from real agents: each is read as what happened in it, wherever and however its agent keeps it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.history.kept import AGENTS, RECORDED, keep, lines_of

from unstuck.history.excerpt import excerpt_of
from unstuck.history.locations import kept_sessions, sources_in
from unstuck.history.reviews import Problem, Session, Wanted, review_of, session_row

TEST = "python3 -m unittest -q test_cart"
STREAMS = RECORDED.parent / "streams"
HOOKED = RECORDED.parent / "hooks" / "transcripts"


def only(path: Path, **wanted: object) -> Session:
    """The review of the one session in a file."""
    (source,) = sources_in(path, pytest.fail)
    found = review_of(source, Wanted(**wanted))  # type: ignore[arg-type]
    assert isinstance(found, Session), found
    return found


def test_a_newer_version_of_qwen(tmp_path: Path) -> None:
    """Its failed commands are told as errors, with the output in a field of its own or among other lines."""
    keep(tmp_path, "qwen", "newer")
    (source,) = kept_sessions(["qwen"], {"HOME": str(tmp_path)}, pytest.fail)
    found = review_of(source, Wanted())
    assert isinstance(found, Session)
    row = session_row(found)
    assert (row["steps"], row["failures"], row["last_check"]) == (4, 4, "failed")
    assert row["loops"][0]["evidence"] == "make test → AssertionError: 1 != 2"
    places = {(group.location, group.headline): group.count for group in found.review.groups}
    # Of a command that prints nothing, the agent's own words about it are no output.
    assert places == {("app.py:3", "AssertionError: 1 != 2"): 3, ("", "exit code 2, no output"): 1}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_that_went_round_in_circles(agent: str, tmp_path: Path) -> None:
    """The same failing test again and again: noticed at its third run, long before the agent claimed to be done."""
    place = keep(tmp_path, agent)
    (source,) = kept_sessions([agent], {"HOME": str(tmp_path)}, pytest.fail)
    assert source.path == place
    found = review_of(source, Wanted())
    assert isinstance(found, Session)
    row = session_row(found)
    (loop,) = row["loops"]
    last = 9 if agent == "gemini" else 6  # Gemini stopped itself after nine
    assert loop == {
        "first": 2,
        "noticed": 3,
        "last": last,
        "kind": "loop",
        "action": "nudge",
        "evidence": f"{TEST} → AssertionError: 0 != 9",
    }
    assert (row["agent"], row["project"], row["tokens"]) == (agent, "/home/ann/shop", 1_100)
    assert row["started"].startswith("2026-11-23T09:2")
    assert row["last_check"] == "failed"
    assert row["claimed"] == ("unknown" if agent == "gemini" else "done")
    assert row["steps"] == (10 if agent == "gemini" else 9)
    assert list(row) == [
        *("file", "session", "agent", "project", "started", "steps", "failures", "tokens", "cost", "loops"),
        *("claimed", "last_check"),
    ]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_that_got_on(agent: str, tmp_path: Path) -> None:
    """A failing test, a change, a passing test: no loop, and the claim agrees with the check."""
    keep(tmp_path, agent, "quiet")
    (source,) = kept_sessions([agent], {"HOME": str(tmp_path)}, pytest.fail)
    found = review_of(source, Wanted())
    assert isinstance(found, Session)
    row = session_row(found)
    assert (row["steps"], row["failures"], row["loops"]) == (4, 1, [])
    assert (row["claimed"], row["last_check"]) == ("done", "passed")
    (group,) = found.review.groups
    assert (group.error_type, group.location) == ("ASSERTION_ERROR", "/home/ann/shop/test_cart.py:8")


@pytest.mark.parametrize("agent", AGENTS)
def test_failures_that_came_back(agent: str, tmp_path: Path) -> None:
    """Matching failures are one, with their number and the steps of the first and the last."""
    place = keep(tmp_path, agent)
    group = only(place).review.groups[0]
    assert (group.error_type, group.count) == ("ASSERTION_ERROR", 8 if agent == "gemini" else 6)
    assert group.first == 1


@pytest.mark.parametrize("agent", AGENTS)
def test_what_came_after_the_loop(agent: str, tmp_path: Path) -> None:
    """Steps, time and tokens after the step at which unstuck would have spoken."""
    review = only(keep(tmp_path, agent)).review
    assert review.after is not None
    assert review.after.steps == review.used.steps - 4
    assert review.after.at > 0
    assert review.after.tokens is not None
    assert 110 * review.after.steps <= review.after.tokens + 110 <= 1_100
    assert review.loops[0].asked == 4


@pytest.mark.parametrize("agent", AGENTS)
def test_the_place_in_the_transcript(agent: str, tmp_path: Path) -> None:
    """Around a step stand its call with the result, and what was said; steps count results from 0."""
    (source,) = sources_in(keep(tmp_path, agent), pytest.fail)
    entries = excerpt_of(source, 3)
    results = [entry for entry in entries if entry.step is not None]
    assert [entry.step for entry in results] == list(range(len(results)))
    entry = results[3]
    assert (entry.text, entry.failed) == (TEST, True)
    assert "AssertionError: 0 != 9" in (entry.result or "")
    assert "said" in {entry.kind for entry in entries}


def test_an_excerpt_that_nobody_waits_for(tmp_path: Path) -> None:
    """Reading a long transcript ends as soon as the person has left its screen."""
    (source,) = sources_in(keep(tmp_path, "claude"), pytest.fail)
    answers = iter([False, False, True])
    assert len(excerpt_of(source, 8, lambda: next(answers))) == 2


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("claude", "claude"),
        ("codex", "codex"),
        ("gemini", "gemini"),
        ("qwen", "qwen"),
        ("opencode", "opencode"),
        ("claude_subagent", "claude"),
    ],
)
def test_a_recorded_stream(name: str, agent: str) -> None:
    """A stream that somebody has kept is a session like any other, and known by what stands in it."""
    found = only(STREAMS / f"{name}.jsonl")
    assert (found.agent, found.review.used.steps > 0) == (agent, True)


def test_a_session_in_which_only_was_talked(tmp_path: Path) -> None:
    """It has no steps and is a session all the same; one that has only begun is none yet."""
    lines = lines_of("claude", "quiet")
    talk = tmp_path / "talk.jsonl"
    talk.write_text("\n".join([lines[2], *lines[-2:]]) + "\n", encoding="utf-8")
    assert only(talk).review.used.steps == 0
    begun = tmp_path / "begun.jsonl"
    begun.write_text('{"type":"system","sessionId":"s1","uuid":"u1","subtype":"init"}\n', encoding="utf-8")
    (source,) = sources_in(begun, pytest.fail)
    assert review_of(source, Wanted()) is None


def test_cost_is_known_where_the_agent_tells_it(tmp_path: Path) -> None:
    """Claude Code's stream and opencode tell their cost; its transcript tells none."""
    assert only(STREAMS / "claude.jsonl").review.used.cost is not None
    assert only(keep(tmp_path, "opencode")).review.used.cost == 0.0
    assert session_row(only(keep(tmp_path, "claude")))["cost"] is None


def test_sub_agents_belong_to_their_session(tmp_path: Path) -> None:
    """Steps of a sub-agent of Claude Code are part of the session that started it, each under its own name."""
    home = tmp_path / ".claude" / "projects" / "-repo"
    session = home / "a83ca32d.jsonl"
    others = home / "a83ca32d" / "subagents"
    others.mkdir(parents=True)
    session.write_bytes((HOOKED / "claude.jsonl").read_bytes())
    alone = only(session).review.used
    (others / "agent-a019daf281bf24596.jsonl").write_bytes((HOOKED / "claude_subagent.jsonl").read_bytes())
    (home / "agent-old.jsonl").write_bytes((HOOKED / "claude_subagent.jsonl").read_bytes())
    (source,) = kept_sessions(["claude"], {"HOME": str(tmp_path)}, pytest.fail)
    together = only(source.path).review.used
    assert together.steps > alone.steps
    assert (together.tokens or 0) > (alone.tokens or 0)
    entries = excerpt_of(source, 0)
    assert {entry.agent_id for entry in entries} == {"", "a019daf281bf24596"}
    times = [entry.at for entry in entries]
    assert times == sorted(times)


def test_one_object_with_all_messages(tmp_path: Path) -> None:
    """Earlier versions of Gemini CLI kept one JSON document; it is the same session."""
    lines = [line for line in lines_of("gemini") if '"$set"' not in line]
    head, messages = lines[0], lines[1:]
    chat = tmp_path / "session-old.json"
    chat.write_text(f'{head[:-1]},\n"messages": [{",".join(messages)}]}}\n', encoding="utf-8")
    assert session_row(only(chat))["loops"] == session_row(only(keep(tmp_path, "gemini")))["loops"]


def test_results_of_earlier_versions_of_codex(tmp_path: Path) -> None:
    """They give the exit code beside the output, in an object or in a line before it."""
    answers = (
        '{"output":"AssertionError: 0 != 9\\n","metadata":{"exit_code":1,"duration_seconds":0.1}}',
        "Exit code: 1\nWall time: 0.1 seconds\nOutput:\nAssertionError: 0 != 9\n",
    )
    for number, answer in enumerate(answers):
        lines = [
            {"type": "session_meta", "payload": {"id": "s1", "cwd": "/home/ann/shop", "cli_version": "0.169.0"}},
            *(
                {"type": "response_item", "payload": payload}
                for payload in (
                    {
                        "type": "function_call",
                        "name": "shell",
                        "arguments": '{"command":["bash","-lc","make test"]}',
                        "call_id": "c1",
                    },
                    {"type": "function_call_output", "call_id": "c1", "output": answer},
                )
            ),
        ]
        place = tmp_path / f"rollout-{number}.jsonl"
        place.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        found = only(place)
        assert (found.review.failed, found.review.last_check, found.review.check_command) == (1, "failed", "make test")
        assert found.review.groups[0].headline == "AssertionError: 0 != 9"


def test_only_what_is_wanted(tmp_path: Path) -> None:
    """Sessions of another agent or another project are left out; of a project those below it count."""
    place = keep(tmp_path, "claude")
    (source,) = sources_in(place, pytest.fail)
    assert review_of(source, Wanted(agent="codex")) is None
    assert review_of(source, Wanted(project=Path("/home/ann/sho"))) is None
    assert isinstance(review_of(source, Wanted(project=Path("/home/ann/shop"))), Session)
    assert isinstance(review_of(source, Wanted(project=Path("/home/ann"), agent="claude")), Session)


def test_nothing_beside_the_database_changes(tmp_path: Path) -> None:
    """Reading opencode's database neither changes it nor puts a file beside it, with a write-ahead log or without."""
    store = keep(tmp_path, "opencode")
    before = {path.name: path.read_bytes() for path in store.parent.iterdir()}
    assert only(store).review.used.steps == 9
    assert {path.name: path.read_bytes() for path in store.parent.iterdir()} == before


def test_a_database_that_is_in_use(tmp_path: Path) -> None:
    """Rows that opencode has not yet moved out of its log are read, and opencode can write meanwhile."""
    store = keep(tmp_path, "opencode")
    with sqlite3.connect(store) as writer:
        writer.execute("PRAGMA wal_autocheckpoint=0")
        writer.execute("DELETE FROM part WHERE rowid > (SELECT rowid FROM part ORDER BY rowid LIMIT 1 OFFSET 8)")
        writer.commit()
        files = {path.name: path.stat().st_size for path in store.parent.iterdir()}
        assert {"opencode.db-wal", "opencode.db-shm"} <= set(files)
        assert only(store).review.used.steps == 2
        writer.execute("DELETE FROM part")
        writer.commit()
    writer.close()


def test_a_database_that_was_left_behind(tmp_path: Path) -> None:
    """Rows that stand only in the log of a killed program are read, and no file is put beside it."""
    store, left = keep(tmp_path, "opencode"), tmp_path / "left"
    left.mkdir()
    with sqlite3.connect(store) as writer:
        writer.execute("PRAGMA wal_autocheckpoint=0")
        writer.execute("DELETE FROM part WHERE rowid > (SELECT rowid FROM part ORDER BY rowid LIMIT 1 OFFSET 8)")
        writer.commit()
        for name in ("opencode.db", "opencode.db-wal"):
            shutil.copyfile(store.with_name(name), left / name)
    writer.close()
    assert only(left / "opencode.db").review.used.steps == 2
    assert sorted(path.name for path in left.iterdir()) == ["opencode.db", "opencode.db-wal"]


def test_a_foreign_database(tmp_path: Path) -> None:
    """Another program's database is named as what it is."""
    place = tmp_path / "opencode.db"
    with sqlite3.connect(place) as other:
        other.execute("CREATE TABLE things (id)")
    other.close()
    said: list[str] = []
    assert list(sources_in(place, said.append)) == []
    assert "no database of opencode that is known" in said[0]


def test_a_session_that_has_gone_meanwhile(tmp_path: Path) -> None:
    """A transcript that was deleted after it was found is a problem of its own."""
    place = keep(tmp_path, "claude")
    (source,) = sources_in(place, pytest.fail)
    place.unlink()
    found = review_of(source, Wanted())
    assert isinstance(found, Problem)
    assert "No such file" in found.reason
