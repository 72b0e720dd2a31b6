"""Server-sent events of a run: what has changed on a page, as its parts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from unstuck_web.runs import Runs, WatchedRun

BEAT_S = 10.0
"""Seconds after which something is sent although nothing has happened: the other end may be gone."""
_APART_S = 0.2
_RETRY_MS = 1_000

Parts = Callable[[set[str] | None], Awaitable[dict[str, Any]]]


def place_in(last: str, run: str) -> int:
    """Return the number of the last record that a page has seen, from the id of its last event; -1 for another run."""
    name, _, seq = last.rpartition(":")
    return int(seq) if name == run and seq.isascii() and seq.isdecimal() and len(seq) < 16 else -1


async def updates(
    runs: Runs,
    run: WatchedRun,
    parts: Parts,
    *,
    after: int,
    may: Callable[[], bool],
    over: asyncio.Event,
    every: float = BEAT_S,
) -> AsyncIterator[str]:
    """Yield the events of ``run`` from number ``after`` on, until ``may`` refuses or the page is ``over``.

    ``parts`` makes what has changed, given the tasks that have, None for all of them. A slow reader gets fewer events,
    each with the latest state: nothing waits for it. ``every`` so many seconds it is looked for what no record tells.
    """
    yield f"retry: {_RETRY_MS}\n\n"
    # No record tells that the run's process has gone meanwhile, so the first event is always sent.
    seen: tuple[int, bool, str] = (after, not run.live, run.problem)
    sent, beat = "", 0.0
    async with runs.followed(run) as moved:
        while may():
            now = (run.seq, run.live, run.problem)
            if now != seen:
                moved.clear()
                changed = run.changed_after(seen[0])
                seen = now
                sent, beat = json.dumps(await parts(changed), ensure_ascii=False), 0.0
                yield f"id: {run.run}:{now[0]}\nevent: parts\ndata: {sent}\n\n"
                if over.is_set():
                    return
                await asyncio.sleep(_APART_S)
                continue
            if over.is_set():
                return
            moved.clear()
            try:
                async with asyncio.timeout(every):
                    await _either(moved, over)
                continue
            except TimeoutError:
                beat += every
            if every < BEAT_S and (data := json.dumps(await parts(None), ensure_ascii=False)) != sent:
                sent, beat = data, 0.0
                yield f"event: parts\ndata: {data}\n\n"
            elif beat >= BEAT_S:
                beat = 0.0
                yield ": \n\n"
    yield "event: ended\ndata: {}\n\n"


async def _either(*events: asyncio.Event) -> None:
    """Wait for one of ``events``."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*waits, return_exceptions=True)
