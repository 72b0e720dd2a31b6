"""How long a person waits for ``unstuck --help``, and an agent for a hook with nobody listening."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bench_kit import Bench, seconds

import unstuck

BIN = Path(sys.executable).parent
PAYLOAD = b'{"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}'


def milliseconds(command: Sequence[str], stdin: bytes = b"") -> Callable[[], float]:
    """A measurement of one start of ``command``, in a place where nobody listens."""

    def measure() -> float:
        with tempfile.TemporaryDirectory(prefix="u-") as empty:
            environment = {**os.environ, "UNSTUCK_RUNTIME_DIR": empty}
            return 1e3 * seconds(
                lambda: subprocess.run(
                    command, input=stdin, cwd=empty, env=environment, capture_output=True, check=True
                )
            )

    return measure


def benches() -> Iterable[Bench]:
    """Each against ``python -c pass`` in the same run."""
    python = milliseconds([sys.executable, "-c", "pass"])
    forwarder = [sys.executable, str(Path(unstuck.__file__).parent / "agents" / "forwarder.py"), "claude"]
    yield Bench(
        name="a hook with nobody listening",
        unit="ms",
        measure=milliseconds(forwarder, PAYLOAD),
        against=python,
        budget="ratio 4",
        rounds=15,
    )
    if (BIN / "unstuck").exists():
        yield Bench(
            name="unstuck --help",
            unit="ms",
            measure=milliseconds([str(BIN / "unstuck"), "--help"]),
            against=python,
            budget="ratio 10",
            rounds=15,
        )
