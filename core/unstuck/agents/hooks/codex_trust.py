"""Codex's trust in the hooks of unstuck: Codex skips untrusted hooks silently, so its app server is asked.

The request is one JSON object per line. The method is experimental, so no answer means unknown.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from unstuck.agents.hooks.hook_entries import is_ours

Trust = Literal["trusted", "untrusted", "unknown"]

_TIMEOUT_S = 5.0
_LIST = 2


def trust_of(path: Path, root: Path, environ: Mapping[str, str]) -> Trust:
    """Return Codex's trust in the hooks of unstuck in its file ``path``, for work in ``root``. Blocks."""
    program = shutil.which("codex", path=environ.get("PATH"))
    if program is None:
        return "unknown"
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "unstuck", "version": "1"}}},
        {"method": "initialized"},
        {"id": _LIST, "method": "hooks/list", "params": {"cwds": [str(root)]}},
    ]
    try:
        reply = _request([program, "app-server"], requests, root, environ)
        found = [hook for place in reply["result"]["data"] for hook in place["hooks"]]
        ours = [hook for hook in found if is_ours(hook) and os.path.samefile(hook["sourcePath"], path)]
        states = {hook["trustStatus"] if hook.get("enabled", True) else "off" for hook in ours}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "unknown"
    if not states:
        return "unknown"
    return "trusted" if states == {"trusted"} else "untrusted"


def _request(command: list[str], requests: list[dict[str, Any]], root: Path, environ: Mapping[str, str]) -> Any:
    """Return the reply to the last request. Raises OSError or ValueError if none comes in time."""
    process = subprocess.Popen(
        command,
        cwd=root,
        env=dict(environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in requests))
        process.stdin.flush()
        return _reply(process.stdout.fileno())
    finally:
        with suppress(OSError):
            # Ending only its wrapper would leave the program itself behind.
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(OSError):
            process.stdin.close()
        process.stdout.close()
        process.wait()


def _reply(descriptor: int) -> Any:
    limit, rest = time.monotonic() + _TIMEOUT_S, b""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while poll.poll(max(0.0, limit - time.monotonic()) * 1000):
        chunk = os.read(descriptor, 65536)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if isinstance(message, dict) and message.get("id") == _LIST:
                return message
    raise ValueError("no reply")
