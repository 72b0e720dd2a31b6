"""Reader of one session of any agent: its observations in order of time, and what it says about itself."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from unstuck.agents.streams import Stream
from unstuck.agents.streams.stream import items, mapping, text
from unstuck.contract import Observation
from unstuck.errors import UnstuckError
from unstuck.eventlog.storage.durable_files import open_for_reading
from unstuck.history.json_objects import Losses, objects_in
from unstuck.history.locations import Source, subagent_files
from unstuck.history.opencode_store import stored_objects
from unstuck.history.parsers import Format, format_of, parser_of

_LOOKED_AT = 200
"""Objects in which the format has to show."""
_SUBAGENTS_READ = 200
"""Most sub-agents of one session; each is an open file."""
_ROOT_LIMIT = 4_096


class ForeignFile(UnstuckError):
    """A file that no known agent has written."""


class SessionReader:
    """Observations of one session, with ``at`` in seconds since 1970 (0 if unknown).

    The other attributes are known as far as the observations were read. ``subagents_left`` counts sub-agents that were
    not read.
    """

    def __init__(self, source: Source) -> None:
        """Open nothing yet."""
        self._source = source
        self._parser: Stream | None = None
        self.losses = Losses()
        self.format = Format("opencode", "transcript") if source.session else None
        self.project = self.version = ""
        self.started = self.ended = 0.0
        self.subagents_left = 0

    @property
    def session(self) -> str:
        """Return the agent's own id of the session, else the name of its file."""
        return (self._parser.session if self._parser else "") or self._source.session or self._source.path.stem

    @property
    def last_message(self) -> str:
        """Return the last message of the agent; empty without one."""
        return self._parser.last_message if self._parser else ""

    @property
    def model(self) -> str:
        """Return the model that the agent names; empty if it names none."""
        return self._parser.model if self._parser else ""

    def observations(self) -> Iterator[Observation]:
        """Yield the observations. Raises OSError, and ForeignFile before the first one."""
        path, session = self._source.path, self._source.session
        objects = stored_objects(path, session, self.losses) if session else objects_in(path, self.losses)
        first: list[dict[str, Any]] = []
        while self.format is None and len(first) < _LOOKED_AT and (data := next(objects, None)) is not None:
            first.append(data)
            self.format = format_of(data)
        if self.format is None:
            raise ForeignFile(f"{path}: no transcript or recorded stream of a known agent")
        self._parser = parser_of(self.format)
        self.project = _gemini_project(path) if self.format.agent == "gemini" else ""
        main = self._read(self._parser, chain(first, objects), is_main=True)
        others = self._subagents() if self.format == ("claude", "transcript") else []
        yield from heapq.merge(main, *others, key=attrgetter("at")) if others else main

    def _subagents(self) -> list[Iterator[Observation]]:
        assert self.format is not None
        files = subagent_files(self._source.path)
        self.subagents_left = max(0, len(files) - _SUBAGENTS_READ)
        return [self._subagent(file, parser_of(self.format)) for file in files[:_SUBAGENTS_READ]]

    def _subagent(self, file: Path, parser: Stream) -> Iterator[Observation]:
        with suppress(OSError):
            yield from self._read(parser, objects_in(file, self.losses), is_main=False)

    def _read(self, parser: Stream, objects: Iterable[dict[str, Any]], *, is_main: bool) -> Iterator[Observation]:
        at = 0.0
        for data in objects:
            at = time_of(data) or at
            if is_main:
                self._note(data)
            self.started = min(self.started or at, at or self.started)
            self.ended = max(self.ended, at)
            for observation in parser.take(data):
                yield replace(observation, at=at)

    def _note(self, data: Mapping[str, Any]) -> None:
        payload = mapping(data, "payload")
        self.project = self.project or text(data, "cwd") or text(payload, "cwd")
        versions = (
            text(data, "version"),
            text(data, "claude_code_version"),
            text(data, "qwen_code_version"),
            text(payload, "cli_version"),
        )
        self.version = next(filter(None, versions), self.version)


def time_of(data: Mapping[str, Any]) -> float:
    """Return the time of an object in seconds since 1970, 0 if it has none: with calls, that of the last call."""
    calls = (_seconds(call.get("timestamp")) for call in items(data, "toolCalls") if isinstance(call, Mapping))
    return max(calls, default=0.0) or _seconds(data.get("timestamp"))


def _seconds(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000 if 0 < value < 1e14 else 0.0
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _gemini_project(path: Path) -> str:
    """Return the project's directory, which Gemini keeps beside the chats."""
    with suppress(OSError), open_for_reading(path.absolute().parent.parent / ".project_root") as file:
        return file.read(_ROOT_LIMIT).decode("utf-8", "replace").strip()
    return ""
