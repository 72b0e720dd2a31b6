"""Liveness of a silent agent: two samples of its processes and its files, compared. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from unstuck.eventlog.events import LivenessVerdict
from unstuck.processes import Vitals
from unstuck.workspace.git.tree_fingerprint import TreePrint

BUSY_SHARE = 0.01
"""The share of one processor from which an agent works; the timers of an idle event loop stay below it."""

_NAMED = 3

MOVED_BYTES = 65_536
"""The bytes read and written from which an agent works; a loop that only sleeps and polls stays below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A sample ``at`` a monotonic second; None for what could not be read."""

    at: float
    vitals: Vitals | None = None
    tree: TreePrint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Liveness:
    """A verdict with its signals in words.

    ``patient``: the state may last without limit. An answer that an agent waits for may never come.
    """

    verdict: LivenessVerdict
    signals: tuple[str, ...]
    patient: bool = True


def judge(before: Look, after: Look) -> Liveness:
    """Return ACTIVE for any sign of life, STALLED only where processes were seen without one.

    WAITING is an agent that was suspended, or an idle one with a connection open, such as to the model
    that thinks. UNKNOWN is one that could not be sampled.
    """
    seconds = max(after.at - before.at, 0.001)
    signs, stillness = _files(before.tree, after.tree)
    if before.vitals is None or after.vitals is None:
        if signs:
            return Liveness(verdict="ACTIVE", signals=tuple(signs))
        return Liveness(verdict="UNKNOWN", signals=("no process of its own to look at", *stillness))
    used = after.vitals.cpu - before.vitals.cpu
    moved = _moved(before.vitals, after.vitals)
    cpu = f"CPU {used:.2f} s in {seconds:.0f} s" if seconds >= 10 else f"CPU {used:.2f} s in {seconds:.1f} s"
    if used >= BUSY_SHARE * seconds:
        signs.append(cpu)
    if moved is not None and moved >= MOVED_BYTES:
        signs.append(f"{moved / 1000:.0f} kB read and written")
    if signs:
        return Liveness(verdict="ACTIVE", signals=tuple(signs))
    processes = f"{after.vitals.alive} process{'es' if after.vitals.alive != 1 else ''} alive"
    if after.vitals.stopped:
        return Liveness(verdict="WAITING", signals=(f"{processes}, all stopped by another process",))
    if after.vitals.peers:
        named = ", ".join(after.vitals.peers[:_NAMED])
        return Liveness(verdict="WAITING", signals=(f"an open connection to {named}", processes, cpu), patient=False)
    still = [processes, cpu]
    if moved is not None:
        still.append(f"{moved} bytes read and written")
    return Liveness(verdict="STALLED", signals=(*still, *stillness))


def _files(before: TreePrint | None, after: TreePrint | None) -> tuple[list[str], list[str]]:
    """Return the signs of life from the files, and the signs against it."""
    if before is None or after is None:
        return [], []
    if before.value == after.value:
        return [], ["no file changed"]
    return [f"files changed, the newest is {after.newest}" if after.newest else "files changed"], []


def _moved(before: Vitals, after: Vitals) -> int | None:
    """Bytes moved between two samples by the processes alive at the second; None where unknown."""
    if before.moved is None or after.moved is None:
        return None
    return sum(max(0, count - before.moved.get(pid, 0)) for pid, count in after.moved.items())
