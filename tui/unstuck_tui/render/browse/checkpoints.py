"""A checkpoint as a line of its list, what it covers, and what a restore or a comparison shows. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unstuck.clock import iso
from unstuck.text import one_line
from unstuck.words.amounts import ago, day_time, full_time, sized
from unstuck.words.labels import Tone, checkpoint_reason, level_word
from unstuck.words.story import plan_text, under_way_text
from unstuck.workspace.git.diff_limit import Counted
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.browse.columns import Column, RowTexts, field_lines
from unstuck_tui.render.diff import SET_IN, DiffLine, note_lines, side_by_side, unified
from unstuck_tui.render.format import Cell, Line, fit

Row = Mapping[str, Any]
COLUMNS = (
    Column("TASK", 8, share=1, middle=True),
    Column("TIME", 8, share=1),
    Column("AGO", 8, right=True, least=96),
    Column("AFTER", 7),
    Column("WHY", 14, share=1),
    Column("CHANGED SINCE BEFORE", 12, share=2),
    Column("", 6, least=110),
    Column("LEFT OUT", 10, share=1, least=120),
)
OF_ALL_RUNS = (COLUMNS[0], Column("RUN", 15, least=96), *COLUMNS[1:])
_TONES: dict[str, Tone] = {"changed": "wait", "added": "good", "deleted": "bad"}
_TONES |= {"changes": "wait", "returns": "good", "disappears": "bad"}
_WHY: dict[str, Tone] = {"good": "good", "ask": "ask", "baseline": "quiet", "loads": "quiet"}
_NAMED = 200
_STATUS = 10
_DAY = len("11-22 ")
_WIDE = 110
_PLAN_WIDTH = 96


def coverage(row: Row) -> str:
    """The gaps of a checkpoint, in a few words."""
    parts = [f"{len(row['not_covered'])} left out"] if row["not_covered"] else []
    parts += [f"{row['ignored']} ignored"] if row["ignored"] else []
    return ", ".join(parts) or "complete"


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint with what its run knows of it. ``row`` is that of ``unstuck checkpoints list``.

    ``attempt`` is the number of the attempt after which it was saved, 0 for none; ``level`` is that attempt's.
    ``before`` is the id of the checkpoint before it in the same worktree; ``changed`` are the lines since then, None
    where they were not counted.
    """

    row: Row
    root: Path
    attempt: int = 0
    level: str = ""
    before: str = ""
    before_time: str = ""
    changed: Sequence[Counted] | None = None


def saved_texts(saved: Saved, *, now: float, marked: bool) -> RowTexts:
    """One line of the list."""
    row = saved.row
    texts = {
        "TASK": str(row["task"] or "-"),
        "RUN": str(row["run"]),
        "TIME": day_time(row["created"], seconds=True).removeprefix(day_time(iso(now))[:_DAY]),
        "AGO": ago(row["created"], now).removesuffix(" ago"),
        "AFTER": f"try {saved.attempt}" if saved.attempt else "start" if row["reason"] == "baseline" else "-",
        "WHY": checkpoint_reason(str(row["reason"])),
        "CHANGED SINCE BEFORE": changed_words(saved),
        "": _weight(saved),
        "LEFT OUT": coverage(row) if row["not_covered"] or row["ignored"] else "",
    }
    tones: dict[str, Tone] = {
        "RUN": "quiet",
        "AGO": "quiet",
        "AFTER": "quiet",
        "WHY": _WHY.get(str(row["reason"]), "plain"),
        "CHANGED SINCE BEFORE": "plain" if saved.changed else "quiet",
        "": "work",
        "LEFT OUT": "wait" if row["not_covered"] else "quiet",
    }
    return RowTexts(texts, tones, "●" if marked else "")


def changed_words(saved: Saved) -> str:
    """The lines more and less since the checkpoint before, with the file or the number of files."""
    changed = saved.changed
    if changed is None:
        return "" if saved.before else "-"
    if not changed:
        return "nothing"
    added, removed = sum(one.added or 0 for one in changed), sum(one.removed or 0 for one in changed)
    files = one_line(changed[0].path).rpartition("/")[2] if len(changed) == 1 else f"{len(changed)} files"
    return f"+{added} -{removed} {files}"


def changed_lines(saved: Saved) -> int:
    """The number of lines changed since the checkpoint before."""
    return sum((one.added or 0) + (one.removed or 0) for one in saved.changed or ())


def _weight(saved: Saved) -> str:
    """A bar that is a sign longer for twice as many changed lines."""
    return "▇" * min(6, changed_lines(saved).bit_length())


def saved_about(saved: Saved, width: int) -> list[Line]:
    """The facts about a checkpoint, with the files that it leaves out by name."""
    row = saved.row
    after = f" after try {saved.attempt}, {level_word(saved.level)}" if saved.attempt else ""
    lines = field_lines("saved", f"{full_time(row['created'])}{after}", width)
    lines += field_lines("why", checkpoint_reason(str(row["reason"])), width)
    lines += field_lines("task", f"{row['task']} (run {row['run']})" if row["task"] else row["run"], width)
    lines += field_lines("covers", f"{row['files']} files, {sized(row['size'])} added to the store", width)
    for entry in row["not_covered"][:_NAMED]:
        lines += field_lines("without", f"{entry['path']} ({entry['why']})", width, tone="wait")
    if row["ignored"]:
        lines += field_lines("without", f"{row['ignored']} ignored files and folders", width, tone="quiet")
    lines += field_lines("worktree", row["tree"], width, tone="quiet")
    return lines + field_lines("id", f"{row['id']} (its time is UTC)", width, tone="quiet")


def saved_line(saved: Saved, width: int) -> Line:
    """The facts about a checkpoint in one line."""
    row = saved.row
    parts = (
        f"after try {saved.attempt}, {level_word(saved.level)}" if saved.attempt else "",
        checkpoint_reason(str(row["reason"])),
        f"{row['files']} files",
        coverage(row),
    )
    return (Cell(SET_IN), Cell(fit(" · ".join(filter(None, parts)), width - len(SET_IN)), "quiet"))


def step_lines(saved: Saved, diff: Sequence[DiffLine] | None, width: int) -> list[Line]:
    """The changes since the checkpoint before; ``diff`` is None until they are read."""
    compares = f"{spoken('checkpoints.diff')} compares with the current files"
    if not saved.before:
        return note_lines(f"No checkpoint before it in this worktree; {compares}.", width)
    if diff is None:
        return note_lines("looking", width)
    if not diff:
        return note_lines(f"No file has changed since then; {compares}.", width)
    return unified(diff, width)


def comparing_lines(since: str, width: int) -> list[tuple[Cell, ...]]:
    """The lines while the changes ``since`` then are being read."""
    return [(Cell(fit(f"  comparing since {since} … {spoken('browse.back')} cancels", width), "quiet"),)]


def diff_lines(heading: Line, changes: Sequence[Row], diff: Sequence[DiffLine], width: int) -> list[Line]:
    """The changed files with their sizes, and below them the diff, side by side where there is room."""
    told = (side_by_side if width >= _WIDE else unified)(diff, width)
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
