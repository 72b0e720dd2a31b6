"""A failure as a line of its list, and all that is known about it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unstuck.eventlog.state import State
from unstuck.words.amounts import time_of_day
from unstuck.words.labels import Tone, error_name, failure_words, level_word, solved_by, some
from unstuck_tui.render.browse.columns import Column, field_lines, row_cells
from unstuck_tui.render.format import Cell

COLUMNS = (
    Column("TIMES", 5, right=True),
    Column("LAST", 5),
    Column("TYPE", 14, share=1),
    Column("WHERE", 16, share=3, middle=True),
    Column("FAILURE TYPE", 15, least=130),
    Column("CATEGORY", 14, least=150),
    Column("TASKS", 5, right=True, least=72),
    Column("GOT AS FAR AS", 13),
    Column("SOLVED BY", 12, share=2, least=96),
    Column("OVER TIME", 12, least=80),
)
SPARK = 12
_SHOWN = 50
_NAMED = 8


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One of them: the number of its record, its time (ISO 8601), its task and its attempt."""

    seq: int
    time: str
    task: str
    attempt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure of the run. ``row`` is that of ``unstuck signatures``; ``speaker`` stands for all that are like it.

    ``spark`` draws how often it came over the run's time; ``alike`` are the headlines of those like it.
    """

    row: Mapping[str, Any]
    agents: tuple[str, ...] = ()
    speaker: str = ""
    spark: str = ""
    alike: tuple[str, ...] = ()
    occurrences: tuple[Occurrence, ...] = ()

    @property
    def identity(self) -> str:
        return str(self.row["signature"])

    @property
    def is_led(self) -> bool:
        """True where another failure speaks for it."""
        return self.speaker != self.identity


def ordered(failures: Sequence[Failure]) -> list[Failure]:
    """Each group together, behind the one that speaks for it; the groups in the order of their speakers."""
    groups: dict[str, list[Failure]] = {}
    for failure in failures:
        groups.setdefault(failure.speaker, []).append(failure)
    return [failure for group in groups.values() for failure in group]


def failure_cells(failure: Failure, width: int) -> tuple[Cell, ...]:
    """One line of the list; what is like the one above it is set in."""
    row = failure.row
    kind = error_name(str(row["error_type"])) if row["error_type"] else "-"
    texts = {
        "TIMES": str(row["count"]),
        "LAST": _clock(row["last"]),
        "TYPE": f"└ {kind}" if failure.is_led else kind,
        "WHERE": str(row["location"] or row["headline"] or "-"),
        "FAILURE TYPE": failure_words(str(row.get("failure_type", "")), "") or "-",
        "CATEGORY": failure_words("", str(row.get("category", ""))) or "-",
        "TASKS": str(len(row["tasks"])),
        "GOT AS FAR AS": level_word(str(row["rung"])),
        "SOLVED BY": solved_by(str(row["worked"])) or "nothing yet",
        "OVER TIME": failure.spark,
    }
    tones: dict[str, Tone] = {
        "LAST": "quiet",
        "TYPE": "bad",
        "GOT AS FAR AS": "ask" if row["rung"] == "asked" else "plain",
        "SOLVED BY": "good" if row["worked"] else "quiet",
        "OVER TIME": "work",
    }
    return row_cells(COLUMNS, texts, width, tones=tones)


def failure_about(failure: Failure, width: int) -> list[tuple[Cell, ...]]:
    """Everything about one failure, its last occurrences first."""
    row = failure.row
    times = "once" if row["count"] == 1 else f"{row['count']} times"
    lines = field_lines("failure", row["headline"] or row["error_type"] or "-", width, tone="bad")
    lines += field_lines("where", row["location"], width)
    kind = failure_words(str(row.get("failure_type", "")), str(row.get("category", "")))
    lines += field_lines("type", kind, width)
    lines += field_lines("seen", f"{times}, first {_clock(row['first'])}, last {_clock(row['last'])}", width)
    lines += field_lines("tasks", some(row["tasks"], _NAMED), width)
    lines += field_lines("agents", some(failure.agents, _NAMED), width)
    lines += field_lines(
        "solved by", solved_by(str(row["worked"])) or "nothing yet", width, tone="good" if row["worked"] else "quiet"
    )
    lines += field_lines("similar", " · ".join(failure.alike[:_NAMED]), width)
    lines += field_lines("signature", failure.identity, width)
    for place, one in enumerate(failure.occurrences[:_SHOWN]):
        text = f"{_clock(one.time, seconds=True)}  {one.attempt or one.task or '-'}  event {one.seq}"
        lines += field_lines("" if place else "when", text, width, most=1)
    return lines


def gates_about(state: State, identity: str) -> list[str]:
    """The open questions about this failure: those that name it, and those of tasks that stand before it."""
    found = []
    for gate in state.open_gates():
        context = gate.gate.context
        row = state.tasks.get(gate.gate.task)
        names = {context.get("signature"), context.get("error_signature")}
        if row is not None and row.diagnosis is not None:
            names.add(row.diagnosis.identity)
        if gate.gate.task and identity in names:
            found.append(gate.id)
    return found


def _clock(time: object, *, seconds: bool = False) -> str:
    try:
        return time_of_day(str(time), seconds=seconds)
    except ValueError:
        return "-"
