"""A stage: ``unstuck demo`` with one scenario, headless and as JSON; its check and its agents are real."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from unstuck_tui.cli import cli

SPEED = "20"
_WORDS: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "attempt_started": lambda data: data["guidance"]["level"],
    "check_finished": lambda data: data["result"],
    "transient_error_retry": lambda data: f"wait {data['retry']}",
    "transient_error_resolved": lambda data: "resolved",
    "restore_done": lambda data: "restored",
    "research_done": lambda data: "researched",
    "agent_timeout": lambda data: "timeout",
    "infrastructure_blocked": lambda data: "blocked",
    "remediation_dispatched": lambda data: "remediation",
    "infrastructure_restored": lambda data: "unblocked",
    "loop_warned": lambda data: "nudged",
    "gate_opened": lambda data: f"gate {data['type']}",
    "gate_answered": lambda data: f"answer {data['choice']}",
    "task_ended": lambda data: data["status"],
    "run_parked": lambda data: "parked",
}


@dataclass(frozen=True)
class Played:
    """Result of a rehearsal: the log's envelopes as they were printed, and the directory that it left."""

    code: int
    rows: list[dict[str, Any]]
    directory: Path

    @property
    def path(self) -> list[str]:
        """Return the turning points, a word or two for each."""
        return [word(row["data"]) for row in self.rows if (word := _WORDS.get(row.get("event", "")))]

    def data(self, event: str) -> list[dict[str, Any]]:
        """The fields of every event of this name."""
        return [row["data"] for row in self.rows if row.get("event") == event]

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Return the category and the failure type of each failed check."""
        found = [check["diagnosis"] for check in self.data("check_finished") if check["diagnosis"]]
        return [(diagnosis["category"].upper(), diagnosis["failure_type"]) for diagnosis in found]

    def told_to(self, attempt: str) -> str:
        """Return the prompt of the attempt of this name."""
        return (self.directory / "told" / f"{attempt}.txt").read_text(encoding="utf-8")

    def result(self, name: str) -> str:
        """A file on the run's branch, where each task worked in a tree of its own."""
        shop = self.directory / "shop"
        branch = ["for-each-ref", "--format=%(refname)", "refs/heads/unstuck"]
        refs = subprocess.run(["git", "-C", str(shop), *branch], capture_output=True, text=True, check=True).stdout
        (run,) = [ref for ref in refs.splitlines() if ref.endswith("_run")]
        shown = subprocess.run(["git", "-C", str(shop), "show", f"{run}:{name}"], capture_output=True, check=True)
        return shown.stdout.decode()

    def file(self, name: str) -> str:
        """A file of the project as the agents left it."""
        return (self.directory / "shop" / name).read_text(encoding="utf-8")

    def told(self, number: int) -> str:
        """Return the prompt of the attempt with this number, as the agent itself wrote it down."""
        (path,) = (self.directory / "told").glob(f"*.{number}.txt")
        return path.read_text(encoding="utf-8")


class Stage:
    """Plays scenarios below ``folder``."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._monkeypatch = folder, monkeypatch

    def limits(self, **limits: int) -> None:
        """Shorten the ladder, so that the test is quick: ``max_retries`` and so on."""
        for name, value in limits.items():
            self.set(f"FAILURE_HANDLER__{name.upper()}", value)

    def set(self, name: str, value: int) -> None:
        """A setting of the person's, by its name in the environment."""
        self._monkeypatch.setenv(f"UNSTUCK_{name}", str(value))

    def play(self, scenario: str, *answers: Mapping[str, Any], speed: str = SPEED) -> Played:
        """Play to the end; gates are answered by the rules in ``answers``."""
        directory = self._folder / "demo"
        arguments = ["demo", "--scenario", scenario, "--headless", "--json", "--speed", speed, "--keep", str(directory)]
        if answers:
            rules = self._folder / "answers.yaml"
            rules.write_text(yaml.safe_dump([dict(rule) for rule in answers]), encoding="utf-8")
            arguments += ["--answers", str(rules)]
        done = CliRunner().invoke(cli, arguments, standalone_mode=False, catch_exceptions=False)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert rows[-1]["exit_code"] == done.return_value
        return Played(done.return_value, rows, directory)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Directory for scenarios, without an identity for git."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{role}_NAME", raising=False)
    return Stage(tmp_path, monkeypatch)
