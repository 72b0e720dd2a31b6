"""``unstuck mcp install``, ``remove`` and ``status``: into an agent's settings, and out of them without a trace."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from unstuck.agents.config.settings_files import Scope, installation, removal, settings_files
from unstuck.agents.mcp.mcp_agents import CALL_S, KNOWN
from unstuck.errors import UsageError

Inside = Callable[..., tuple[int, str, str]]

JSON = '{\n  "numStartups": 3,\n  // mine\n  "projects": {\n    "/x": {"a": 1},\n  },\n}\n'
TOML = '# mine\nmodel = "x"   # also\n\n[mcp_servers.other]\ncommand = "other"\n\n[tools]\nlist = [\n  "[a]",\n]'
TEXTS = {"claude": [None, "", "{}", '{"mcpServers": {}}\n', JSON], "codex": [None, "", "\n", TOML, TOML + "\n\n\n"]}


def file_of(agent: str, scope: Scope, repo: Path) -> Path:
    return KNOWN[agent].file(scope, root=repo, environ=os.environ)


def install(agent: str, scope: Scope, repo: Path) -> None:
    installation(KNOWN[agent], scope, root=repo, environ=os.environ).apply()


def remove(agent: str, scope: Scope, repo: Path) -> None:
    removal(KNOWN[agent], scope, root=repo, environ=os.environ).apply()


def written(path: Path, text: str | None) -> None:
    if text is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")


def seen(repo: Path, home: Path) -> set[Path]:
    """Every file and folder but the folder in which we keep what belongs to no project."""
    kept = home / "state" / "unstuck"
    return {path for place in (repo, home) for path in place.rglob("*") if path not in (kept, kept.parent)}


@pytest.mark.parametrize("scope", ["home", "project"])
@pytest.mark.parametrize(("agent", "text"), [(agent, text) for agent, texts in TEXTS.items() for text in texts])
def test_in_and_out_without_a_trace(agent: str, text: str | None, scope: Scope, repo: Path, isolated: Path) -> None:
    """Whatever stood there: it holds the server, a second time changes nothing, and afterwards every byte, file and
    folder is what it was."""
    path = file_of(agent, scope, repo)
    written(path, text)
    before = seen(repo, isolated)
    install(agent, scope, repo)
    assert installation(KNOWN[agent], scope, root=repo, environ=os.environ).is_empty
    remove(agent, scope, repo)
    assert (path.read_text() if path.exists() else None) == text
    assert seen(repo, isolated) == before


@pytest.mark.parametrize(("agent", "more"), [("claude", '"added": 1, '), ("codex", "added = 1\n")])
def test_what_was_changed_meanwhile_stays(agent: str, more: str, repo: Path) -> None:
    """The agent has written its file anew since, and has added to our entry: only that goes."""
    path = file_of(agent, "home", repo)
    written(path, TEXTS[agent][-1])
    install(agent, "home", repo)
    text = path.read_text()
    if agent == "claude":
        path.write_text(text.replace("{", "{" + more, 1))
    else:
        path.write_text(more + text + '\n[mcp_servers.unstuck.tools.ask_human]\napproval_mode = "approve"\n')
    remove(agent, "home", repo)
    before, after = TEXTS[agent][-1], path.read_text()
    assert before is not None
    assert after == (before.replace("{", "{" + more, 1) if agent == "claude" else more + before)


@pytest.mark.parametrize("more", ["\n# about tools\n# and more\n\n[tools]\na = 1\n", "\r\n# the end\r\n", "# the end"])
@pytest.mark.parametrize("text", ["", "[mcp_servers]\n", 'model = "x"\r\n'])
def test_comments_behind_our_table_stay(text: str, more: str, repo: Path) -> None:
    """Text that a person wrote behind our entry is theirs, comments too, and so is an empty table before it."""
    path = file_of("codex", "home", repo)
    written(path, text)
    install("codex", "home", repo)
    with open(path, "a", newline="") as file:
        file.write(more)
    remove("codex", "home", repo)
    with open(path, newline="") as file:
        after = file.read()
    assert after.startswith(text)
    assert after.endswith(more.lstrip())
    assert "unstuck" not in after
    tomllib.loads(after)


@pytest.mark.parametrize("args", ["5", "true", '"mcp"', '{"mcp": 1}', "null"])
def test_strange_arguments_are_not_ours(args: str, repo: Path) -> None:
    """A server of our name that is started in another way is somebody else's, whatever stands there."""
    path = file_of("claude", "home", repo)
    written(path, f'{{"mcpServers": {{"unstuck": {{"command": "unstuck", "args": {args}}}}}}}')
    assert [file.state for file in settings_files(KNOWN, repo, os.environ) if file.agent.name == "claude"] == [
        "absent"
    ] * 2
    with pytest.raises(UsageError, match="another server of the name unstuck"):
        install("claude", "home", repo)


def test_what_claude_code_reads(repo: Path) -> None:
    """It waits for the server before its first turn, and for a call as long as a person may take; for one project the
    entry is that project's."""
    install("claude", "home", repo)
    install("claude", "project", repo)
    settings = json.loads(file_of("claude", "home", repo).read_text())
    entry = settings["mcpServers"]["unstuck"]
    assert settings["projects"][str(repo)]["mcpServers"]["unstuck"] == entry
    assert Path(entry["command"]).is_absolute()
    assert entry["args"] == ["mcp"]
    assert entry["alwaysLoad"] is True
    assert entry["timeout"] == CALL_S * 1000
    remove("claude", "project", repo)
    assert json.loads(file_of("claude", "home", repo).read_text()) == {"mcpServers": {"unstuck": entry}}
    remove("claude", "home", repo)
    assert not file_of("claude", "home", repo).exists()


def test_what_codex_reads(repo: Path) -> None:
    """The same, and what of its environment it has to pass on for the server to find its run."""
    install("codex", "project", repo)
    entry = tomllib.loads((repo / ".codex" / "config.toml").read_text())["mcp_servers"]["unstuck"]
    assert entry["args"] == ["mcp"]
    assert entry["required"] is True
    assert entry["tool_timeout_sec"] == CALL_S
    assert {"UNSTUCK_SOCKET", "XDG_RUNTIME_DIR"} <= set(entry["env_vars"])


@pytest.mark.parametrize(
    ("agent", "text", "words"),
    [
        ("claude", '{"mcpServers": {"unstuck": {"command": "mine"}}}', "another server of the name unstuck"),
        ("claude", '{"mcpServers": []}', "would have to be in an object"),
        ("claude", "{", "ends too early"),
        ("codex", '[mcp_servers.unstuck]\nurl = "http://x"\n', "another server of the name unstuck"),
        ("codex", "mcp_servers = {}\n", "not written as tables"),
        ("codex", "a = \n", "it is no TOML"),
    ],
)
def test_what_cannot_be_edited(agent: str, text: str, words: str, repo: Path) -> None:
    """It is left as it is, and what is in the way is said."""
    path = file_of(agent, "home", repo)
    written(path, text)
    with pytest.raises(UsageError, match=words):
        install(agent, "home", repo)
    assert path.read_text() == text


def test_the_command(repo: Path, isolated: Path, inside: Inside) -> None:
    """The change is shown and wants a yes; status and doctor see it, and say so once its program has gone."""
    path = isolated / ".claude.json"
    path.write_text('{"numStartups": 3}\n')
    code, out, errors = inside(repo, "mcp", "install", "claude")
    assert code == 2
    assert '"alwaysLoad": true' in out
    assert "--yes" in errors
    assert path.read_text() == '{"numStartups": 3}\n'
    code, out, _ = inside(repo, "mcp", "install", "claude", "--yes")
    assert code == 0
    assert "what was there is kept in" in out
    assert "--allowedTools mcp__unstuck" in out
    assert "already" in inside(repo, "mcp", "install", "claude", "--yes")[1]
    code, out, _ = inside(repo, "mcp", "status", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(row["agent"], row["scope"], row["state"]) for row in rows] == [
        ("claude", "home", "installed"),
        ("claude", "project", "absent"),
        ("codex", "home", "absent"),
        ("codex", "project", "absent"),
    ]
    assert f"mcp          claude: {path}" in inside(repo, "doctor")[1]
    path.write_text(path.read_text().replace('unstuck", "args', 'gone/unstuck", "args'))
    code, out, _ = inside(repo, "mcp", "status", "claude")
    assert code == 1
    assert "does not exist: unstuck mcp install claude" in out
    code, out, _ = inside(repo, "doctor")
    assert code == 1
    assert "→ unstuck mcp install claude" in out
    inside(repo, "mcp", "remove", "claude", "--yes")
    assert path.read_text() == '{"numStartups": 3}\n'
    assert "No server of ours" in inside(repo, "mcp", "remove", "claude", "--yes")[1]


def test_deleting_a_project_takes_its_entries_along(repo: Path, isolated: Path, inside: Inside) -> None:
    """Those that are only this project's go, and nothing is left of them; what is for all projects stays, and is said
    to."""
    home = isolated / ".codex" / "config.toml"
    for arguments in (("claude", "--here"), ("codex", "--here"), ("codex",)):
        assert inside(repo, "mcp", "install", *arguments, "--yes")[0] == 0
    (repo / ".git" / "unstuck").mkdir()
    code, out, errors = inside(repo, "delete", "--project", "--yes", "repo")
    assert code == 0, errors
    assert "server" in out
    assert f"{home}" in out
    assert home.exists()
    assert not (isolated / ".claude.json").exists()
    assert not (repo / ".codex").exists()
