"""A person's own session of a real agent: its hooks set up and taken out, trusted where it wants that, at work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.real_agents.conftest import PATIENCE, Lab

from unstuck.agents.command.presets import preset_command, resumed
from unstuck.agents.hooks.hook_agents import KNOWN

__all__ = ["TASK", "Session", "trust"]

TASK = "Make it work, please."


class Session:
    """A person's own session of an agent, which nobody of ours started."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.known = KNOWN[lab.name]
        self.settings = self.known.file("home", root=lab.repo, environ=lab.environ)
        self.before = self.settings.read_bytes() if self.settings.exists() else None

    def install(self) -> None:
        """Set up the hooks; Codex wants them trusted, which a person does once."""
        self.lab.unstuck("hooks", "install", self.lab.name, "--yes")
        if self.lab.name == "codex":
            assert "is not trusted" in self.lab.unstuck("hooks", "status", "codex", code=1)
            assert "is not trusted" in self.lab.unstuck("doctor", code=1)
            trust(self.lab)
            assert "(trusted)" in self.lab.unstuck("hooks", "status", "codex")

    def remove(self) -> None:
        """Take them out: the file is what it was."""
        self.lab.unstuck("hooks", "remove", self.lab.name, "--yes")
        assert (self.settings.read_bytes() if self.settings.exists() else None) == self.before

    @contextmanager
    def working(self, task: str = TASK, *, session: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
        """The agent at work on a task in the project, or going on with its own ``session``."""
        command = resumed(preset_command(self.lab.name, self.lab.program.arguments), session)
        words = [task if word == "{prompt}" else word for word in command]
        process = subprocess.Popen(
            words,
            cwd=self.lab.repo,
            env=self.lab.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the program itself is a child of its package's wrapper
            process.communicate()

    def done(self, process: subprocess.Popen[bytes]) -> str:
        """Return its output once it has ended."""
        out, _ = process.communicate(timeout=PATIENCE)
        return out.decode(errors="replace")


def trust(lab: Lab) -> None:
    """Trust the hooks as a person does with /hooks in Codex, by the same way."""
    server = subprocess.Popen(
        ["codex", "app-server"],
        cwd=lab.repo,
        env=lab.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None

    def ask(id: int, method: str, params: dict[str, Any]) -> Any:
        print(json.dumps({"id": id, "method": method, "params": params}), file=server.stdin, flush=True)
        assert server.stdout is not None
        return next(found for line in server.stdout if (found := json.loads(line)).get("id") == id)["result"]

    ask(1, "initialize", {"clientInfo": {"name": "test", "version": "1"}})
    print(json.dumps({"method": "initialized"}), file=server.stdin, flush=True)
    (place,) = ask(2, "hooks/list", {"cwds": [str(lab.repo)]})["data"]
    state = {hook["key"]: {"enabled": True, "trusted_hash": hook["currentHash"]} for hook in place["hooks"]}
    ask(3, "config/batchWrite", {"edits": [{"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}]})
    os.killpg(server.pid, signal.SIGKILL)
    server.communicate()
