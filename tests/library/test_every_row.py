"""Each kind of row that a command can print with ``--json`` is printed by a real run, and fits its model."""

from __future__ import annotations

import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from tests.history.kept import keep
from tests.sealed_logs import change_last

from unstuck import Client
from unstuck.schemas.catalogue import SCHEMAS

Inside = Callable[..., tuple[int, str, str]]
SERVER = Path(__file__).parents[1] / "agents" / "scripted_app_server.py"
FAILING = "echo 'price.py:3: error: Name \"totl\" is not defined'; test -e done"
SPEAKS = """
echo 'UNSTUCK {"step": "action", "tool": "bash", "text": "make"}'
echo 'UNSTUCK {"step": "failure", "tool": "bash", "text": "KeyError: 1", "exit_code": 1}'
grep -q 'touch done' "$UNSTUCK_PROMPT_FILE" && touch done; true
"""
WAITS = ["sh", "-c", "echo half > work.txt; sleep 600"]


class Rows:
    """Runs commands, and notes which kinds of rows each has printed."""

    def __init__(self, repo: Path, inside: Inside) -> None:
        self._repo, self._inside = repo, inside
        self.kinds: dict[str, set[str]] = defaultdict(set)

    def __call__(self, *words: str, code: int | None = 0) -> list[object]:
        ended, said, problem = self._inside(self._repo, *words, "--json")
        assert code is None or ended == code, f"{words}: {ended} {problem}"
        rows = [SCHEMAS[words[0]].adapter.validate_json(line) for line in said.splitlines()]
        self.kinds[words[0]] |= {type(row).__name__ for row in rows}
        return rows

    def one(self, *words: str, kind: str) -> dict[str, object]:
        """The first row of this kind."""
        found = next(row for row in self(*words, code=None) if type(row).__name__ == kind)
        return vars(found)


@pytest.fixture
def rows(repo: Path, tmp_path: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Rows:
    """A project of a person who has kept a session, and whose ``codex`` asks for permission."""
    home, bin = tmp_path / "ann", tmp_path / "bin"
    keep(home, "claude")
    bin.mkdir()
    (bin / "codex").write_text(f"#!/bin/sh\nexec {sys.executable} {SERVER} asks\n")
    (bin / "codex").chmod(0o755)
    for name, value in (("HOME", home), ("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("UNSTUCK_EXPERIMENTAL", "accept")
    (repo / "unstuck.yaml").write_text("failure_handler: {max_retries: 0, max_pivots: 0, max_research: 0}\n")
    (repo / "agent.sh").write_text(SPEAKS)
    return Rows(repo, inside)


def test_every_kind_of_row_is_printed(rows: Rows, repo: Path) -> None:
    """Runs that fail, ask, are answered, killed, damaged and deleted print every kind that a schema names."""
    command = ("run", "--headless", "--check", FAILING, "--", "sh", "agent.sh")
    assert rows._inside(repo, *command)[0] == 3
    rows("truth")
    rows("signatures")
    gate = str(rows.one("show", kind="OpenQuestion")["gate"])
    rows("answer", gate, "show-me", "touch done")
    assert rows._inside(repo, "run", "--headless", "--resume", "last")[0] == 0
    for one in ("show --transcript task", "recap", "events", "fsck", "runs --days", "runs", "demo --list", "review"):
        rows(*one.split())
    for name, one in product(("hooks", "mcp"), ("status", "install claude --here --yes")):
        rows(name, *one.split(), code=None)
    for one in ("show", "path", "validate"):
        rows("config", one)
    (kept,) = (Path(os.environ["HOME"]) / ".claude").rglob("*.jsonl")
    rows("review", str(kept), "--transcript")
    answer = str(rows.one("memory", "list", "--kind", "answer", kind="Remembered")["memory"])
    rows("memory", "forget", answer)
    (repo / "done").unlink()
    own = repo / "unstuck.yaml"
    own.write_text(own.read_text().replace("max_pivots: 0", "max_pivots: 1"))
    assert rows._inside(repo, *command)[0] == 3
    rows("memory", "approaches")
    rows("what-if", "--set", "max_retries=2")
    change_last(max((repo / ".git" / "unstuck" / "runs").iterdir()), "directive_issued", level="research", line=10)
    rows("what-if")
    saved = str(rows.one("checkpoints", "create", kind="Checkpoint")["id"])
    (repo / "more.txt").write_text("more")
    for one in (f"show {saved}", f"diff {saved}", f"restore {saved} --yes", "undo --yes", "list"):
        rows("checkpoints", *one.split(), code=None)
    for text in ("price.py:3: error: Name 'totl' is not defined", "all well"):
        (repo / "log.txt").write_text(text + "\n")
        rows("diagnose", "log.txt", "--exit-code", "1" if "error" in text else "0", code=None)
    rows("doctor", code=None)

    (repo / "answers.yaml").write_text("- {gate: permission, answer: allow, scope: run}\n")
    deploys = ("--check", "true", "--answers", "answers.yaml", "--agent", "codex-app-server", "Deploy it.")
    assert rows._inside(repo, "run", "--headless", *deploys)[0] == 0
    rows("permissions", "list")

    killed = Client(repo).start("Write it.", agent=WAITS, check="true")
    rows("delete", killed.run, code=None)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    rows("show", killed.run, "--recovery")
    rows("show", killed.run)
    first = str(rows.one("runs", kind="Run")["run"])
    rows("delete", first, "--yes", first)
    log = repo / ".git" / "unstuck" / "runs" / killed.run / "events.jsonl"
    log.unlink()
    log.mkdir()
    rows("runs", code=None)
    (repo / ".git" / "unstuck" / "foreign.txt").write_text("not of unstuck")
    with (repo / ".claude" / "settings.local.json").open("a") as settings:
        settings.write("}")
    rows("delete", "--all", code=None)

    # Streams of events and one result, as `events` and tests/e2e show; and a fleet's rows, which need its server.
    streams = {"run", "watch", "demo", "fleet"}
    wanted = {
        name: {kind.__name__ for kind in get_args(schema.type) or (schema.type,)}
        for name, schema in SCHEMAS.items()
        if not name.startswith("socket") and name not in streams
    }
    assert {name: wanted[name] - rows.kinds[name] for name in wanted if wanted[name] - rows.kinds[name]} == {}
