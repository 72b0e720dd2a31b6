"""Every state as a glyph, a word and a tone, so that it is told without colour too. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from unstuck.contract import Level
from unstuck.escalation.climb import Climb
from unstuck.record.state import State, TaskRow
from unstuck.text import one_line

if TYPE_CHECKING:
    from unstuck.record.events import StopReceipt

__all__ = [
    "ACTORS", "ENDED", "GROUPS", "Tone", "glyph_of", "group_of", "is_held", "named", "needs_person", "receipt_words",
    "rung_label", "rung_of", "tone_of", "word_of",
]  # fmt: skip

_NAMED = 6

Tone = Literal["plain", "quiet", "work", "wait", "ask", "good", "bad"]

ACTORS = {"human": "a person", "policy": "a rule", "timer": "the timer", "agent": "the agent"}
"""Who decides, in words."""
ENDED: dict[str, tuple[str, Tone]] = {
    "succeeded": ("✓", "good"),
    "unverified": ("~", "wait"),
    "skipped": ("-", "quiet"),
    "abandoned": ("×", "quiet"),
    "failed": ("✗", "bad"),
    "cancelled": ("-", "quiet"),
}
"""Glyph and tone of every way to end."""
_LIVE: dict[str, tuple[str, str, Tone]] = {
    "blocked": ("◌", "blocked", "quiet"),
    "ready": ("○", "ready", "plain"),
    "running": ("▶", "working", "work"),
    "judging": ("▷", "checking", "work"),
    "undecided": ("▷", "deciding", "work"),
    "preparing": ("▷", "preparing", "work"),
    "backoff": ("…", "backs off", "wait"),
    "waiting": ("!", "needs you", "ask"),
    "parked": ("‖", "parked", "wait"),
    "interrupted": ("↯", "interrupted", "wait"),
    "held": ("‖", "held", "wait"),
}

_LEVELS = {"retry": 1, "pivot": 2, "research": 3}
_GROUPS = {
    "blocked": "blocked",
    "ready": "ready",
    "running": "working",
    "judging": "working",
    "undecided": "working",
    "preparing": "working",
    "backoff": "waiting",
    "waiting": "needs you",
    "parked": "waiting",
    "interrupted": "waiting",
    "held": "waiting",
}
GROUPS: dict[str, tuple[str, Tone]] = {
    "needs you": ("!", "ask"),
    "working": ("▶", "work"),
    "waiting": ("…", "wait"),
    "ready": ("○", "plain"),
    "blocked": ("◌", "quiet"),
    "done": ("✓", "good"),
    "unverified": ("~", "wait"),
    "failed": ("✗", "bad"),
    "skipped": ("-", "quiet"),
    "abandoned": ("×", "quiet"),
    "cancelled": ("-", "quiet"),
}
"""The words of the header in their order, each with its glyph and tone."""


def needs_person(state: State, row: TaskRow) -> bool:
    """Whether an open gate of this task waits for an answer."""
    gate = state.gates.get(row.gate) if row.gate else None
    return gate is not None and gate.status == "open"


def is_held(state: State, row: TaskRow, *, still: bool = False) -> bool:
    """Whether its agent stands still for a question that is not about this task alone, such as a budget used up.

    ``still``: nothing can be recorded, so all of them do, which no record says.
    """
    attempt = state.attempts.get(row.attempt)
    stands = still or (attempt is not None and attempt.state == "held")
    return row.state == "running" and stands and not needs_person(state, row)


def _live(state: State, row: TaskRow, still: bool) -> str:
    return "held" if is_held(state, row, still=still) else row.state


def glyph_of(state: State, row: TaskRow, *, still: bool = False) -> str:
    """One cell that tells the state."""
    if row.state == "ended":
        return ENDED[row.status or "cancelled"][0]
    return "!" if needs_person(state, row) else _LIVE[_live(state, row, still)][0]


def word_of(state: State, row: TaskRow, *, still: bool = False) -> str:
    """The state in a word or two."""
    if row.state == "ended":
        return row.status or "ended"
    return "needs you" if needs_person(state, row) else _LIVE[_live(state, row, still)][1]


def tone_of(state: State, row: TaskRow, *, still: bool = False) -> Tone:
    """What kind of news the state is."""
    if row.state == "ended":
        return ENDED[row.status or "cancelled"][1]
    return "ask" if needs_person(state, row) else _LIVE[_live(state, row, still)][2]


def rung_of(state: State, row: TaskRow, limits: Mapping[str, int]) -> str:
    """Where the task stands on the ladder: ``first``, ``L2 pivot 1/3``, ``L4 asked``."""
    if row.state == "waiting" and row.gate in state.gates and state.gates[row.gate].gate.type == "stuck":
        return "L4 asked"
    number = _LEVELS.get(row.level)
    return (f"L{number} " if number else "") + rung_label(row.level, row.climb, limits.get(row.level, 0))


def rung_label(level: Level, climb: Climb, limit: int) -> str:
    """A rung and how often it has been used: ``retry 2/3``."""
    used = {"retry": climb.retries, "pivot": climb.pivots, "research": climb.research}.get(level)
    if used is not None:
        return f"{level} {max(1, used)}/{limit}" if limit else f"{level} {max(1, used)}"
    return {"human": "answered", "continue": "new session"}.get(level, "first")


def group_of(state: State, row: TaskRow, *, still: bool = False) -> str:
    """What the header counts the task as: fewer words than there are states."""
    if row.state == "ended":
        return "done" if row.status == "succeeded" else row.status or "ended"
    return "needs you" if row.gate and needs_person(state, row) else _GROUPS[_live(state, row, still)]


def named(task: str, said: str) -> str:
    """``said`` about ``task``, with its name before it unless it begins with that."""
    return said if said.startswith((f"{task}:", f"{task} ")) else f"{task}: {said}"


def receipt_words(event: StopReceipt) -> str:
    """How many processes a stop has ended, which and how, and those that would not end."""
    count = len(event.ended)
    ended = [f"{pid} {one_line(how)}" for pid, _, how in event.ended]
    alive = f"; still alive: {_some([str(pid) for pid, _ in event.alive])}" if event.alive else ""
    return f"{count} process{'' if count == 1 else 'es'}{': ' if ended else ''}{_some(ended)}{alive}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
