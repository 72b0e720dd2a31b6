"""A comparison of recorded runs under two settings, as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unstuck.runs.queries.what_if import AMOUNTS
from unstuck.text import one_line
from unstuck_tui.render.printed.columns import columns

Row = Mapping[str, Any]
HEAD = ("RUN", "TASK", "EVENT", "AS IT WAS SET", "AS CHANGED", "QUESTIONS", "ALARMS", "ATTEMPTS", "TOKENS")


def what_if_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a table of the steps that differ, then the summary."""
    yield from columns(HEAD, [cells_of(row) for row in rows if row["row"] == "difference"])
    yield from summary_lines(rows)


def summary_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the totals, and where today's rules differ from the log."""
    total = rows[-1]
    differences = [row for row in rows if row["row"] == "difference"]
    sources = [_counted(total["runs"], "run")] if total["runs"] else []
    sources += [_counted(total["sessions"], "session")] if total["sessions"] else []
    named = ", ".join(f"{name}={one_line(value, 40)}" for name, value in total["settings"].items())
    differ = f"{total['differ']} {'differs' if total['differ'] == 1 else 'differ'}"
    compared = f"{_counted(total['compared'], 'step')} compared in {' and '.join(sources) or 'no run'}"
    yield f"{named or 'nothing changed'}: {compared}, {differ}"
    if differences:
        yield "in sum: " + ", ".join(f"{name} {_sum(name, differences)}" for name in AMOUNTS)
    if total["unknown"]:
        short = f"; {total['short']} of them because the log ends before" if total["short"] else ""
        yield f"unknown: {_counted(total['unknown'], 'step')} after a step that differs, or not in the log{short}"
    drifts = [row for row in rows if row["row"] == "rules"]
    if drifts:
        yield f"today's rules differ from the log in {_counted(len(drifts), 'step')}, with the settings as they were:"
    for row in drifts:
        where = f"{one_line(row['run'], 40)}  {one_line(row['task'], 20)}  #{row['event']}"
        yield f"  {where}: the log has {step_words(row['logged'])}, today's rules {step_words(row['today'])}"


def step_words(step: Row, limit: int = 50) -> str:
    """Return a step in words: ``new approach (use only the standard library)``."""
    if step["kind"] == "none":
        return "no alarm"
    return f"{step['kind']} ({one_line(step['about'], limit)})" if step["about"] else str(step["kind"])


def cells_of(row: Row) -> tuple[str, ...]:
    """Return the texts of a step that differs, in the order of ``HEAD``."""
    run, task = one_line(Path(row["run"]).name, 40), one_line(row["task"], 40)
    steps = (step_words(row["own"]), step_words(row["changed"]))
    return (run, task, f"#{row['event']}", *steps, *(signed(row[name]) for name in AMOUNTS))


def signed(amount: int | None) -> str:
    """Return an amount as more (``+2``) or fewer (``−2``), ``=`` for neither."""
    if amount is None:
        return "unknown"
    return f"{amount:+,}".replace("-", "−") if amount else "="


def _sum(name: str, rows: Sequence[Row]) -> str:
    known = [row[name] for row in rows if row[name] is not None]
    rest = " and unknown" if known and len(known) < len(rows) else ""
    return f"{signed(sum(known) if known else None)}{rest}"


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
