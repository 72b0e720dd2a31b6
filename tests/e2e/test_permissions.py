"""An agent that asks: by rule, by nobody, and by a person long after its run was left."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Inside = Callable[..., tuple[int, str, str]]
SERVER = Path(__file__).parents[1] / "agents" / "scripted_app_server.py"


@pytest.fixture(autouse=True)
def codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of that name on the PATH, whose app-server asks whether it may deploy."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "codex"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {SERVER} asks\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("UNSTUCK_EXPERIMENTAL", "accept")


ALLOWED = "grep '\"accept\"' heard.jsonl"
RUN = ("run", "--json", "--headless", "--verify", ALLOWED, "--agent", "codex-app-server", "Deploy it.")


def events(out: str, name: str) -> list[dict[str, Any]]:
    """The data of the printed records of this name."""
    records = [json.loads(line) for line in out.splitlines()]
    return [record["data"] for record in records if record.get("event") == name]


def test_a_rule_allows_it(repo: Path, inside: Inside) -> None:
    """A rule of the answers file is asked like a person: the command runs, and its rule is on record."""
    (repo / "answers.yaml").write_text("- {gate: permission, answer: allow}\n")
    code, out, _ = inside(repo, *RUN, "--answers", "answers.yaml")
    assert code == 0
    (gate,) = events(out, "gate_opened")
    assert gate["type"] == "permission"
    assert gate["context"]["problem"] == "make deploy"
    assert gate["context"]["saved"].startswith("chk-")
    assert [data["choice"] for data in events(out, "gate_answered")] == ["allow"]
    assert len(events(out, "answer_delivered")) == 1


def test_nobody_may_be_asked(repo: Path, inside: Inside) -> None:
    """Then it may not, and is told so."""
    code, out, _ = inside(repo, *RUN, "--ask", "never", "--direct")
    assert code == 4
    assert events(out, "gate_opened") == []
    assert "Nobody may be asked" in (repo / "heard.jsonl").read_text()
    assert '"decline"' in (repo / "heard.jsonl").read_text()


def test_a_person_answers_later(repo: Path, inside: Inside) -> None:
    """With nobody there the run is left; the reason that a person gives then is told when the same call comes again."""
    code, _, _ = inside(repo, *RUN)
    assert code == 3
    _, said, _ = inside(repo, "show")
    (gate,) = re.findall(r"\? (g\d+-[0-9a-f]{4})  permission", said)
    assert inside(repo, "answer", gate, "deny", "not", "on", "a", "Friday")[0] == 0
    code, out, _ = inside(repo, "run", "--json", "--headless", "--resume", "last", "--ask", "never")
    assert "This was not allowed: not on a Friday" in (repo / "heard.jsonl").read_text()
    assert events(out, "answer_delivered")[0]["gate"] == gate


def test_it_has_to_be_wanted(repo: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Codex itself calls experimental is used only where the settings say so, and the message says how."""
    monkeypatch.delenv("UNSTUCK_EXPERIMENTAL")
    code, _, errors = inside(repo, *RUN)
    assert code == 2
    assert "experimental: accept" in errors
    assert not (repo / ".git" / "unstuck" / "runs").exists()
