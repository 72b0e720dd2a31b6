"""Deleting what is ours: first said, then agreed to, then gone without a trace, and not a byte of anybody else's."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import psutil
import pytest
from tests.deletion.conftest import House
from tests.waiting import has_ended

from unstuck.channel import socket_path
from unstuck.processes.orphans import is_shim


def nothing_left(house: Any) -> bool:
    """Return whether nothing of ours is left in git, in the state or in the runtime directory."""
    listed = house.git("for-each-ref", "--format=%(refname)") + house.git("worktree", "list")
    places = (house.root / ".git" / "unstuck", house.root / ".git" / "worktrees", house.root / ".unstuck")
    folders = (Path(os.environ["UNSTUCK_STATE_DIR"]), Path(os.environ["UNSTUCK_RUNTIME_DIR"]))
    left = [path for folder in folders if folder.exists() for path in folder.rglob("*")]
    return "/unstuck/" not in listed and not any(path.exists() for path in places) and not left


# --- what would go ----------------------------------------------------------------------------------------------------


def test_what_would_go_is_said_first_and_nothing_has_gone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step one names what would be destroyed, how many and how large; without both yeses it stops there.

    The name has to be the right one, lost work needs a yes of its own, and an agent's yes is none.
    """
    run = house.worked()
    before = sorted(path for path in house.root.rglob("*"))
    done = house.unstuck("delete", run, "--lose-work")
    assert done.code == 2
    assert done.errors == f"unstuck: nothing was deleted: this needs the name typed, or --yes {run}\n"
    rows = house.unstuck("delete", run, "--json").rows
    found = {(row["goes"], row["name"].rpartition("/")[2]): row for row in rows if "goes" in row}
    assert set(found) >= {
        ("worktrees", "stuck"),
        ("branches", "stuck"),
        ("branches", "_run"),
        ("logs", run),
        ("state", "state.json"),
    }
    assert found["worktrees", "stuck"]["holds"] == "untracked files: half.txt"
    assert found["branches", "_run"]["holds"] == "1 commit on no branch of yours"
    assert found["logs", run]["size"] > 1000
    (gates,) = [row for row in rows if row.get("goes") == "gates"]
    assert gates["count"] == 1
    assert "(stuck)" in gates["name"]
    assert sum(row["count"] for row in rows if row.get("goes") == "checkpoints") > 0
    for kind in ("worktree", "open question", "exists nowhere else", "half.txt"):
        assert kind in done.out
    for words, said in (
        (("--yes", run), "--lose-work is needed for what exists nowhere else"),
        (("--yes", "repo", "--lose-work"), "nothing was deleted: that is not"),
        (("--yes", "", "--lose-work"), "nothing was deleted: that is not"),
    ):
        done = house.unstuck("delete", run, *words)
        assert done.code == 2
        assert said in done.errors
    monkeypatch.setenv("UNSTUCK_PROCESS", "1:1.00")
    done = house.delete()
    assert done.code == 2
    assert "an agent may not delete" in done.errors
    assert sorted(path for path in house.root.rglob("*")) == before


@pytest.mark.parametrize(("words", "gone"), [(("lose", "NAME"), True), (("lose", "no"), False), (("yes",), False)])
def test_at_a_terminal_both_yeses_are_typed(house: House, words: tuple[str, ...], gone: bool) -> None:
    """A person types the word for what is lost, and the name; anything else deletes nothing."""
    run = house.parked()
    (house.root / ".git" / "unstuck" / "runs" / run / "unsent.txt").write_text("words\n", encoding="utf-8")
    ours, theirs = pty.openpty()
    process = house.begin("delete", run, cwd=house.root, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    heard = b""
    for word, asked in zip(words, (b"Type lose to delete it", f"Type {run} to delete it".encode()), strict=False):
        while asked not in heard:
            heard += os.read(ours, 4096)
        os.write(ours, f"{run if word == 'NAME' else word}\n".encode())
    with contextlib.suppress(OSError):  # the other end is closed: it has said everything
        while chunk := os.read(ours, 4096):
            heard += chunk
    os.close(ours)
    assert process.wait(60) == (0 if gone else 2), heard
    assert (house.runs == []) == gone
    assert (b"nothing was deleted" in heard) == (not gone)


def test_a_run_or_the_project_has_to_be_said(house: House) -> None:
    """Without either, with both, or with a run that is not there, it is one clear line."""
    for words in ((), ("last", "--project"), ("nosuch",)):
        done = house.unstuck("delete", *words)
        assert done.code == 2
        assert done.out == ""
        assert len(done.errors.splitlines()) == 1


# --- the project goes -------------------------------------------------------------------------------------------------


def test_a_project_goes_and_what_is_the_persons_stays(house: House) -> None:
    """After a run with an open gate, an unmerged work tree and a dirty tree nothing of ours is left.

    The person's files, index, references, stash, reflogs and configuration are byte for byte what they were, and no
    object of theirs is gone.
    """
    before, objects = house.theirs(), house.objects()
    house.worked()
    done = house.delete()
    assert done.code == 0
    assert done.errors == ""
    assert done.out.splitlines()[-1] == "everything of unstuck in repo is deleted: a search found nothing of it"
    assert nothing_left(house)
    assert house.theirs() == before
    assert objects <= house.objects()
    assert house.delete().out == "nothing of unstuck is left in repo\n"


def test_a_live_run_is_ended_with_a_receipt(house: House) -> None:
    """The supervisor and its agent are ended before anything goes, and each is named with how it ended."""
    before = house.theirs()
    os.mkfifo(house.place / "pipe")
    tasks = {"web": (f"echo $$ > {house.place}/pid; echo half > half.txt; read line < {house.place}/pipe", "true")}
    process = house.start("run", "--json", house.plan(tasks))
    for line in process.stdout:
        if b'"agent_spawned"' in line:
            agent = json.loads(line)["data"]["pid"]
            break
    rows = house.delete("--json").rows
    assert {row["pid"]: row["how"] for row in rows[-1]["ended"]}[process.pid] == "terminated"
    assert agent in {row["pid"] for row in rows[-1]["ended"]}
    assert process.wait(30) == 130
    assert has_ended(agent)
    assert rows[-1]["left"] == []
    assert [row["name"] for row in rows if row.get("goes") == "processes"]
    assert nothing_left(house)
    assert house.theirs() == before


def test_a_copy_of_a_project_at_work_is_nobody_elses(house: House) -> None:
    """In a copy nothing is live: going on there and deleting it ends no agent and takes no tree of the original."""
    os.mkfifo(house.place / "pipe")
    tasks = {"web": (f"echo half > half.txt; echo $$ > {house.place}/pipe; exec sleep 600", "true")}
    plan, copy = house.plan(tasks), house.place / "copy"
    process = house.start("run", "--headless", plan)
    agent = int((house.place / "pipe").read_text(encoding="utf-8"))
    (run,) = house.runs
    subprocess.run(["cp", "-a", house.root, copy], check=True)
    house.script("web.sh", "echo again > again.txt")
    before = house.theirs()
    assert house.unstuck("runs", "--json", cwd=copy).rows[0]["run"] == run
    assert house.unstuck("run", "--headless", "--resume", run, cwd=copy).code == 0
    assert house.git("show", f"unstuck/{run}/_run:again.txt", cwd=copy) == "again\n"
    done = house.delete("--json", cwd=copy)
    assert done.code == 0
    assert done.rows[-1]["ended"] == []
    assert done.rows[-1]["left"] == []
    assert not (copy / ".git" / "worktrees").exists()
    tree = next(line.split()[0] for line in house.git("worktree", "list").splitlines() if "/web" in line)
    assert not has_ended(agent)
    assert process.poll() is None
    assert Path(tree, "half.txt").is_file()
    assert house.theirs() == before
    assert house.delete().code == 0
    assert process.wait(30) == 130
    assert has_ended(agent)
    assert nothing_left(house)


def test_a_project_that_was_moved_goes_with_what_is_left_at_its_old_place(house: House) -> None:
    """Work trees are found and named where they were made, and no folder round them stays."""
    house.worked()
    moved = house.root.rename(house.place / "moved")
    done = house.unstuck("delete", "--project", "--yes", "moved", cwd=moved)
    assert done.code == 2
    assert "there may be work in it" in done.errors
    assert house.delete(cwd=moved).code == 0
    assert not (moved / ".git" / "worktrees").exists()
    assert not list(Path(os.environ["UNSTUCK_STATE_DIR"]).glob("**"))


def test_agents_of_a_killed_supervisor_are_found_and_ended(house: House) -> None:
    """Also one that has freed itself of its helper, and also where the log that names it is damaged."""
    script = f"setsid sh -c 'echo $$ > {house.place}/pid; exec sleep 600' & wait"
    os.mkfifo(house.place / "pid")
    process = house.start("run", "--json", "--verify", "true", "--", "sh", "-c", script)
    pid = int((house.place / "pid").read_text(encoding="utf-8"))
    process.send_signal(signal.SIGSTOP)  # or it would hear of its helper's end, and see to it
    for helper in filter(is_shim, psutil.Process(process.pid).children(recursive=True)):
        helper.kill()
    process.kill()
    process.communicate()
    (log,) = (house.root / ".git" / "unstuck" / "runs").glob("*/events.jsonl")
    log.write_bytes(b"{}\n" + log.read_bytes())
    rows = house.delete("--json").rows
    assert has_ended(pid)
    assert pid in {row["pid"] for row in rows[-1]["ended"]}
    assert rows[-1]["left"] == []
    assert nothing_left(house)


def test_a_damaged_log_does_not_keep_its_run(house: House) -> None:
    """Worktrees, branches and checkpoints are found even if the event log is damaged."""
    before = house.theirs()
    run = house.worked()
    (house.root / ".git" / "unstuck" / "runs" / run / "events.jsonl").write_bytes(b"\x00\xffnothing\n")
    assert house.unstuck("delete", run, "--yes", run, "--lose-work").code == 0
    assert house.runs == []
    assert house.delete().code == 0
    assert nothing_left(house)
    assert house.theirs() == before


def test_hooks_go_and_the_settings_are_what_they_were(house: House) -> None:
    """The hooks that were installed in the project are taken out, with what they have kept of a watch that hung; its
    settings are byte for byte what they were."""
    settings = house.root / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    settings.write_text('{ "model":   "opus" }\n', encoding="utf-8")
    before = house.theirs()
    installed(house, "claude")
    assert b"unstuck-hook" in settings.read_bytes()
    kept = Path(f"{socket_path(Path(os.environ['UNSTUCK_RUNTIME_DIR']), house.root / '.git' / 'unstuck')}.log")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text("a call that went on unwatched\n")
    rows = house.unstuck("delete", "--project", "--json").rows
    assert {("hooks", settings.name), ("logs", kept.name)} <= {
        (row["goes"], Path(row["name"]).name) for row in rows if "goes" in row
    }
    assert house.delete().code == 0
    assert nothing_left(house)
    assert house.theirs() == before


def installed(house: Any, name: str) -> None:
    from unstuck.agents.config.settings_files import installation
    from unstuck.agents.hooks.hook_agents import hooked_agent

    installation(hooked_agent(name), "project", root=house.root, environ=dict(os.environ)).apply()


def test_a_kill_inside_a_checkpoint_leaves_nothing_that_stays(house: House, shimmed: Callable[[str], None]) -> None:
    """The remains of a killed save, locks and all, are deleted with the rest."""
    before = house.theirs()
    assert house.unstuck("checkpoints", "create").code == 0
    (house.root / "new.txt").write_text("changed\n", encoding="utf-8")
    shimmed('for word; do [ "$word" = write-tree ] && kill -9 $PPID && kill -9 $$; done')
    assert house.start("checkpoints", "create").wait(30) == -9
    shimmed("")
    (house.root / "new.txt").write_text("untracked\n", encoding="utf-8")
    assert house.delete().code == 0
    assert nothing_left(house)
    assert house.theirs() == before


def test_without_git_the_folder_goes(house: House, tmp_path: Path) -> None:
    """A project without git loses its `.unstuck`, and its files stay."""
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "mine.txt").write_text("mine\n", encoding="utf-8")
    assert house.unstuck("run", "--headless", "--verify", "true", "--", "true", cwd=plain).code == 0
    assert (plain / ".unstuck").is_dir()
    assert house.delete(cwd=plain).code == 0
    assert [path.name for path in plain.iterdir()] == ["mine.txt"]


# --- one run goes -----------------------------------------------------------------------------------------------------


def test_one_run_goes_and_the_others_stay(house: House) -> None:
    """Its trees, branches, checkpoints and record are gone; the other run is whole, and so is what was learnt."""
    first, second = house.worked(), house.parked()
    (house.root / ".git" / "unstuck" / "memory.jsonl").write_text("{}\n", encoding="utf-8")
    kept = sorted(path for path in (house.root / ".git" / "unstuck" / "runs" / second).rglob("*"))
    references = [line for line in house.git("for-each-ref").splitlines() if first not in line]
    assert house.unstuck("delete", first, "--yes", first, "--lose-work").code == 0
    assert house.runs == [second]
    assert sorted(path for path in (house.root / ".git" / "unstuck" / "runs" / second).rglob("*")) == kept
    assert house.git("for-each-ref").splitlines() == references
    assert first not in house.git("worktree", "list")
    assert (house.root / ".git" / "unstuck" / "memory.jsonl").read_text(encoding="utf-8") == "{}\n"
    assert {row["run"] for row in house.unstuck("checkpoints", "list", "--json").rows} == {second}
    assert house.unstuck("verify", second).code == 0
    (gate,) = [row["gate"] for row in house.unstuck("show", second, "--json").rows if "gate" in row]
    assert house.unstuck("answer", gate, "skip").code == 0
    assert house.unstuck("run", "--headless", "--resume", second).code == 1


def test_a_checkpoint_that_another_run_needs_stays(house: House) -> None:
    """Two runs over the same files share a checkpoint: the first one's deletion leaves it to the second.

    Words that were begun and never sent need a yes of their own.
    """
    first, second = house.parked(), house.parked()
    unsent = house.root / ".git" / "unstuck" / "runs" / first / "unsent.txt"
    unsent.write_text("I wanted to say\n", encoding="utf-8")
    done = house.unstuck("delete", first, "--yes", first)
    assert done.code == 2
    assert "words that you began to write" in done.errors
    assert unsent.exists()
    unsent.unlink()
    (_, task, _) = house.unstuck("show", second, "--json").rows
    (saved,) = [row for row in house.unstuck("checkpoints", "list", "--json").rows if row["id"] == task["baseline"]]
    assert saved["run"] == first
    done = house.unstuck("delete", first, "--yes", first, "--json")
    assert done.code == 0
    assert [row["stays"] for row in done.rows if "stays" in row] == [saved["id"]]
    assert task["baseline"] in {row["id"] for row in house.unstuck("checkpoints", "list", "--json").rows}


def test_while_another_run_is_live_none_goes(house: House) -> None:
    """A run that is not the live one waits until that has ended; nothing is touched."""
    run = house.parked()
    os.mkfifo(house.place / "pipe")
    process = house.start("run", "--json", "--verify", "true", "--", "sh", "-c", f"read line < {house.place}/pipe")
    for line in process.stdout:
        if b'"agent_spawned"' in line:
            break
    done = house.unstuck("delete", run, "--yes", run, "--lose-work")
    assert done.code == 2
    assert "is at work in this project" in done.errors
    assert run in house.runs
    assert process.poll() is None
    (house.place / "pipe").write_text("go\n", encoding="utf-8")
    assert process.wait(30) == 0


EMBEDDED = """
import asyncio, sys
from pathlib import Path
from unstuck import Supervisor

async def main():
    async with Supervisor.open(Path.cwd()) as supervisor:
        print(supervisor.run, flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


def test_a_program_of_ones_own_is_not_ended(house: House) -> None:
    """A Python program that supervises by itself is named and left alone, and so is its run."""
    command = [sys.executable, "-c", EMBEDDED]
    process = subprocess.Popen(command, cwd=house.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    house.started.append(process)
    assert process.stdout is not None
    run = process.stdout.readline().strip()
    done = house.delete()
    assert done.code == 2
    assert f"process {process.pid} works on run {run} and is a program of yours" in done.errors
    assert process.poll() is None
    assert house.runs == [run]
    process.communicate()
    assert house.delete().code == 0


# --- what stands in the way, and what stays ---------------------------------------------------------------------------


def test_who_stands_in_a_tree_or_on_a_branch_is_in_the_way(house: House) -> None:
    """Results that are checked out stay; a shell in a worktree is named, not ended. Nothing is deleted."""
    run = house.worked()
    tree = next(line.split()[0] for line in house.git("worktree", "list").splitlines() if "/stuck" in line)
    shell = subprocess.Popen(["sleep", "600"], cwd=tree)
    try:
        done = house.delete()
        assert done.code == 2
        assert f"process {shell.pid} sleep works in {tree}" in done.errors
        assert shell.poll() is None
        assert house.runs == [run]
    finally:
        shell.kill()
        shell.wait()
    there = house.place / "elsewhere"
    house.git("worktree", "add", "-q", "--force", str(there), f"unstuck/{run}/_run")
    before = house.theirs(house.root, there)
    done = house.delete()
    assert done.code == 2
    assert f"is checked out in {there}" in done.errors
    assert house.theirs(house.root, there) == before
    assert house.runs == [run]
    house.git("checkout", "-q", "-b", "mine", cwd=there)
    assert house.delete().code == 0
    assert (there / "web.txt").read_text(encoding="utf-8") == "web\n"
    assert house.git("worktree", "list").count("\n") == 2


def test_a_tree_that_was_moved_goes_and_what_is_none_of_ours_stays(house: House) -> None:
    """A work tree that the person has moved is named where it is, and nothing beside it goes.

    Folders in it without the right to write go too, as a build leaves some; a file of somebody else's in our own folder
    is named, kept, and no leftover.
    """
    house.worked()
    moved, mine = house.place / "moved", house.root / ".git" / "unstuck" / "notes.txt"
    tree = next(line.split()[0] for line in house.git("worktree", "list").splitlines() if "/stuck" in line)
    house.git("worktree", "move", tree, str(moved))
    (moved / "cache" / "deep").mkdir(parents=True)
    (moved / "cache" / "deep" / "file").write_text("x", encoding="utf-8")
    for folder in (moved / "cache" / "deep", moved / "cache"):
        folder.chmod(0o500)
    mine.write_text("mine\n", encoding="utf-8")
    beside = sorted(house.place.iterdir())
    assert str(moved) in house.unstuck("delete", "--project").out
    done = house.delete()
    assert done.code == 0
    assert f"{mine}: unstuck did not create it" in done.out
    assert [path.name for path in mine.parent.iterdir()] == ["notes.txt"]
    assert sorted(house.place.iterdir()) == [path for path in beside if path != moved]
    mine.unlink()
    assert house.delete().code == 0
    assert nothing_left(house)


def test_where_links_lead_is_said_and_left(house: House) -> None:
    """A person has put our folders on another disk: the links go, and what of ours they keep there is named."""
    run, ours, disk = house.parked(), house.root / ".git" / "unstuck", house.place / "disk"
    disk.mkdir()
    for path in (ours / "checkpoints", ours / "runs" / run, ours / "runs", ours):
        there = disk / path.name
        path.rename(there)
        path.symlink_to(there)
    (disk / "unstuck" / "notes.txt").write_text("mine\n", encoding="utf-8")
    rows = house.unstuck("delete", run, "--json").rows
    assert min(row["size"] for row in rows if "goes" in row) >= 0
    assert [row["stays"] for row in rows if "stays" in row] == [str(disk / run)]
    done = house.delete("--json")
    assert done.code == 0
    assert done.rows[-1]["left"] == []
    stays = {row["stays"] for row in done.rows if "stays" in row}
    assert stays == {str(disk / run), str(disk / "checkpoints"), str(ours / "notes.txt")}
    assert [path.name for path in (disk / "unstuck").iterdir()] == ["notes.txt"]
    assert (disk / "unstuck" / "notes.txt").read_text(encoding="utf-8") == "mine\n"
    (ours / "notes.txt").unlink()
    assert house.delete().code == 0
    assert not ours.is_symlink()


def test_another_work_tree_of_the_repository_keeps_its_record(house: House) -> None:
    """A linked work tree is a project of its own: its runs, checkpoints and what they borrow stay."""
    linked = house.place / "linked"
    house.git("worktree", "add", "-q", "-b", "side", str(linked))
    assert house.unstuck("run", "--headless", "--verify", "true", "--", "true", cwd=linked).code == 0
    before = house.theirs(house.root, linked)
    house.parked()
    done = house.delete()
    assert done.code == 0
    assert "the event log of another worktree" in done.out
    assert house.theirs(house.root, linked) == before
    assert house.unstuck("runs", "--json").rows == []
    (row,) = house.unstuck("runs", "--json", cwd=linked).rows
    assert row["exit_code"] == 0
    (saved,) = house.unstuck("checkpoints", "list", "--json", cwd=linked).rows
    assert house.unstuck("checkpoints", "show", saved["id"], cwd=linked).code == 0
    git_dir = Path(house.git("rev-parse", "--git-dir", cwd=linked).strip())
    away = git_dir.rename(house.place / "away")
    assert "its worktree is gone, so no command can delete it" in house.unstuck("delete", "--project").out
    away.rename(git_dir)
    assert house.delete(cwd=linked).code == 0
    assert not (house.root / ".git" / "unstuck").exists()
    assert house.git("for-each-ref", "refs/unstuck") == ""


def test_what_a_restore_of_ones_own_replaced_needs_its_own_yes(house: House) -> None:
    """The only copy of what a person's own restore has replaced is named before it is lost."""
    assert house.unstuck("checkpoints", "create").code == 0
    (saved,) = house.unstuck("checkpoints", "list", "--json").rows
    (house.root / "new.txt").write_text("precious\n", encoding="utf-8")
    assert house.unstuck("checkpoints", "restore", saved["id"], "--yes").code == 0
    done = house.unstuck("delete", "--project", "--yes", "repo")
    assert done.code == 2
    assert "it could still be undone" in done.errors
    assert house.unstuck("checkpoints", "undo", "--yes").code == 0
    assert (house.root / "new.txt").read_text(encoding="utf-8") == "precious\n"


# --- when something fails ---------------------------------------------------------------------------------------------


def test_a_failed_reopening_removes_nothing(house: House, shimmed: Callable[[str], None]) -> None:
    """A git that fails for a moment is no proof that there are no branches: nothing goes, and the next try works.

    What is still there after a deletion is an error, and named.
    """
    run = house.worked()
    failed = house.place / "failed"
    for what in ("for-each-ref", "worktree", "rev-list"):
        failed.unlink(missing_ok=True)
        before = sorted(path for path in house.root.rglob("*"))
        shimmed(f'for word; do [ "$word" = {what} ] && [ ! -e {failed} ] && touch {failed} && exit 128; done')
        done = house.delete()
        assert done.code != 0, what
        assert failed.exists(), what
        assert "failed" in done.errors, what
        assert house.runs == [run], what
        assert sorted(path for path in house.root.rglob("*")) == before, what
    # What git would not delete is named, and is an error.
    shimmed('for word; do [ "$word" = -d ] && exit 0; done')
    done = house.delete()
    assert done.code == 1
    assert "! still there: the reference refs/heads/unstuck/" in done.out
    assert "left, which should be gone" in done.errors
    shimmed("")
    assert house.delete().code == 0
    assert nothing_left(house)


def test_a_process_that_cannot_be_looked_at_keeps_everything(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Identity and run stay if nobody can tell whether the supervisor lives."""
    run = house.parked()
    lock = house.root / ".git" / "unstuck" / "lock"
    lock.write_text(json.dumps({"pid": 1, "started": 1.0, "run": run, "host": os.uname().nodename}), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(psutil.Process, "create_time", lambda self: (_ for _ in ()).throw(psutil.AccessDenied(self.pid)))
        done = house.delete()
    assert done.code == 1
    assert "process 1 cannot be looked at" in done.errors
    assert house.runs == [run]
    assert lock.exists()
    assert house.delete().code == 0


def test_what_git_keeps_of_a_tree_goes_also_when_it_was_half_gone(house: House) -> None:
    """Killed while git's own folder for a tree went: nothing says any more whose it was, and it goes all the same.

    A work tree of a person's that is only away is none of that, even one where nothing was checked out yet.
    """
    away, back = house.place / "away", house.place / "back"
    house.git("worktree", "add", "-q", "--detach", "--no-checkout", str(away))
    away.rename(back)
    house.worked()
    (kept,) = (house.root / ".git" / "worktrees").glob("stuck*")
    tree = Path((kept / "gitdir").read_text(encoding="utf-8")).parent
    tree.rename(tree.with_name(".trash-0123abcd"))
    (kept / "gitdir").unlink()
    assert house.delete().code == 0
    assert not kept.exists()
    back.rename(away)
    house.git("worktree", "remove", "--force", str(away))
    assert nothing_left(house)


def test_a_deletion_that_is_killed_again_and_again_ends(house: House) -> None:
    """kill -9 before this, that and the next removal: each next try goes on, and nothing of anybody else's is touched.

    The trees hold nothing new after a try than before it, so the same yes is enough to the end.
    """
    before = house.theirs()
    house.worked()
    words = ["delete", "--project", "--yes", "repo", "--lose-work"]
    program = [sys.executable, str(Path(__file__).with_name("dying.py")), *words]
    said = house.place / "said"
    removals, codes = 3, list[int]()
    with said.open("wb") as errors, Popen(program, cwd=house.root, stdin=PIPE, stdout=PIPE, stderr=errors) as dying:
        for _ in range(30):
            dying.stdin.write(b"%d\n" % removals)
            dying.stdin.flush()
            codes.append(int(dying.stdout.readline()))
            assert codes[-1] in (-9, 0), said.read_text()
            if codes[-1] == 0:
                break
            removals *= 2
        dying.communicate()
    assert len(codes) > 3
    assert codes[-1] == 0
    assert house.delete().out == "nothing of unstuck is left in repo\n"
    assert nothing_left(house)
    assert house.theirs() == before


def test_pipes_in_the_place_of_files_hold_no_deletion_up(house: House) -> None:
    """The settings of an agent, and what says whose a checkpoint is: the one is left, the other goes."""
    house.worked()
    (house.root / ".claude").mkdir(exist_ok=True)
    settings = house.root / ".claude" / "settings.json"
    os.mkfifo(settings)
    for place in (house.root / ".git" / "unstuck" / "checkpoints" / "store.git" / "worktrees").glob("*/gitdir"):
        place.unlink()
        os.mkfifo(place)
    done = house.unstuck("delete", "--all", "--yes", "repo", "--lose-work")
    assert done.code == 0, done
    assert settings.is_fifo()
    assert nothing_left(house)
