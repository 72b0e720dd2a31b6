"""First look at an agent: what it lacks is said before its first attempt, without starting it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unstuck.runs.plans.plan_file import load_plan
from unstuck.runs.plans.preflight import start_warnings
from unstuck.workspace.project import located

Inside = Callable[..., tuple[int, str, str]]
END = '{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s-1"}'
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY", "CODEX_HOME")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without any agent's files, and an environment without their keys."""
    folder = tmp_path / "home-of-agents"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    return folder


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> Callable[..., Path]:
    """``agent(name, version)`` installs a stand-in as npm does; gives the file that has a line for each start."""
    starts = tmp_path / "starts"

    def make(name: str, version: str) -> Path:
        package = tmp_path / "programs" / "node_modules" / "@makers" / name
        package.mkdir(parents=True)
        (package / "package.json").write_text(json.dumps({"name": f"@makers/{name}", "version": version}))
        (package / "cli").write_text(f"#!/bin/sh\necho start >> {starts}\necho '{END}'\n")
        (package / "cli").chmod(0o755)
        bin = tmp_path / "programs" / "node_modules" / ".bin"
        bin.mkdir(exist_ok=True)
        (bin / name).symlink_to(f"../@makers/{name}/cli")
        monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")
        return starts

    return make


def warnings(inside: Inside, repo: Path, name: str, check: str, *arguments: str) -> list[str]:
    """The warnings of a run of one attempt."""
    more = ("--", *arguments) if arguments else ()
    (repo / "unstuck.yaml").write_text("failure_handler: {max_retries: 0, max_pivots: 0, max_research: 0}\n")
    run = ("run", "--json", "--headless", "--direct", "--ask", "never", "--check", check, "--agent", name, "Do it.")
    _, out, errors = inside(repo, *run, *more)
    records: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    (started,) = [record for record in records if record.get("event") == "run_started"]
    assert errors == ""
    return [str(one) for one in started["data"]["warnings"]]


def test_what_is_missing_is_said_before_the_first_attempt(
    repo: Path, inside: Inside, agent: Callable[..., Path]
) -> None:
    """The sign-in with its cure, and the argument that lets the agent run the check; the program is not started."""
    starts = agent("claude", "2.1.197")
    said = warnings(inside, repo, "claude", "make test -k web")
    assert said == [
        "claude does not seem to be signed in here. Run `claude /login` in a terminal.",
        "claude may not run the check itself (make test -k web): `-- --allowedTools 'Bash(make test:*)'` allows it",
    ]
    assert len(starts.read_text().splitlines()) == 1  # the attempt itself


async def test_agents_on_other_machines_are_not_looked_at(repo: Path, agent: Callable[..., Path]) -> None:
    """A run whose tasks hosts work says nothing about the program of this machine."""
    agent("claude", "2.1.197")
    (repo / "plan.yaml").write_text("tasks: [{id: one, prompt: Do it., agent: claude, check: make test}]\n")
    plan, place = load_plan(repo / "plan.yaml"), located(repo)
    here = await start_warnings(plan, place, os.environ, apart=False)
    assert len(here) == 2
    assert await start_warnings(plan, place, os.environ, apart=False, here=False) == []


def test_lines_name_it(repo: Path, inside: Inside, agent: Callable[..., Path]) -> None:
    """A person reads it among the first lines."""
    agent("claude", "2.1.197")
    run = ("run", "--headless", "--direct", "--ask", "never", "--check", "make test", "--agent", "claude", "Do it.")
    _, out, _ = inside(repo, *run)
    assert out.index("claude /login") < out.index("Bash(make test:*)") < out.index("agent ended")


@pytest.mark.parametrize(
    ("name", "check", "arguments"),
    [
        ("claude", "make test", ("--allowedTools", "Bash")),
        ("claude", "make test", ("--allowedTools", "Bash(make test:*) Edit")),
        ("claude", "make test", ("--allowed-tools=Bash(make *)",)),
        ("claude", "make test", ("--dangerously-skip-permissions",)),
        ("claude", "grep x y", ()),
        ("claude", "test -f a && grep x y", ()),
        ("claude", "cd app && make test", ("--allowedTools", "Bash(make test:*)")),
        ("gemini", "cd a && make", ("--allowed-tools", "run_shell_command(make)", "--allowed-tools=ShellTool(cd)")),
        ("qwen", "A=1 B=2 make test", ("--allowed-tools", "run_shell_command(make test)")),
        ("gemini", "pytest -q", ("--yolo",)),
        ("gemini", "pytest -q", ("--allowed-tools", "run_shell_command(pytest)")),
        ("qwen", "pytest -q", ("--approval-mode", "yolo")),
        ("codex", "make test", ()),
        ("opencode", "make test", ()),
    ],
)
def test_an_agent_that_may_run_the_check_is_not_warned_about(
    repo: Path, inside: Inside, agent: Callable[..., Path], name: str, check: str, arguments: tuple[str, ...]
) -> None:
    """By its arguments, or because it runs such programs without asking."""
    agent(name, "1.2.3")
    assert not any("check itself" in one for one in warnings(inside, repo, name, check, *arguments))


@pytest.mark.parametrize(
    ("name", "check", "given", "needed"),
    [
        ("claude", "test -f a && make test", "Bash(test -f a)", "--allowedTools 'Bash(make test:*)'"),
        ("gemini", "cd a && make", "run_shell_command(make)", "--allowed-tools 'run_shell_command(cd)'"),
        ("qwen", "A=1 make test", "run_shell_command(make web)", "--allowed-tools 'run_shell_command(make test)'"),
    ],
)
def test_what_is_missing_for_a_check_of_several_words_is_named(
    repo: Path, inside: Inside, agent: Callable[..., Path], name: str, check: str, given: str, needed: str
) -> None:
    """As the agent compares it: each command of the line, Gemini a change of directory, and Qwen no variables."""
    agent(name, "0.5.0")
    option = needed.partition(" ")[0]
    (said,) = [one for one in warnings(inside, repo, name, check, option, given) if "check itself" in one]
    assert needed in said


ALLOWED = {
    ".claude/settings.json": ("claude", {"permissions": {"allow": ["Edit", "Bash(make test:*)"]}}),
    ".gemini/settings.json": ("gemini", {"tools": {"allowed": ["run_shell_command(make)"]}}),
    ".qwen/settings.json": ("qwen", {"tools": {"allowed": ["ShellTool(make test)"]}}),
}


@pytest.mark.parametrize("where", ["home", "project"])
@pytest.mark.parametrize("file", ALLOWED)
def test_its_own_settings_count(
    repo: Path, home: Path, inside: Inside, agent: Callable[..., Path], file: str, where: str
) -> None:
    """A permission in its settings, in the home directory or in the project, needs no argument."""
    name, settings = ALLOWED[file]
    agent(name, "0.5.0")
    place = (home if where == "home" else repo) / file
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(settings))
    said = warnings(inside, repo, name, "make test")
    assert not any("check itself" in one for one in said)
    place.write_text("{ not json")
    assert any("check itself" in one for one in warnings(inside, repo, name, "make test"))


SIGNED_IN = {
    "claude": (".claude/.credentials.json", "{}"),
    "codex": (".codex/config.toml", 'model_provider = "own"'),
    "gemini": (".gemini/oauth_creds.json", "{}"),
    "qwen": (".qwen/.env", "OPENAI_API_KEY=x"),
}


@pytest.mark.parametrize("name", SIGNED_IN)
def test_signed_in_by_a_file_or_a_variable(
    repo: Path, home: Path, inside: Inside, agent: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Nothing is asked of the agent or its provider."""
    agent(name, "0.5.0")
    assert any("signed in" in one for one in warnings(inside, repo, name, "true"))
    variable = {"claude": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}.get(name, "OPENAI_API_KEY")
    with monkeypatch.context() as patch:
        patch.setenv(variable, "none")
        assert not any("signed in" in one for one in warnings(inside, repo, name, "true"))
    file, text = SIGNED_IN[name]
    (home / file).parent.mkdir()
    (home / file).write_text(text)
    assert not any("signed in" in one for one in warnings(inside, repo, name, "true"))


def test_an_unknown_version_and_a_read_only_sandbox_are_named(
    repo: Path, inside: Inside, agent: Callable[..., Path]
) -> None:
    """The version comes from the package."""
    agent("codex", "7.0.1")
    said = warnings(inside, repo, "codex", "true", "--sandbox", "read-only")
    assert "codex 7.0.1 is none of the versions that this unstuck knows (0.x)" in said
    assert any("--sandbox workspace-write" in one for one in said)


@pytest.mark.parametrize(
    ("name", "mode", "mend"),
    [
        ("claude", "--permission-mode plan", "--permission-mode acceptEdits"),
        ("gemini", "--approval-mode default", "--approval-mode auto_edit"),
        ("qwen", "--approval-mode=plan", "--approval-mode auto-edit"),
    ],
)
def test_a_mode_in_which_nothing_is_edited_is_named(
    repo: Path, inside: Inside, agent: Callable[..., Path], name: str, mode: str, mend: str
) -> None:
    """With the argument with which it edits; a mode that edits, or tools that are allowed, are not warned about."""
    agent(name, "0.5.0")
    said = warnings(inside, repo, name, "true", *mode.split())
    assert any("cannot change a file" in one and one.endswith(f"give it `{mend}`") for one in said)
    allows = "--allowedTools" if name == "claude" else "--allowed-tools"
    for arguments in (mend.split(), [*mode.split(), allows, "Edit"]):
        assert not any("cannot change a file" in one for one in warnings(inside, repo, name, "true", *arguments))


def test_nothing_there_can_make_it_wait(repo: Path, home: Path, inside: Inside, agent: Callable[..., Path]) -> None:
    """A pipe, a huge file or a directory in the place of settings is not read."""
    agent("claude", "2.1.0")
    (home / ".claude").mkdir()
    os.mkfifo(home / ".claude" / "settings.json")
    (repo / ".claude" / "settings.json").mkdir(parents=True)
    with (repo / ".claude" / "settings.local.json").open("wb") as file:
        file.truncate(2**33)
    assert any("check itself" in one for one in warnings(inside, repo, "claude", "make test"))


def test_the_doctor_says_the_same(repo: Path, inside: Inside, agent: Callable[..., Path]) -> None:
    """For each known agent on the PATH, with the check that the project seems to have."""
    starts = agent("claude", "2.1.197")
    (repo / "Makefile").write_text("test:\n\ttrue\n")
    _, out, _ = inside(repo, "doctor", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    said = [row["value"] for row in rows if row["what"] == "agent"]
    assert any("signed in" in one for one in said)
    assert any("--allowedTools 'Bash(make test:*)'" in one for one in said)
    assert "claude (2.1.197)" in next(row["value"] for row in rows if row["what"] == "agents")
    assert not starts.exists()
