"""A checkpoint as a line of its list, what it covers, and what a restore or a comparison shows. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unstuck.words.amounts import day_time, full_time, sized
from unstuck.words.labels import Tone, checkpoint_reason, level_word
from unstuck.words.story import plan_text, under_way_text
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.browse.columns import Column, field_lines, row_cells
from unstuck_tui.render.diff import DiffLine, unified
from unstuck_tui.render.format import Cell, Line, fit

Row = Mapping[str, Any]
COLUMNS = (
    Column("TIME", 14),
    Column("TASK", 10, share=2),
    Column("REASON", 14, share=3),
    Column("LEVEL", 12, least=84),
    Column("SIZE", 8, right=True, least=72),
    Column("FILES", 6, right=True, least=96),
    Column("COVERAGE", 12, share=1),
)
_TONES: dict[str, Tone] = {"changed": "wait", "added": "good", "deleted": "bad"}
_TONES |= {"changes": "wait", "returns": "good", "disappears": "bad"}
_NAMED = 200
_STATUS = 10
_PLAN_WIDTH = 96


def coverage(row: Row) -> str:
    """The gaps of a checkpoint, in a few words."""
    parts = [f"{len(row['not_covered'])} left out"] if row["not_covered"] else []
    parts += [f"{row['ignored']} ignored"] if row["ignored"] else []
    return ", ".join(parts) or "complete"


def checkpoint_cells(row: Row, width: int, *, rung: str, marked: bool) -> tuple[Cell, ...]:
    texts = {
        "TIME": day_time(row["created"], seconds=True),
        "TASK": str(row["task"] or "-"),
        "REASON": checkpoint_reason(str(row["reason"])),
        "LEVEL": level_word(rung) or "-",
        "SIZE": sized(row["size"]),
        "FILES": str(row["files"]),
        "COVERAGE": coverage(row),
    }
    tones: dict[str, Tone] = {
        "TIME": "quiet",
        "REASON": "quiet",
        "COVERAGE": "wait" if row["not_covered"] else "quiet",
    }
    return row_cells(COLUMNS, texts, width, tones=tones, sign="●" if marked else "")


def checkpoint_about(row: Row, width: int) -> list[tuple[Cell, ...]]:
    """The coverage of a checkpoint, with the files that it leaves out by name."""
    lines = field_lines("checkpoint", row["id"], width)
    lines += field_lines("saved", f"{full_time(row['created'])} (the time in the id is UTC)", width)
    lines += field_lines("why", checkpoint_reason(str(row["reason"])), width)
    lines += field_lines("task", f"{row['task']} (run {row['run']})" if row["task"] else row["run"], width)
    lines += field_lines("worktree", row["tree"], width)
    lines += field_lines("covers", f"{row['files']} files, {sized(row['size'])} added to the store", width)
    for entry in row["not_covered"][:_NAMED]:
        lines += field_lines("without", f"{entry['path']} ({entry['why']})", width, tone="wait")
    if row["ignored"]:
        lines += field_lines("without", f"{row['ignored']} ignored files and folders", width, tone="quiet")
    return lines


def comparing_lines(since: str, width: int) -> list[tuple[Cell, ...]]:
    """The lines while the changes ``since`` then are being read."""
    return [(Cell(fit(f"  comparing since {since} … {spoken('browse.back')} cancels", width), "quiet"),)]


def diff_lines(heading: Line, changes: Sequence[Row], diff: Sequence[DiffLine], width: int) -> list[Line]:
    """The changed files with their sizes, and below them the diff."""
    told = unified(diff, width)
    files = [_change(row, width) for row in changes[:_NAMED]]
    if len(changes) > _NAMED:
        files.append((Cell(fit(f"  and {len(changes) - _NAMED} more files", width), "quiet"),))
    return [heading, *files, *([(Cell(""),)] if told else []), *told]


def plan_words(id: str, tree: str, changes: Sequence[Row], under_way: str) -> list[str]:
    lines = [plan_text(id, tree, [str(row["status"]) for row in changes])]
    if under_way:
        lines.append(under_way_text(under_way))
    lines += ["".join(cell.text for cell in _change(row, _PLAN_WIDTH)).rstrip() for row in changes[:_NAMED]]
    return lines + ([f"and {len(changes) - _NAMED} more"] if len(changes) > _NAMED else [])


def _change(row: Row, width: int) -> tuple[Cell, ...]:
    sizes = " → ".join(sized(size) for size in (row["before"], row["after"]) if size is not None)
    status = str(row["status"])
    room = max(8, width - _STATUS - 3)
    return Cell(f"  {fit(status, _STATUS)} ", _TONES.get(status, "plain")), Cell(fit(f"{row['path']} ({sizes})", room))
