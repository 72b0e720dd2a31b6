"""The installed program as its users start it: a process of its own in a project that is not ours."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

LIMIT = 90.0


@dataclass(frozen=True)
class Done:
    """Exit code and output of a command."""

    code: int
    raw: bytes
    raw_errors: bytes

    @property
    def out(self) -> str:
        return self.raw.decode("utf-8", "replace")

    @property
    def errors(self) -> str:
        return self.raw_errors.decode("utf-8", "replace")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The JSON objects on standard output, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    def data(self, event: str) -> list[dict[str, Any]]:
        """The fields of every event of this name that ``--json`` printed."""
        return [row["data"] for row in self.rows if row.get("event") == event]


@dataclass
class Unstuck:
    """``unstuck`` in one project. Agents leave the prompts they get in ``seen``, one file per attempt."""

    root: Path
    seen: Path
    worked: Callable[..., tuple[int, str, str]]
    begun: Callable[..., subprocess.Popen[bytes]]
    environment: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __call__(self, *arguments: str | bytes, **options: Any) -> Done:
        """Run to the end. Options are those of ``start``, and ``input``."""
        given = options.pop("input", None)
        if given is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(*arguments, **options)
        out, errors = process.communicate(given, timeout=LIMIT)
        return Done(process.returncode, out or b"", errors or b"")

    def inside(self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Done:
        """The same, worked in this process, where a start is not what is shown; each command has real ones, too."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {"SEEN": str(self.seen), **self.environment, **(env or {})}.items():
                patch.setenv(name, value)
            code, out, errors = self.worked(cwd or self.root, *arguments)
        return Done(code, out.encode(), errors.encode())

    def start(self, *arguments: str | bytes, cwd: Path | None = None, **options: Any) -> subprocess.Popen[bytes]:
        """Start and return at once; ``env`` is added to the environment."""
        environment = os.environ | {"SEEN": str(self.seen)} | self.environment | options.pop("env", {})
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self.begun(*arguments, cwd=cwd or self.root, env=environment, **(streams | options))
        self.started.append(process)
        return process

    def prompts(self) -> list[str]:
        """Return the prompts of the agent, attempt by attempt."""
        files = sorted(self.seen.glob("task.*"), key=lambda path: int(path.suffix[1:]))
        return [path.read_text(encoding="utf-8") for path in files]

    def script(self, name: str, text: str) -> str:
        """A shell script beside the project; it saves its prompt before it does anything else. Returns its path."""
        path = self.seen.parent / name
        path.write_text(f'cp "$UNSTUCK_PROMPT_FILE" "$SEEN/$UNSTUCK_ATTEMPT"\n{text}\n', encoding="utf-8")
        return str(path)

    @property
    def runs(self) -> list[Path]:
        """The folders of the project's runs."""
        return sorted((self.root / ".git" / "unstuck" / "runs").glob("*"))

    def only_gate(self) -> dict[str, Any]:
        """The one open gate of the last run."""
        (gate,) = [row for row in self.inside("show", "--json").rows if "gate" in row]
        return gate

    def until(self, process: subprocess.Popen[bytes], said: bytes) -> bytes:
        """Read the process's output up to and with the line that holds ``said``."""
        assert process.stdout is not None
        read = b""
        for line in process.stdout:
            read += line
            if said in line:
                return read
        raise AssertionError(f"{said!r} never came: {read!r}")


@pytest.fixture
def unstuck(
    repo: Path,
    tmp_path: Path,
    inside: Callable[..., tuple[int, str, str]],
    start: Callable[..., subprocess.Popen[bytes]],
) -> Iterator[Unstuck]:
    """The program in a real repository; whatever a test leaves running is ended."""
    seen = tmp_path / "seen"
    seen.mkdir()
    program = Unstuck(repo, seen, inside, start)
    yield program
    for process in program.started:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait(LIMIT)


@pytest.fixture
def failing(repo: Path) -> str:
    """A check that fails like a test until the file ``done`` is there."""
    lines = ("test -f done && exit 0", "echo 'E   AssertionError: assert 1 == 2'", "echo 'app.py:3: AssertionError'")
    (repo / "check.sh").write_text("\n".join((*lines, "exit 1\n")), encoding="utf-8")
    return "sh check.sh"


@pytest.fixture
def no_climb() -> dict[str, str]:
    """Settings under which one retry is all there is before a person is asked."""
    rungs = {"MAX_RETRIES": "1", "MAX_PIVOTS": "0", "MAX_RESEARCH": "0"}
    return {f"UNSTUCK_FAILURE_HANDLER__{name}": value for name, value in rungs.items()}
