"""Tokens that an agent read from its cache, from the session that it keeps: its protocol does not report them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from unstuck.agents.hooks.transcripts import Meter

_SESSION = re.compile(r"[A-Za-z0-9]{8}")
_MOST_FILES = 64


class CacheReads:
    """Counter of one session. ``pattern`` is where the agent keeps it, below the ``HOME`` of ``environ``."""

    def __init__(self, pattern: str, environ: Mapping[str, str]) -> None:
        self._pattern, self._home = pattern, environ.get("GEMINI_CLI_HOME") or environ.get("HOME", "")
        self._meter, self._session = Meter("gemini cache"), ""

    async def open(self, session: str) -> None:
        """Begin to count in ``session``: its existing lines are earlier usage."""
        self._session = session
        for path in await self._paths():
            await self._meter.more(path)

    async def more(self) -> int:
        """Return the tokens read from the cache since the last call."""
        return sum([await self._meter.more(path, whole=True) for path in await self._paths()])

    async def _paths(self) -> list[str]:
        """Return the files of the session: each start of the agent may begin another one, or write on in an old one."""
        start = _SESSION.match(self._session)
        if start is None or not self._pattern or not self._home:
            return []
        pattern = self._pattern.format(start[0])
        return await asyncio.to_thread(lambda: sorted(map(str, Path(self._home).glob(pattern)))[-_MOST_FILES:])
