"""`unstuck review`: the sessions that agents have kept, told to a person and to a program."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import psutil
import pytest
from tests.e2e.conftest import LIMIT, Unstuck
from tests.history.kept import AGENTS, RECORDED, keep
from tests.waiting import has_ended


@pytest.fixture
def home(unstuck: Unstuck, tmp_path: Path) -> Path:
    """The home of a person who has used all five agents."""
    place = tmp_path / "ann"
    for agent in AGENTS:
        keep(place, agent)
        if agent != "opencode":
            keep(place, agent, "quiet")
    unstuck.environment = {"HOME": str(place), "XDG_DATA_HOME": str(place / ".local" / "share")}
    return place


def everything(folder: Path) -> dict[Path, tuple[int, int, bytes]]:
    """All files below a directory, with their contents and times."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: (path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes()) for path in files}


def test_all_sessions_of_this_machine(unstuck: Unstuck, home: Path) -> None:
    """One line says how many there are and what came of them; each loop says what unstuck would have done, and when."""
    before = everything(home)
    done = unstuck("review")
    assert (done.code, done.errors) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith(
        "9 sessions, 62 steps, 37 failures, 4 claimed done after a failed check; "
        "5 went round in circles, and 26 steps, "
    )
    assert lines[0].endswith(", 3.5k tokens came after that")
    loop = "  loop at steps 2 to 6, would nudge at 3, ask you at 4: python3 -m unittest -q test_cart → "
    assert sum(line.startswith(loop) for line in lines) == 4
    claim = "  ! claimed done, but the last check failed at step 6: python3 -m unittest -q test_cart"
    assert lines.count(claim) == 4
    assert "   36         9  ASSERTION_ERROR       /home/ann/shop/test_cart.py:8" in done.out
    assert everything(home) == before, "nothing of the agents is changed"


def test_one_object_for_each_session(unstuck: Unstuck, home: Path) -> None:
    """The oldest comes first, and nothing else is on standard output."""
    rows = unstuck.inside("review", "--json").rows
    assert [row["agent"] for row in rows] == [
        "claude",
        "claude",
        "codex",
        "codex",
        "gemini",
        "gemini",
        "qwen",
        "qwen",
        "opencode",
    ]
    started = [row["started"] for row in rows]
    assert started == sorted(started)
    assert [len(row["loops"]) for row in rows] == [1, 0] * 4 + [1]
    assert rows[0]["file"] == str(home / ".claude/projects/-home-ann-shop/loop.jsonl")
    assert rows[-1]["session"] == "ses_df847eb7fffeedeypCOqdFrlA4"


def test_some_sessions(unstuck: Unstuck, home: Path) -> None:
    """Those of one agent, those in one project, and those that were in use since some time."""
    assert len(unstuck.inside("review", "--json", "--agent", "codex").rows) == 2
    assert len(unstuck.inside("review", "--json", "--project", "/home/ann").rows) == 9
    assert unstuck.inside("review", "--json", "-C", str(unstuck.root)).rows == []
    late = unstuck.inside("review", "--json", "--since", "2026-11-23T09:23:00+00:00").rows
    assert [row["agent"] for row in late] == ["qwen", "qwen", "opencode"]
    os.utime(late[0]["file"], (0, 0))
    assert len(unstuck.inside("review", "--json", "--since", "2026-11-23T09:23:00+00:00").rows) == 2
    nothing = unstuck.inside("review", "--project", "/home/bob")
    assert (nothing.code, nothing.out) == (0, "no session matches --agent, --since and --project\n")
    wrong = unstuck.inside("review", "--since", "soon")
    assert wrong.code == 2
    assert "--since: 'soon' is no time" in wrong.errors


def test_files_that_are_named(unstuck: Unstuck, home: Path) -> None:
    """A transcript or a recorded stream anywhere; what cannot be read is said, and costs only itself."""
    (unstuck.root / "notes.jsonl").write_text("no transcript\n", encoding="utf-8")
    stream = RECORDED.parent / "streams" / "claude.jsonl"
    done = unstuck.inside("review", "--json", str(stream), "notes.jsonl", "missing.jsonl")
    assert done.code == 1
    assert [row["file"] for row in done.rows] == [str(stream)]
    assert "unstuck: notes.jsonl: no transcript or recorded stream of a known agent" in done.errors
    assert "unstuck: missing.jsonl: No such file or directory" in done.errors
    folder = unstuck.inside("review", str(home))
    assert folder.code == 2
    assert "is a directory: name the files in it" in folder.errors


def test_no_sessions_at_all(unstuck: Unstuck, tmp_path: Path) -> None:
    """It says where it looked, for each agent."""
    env = {"HOME": str(tmp_path / "nobody"), "XDG_DATA_HOME": str(tmp_path / "data"), "CODEX_HOME": "/srv/codex"}
    done = unstuck.inside("review", env=env)
    assert done.code == 0
    assert done.out.startswith("no sessions found. unstuck looked for:\n")
    assert f"  claude    {tmp_path}/nobody/.claude/projects/*/*.jsonl" in done.out
    assert "  codex     /srv/codex/sessions/**/rollout-*.jsonl" in done.out
    assert f"  opencode  {tmp_path}/data/opencode/opencode*.db" in done.out
    assert unstuck.inside("review", "--json", env=env).out == ""


def test_unreadable_and_foreign_files_among_them(unstuck: Unstuck, home: Path) -> None:
    """Files that are no sessions are named, a few at most; the sessions are shown all the same."""
    folder = home / ".claude/projects/-home-ann-shop"
    for number in range(5):
        (folder / f"note{number}.jsonl").write_text("{}\n", encoding="utf-8")
    (home / ".local/share/opencode/opencode.db").write_bytes(b"SQLite format 3\x00 and no more")
    done = unstuck.inside("review", "--json")
    assert done.code == 0
    assert len(done.rows) == 8
    assert done.errors.count("no transcript or recorded stream of a known agent") == 3
    assert "2 more files hold no session of a known agent" in done.errors
    assert "opencode.db: no database of opencode that is known" in done.errors


def test_many_sessions_on_all_cores(unstuck: Unstuck, home: Path) -> None:
    """Sessions that several processes read are the same, in the same order, and none of these processes stays."""
    folder = home / ".claude/projects/-home-ann-shop"
    few = unstuck.inside("review", "--json", "--agent", "claude").rows
    filling = '{"type":"attachment","text":"' + "x" * 1_000_000 + '"}\n'
    for number in range(10):
        copy = shutil.copyfile(folder / "quiet.jsonl", folder / f"copy{number}.jsonl")
        with copy.open("a", encoding="utf-8") as stream:
            stream.write(filling)
    done = unstuck("review", "--json", "--agent", "claude")
    assert (done.code, done.errors) == (0, "")
    assert done.rows[0] == few[0]
    same = [{**row, "file": ""} for row in done.rows[1:]]
    assert same == [{**few[1], "file": ""}] * 11
    assert [row["file"] for row in done.rows[1:]] == sorted(row["file"] for row in done.rows[1:])


def test_no_secret_is_told(unstuck: Unstuck, home: Path) -> None:
    """A token in a command of a loop is in neither form of the output."""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    file = home / ".claude/projects/-home-ann-shop/loop.jsonl"
    told = file.read_text("utf-8").replace(" -q test_cart", f" -q test_cart --token={secret}")
    file.write_text(told.replace("0 != 9", f"{secret} != 9"), encoding="utf-8")
    for arguments in (("review",), ("review", "--json")):
        done = unstuck.inside(*arguments)
        assert secret not in done.out + done.errors
        assert "would nudge" in done.out or '"nudge"' in done.out


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_stays(unstuck: Unstuck, home: Path, number: signal.Signals) -> None:
    """Killed or interrupted while several processes read: all of them end, and ctrl+c ends with 130 and no word."""
    file = home / ".claude/projects/-home-ann-shop/loop.jsonl"
    lines = file.read_text("utf-8")
    with file.open("a", encoding="utf-8") as stream:
        for count in range(1_000):
            stream.write(lines.replace("toolu_", f"t{count}_").replace('"uuid":"', f'"uuid":"{count}-'))
    shutil.copyfile(file, file.with_name("other.jsonl"))
    process = unstuck.start("review", "--json", "--agent", "claude", installed=True, start_new_session=True)
    parent = psutil.Process(process.pid)
    while len(readers := parent.children()) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    # A terminal sends its interrupt to all of them.
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    _, errors = process.communicate(timeout=LIMIT)
    if number == signal.SIGINT:
        assert (process.returncode, errors) == (130, b"")
    deadline = time.monotonic() + LIMIT
    while not all(has_ended(reader.pid) for reader in readers):
        assert time.monotonic() < deadline
        time.sleep(0.01)
