"""The real agent programs, installed once, each with a home of its own and a model on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.real_agents.programs import ADAPTERS, AIDER, CLINE, PROGRAMS, install, prepare
from tests.real_agents.scripted_model import Asked, ScriptedModel, Turn

# As it was before any test had a home of its own: a package registry may be configured there.
ENVIRON = dict(os.environ)
CACHE = "UNSTUCK_AGENTS_DIR"
PATIENCE = 300
VERSIONS: dict[str, str] = {}
KNOWN = {**PROGRAMS, **ADAPTERS, CLINE.name: CLINE, AIDER.name: AIDER}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which versions were tried."""
    for name, version in VERSIONS.items():
        terminalreporter.line(f"{name} {version}")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The directory of an agent's executables; the test is skipped, with the reason, where it cannot be installed."""
    folder = Path(ENVIRON[CACHE]) if ENVIRON.get(CACHE) else tmp_path_factory.mktemp("programs")
    found: dict[str, tuple[Path | None, str]] = {}

    def get(name: str) -> Path:
        if name not in found:
            found[name] = install(KNOWN[name], folder, ENVIRON)
        bin, said = found[name]
        VERSIONS[name] = said
        if bin is None:
            pytest.skip(said)
        return bin

    return get


class Lab:
    """One agent, one project, one model. ``environ`` is all that any program here gets."""

    def __init__(self, name: str, bin: Path, repo: Path, home: Path, model: ScriptedModel) -> None:
        self.name, self.repo, self.home, self.model = name, repo, home, model
        self.program = KNOWN[name]
        self.environ = prepare(self.program, home, model.url, bin)
        self.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{self.environ['PATH']}"
        for variable in ("UNSTUCK_RUNTIME_DIR", "UNSTUCK_STATE_DIR", "XDG_RUNTIME_DIR", "GIT_CONFIG_NOSYSTEM"):
            self.environ[variable] = os.environ[variable]
        for variable, value in os.environ.items():
            if variable.startswith(("GIT_AUTHOR", "GIT_COMMITTER")):
                self.environ[variable] = value

    def unstuck(self, *arguments: str, code: int = 0) -> str:
        """A command of ours to its end; what it printed."""
        done = self.run("unstuck", *arguments)
        assert done.returncode == code, f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Any command to its end, in the project."""
        return subprocess.run(
            command,
            cwd=self.repo,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def sign_in(self) -> None:
        """Sign in to Cline as a person does before its first start."""
        signed = ("--provider", "openai", "--apikey", "none", "--modelid", "scripted")
        assert self.run("cline", "auth", *signed, "--baseurl", self.environ["CLINE_URL"]).returncode == 0

    def events(self, name: str) -> list[dict[str, Any]]:
        """The records of this name in the project's newest run."""
        log = max((self.repo / ".git" / "unstuck" / "runs").glob("*/events.jsonl"))
        records = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        return [record for record in records if record["event"] == name]


Labs = Callable[[str, Callable[[Asked], Turn]], Lab]


@pytest.fixture
def lab(installed: Callable[[str], Path], repo: Path, isolated: Path) -> Iterator[Labs]:
    """``lab(agent, answer)``: a lab whose model speaks as ``answer`` says; its script must not have broken."""
    with ExitStack() as stack:
        models: list[ScriptedModel] = []

        def make(name: str, answer: Callable[[Asked], Turn]) -> Lab:
            bin = installed(name)
            models.append(stack.enter_context(ScriptedModel(answer)))
            return Lab(name, bin, repo, isolated / name, models[-1])

        yield make
        assert [failure for model in models for failure in model.failures] == []
