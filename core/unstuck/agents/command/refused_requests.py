"""Requests that an agent repeats because its provider refuses them, from its logs or from a stream that only waits."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from unstuck.eventlog.storage.text_files import read_piece
from unstuck.text import Clean, one_line

GEMINI_LOG = "GEMINI_DEBUG_LOG_FILE"
"""Variable that names the file in which Gemini CLI notes what it does."""
FIRST_TOLD = 4
"""Refusal in a row from which on the agent will not settle it by repeating its request."""
_LOOK_S = 1.0
_READ_LIMIT = 64 * 1024
_ATTEMPT = re.compile(
    r"^(?:\S+ \[(?:WARN|ERROR)\] (?:\[RETRY\] )?)?Attempt (\d{1,3}) failed(?: with status (\d{3}))?\. "
    r"Retrying with backoff\.\.\. (.{0,2000})",
    re.MULTILINE,
)
_STREAM_ERROR = re.compile(
    r'^timestamp=\S+ level=ERROR .{0,200}message="stream error" .{0,200}\bsession\.id=(\S{1,100}) small=false .{0,300}'
    r'\berror\.error="(.{0,2000})"$',
    re.MULTILINE,
)
# Codex waits so for ever; other reconnections of its are counted, and end.
_WAITS = re.compile(r'^\{"type":"error","message":"Reconnecting\.{3} waiting for network \((.{1,400})\)"\}$')
_CREATED = re.compile(r"^timestamp=\S+ .{0,200}\bmessage=created id=(ses_\w{1,100}) ")
_SESSION = re.compile(r"[\w-]{1,128}")
_MESSAGE = re.compile(r'"message": ?"([^"\\]{1,400})')
_ERROR_NAME = re.compile(r"^(?:(?:exception )?\w{0,40}Error: ){1,3}")
_UNREACHED = re.compile(
    r"\b(?:fetch failed|connection (?:failed|error|refused)|(?:cannot|unable to) connect|network)\b", re.IGNORECASE
)


def refused_in(agent: str, printed: str) -> Clean:
    """Return the refusal that ``agent`` meets again and again at the end of what it ``printed``; empty for none."""
    lines = printed.splitlines()
    if agent == "codex":
        waits = list(takewhile(bool, (_WAITS.match(line) for line in reversed(lines) if line.startswith("{"))))
        return repeats(agent, waits[0][1]) if waits[FIRST_TOLD - 1 :] and waits[0] else Clean("")
    since = next((place for place in range(len(lines), 0, -1) if lines[place - 1].startswith("{")), 0)
    recent = "\n".join(lines[since:])
    if agent == "opencode":
        errors = _STREAM_ERROR.findall(recent)
        return repeats(agent, errors[-1][1]) if len(errors) >= FIRST_TOLD else Clean("")
    return _last_attempt(agent, recent) if agent == "gemini" else Clean("")


def _last_attempt(agent: str, text: str) -> Clean:
    attempts = _ATTEMPT.findall(text)
    number, status, error = attempts[-1] if attempts else ("0", "", "")
    if int(number) < FIRST_TOLD:
        return Clean("")
    told = _MESSAGE.search(error)
    error = told[1] if told else error
    return repeats(agent, error if status in error else f"{status} {error}")


def repeats(agent: str, error: str) -> Clean:
    """Return the line about a request that ``agent`` repeats because of ``error``."""
    how = "does not reach its provider" if _UNREACHED.search(error) else "its provider refuses"
    return one_line(f"{agent} repeats a request that {how}: {_ERROR_NAME.sub('', error.strip())}", 400)


class _Log(Protocol):
    """Log of an agent that works in a directory."""

    def file(self, session: str, /) -> Path | None:
        """Return the file in which ``session`` is logged; None before it is known."""

    def refusal(self, text: str, session: str, heard: int, /) -> Clean:
        """Return the refusal that comes again and again up to the new lines ``text``; empty for none."""


class _QwenLog:
    """Log of Qwen Code, a file for each session, in the folder that holds what it writes while it works."""

    def __init__(self, environ: Mapping[str, str], directory: Path) -> None:
        named = environ.get("QWEN_RUNTIME_DIR") or environ.get("QWEN_HOME") or "~/.qwen"
        home = environ.get("HOME") or os.path.expanduser("~")
        self._folder = directory / (home + named[1:] if named[:2] in ("~", "~/") else named) / "debug"

    def file(self, session: str) -> Path | None:
        return self._folder / f"{session}.txt" if _SESSION.fullmatch(session) else None

    def refusal(self, text: str, session: str, heard: int) -> Clean:
        return _last_attempt("qwen", text)


class _GeminiLog:
    """Log of Gemini CLI, in the file that its environment names; without it there is none."""

    def __init__(self, environ: Mapping[str, str], directory: Path) -> None:
        named = environ.get(GEMINI_LOG)
        self._file = directory / named if named else None

    def file(self, session: str) -> Path | None:
        return self._file

    def refusal(self, text: str, session: str, heard: int) -> Clean:
        return _last_attempt("gemini", text)


class _OpencodeLog:
    """Log of opencode, one file of all its processes. A session that is not known is one created in the directory."""

    def __init__(self, environ: Mapping[str, str], directory: Path) -> None:
        home = environ.get("HOME") or os.path.expanduser("~")
        data = Path(environ.get("XDG_DATA_HOME") or Path(home, ".local", "share"))
        self._file = data / "opencode" / "log" / "opencode.log"
        self._directory = f" directory={directory} ", f' directory="{directory}" '
        self._created = ""
        self._heard = self._refused = 0

    def file(self, session: str) -> Path | None:
        return self._file

    def refusal(self, text: str, session: str, heard: int) -> Clean:
        for line in text.splitlines() if not self._created else ():
            if (created := _CREATED.match(line)) and any(directory in line for directory in self._directory):
                self._created = created[1]
                break
        errors = [error for name, error in _STREAM_ERROR.findall(text) if name == (session or self._created)]
        self._refused = self._refused + len(errors) if heard == self._heard else 0
        self._heard = heard
        return repeats("opencode", errors[-1]) if errors and self._refused >= FIRST_TOLD else Clean("")


_LOGS: Mapping[str, Callable[[Mapping[str, str], Path], _Log]] = {
    "gemini": _GeminiLog,
    "qwen": _QwenLog,
    "opencode": _OpencodeLog,
}
LOGGING = frozenset(_LOGS)
"""Agents that note refused requests in a log."""


async def refused_in_log(
    agent: str, environ: Mapping[str, str], directory: Path, session: Callable[[], str], heard: Callable[[], int]
) -> Clean:
    """Return the refusal that comes again and again in the log of ``agent``, once there is one.

    Only what is written from now on counts. The name of the ``session`` may become known later. The number ``heard``
    changes whenever the agent tells of its work, which no refused request does.
    """
    log = _LOGS[agent](environ, directory)
    file, read = log.file(session()), 0
    with suppress(OSError):
        _, read = await read_piece(file, 0, 0) if file is not None else (b"", 0)
    while True:
        await asyncio.sleep(_LOOK_S)
        if (now := log.file(session())) != file:
            file, read = now, 0  # the log of a new session
        if file is None:
            continue
        with suppress(OSError):
            piece, size = await read_piece(file, read, _READ_LIMIT)
            if size < read:
                read = 0  # it was begun again
                continue
            whole = piece[: piece.rfind(b"\n") + 1] or (piece if len(piece) == _READ_LIMIT else b"")
            read += len(whole)
            if found := log.refusal(whole.decode("utf-8", "replace"), session(), heard()):
                return found
