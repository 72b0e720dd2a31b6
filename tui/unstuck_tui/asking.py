"""Which question comes up by itself, and which one ``answer`` means. Pure: the time and the screen come in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from unstuck.record.state import GateRow

__all__ = ["POPS", "TYPING_S", "Asking", "next_to_answer"]

POPS = "stuck"
"""The one kind of question that comes up by itself: nothing else says that everything has been tried."""

TYPING_S = 2.0
"""Whoever pressed a key this recently may press the next one without looking."""


@dataclass(slots=True)
class Asking:
    """Decides about each gate once, in the first frame that shows it.

    Only that of a task that is stuck comes up. A question that may not come up then never does later: nobody would
    expect it. It stays in the attention list.
    """

    _decided: set[str] = field(default_factory=set)

    def to_pop(self, gates: Sequence[GateRow], *, now: float, busy: bool, last_key: float | None) -> str:
        """The gate whose dialog comes up now; empty where none does. Call it every frame with the open ``gates``.

        ``busy``: a dialog or a text field has the focus. ``now`` and ``last_key`` are monotonic seconds.
        """
        new = [row.id for row in gates if row.gate.type == POPS and row.id not in self._decided]
        self._decided.update(new)
        typing = last_key is not None and now - last_key < TYPING_S
        return new[0] if new and not busy and not typing else ""


def next_to_answer(gates: Sequence[GateRow], task: str = "", *, sending: Collection[str] = ()) -> str:
    """The open gate of ``task``, else the one that has waited longest; empty where nothing is asked.

    One of those in ``sending``, whose answer is on its way, only where there is no other.
    """
    rows = [row for row in gates if row.id not in sending] or gates
    own = [row.id for row in rows if task and row.gate.task == task]
    return next(iter(own or [row.id for row in rows]), "")
