"""``unstuck hooks``, as a person uses it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Inside = Callable[..., tuple[int, str, str]]


def test_install_status_remove(repo: Path, isolated: Path, inside: Inside) -> None:
    """The diff is shown, the file written and its backup named; then it is seen, and gone."""
    path = isolated / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"model": "opus"}\n')
    code, out, _ = inside(repo, "hooks", "install", "claude", "--yes")
    assert code == 0
    assert '+{"model": "opus", "hooks": {"SessionStart": [{"hooks"' in out
    assert "what was there is kept in" in out
    code, out, _ = inside(repo, "hooks", "install", "claude", "--yes")
    assert code == 0
    assert out == f"The hooks for Claude Code are set up already: {path}\n"
    code, out, _ = inside(repo, "hooks", "status", "claude", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["scope"], row["state"], row["ok"]) for row in rows] == [
        ("home", "installed", True),
        ("project", "absent", True),
    ]
    code, out, _ = inside(repo, "hooks", "remove", "claude", "--yes")
    assert code == 0
    assert path.read_text() == '{"model": "opus"}\n'
    code, out, _ = inside(repo, "hooks", "remove", "claude", "--yes")
    assert "No hooks of ours" in out


def test_nothing_is_written_unasked(repo: Path, isolated: Path, inside: Inside) -> None:
    """Without a terminal it wants --yes, after it has shown what would change; an unknown agent is wrong usage."""
    code, out, errors = inside(repo, "hooks", "install", "qwen", "--here")
    assert code == 2
    assert '"timeout": 600000' in out
    assert "--yes" in errors
    assert not (repo / ".qwen").exists()
    assert inside(repo, "hooks", "install", "nobody")[0] == 2
    assert not any(path.name == "hooks" for path in isolated.rglob("*"))


def test_codex_wants_to_be_trusted(repo: Path, inside: Inside) -> None:
    """Its hooks are silently passed over before: said at once."""
    code, out, _ = inside(repo, "hooks", "install", "codex", "--yes")
    assert code == 0
    assert "once you trust them" in out


def test_a_broken_file_is_named(repo: Path, isolated: Path, inside: Inside) -> None:
    """Status exits with 1 and says where."""
    path = isolated / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text("{")
    code, out, _ = inside(repo, "hooks", "status", "gemini")
    assert code == 1
    assert "!!  gemini  home     unreadable" in out


APP_SERVER = """#!{python}
import json, sys, time
if sys.argv[1:] == ["--version"]:
    sys.exit()
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({{"method": "noise"}}), flush=True)
    if asked.get("id") == 2:
        hook = {{"command": "{forwarder} codex", "sourcePath": "{file}", "trustStatus": "{trust}", "enabled": True}}
        other = {{"command": "mine", "sourcePath": "{file}", "trustStatus": "untrusted"}}
        print(json.dumps({{"id": 2, "result": {{"data": [{{"hooks": [hook, other]}}]}}}}), flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize(
    ("trust", "code", "words"),
    [
        ("trusted", 0, "(trusted)"),
        ("untrusted", 1, "is not trusted"),
        ("modified", 1, "is not trusted"),
        ("", 0, "not known"),
    ],
)
def test_whether_codex_trusts_them(
    repo: Path, isolated: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch, trust: str, code: int, words: str
) -> None:
    """Codex is asked itself, by status and by doctor; one that does not answer, or is not there, leaves it open."""
    inside(repo, "hooks", "install", "codex", "--yes")
    file = isolated / ".codex" / "hooks.json"
    forwarder = json.loads(file.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"].split()[-2]
    bin = isolated / "bin"
    bin.mkdir()
    codex = bin / "codex"
    text = APP_SERVER.format(python=sys.executable, forwarder=forwarder, file=file, trust=trust)
    codex.write_text(text if trust else "#!/bin/sh\nexit 1\n")
    codex.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")
    status = inside(repo, "hooks", "status", "codex")
    assert status[0] == code
    assert words in status[1]
    doctor = inside(repo, "doctor")
    assert doctor[0] == code
    assert words in doctor[1]
