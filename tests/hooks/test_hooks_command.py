"""``unstuck hooks``, as a person uses it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

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
    assert (code, out) == (0, f"The hooks for Claude Code are set up already: {path}\n")
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
    assert "once you have trusted them" in out


def test_a_broken_file_is_named(repo: Path, isolated: Path, inside: Inside) -> None:
    """Status exits with 1 and says where."""
    path = isolated / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text("{")
    code, out, _ = inside(repo, "hooks", "status", "gemini")
    assert code == 1
    assert "!!  gemini  home     unreadable" in out
