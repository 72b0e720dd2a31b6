"""A run with a long event log: reading it takes a while, and a person sees that it goes on."""

from __future__ import annotations

import json
import os
import pty

from tests.e2e.conftest import Unstuck

from unstuck.eventlog.log.log_format import framed, verify

STEP = {"kind": "action", "tool": "bash", "text": "x" * 400}


def test_a_long_log_is_read_with_a_progress_bar(unstuck: Unstuck) -> None:
    """At a terminal only; the run then goes on."""
    assert unstuck("run", "--headless", "--check", "false", "--", "true").code == 3
    (folder,) = unstuck.runs
    log = folder / "events.jsonl"
    rest = {"time": "2026-01-01T00:00:00.000Z", "mono": 1.0, "run": folder.name, "actor": "agent", "task": "task"}
    body = json.dumps(rest | {"event": "step_recorded", "data": STEP}).encode()
    found = verify(log)
    lines, crc = [], found.last_crc
    for seq in range(found.records + 1, found.records + 60_000):
        line, crc = framed(seq, body, crc)
        lines.append(line)
    with log.open("ab") as file:
        file.writelines(lines)

    keyboard, terminal = pty.openpty()
    process = unstuck.start("run", "--resume", "last", "--headless", stderr=terminal)
    os.close(terminal)
    said = b""
    try:
        while chunk := os.read(keyboard, 4096):
            said += chunk
    except OSError:
        pass  # the terminal's other end is closed
    os.close(keyboard)
    process.communicate()
    assert process.returncode == 3
    assert b"reading the event log" in said
    assert b"100%" in said
    assert b"reading" not in unstuck("run", "--resume", "last", "--headless").raw_errors
