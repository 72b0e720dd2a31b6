"""Settings files of agents on the disk: hooks are set up once, looked at, and removed without a trace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from unstuck.agents.config.settings_files import Scope, SettingsFile, installation, removal, settings_files
from unstuck.agents.hooks.hook_agents import KNOWN, HookedAgent
from unstuck.errors import UsageError

SETTINGS = '{\n   "model" : "opus" ,\n   "permissions": {"allow": ["Bash(ls)"]}\n}'


@pytest.fixture
def forwarder(tmp_path: Path) -> Path:
    """A program at a place with a blank in its name."""
    path = tmp_path / "my tools" / "unstuck-hook"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


class Home:
    """A person's home and one project."""

    def __init__(self, place: Path, forwarder: Path) -> None:
        self.root, self.home, self.forwarder = place / "project", place / "home", forwarder
        self.root.mkdir()
        self.home.mkdir()
        self.environ = {"HOME": str(self.home), "UNSTUCK_STATE_DIR": str(self.home / "state")}

    def install(self, agent: str, scope: Scope = "home") -> Path:
        """Set up; the file."""
        change = installation(KNOWN[agent], scope, root=self.root, environ=self.environ, program=self.forwarder)
        change.apply()
        return change.path

    def remove(self, agent: str, scope: Scope = "home") -> None:
        """Take out."""
        removal(KNOWN[agent], scope, root=self.root, environ=self.environ).apply()

    def look(self, agent: str, scope: Scope = "home") -> SettingsFile[HookedAgent]:
        """Return the findings."""
        files = settings_files(KNOWN, self.root, self.environ)
        return next(file for file in files if (file.agent.name, file.scope) == (agent, scope))

    def everything(self) -> dict[str, Any]:
        """Every file and folder with its bytes and mode."""
        places = [*self.home.rglob("*"), *self.root.rglob("*")]
        return {str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else None) for path in places}


@pytest.fixture
def person(tmp_path: Path, forwarder: Path) -> Home:
    """Somebody with nothing set up."""
    return Home(tmp_path, forwarder)


@pytest.mark.parametrize("agent", list(KNOWN))
@pytest.mark.parametrize("scope", ["home", "project"])
def test_in_and_out_without_a_trace(person: Home, agent: str, scope: Scope) -> None:
    """No file, folder or backup stays where there was none, and a file is byte-identical."""
    (person.home / "state").mkdir()
    before = person.everything()
    path = person.install(agent, scope)
    assert person.look(agent, scope).state == "installed"
    (command,) = person.look(agent, scope).commands
    assert command == f"[ ! -x '{person.forwarder}' ] || '{person.forwarder}' {agent}"
    person.remove(agent, scope)
    assert person.everything() == before
    path.parent.mkdir(exist_ok=True)
    path.write_text(SETTINGS)
    path.chmod(0o640)
    before = person.everything()
    person.install(agent, scope)
    assert json.loads(path.read_text())["model"] == "opus"
    person.install(agent, scope)
    person.remove(agent, scope)
    assert person.everything() == before


@pytest.mark.parametrize("shell", [shell for shell in ("sh", "bash", "dash", "zsh", "fish") if shutil.which(shell)])
def test_a_hook_that_was_left_over_is_silent(person: Home, shell: str) -> None:
    """An agent goes on without a word if the program is gone; the next look at the file says so."""
    person.install("claude")
    (command,) = person.look("claude").commands
    person.forwarder.write_text("#!/bin/sh\necho called with $1; exit 2\n")
    person.forwarder.chmod(0o755)
    done = subprocess.run([shell, "-c", command], input=b"{}", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, b"called with claude\n", b"")
    person.forwarder.unlink()
    done = subprocess.run([shell, "-c", command], input=b"{}", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert person.look("claude").missing == str(person.forwarder)


def test_the_python_beside_it_starts_without_its_packages(person: Home) -> None:
    """It is the quickest start, and another environment's variables cannot break it."""
    person.forwarder.with_name("python").symlink_to(sys.executable)
    person.forwarder.write_text("import sys\nprint(sys.flags.no_site, sys.flags.isolated, *sys.argv[1:])\n")
    person.install("claude")
    (command,) = person.look("claude").commands
    done = subprocess.run(["sh", "-c", command], env={"PYTHONPATH": "/nonsense"}, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1 1 claude\n", "")
    assert person.look("claude").state == "installed"


def test_hooks_of_an_earlier_version_are_known(person: Home) -> None:
    """A command that would complain about a program that is gone is replaced by the next installation."""
    path = person.install("claude")
    plain = f"'{person.forwarder}' claude"
    path.write_text(path.read_text().replace(f"[ ! -x '{person.forwarder}' ] || {plain}", plain))
    assert person.look("claude").state == "outdated"
    person.install("claude")
    assert person.look("claude").state == "installed"


def test_each_counts_in_its_own_unit(person: Home) -> None:
    """Ten minutes are 600 for Claude Code and Codex and 600,000 for Gemini and Qwen; never left to a default."""
    found = {}
    for agent in KNOWN:
        hooks = json.loads(person.install(agent).read_text())["hooks"]
        assert set(hooks) == set(KNOWN[agent].events)
        (found[agent],) = {
            entry["timeout"] for groups in hooks.values() for group in groups for entry in group["hooks"]
        }
    assert found == {"claude": 600, "codex": 600, "gemini": 600_000, "qwen": 600_000}


def test_once_is_enough(person: Home) -> None:
    """Installing again changes not even the file's time; the diff is empty."""
    path = person.install("claude")
    before = path.stat()
    change = installation(KNOWN["claude"], "home", root=person.root, environ=person.environ, program=person.forwarder)
    assert change.is_empty
    assert change.diff() == []
    change.apply()
    assert path.stat() == before


def test_what_was_changed_meanwhile_stays(person: Home) -> None:
    """The agent saved a permission after we came: our going leaves it, and takes only what is ours."""
    path = person.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS)
    person.install("claude")
    path.write_text(path.read_text().replace("Bash(ls)", "Bash(cat)"))
    person.install("claude")
    person.remove("claude")
    assert path.read_text() == SETTINGS.replace("Bash(ls)", "Bash(cat)")
    assert not (person.home / "state").exists() or not any((person.home / "state").iterdir())


def test_a_file_of_ours_in_which_somebody_wrote(person: Home) -> None:
    """We made the file, and it holds a setting of the person's now: the file stays, with that."""
    path = person.install("claude")
    path.write_text(path.read_text().replace('{\n  "hooks"', '{\n  "model": "opus",\n  "hooks"'))
    person.remove("claude")
    assert json.loads(path.read_text()) == {"model": "opus"}


def test_hooks_that_were_set_up_by_hand_can_be_removed(person: Home) -> None:
    """Without a backup, too."""
    path = person.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "unstuck-hook claude"}]}]}, "a": 1}')
    assert person.look("claude").state == "outdated"
    person.remove("claude")
    assert path.read_text() == '{"a": 1}'


def test_a_link_stays_a_link(person: Home) -> None:
    """Settings that are kept elsewhere (dotfiles) are edited there."""
    kept = person.home / "dotfiles.json"
    kept.write_text(SETTINGS)
    path = person.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.symlink_to(kept)
    person.install("claude")
    assert path.is_symlink()
    assert "unstuck-hook" in kept.read_text()
    person.remove("claude")
    assert path.is_symlink()
    assert kept.read_text() == SETTINGS


def test_what_is_wrong_is_seen(person: Home) -> None:
    """Broken settings are named and left alone; a forwarder that has gone is missed."""
    path = person.home / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"a": }')
    with pytest.raises(UsageError, match=r"settings\.json cannot be edited: line 1"):
        person.install("gemini")
    assert path.read_text() == '{"a": }'
    assert person.look("gemini").state == "unreadable"
    assert person.look("gemini").problem == "line 1 is no JSON"
    person.install("claude")
    person.forwarder.unlink()
    assert person.look("claude").missing == str(person.forwarder)


def test_a_file_that_changes_under_our_hands_is_not_overwritten(person: Home) -> None:
    """Between what was shown and what is written somebody else wrote."""
    change = installation(KNOWN["claude"], "home", root=person.root, environ=person.environ, program=person.forwarder)
    change.path.parent.mkdir()
    change.path.write_text(SETTINGS)
    with pytest.raises(UsageError, match="was just changed"):
        change.apply()
    assert change.path.read_text() == SETTINGS


def test_the_list_of_what_is_installed(person: Home) -> None:
    """All of a project's, or of a home's: what has to be removed with it."""

    def installed() -> dict[tuple[str, Scope], Path]:
        files = settings_files(KNOWN, person.root, person.environ)
        return {(file.agent.name, file.scope): file.path for file in files if file.has_entries}

    assert installed() == {}
    person.install("claude", "project")
    person.install("codex", "project")
    person.install("gemini", "home")
    assert set(installed()) == {("claude", "project"), ("codex", "project"), ("gemini", "home")}
    assert installed()["gemini", "home"] == person.home / ".gemini" / "settings.json"


def test_homes_that_were_moved(person: Home) -> None:
    """CLAUDE_CONFIG_DIR and CODEX_HOME are followed, as the agents do."""
    person.environ |= {"CLAUDE_CONFIG_DIR": str(person.home / "c"), "CODEX_HOME": str(person.home / "x")}
    assert person.install("claude") == person.home / "c" / "settings.json"
    assert person.install("codex") == person.home / "x" / "hooks.json"


def test_a_place_that_cannot_be_written(person: Home) -> None:
    """One clear line, and no half a file."""
    path = person.home / ".claude"
    path.write_text("in the way")
    with pytest.raises(UsageError, match=r"settings\.json cannot be read"):
        person.install("claude")
    assert sorted(os.listdir(person.home)) == [".claude"]


def test_a_link_that_leads_nowhere_yet(person: Home) -> None:
    """The file is made where it leads; removal takes that file away, and leaves the person's link."""
    path, kept = person.home / ".claude" / "settings.json", person.home / "dotfiles.json"
    path.parent.mkdir()
    path.symlink_to(kept)
    person.install("claude")
    assert "unstuck-hook" in kept.read_text()
    person.remove("claude")
    assert path.is_symlink()
    assert not kept.exists()


def test_what_is_no_file_is_left_alone(person: Home) -> None:
    """Settings that are a link to a device or a pipe are neither read nor replaced."""
    path = person.home / ".claude" / "settings.json"
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(UsageError, match=r"settings\.json is no file"):
        person.install("claude")
    assert path.is_fifo()
    assert person.look("claude").state == "unreadable"


@pytest.mark.parametrize("kept", ['{"made": 5, "before": null}', '{"made": [7], "before": null}', '{"before": 7}'])
def test_a_backup_that_was_damaged(person: Home, kept: str) -> None:
    """Ours are taken out all the same, from the file as it is."""
    path = person.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS)
    person.install("claude")
    (backup,) = (person.home / "state" / "hooks").iterdir()
    backup.write_text(kept)
    person.remove("claude")
    assert path.read_text() == SETTINGS
