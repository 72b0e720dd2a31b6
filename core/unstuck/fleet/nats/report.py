"""One look at a fleet for a command: its hosts, what is wrong with it, and an answer given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any

from unstuck.clock import SystemClock, iso
from unstuck.contract import Answer
from unstuck.errors import GateUnknown, UsageError
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.state import GateRow
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.forwarder import ALIVE_S
from unstuck.fleet.nats.keys import Credentials
from unstuck.fleet.nats.session import FleetError
from unstuck.fleet.nats.viewer import SILENT_S, Viewer
from unstuck.supervision.gates.gate_types import accept
from unstuck.text import one_line
from unstuck.version import __version__
from unstuck.words.amounts import ago

_CAUGHT_UP_S, _HEARD_S = 60.0, 10.0


@asynccontextmanager
async def caught_up(key: Credentials, environ: Mapping[str, str]) -> AsyncIterator[Viewer]:
    """Yield a viewer that has read all that the server has. Raises FleetError."""
    viewer = Viewer(key, environ)
    working = asyncio.create_task(viewer.run())
    try:
        await viewer.until_caught_up(_CAUGHT_UP_S)
        yield viewer
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def host_rows(key: Credentials, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a row for each host. Raises FleetError."""
    async with caught_up(key, environ) as viewer:
        await _listen(viewer)
        now, rows = SystemClock().now(), []
        for name, host in sorted(viewer.hosts.items()):
            words, problems = host.words, dict(host.words.get("broken") or {})
            problems |= {log: why for (of, log), why in viewer.refused.items() if of == name}
            row = {
                "host": name,
                "state": "connected" if viewer.is_known(name) else "UNKNOWN",
                "seen": "now" if viewer.is_known(name) else ago(_seen(host.time, now), now),
                "version": one_line(str(words.get("version", "")), 40),
                "logs": len(host.ends()),
                "live": len(words.get("live") or ()),
                "problem": one_line(next(iter(map(str, problems.values())), ""), 200),
            }
            rows.append(row)
        return rows


async def findings(key: Credentials, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what is as it should be and what is not: gaps, lag, versions, clocks. Raises FleetError."""
    async with caught_up(key, environ) as viewer:
        await _listen(viewer)
        now, rows = SystemClock().now(), []

        def say(ok: bool, about: str, text: str) -> None:
            rows.append({"ok": ok, "about": about, "text": text})

        say(viewer.lag == 0, "lag", f"{viewer.lag} messages of the server are not copied yet")
        for name, host in sorted(viewer.hosts.items()):
            words = host.words
            if words.get("protocol") != s.PROTOCOL:
                say(False, name, f"it speaks version {words.get('protocol')} of the protocol: update unstuck there")
            version = one_line(str(words.get("version", "")), 40)
            say(version == __version__, name, f"unstuck {version}, and {__version__} here")
            if viewer.is_known(name):
                off = abs(float(words.get("now", now)) - now)
                say(off < 60, name, f"its clock is {off:.0f} s off" if off >= 60 else "it is connected")
            else:
                say(False, name, f"it was not heard for {SILENT_S:g} s: `unstuck fleet status` on it says why")
            for log, end in host.ends().items():
                behind = viewer.missing(name, log, end)
                reason = viewer.copies.refusal(name, log)
                if behind > 0 or reason:
                    say(False, f"{name}.{log}", reason or f"{behind} records are missing in the copy here")
            for log, why in (words.get("broken") or {}).items():
                say(False, f"{name}.{one_line(str(log), 80)}", one_line(str(why), 300))
        for about, why in viewer.forged.items():
            say(False, about, f"a message was refused: {why}")
        return rows


async def give(key: Credentials, environ: Mapping[str, str], host: str, gate: str, answer: Answer) -> tuple[str, bool]:
    """Give an answer and return what became of it in words, and whether it won. Raises FleetError, GateError."""
    async with caught_up(key, environ) as viewer:
        log, row = _question(viewer, host, gate)
        accept(row.gate, answer)
        given = await viewer.answer(host, log, gate, answer)
        what = one_line(f"{given.what.get('choice')} {given.what.get('text') or ''}", 200).strip()
        if not given.mine:
            return f"{gate} was answered by {given.by} already: {what}", False
        with suppress(TimeoutError):
            async with asyncio.timeout(_HEARD_S):
                while (now := _question(viewer, host, gate)[1]).status == "open":
                    await viewer.next_change()
                if now.via == f"fleet:{key.name}":
                    return f"{gate} is answered, and {host} has written it down: {what}", True
                chosen = now.answer.choice if now.answer is not None else "withdrawn"
                return f"{gate} was answered on {host} first: {chosen}", False
        return f"{gate}: your answer has won, and {host} has not yet heard it: {what}", True


def _question(viewer: Viewer, host: str, gate: str) -> tuple[str, GateRow]:
    """Return the log and the row of a question. Raises GateUnknown, UsageError."""
    if host not in viewer.hosts:
        raise UsageError(f"no host {one_line(host, 60)} is known: `unstuck fleet hosts` lists them")
    for log in reversed(viewer.copies.logs(host)):
        state, _ = current_state(viewer.copies.path(host, log).parent)
        if gate in state.gates:
            return log, state.gates[gate]
    raise GateUnknown(gate)


async def _listen(viewer: Viewer) -> None:
    """Wait as long as a host that is there may be silent."""
    with suppress(TimeoutError):
        async with asyncio.timeout(ALIVE_S + 1):
            while not all(map(viewer.is_known, viewer.hosts)):
                await viewer.next_change()
    if viewer.problem:
        raise FleetError(viewer.problem)


def _seen(time: str, now: float) -> str:
    try:
        datetime.fromisoformat(time)
    except ValueError:
        return iso(now)
    return time
