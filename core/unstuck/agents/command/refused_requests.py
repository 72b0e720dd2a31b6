"""Requests that an agent repeats because its provider refuses them, told from its logs: its stream says nothing."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from unstuck.eventlog.storage.text_files import read_piece
from unstuck.text import Clean, one_line

_FIRST_TOLD = 4
"""Refusals in a row that the agent may settle by repeating its request."""
_LOOK_S = 1.0
_READ_LIMIT = 64 * 1024
_ATTEMPT = re.compile(
    r"^(?:\S+ \[(?:WARN|ERROR)\] \[RETRY\] )?Attempt (\d{1,3}) failed(?: with status (\d{3}))?\. Retrying with backoff"
    r"\.\.\. (.{0,2000})",
    re.MULTILINE,
)
_STREAM_ERROR = re.compile(
    r'^timestamp=\S+ level=ERROR .{0,200}message="stream error" .{0,300}\bsmall=false .{0,300}'
    r'\berror\.error="(.{0,2000})"$',
    re.MULTILINE,
)
_MESSAGE = re.compile(r'"message": ?"([^"\\]{1,400})')
_ERROR_NAME = re.compile(r"^\w{0,40}Error: ")


def refused_in(agent: str, printed: str) -> Clean:
    """Return the refusal that ``agent`` meets again and again at the end of what it ``printed``; empty for none."""
    lines = printed.splitlines()
    since = next((place for place in range(len(lines), 0, -1) if lines[place - 1].startswith("{")), 0)
    recent = "\n".join(lines[since:])
    if agent == "opencode":
        errors = _STREAM_ERROR.findall(recent)
        return _repeats(agent, errors[-1]) if len(errors) >= _FIRST_TOLD else Clean("")
    return _last_attempt(agent, recent) if agent == "gemini" else Clean("")


def _last_attempt(agent: str, text: str) -> Clean:
    attempts = _ATTEMPT.findall(text)
    number, status, error = attempts[-1] if attempts else ("0", "", "")
    if int(number) < _FIRST_TOLD:
        return Clean("")
    told = _MESSAGE.search(error)
    error = told[1] if told else error
    return _repeats(agent, error if status in error else f"{status} {error}")


def _repeats(agent: str, error: str) -> Clean:
    return one_line(f"{agent} repeats a request that its provider refuses: {_ERROR_NAME.sub('', error)}", 400)


async def refused_in_log(environ: Mapping[str, str], directory: Path, session: Callable[[], str]) -> Clean:
    """Return the refusal that comes again and again in the log of Qwen Code's ``session``, once there is one.

    Only what is written from now on counts. The session's name may become known later: its log is then a new one.
    """
    folder = _runtime_folder(environ, directory) / "debug"
    resumed, read = session(), 0
    with suppress(OSError):
        _, read = await read_piece(folder / f"{resumed}.txt", 0, 0)
    while True:
        await asyncio.sleep(_LOOK_S)
        if not (name := session()):
            continue
        if name != resumed:
            resumed, read = name, 0
        with suppress(OSError):
            piece, _ = await read_piece(folder / f"{name}.txt", read, _READ_LIMIT)
            whole = piece[: piece.rfind(b"\n") + 1] or (piece if len(piece) == _READ_LIMIT else b"")
            read += len(whole)
            if found := _last_attempt("qwen", whole.decode("utf-8", "replace")):
                return found


def _runtime_folder(environ: Mapping[str, str], directory: Path) -> Path:
    """Return the folder in which Qwen Code keeps what it writes while it works."""
    named = environ.get("QWEN_RUNTIME_DIR") or environ.get("QWEN_HOME")
    home = environ.get("HOME") or os.path.expanduser("~")
    if not named:
        return Path(home) / ".qwen"
    return directory / (home + named[1:] if named[:2] in ("~", "~/") else named)
