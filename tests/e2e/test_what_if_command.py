"""``unstuck what-if``: recorded runs and sessions under other settings, and nothing claimed that no log can show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Unstuck
from tests.e2e.test_window_size import SCRIPT
from tests.history.kept import keep, lines_of
from tests.sealed_logs import change_last

RETRY, ASKED = {"kind": "retry", "about": ""}, {"kind": "question", "about": "stuck"}
NOTHING, WARNED = {"kind": "none", "about": ""}, {"kind": "warning", "about": "loop"}


@pytest.fixture
def two_retries(unstuck: Unstuck, failing: str) -> list[dict[str, Any]]:
    """A run of three attempts of a hundred tokens each that ended with a question; its events."""
    rungs = {"MAX_RETRIES": "2", "MAX_PIVOTS": "0", "MAX_RESEARCH": "0"}
    env = {f"UNSTUCK_FAILURE_HANDLER__{name}": value for name, value in rungs.items()}
    agent = unstuck.script("agent.sh", 'echo x >> a.txt; echo \'UNSTUCK {"step": "usage", "tokens": 100}\'')
    done = unstuck.inside("run", "--headless", "--json", "--check", failing, "--", "sh", agent, env=env)
    assert done.code == 3, done.errors
    return done.rows


def directives(events: list[dict[str, Any]]) -> list[int]:
    return [row["seq"] for row in events if row.get("event") == "directive_issued"]


def test_fewer_retries(unstuck: Unstuck, two_retries: list[dict[str, Any]]) -> None:
    """One retry less: the question comes at the second failure, an attempt and its tokens before your answer less."""
    _, second, _ = directives(two_retries)
    difference, total = unstuck.inside("what-if", "--set", "max_retries=1", "--json").rows
    assert difference["event"] == second
    assert (difference["own"], difference["changed"]) == (RETRY, ASKED)
    assert [difference[name] for name in ("questions", "alarms", "attempts", "tokens")] == [1, 0, -1, -100]
    assert (total["compared"], total["differ"], total["unknown"], total["short"], total["rules"]) == (2, 1, 1, 0, 0)
    assert total["settings"] == {"failure_handler.max_retries": "1"}
    shown = unstuck.inside("what-if", "last", "--set", "max_retries=1").out
    assert f"#{second}" in shown
    assert "retry          question (stuck)  +1         =       −1        −100" in shown
    assert "failure_handler.max_retries=1: 2 steps compared in 1 run, 1 differs" in shown
    assert "unknown: 1 step after a step that differs, or not in the log" in shown


def test_more_retries(unstuck: Unstuck, two_retries: list[dict[str, Any]]) -> None:
    """One retry more: no question where the log has one. At least one attempt more; its tokens nobody knows."""
    difference, total = unstuck.inside("what-if", "--set", "failure_handler.max-retries=3", "--json").rows
    assert difference["event"] == directives(two_retries)[-1]
    assert (difference["own"], difference["changed"]) == (ASKED, RETRY)
    assert [difference[name] for name in ("questions", "alarms", "attempts", "tokens")] == [-1, 0, 1, None]
    assert (total["compared"], total["unknown"], total["tokens"]) == (3, 0, 0)


def test_several_settings_and_lists(unstuck: Unstuck, two_retries: list[dict[str, Any]]) -> None:
    """Every setting of a decision can be changed, also one that is a list; nobody to ask means an end."""
    changes = ("--set", "skip_to_ask=[AssertionError]", "--set", "ask=never")
    difference, total = unstuck.inside("what-if", *changes, "--json").rows
    assert difference["event"] == directives(two_retries)[0]
    assert difference["changed"] == {"kind": "stop", "about": "task_limit_exceeded"}
    assert [difference[name] for name in ("questions", "attempts", "tokens")] == [0, -2, -200]
    assert total["unknown"] == 2


@pytest.mark.parametrize("same", [(), ("--set", "max_retries=2"), ("--set", "max_pivots=0", "--set", "window_size=3")])
def test_equal_settings_differ_nowhere(
    unstuck: Unstuck, two_retries: list[dict[str, Any]], same: tuple[str, ...]
) -> None:
    """The settings of the run, given again: nothing differs, and today's rules say what the log says."""
    (total,) = unstuck.inside("what-if", "--all", *same, "--json").rows
    assert total["row"] == "total"
    assert (total["compared"], total["differ"], total["rules"], total["unknown"]) == (3, 0, 0, 0)


def test_a_later_alarm_in_a_run(unstuck: Unstuck) -> None:
    """A larger window would not have spoken at the warning in the log; the question after it is unknown."""
    agent = unstuck.script("agent.sh", SCRIPT)
    done = unstuck.inside("run", "--headless", "--json", "--check", "test -f b", "--", "sh", agent)
    warned = next(row["seq"] for row in done.rows if row.get("event") == "loop_warned")
    difference, total = unstuck.inside("what-if", "--set", "window_size=5", "--json").rows
    assert difference["event"] == warned - 1
    assert (difference["own"], difference["changed"]) == (WARNED, NOTHING)
    assert [difference[name] for name in ("questions", "alarms", "attempts", "tokens")] == [0, -1, 0, None]
    assert total["unknown"] >= 1
    assert total["rules"] == 0
    earlier, _ = unstuck.inside("what-if", "--set", "window_size=2", "--json").rows
    assert earlier["event"] < warned - 1
    assert (earlier["own"], earlier["changed"], earlier["alarms"]) == (NOTHING, WARNED, 1)


def test_a_kept_session(unstuck: Unstuck, tmp_path: Path) -> None:
    """A session that ran without Unstuck: the alarms that an earlier window would have given, by step."""
    session = keep(tmp_path / "ann", "claude")
    (reviewed,) = unstuck.inside("review", str(session), "--json").rows
    (loop, *_) = reviewed["loops"]
    *differences, total = unstuck.inside("what-if", str(session), "--set", "window_size=2", "--json").rows
    assert total["sessions"] == 1
    assert total["runs"] == 0
    assert differences[0]["event"] < loop["noticed"]
    assert (differences[0]["own"], differences[0]["changed"]) == (NOTHING, WARNED)
    (same,) = unstuck.inside("what-if", str(session), "--set", "window_size=3", "--json").rows
    assert (same["differ"], same["unknown"]) == (0, 0)


def test_a_session_that_ends_in_its_loop_is_too_short(unstuck: Unstuck, tmp_path: Path) -> None:
    """A larger window may still have spoken after the end of the session: counted as unknown, not as an alarm less."""
    session = keep(tmp_path / "ann", "claude")
    lines = session.read_text("utf-8").splitlines(keepends=True)
    while (reviewed := unstuck.inside("review", str(session), "--json").rows[0])["loops"][0]["last"] < (
        reviewed["steps"] - 1
    ):
        session.write_text("".join(lines := lines[:-1]), encoding="utf-8")
    (total,) = unstuck.inside("what-if", str(session), "--set", "window_size=20", "--json").rows
    assert (total["differ"], total["alarms"]) == (0, 0)
    assert total["unknown"] == total["short"] > 0


def test_all_takes_the_sessions_of_this_project_only(
    unstuck: Unstuck, two_retries: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """``--all``: every run here, and every session that an agent has kept of this project."""
    home = tmp_path / "ann"
    keep(home, "claude")
    here = keep(home, "claude", "quiet")
    text = "\n".join(lines_of("claude")).replace("/home/ann/shop", str(unstuck.root))
    here.write_text(text + "\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    *differences, total = unstuck.inside("what-if", "--all", "--set", "window_size=2", "--json").rows
    assert (total["runs"], total["sessions"]) == (1, 1)
    assert {row["run"] for row in differences} == {str(here)}


def test_a_log_of_other_rules_says_so(unstuck: Unstuck, two_retries: list[dict[str, Any]]) -> None:
    """A step of the log that today's rules do not give is shown beside theirs; it is no difference of settings."""
    (folder,) = unstuck.runs
    changed = change_last(folder, "directive_issued", level="research")
    rules, total = unstuck.inside("what-if", "--json").rows
    assert (rules["row"], rules["event"]) == ("rules", changed)
    assert (rules["today"], rules["logged"]) == (ASKED, {"kind": "research", "about": ""})
    assert (total["differ"], total["rules"]) == (0, 1)
    shown = unstuck.inside("what-if").out
    assert "today's rules differ from the log in 1 step" in shown
    assert f"#{changed}: the log has research, today's rules question (stuck)" in shown


def test_a_run_that_was_cut_off_is_too_short(unstuck: Unstuck, two_retries: list[dict[str, Any]]) -> None:
    """A log that ends in the first attempt holds no step to judge: unknown."""
    (folder,) = unstuck.runs
    log, started = folder / "events.jsonl", False
    kept = []
    for line in log.read_bytes().splitlines(keepends=True):
        kept.append(line)
        started = started or b'"attempt_started"' in line
        if started:
            break
    log.write_bytes(b"".join(kept))
    (folder / "state.json").unlink(missing_ok=True)
    (total,) = unstuck.inside("what-if", "--set", "max_retries=1", "--json").rows
    assert (total["compared"], total["unknown"], total["short"]) == (0, 1, 1)
    assert "1 of them because the log ends before" in unstuck.inside("what-if").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "max_retrys=2"), "there is no setting max_retrys (did you mean `max_retries`?)"),
        (("--set", "agent_timeout=5"), "a replay cannot judge agent_timeout; it judges max_retries, max_pivots"),
        (("--set", "max_retries"), "'max_retries' is not NAME=VALUE, such as max_retries=2"),
        (("--set", "max_retries=many"), "--set: failure_handler.max_retries: must be a whole number from 0 to 100"),
        (("--set", "window_size=1"), "window_size: must be a whole number from 2 to 100"),
        (("--all", "last"), "leave out the names, or --all"),
        (("lost",), "there is no run lost"),
        (("lost/a.jsonl",), "there is no file lost/a.jsonl"),
    ],
)
def test_what_cannot_be_compared(
    unstuck: Unstuck, two_retries: list[dict[str, Any]], words: tuple[str, ...], said: str
) -> None:
    """One line that says what is allowed, and exit code 2."""
    done = unstuck.inside("what-if", *words)
    assert done.code == 2
    assert done.out == ""
    assert said in done.errors
    assert len(done.errors.splitlines()) == 1


def test_nothing_is_written(unstuck: Unstuck, two_retries: list[dict[str, Any]]) -> None:
    """The installed program leaves every file as it is."""
    before = {path: path.read_bytes() for path in unstuck.root.rglob("*") if path.is_file()}
    assert unstuck("what-if", "--all", "--set", "max_retries=0", installed=True).code == 0
    assert {path: path.read_bytes() for path in unstuck.root.rglob("*") if path.is_file()} == before
