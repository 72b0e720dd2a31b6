"""Runs of a project: those that were cut off, and what a deletion would take, as lines. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unstuck.eventlog.state import State
from unstuck.runs.deletion.inventory import Inventory
from unstuck.supervision.recovery.facts import TaskRecovery, was_cut_off
from unstuck.words.amounts import day_time
from unstuck.words.labels import Tone, error_name, level_word
from unstuck_tui.render.browse.columns import Column, RowTexts, field_lines
from unstuck_tui.render.format import Cell, fit
from unstuck_tui.render.printed.deletion import inventory_lines
from unstuck_tui.render.recovery import facts_of

Row = Mapping[str, Any]
CUT_OFF = (
    Column("RUN", 15),
    Column("TASK", 10, share=2),
    Column("WAS", 11),
    Column("LEVEL", 12, least=84),
    Column("TRIES", 5, right=True, least=72),
    Column("WHAT IS WRONG", 12, share=3),
)
RUNS = (
    Column("RUN", 15),
    Column("STARTED", 11),
    Column("STATE", 10, share=1),
    Column("KIND", 8, least=84),
    Column("TASKS", 10, share=4),
)
_LIVE = "at work"
_AT_WORK = ("running", "blocked", "draining")


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """A task that was not over when its run was cut off. ``was`` is its state then, ``attempt`` what was at work."""

    run: str
    task: str
    was: str
    rung: str
    attempts: int
    attempt: str
    last: str
    failure: str
    where: str
    checkpoint: str
    question: str


def cut_off_in(run: str, state: State) -> list[CutOff]:
    """The tasks of ``run`` that were not over, in the order of its plan; of one that ended, what was at work then."""
    died = state.run.state in _AT_WORK
    return [
        _cut_off(run, state, row) for row in state.tasks.values() if (died and row.state != "ended") or was_cut_off(row)
    ]


def _cut_off(run: str, state: State, row: Any) -> CutOff:
    diagnosis, attempt = row.diagnosis, state.attempts.get(row.attempt)
    gate = state.gates.get(row.gate)
    kind = error_name(diagnosis.signature.error_type.value) if diagnosis is not None else ""
    return CutOff(
        run=run,
        task=row.id,
        was=row.state,
        rung=row.level,
        attempts=row.attempts,
        attempt=attempt.id if attempt is not None and attempt.is_live else "",
        last=state.run.started if attempt is None else attempt.begun,
        failure=" ".join(filter(None, (kind, diagnosis.headline))) if diagnosis is not None else "",
        where=(diagnosis.signature.location or "") if diagnosis is not None else "",
        checkpoint=row.good or row.baseline,
        question=gate.gate.type if gate is not None and gate.status == "open" else "",
    )


def cut_off_texts(row: CutOff) -> RowTexts:
    texts = {
        "RUN": row.run,
        "TASK": row.task,
        "WAS": row.was,
        "LEVEL": level_word(row.rung),
        "TRIES": str(row.attempts),
        "WHAT IS WRONG": row.failure or "-",
    }
    tones: dict[str, Tone] = {"RUN": "quiet", "WAS": "wait", "WHAT IS WRONG": "bad" if row.failure else "quiet"}
    return RowTexts(texts, tones)


def cut_off_about(row: CutOff, width: int, facts: TaskRecovery | None = None) -> list[tuple[Cell, ...]]:
    """The facts about a task that was cut off; with ``facts`` also what it has left, and how one goes on."""
    attempt = f"{row.attempt}, begun {day_time(row.last)}; its end is not known" if row.attempt else ""
    checkpoint = "" if row.checkpoint == "none" else row.checkpoint
    lines = field_lines("task", f"{row.task}, {row.was} when run {row.run} was interrupted", width)
    lines += field_lines("at work", attempt, width, tone="wait")
    lines += field_lines("failure", row.failure, width, tone="bad")
    lines += field_lines("where", row.where, width)
    lines += field_lines("saved", checkpoint, width)
    lines += field_lines("question", f"{row.question}, still open" if row.question else "", width, tone="ask")
    for label, text in facts_of(facts) if facts is not None else ():
        lines += field_lines(label.lower(), text, width)
    return lines + field_lines("continue", f"unstuck run --resume {row.run}", width)


def run_texts(row: Row, *, live: str) -> RowTexts:
    """One line of the runs that can be deleted; ``live`` is the one that is at work."""
    is_live = row["run"] == live
    tasks = ", ".join(f"{count} {word}" for word, count in row.get("tasks", {}).items())
    texts = {
        "RUN": str(row["run"]),
        "STARTED": day_time(str(row["started"])) if row.get("started") else "-",
        "STATE": _LIVE if is_live else str(row.get("exit_reason") or row["state"]).replace("_", " "),
        "KIND": str(row.get("kind", "-")),
        "TASKS": str(row.get("problem") or tasks or "-"),
    }
    tones: dict[str, Tone] = {"STARTED": "quiet", "STATE": "work" if is_live else "plain", "TASKS": "quiet"}
    return RowTexts(texts, tones)


def inventory_about(inventory: Inventory, refused: str, width: int) -> list[tuple[Cell, ...]]:
    """The inventory of a deletion, and why it is ``refused``."""
    lines = field_lines("not now", refused, width, tone="wait")
    for line in inventory_lines(inventory):
        lines.append((Cell(fit(f"  {line}", width), "bad" if line.startswith("!") else "plain"),))
    return lines
