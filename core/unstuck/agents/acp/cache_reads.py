"""Tokens that an agent read from its cache, from the session that it keeps: its protocol does not report them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from unstuck.agents.hooks.transcripts import Meter

_SESSION = re.compile(r"[A-Za-z0-9]{8}")


class CacheReads:
    """Counter of one session. ``pattern`` is where the agent keeps it, below the ``HOME`` of ``environ``."""

    def __init__(self, pattern: str, environ: Mapping[str, str]) -> None:
        self._pattern, self._home = pattern, environ.get("GEMINI_CLI_HOME") or environ.get("HOME", "")
        self._meter, self._session = Meter("gemini cache"), ""

    async def open(self, session: str) -> None:
        """Begin to count in ``session``: its existing lines are earlier usage."""
        self._session = session
        if path := await self._path():
            await self._meter.more(path)

    async def more(self) -> int:
        """Return the tokens read from the cache since the last call."""
        path = await self._path()
        return await self._meter.more(path, whole=True) if path else 0

    async def _path(self) -> str:
        start = _SESSION.match(self._session)
        if start is None or not self._pattern or not self._home:
            return ""
        pattern = self._pattern.format(start[0])
        found = await asyncio.to_thread(lambda: list(Path(self._home).glob(pattern)))
        return str(found[0]) if len(found) == 1 else ""
