"""The header's one line, and the attention list. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from rich.cells import cell_len

from unstuck.record.state import GateRow, RunRow, State, TaskRow
from unstuck.record.usage import Usage
from unstuck.text import one_line
from unstuck_tui.render.format import clock, fit, flat, span
from unstuck_tui.render.labels import GROUPS, Tone
from unstuck_tui.render.printed.events import broken
from unstuck_tui.render.tasks.table import Cell, time_left

__all__ = ["Attention", "asked_about", "attention_cells", "attentions", "ended_as", "header_line", "spent_of"]

_ENDED = {
    "succeeded": "every task succeeded",
    "incomplete": "ended, not every task succeeded",
    "needs_person": "parked: needs a person",
    "halted": "halted",
    "budget": "the budget is used up",
    "interrupted": "stopped",
}
_TOLD = 20
_LEAST_NAME = 16
_SHORT_NAME = 7
_SPOKEN = ("needs you", "working", "done", "failed")
_BLOCKS_NAMED = 3
_LONGEST_ASKED = 160


def header_line(
    run: RunRow, counts: Mapping[str, int], *, elapsed: float, width: int, name: str = "", muted: str = ""
) -> tuple[Cell, ...]:
    """``name`` (else the project's) and run, time gone by, how many tasks are in which state, and what it cost.

    What needs the person is counted with the questions about the whole run.

    ``elapsed`` is in seconds; ``muted`` says of what no notifications go out.
    """
    spent = spent_of(run)
    cost = (Cell("   "), Cell(spent)) if spent else ()
    plain = tuple(_countings(counts))
    ways = (*((*way, *cost) for way in plain), *(plain[-1:] if cost else ()))
    state, _ = _run_state(run)
    said = sum(cell_len(part) + 2 for part in (clock(elapsed), state, muted))
    least = max(_LEAST_NAME, min(said + 3, 2 * width // 5))
    right = next((cells for cells in ways if _length(cells) <= width - least), ways[-1])
    left = _name(run, name or run.project, elapsed, max(0, width - _length(right) - 3), muted)
    blank = Cell(" " * max(2, width - _length(left) - _length(right) - 1))
    return _cut((*left, blank, *right), width)


def spent_of(used: RunRow | Usage) -> str:
    """What the agents have said that they used: dollars, else tokens; empty where none of them says."""
    if used.cost:
        return f"${used.cost:,.2f}" if used.cost >= 0.01 else "<$0.01"
    if used.tokens >= 1_000_000:
        return f"{used.tokens / 1e6:,.1f}M tokens"
    if used.tokens >= 1_000:
        return f"{used.tokens / 1e3:,.1f}k tokens"
    return f"{used.tokens} tokens" if used.tokens else ""


def _countings(counts: Mapping[str, int]) -> Iterator[tuple[Cell, ...]]:
    """Ways to say how many tasks are in which state, the longest first; what needs the person keeps its word."""
    groups = [(word, counts.get(word, 0), *told) for word, told in GROUPS.items() if counts.get(word, 0) > 0]
    for gap, spoken in (
        ("   ", tuple(GROUPS)),
        ("  ", tuple(GROUPS)),
        ("  ", _SPOKEN),
        ("  ", ("needs you",)),
        ("  ", ()),
    ):
        cells: list[Cell] = []
        for word, count, glyph, tone in groups:
            said = f"{glyph} {count} {word}" if word in spoken else f"{glyph} {count}"
            cells += [Cell(gap), Cell(said, tone)]
        yield tuple(cells[1:])


def _length(cells: Iterable[Cell]) -> int:
    return sum(cell_len(cell.text) for cell in cells)


def _name(run: RunRow, name: str, elapsed: float, room: int, muted: str) -> tuple[Cell, ...]:
    """The longest way to say which run this is that fits into ``room``."""
    state, tone = _run_state(run)
    project, time = fit(name, min(24, cell_len(flat(name)))), clock(elapsed)
    ways = (
        f" unstuck  {project} · run {run.id} · {time}",
        f" {project} · run {run.id} · {time}",
        f" {project} · {time}",
        f" {time}",
    )
    said = "".join(f"  {part}" for part in (state, muted) if part)
    way = next((way for way in ways if cell_len(way + said) <= room), ways[-1])
    said = fit(said, min(cell_len(said), max(0, room - cell_len(way))))  # a task's name may be as long as it likes
    return (Cell(way), Cell(said, tone)) if said else (Cell(way),)


def ended_as(exit_reason: str) -> str:
    """How a run came to its end, in words."""
    return _ENDED.get(exit_reason, exit_reason)


def _run_state(run: RunRow) -> tuple[str, Tone]:
    if run.state == "ended" or run.state == "parked":
        return ended_as(run.exit_reason), "good" if run.exit_code == 0 else "wait"
    if run.state == "draining":
        return "stopping", "wait"
    if run.state == "blocked":
        return "blocked", "bad"
    return "", "plain"


def _cut(cells: Iterable[Cell], width: int) -> tuple[Cell, ...]:
    kept: list[Cell] = []
    for cell in cells:
        room = width - sum(cell_len(other.text) for other in kept)
        kept.append(Cell(fit(cell.text, min(room, cell_len(cell.text))), cell.tone))
    return tuple(cell for cell in kept if cell.text)


@dataclass(frozen=True, slots=True)
class Attention:
    """One thing that waits for a person or will act by itself; ``gate`` is empty where nothing can be answered."""

    task: str
    glyph: str
    text: str
    then: str
    tone: Tone
    gate: str = ""


def attentions(
    state: State,
    gates: Iterable[GateRow],
    soon: Iterable[str],
    *,
    now: float,
    ages: Mapping[str, float],
    held: str = "",
    asked: str = "",
) -> list[Attention]:
    """What needs looking at, questions first.

    ``soon`` are the tasks with a clock to look at, ``now`` is monotonic, ``ages`` how long each gate has been open.
    ``held`` says why nothing can be recorded for the moment, which comes before everything else; ``asked`` is the gate
    about that.
    """
    gates = tuple(gates)
    blocked = _blocked_by({row.gate.task for row in gates}, state)
    found = [_of_gate(state, row, ages.get(row.id, 0.0), now, blocked.get(row.gate.task, ())) for row in gates]
    if held:
        found.insert(0, Attention("run", "‖", f"no room on the disk: {held}", "agents stand still", "bad", asked))
    if state.run.state == "blocked" and not any(item.task == "run" for item in found):
        issue = broken(state.run.blocked)
        then = f"remediation {state.run.remediation} at work" if state.run.remediation else "no task starts"
        found.append(Attention("run", "‖", issue, then, "bad"))
    due = [(left, task) for task in soon if (left := _due_in(state, task, now)) is not None]
    return found + [_by_itself(state.tasks[task], left) for left, task in nsmallest(_TOLD, due)]


def _due_in(state: State, task: str, now: float) -> float | None:
    """The seconds until something happens to ``task`` by itself, where that has to be said already."""
    row = state.tasks[task]
    if row.state == "backoff":
        return max(0.0, row.backoff_until - now)
    time = time_left(state, row, now)
    return time[0] if time is not None and time[0] <= time[1] / 5 else None


def _by_itself(row: TaskRow, left: float) -> Attention:
    if row.state == "backoff":
        trouble = row.diagnosis.headline if row.diagnosis else "a passing trouble"
        if row.backoff_quota:
            return Attention(row.id, "…", f"waits for the quota: {trouble}", f"is over in {clock(left):>7}", "wait")
        return Attention(row.id, "…", f"waits out: {trouble}", f"tries again in {clock(left):>7}", "wait")
    return Attention(row.id, "◷", "its time is nearly up", f"time is up in {clock(left):>7}", "wait")


def _blocked_by(tasks: Set[str], state: State) -> dict[str, list[str]]:
    """Which tasks need each of ``tasks``; one look at every task, however many questions there are."""
    blocked: dict[str, list[str]] = {}
    for other in state.tasks.values() if tasks else ():
        for need in other.task.needs:
            if need in tasks:
                blocked.setdefault(need, []).append(other.id)
    return blocked


def _of_gate(state: State, row: GateRow, age: float, now: float, blocked: Sequence[str]) -> Attention:
    what, why = _question(row.gate.type, row.gate.context)
    if blocked:
        more = f" and {len(blocked) - _BLOCKS_NAMED} more" if len(blocked) > _BLOCKS_NAMED else ""
        what = " · ".join(filter(None, (what, f"blocks {', '.join(blocked[:_BLOCKS_NAMED])}{more}")))
    # Of a line that is too long the end is cut: the problem stands in the table, the dialog and the detail as well.
    text = (" · " if blocked else ": ").join(filter(None, (what, why)))
    then = f"waits for you {span(age):>7}"
    if row.gate.acts_at is not None:
        answer = state.run.settings.get("timers", {}).get(row.gate.type, {}).get("answer", "answers")
        then = f"{answer} in {clock(max(0.0, row.gate.acts_at - now)):>7}"
    return Attention(row.gate.task or "run", "!", text, then, "ask", row.id)


def _question(kind: str, context: Mapping[str, Any]) -> tuple[str, str]:
    """What has come to pass, and why or what about; either may be empty."""
    if kind == "stuck":
        tried = ", ".join(_counted(count, word) for word, count in _attempts(context) if count)
        return f"stuck after {tried}" if tried else "stuck", str(context.get("problem") or "nothing has helped")
    if kind == "timeout":
        if context.get("clock") == "idle":
            return f"no sign of life for {span(float(context.get('silent_seconds') or 0.0))}", ""
        return f"its time is up after {span(float(context.get('elapsed_seconds') or 0.0))}", ""
    who = str(context.get("subagent") or "")
    if kind == "loop_detected":
        what = f"{who} goes round in circles".strip()
        return what, str(context.get("problem") or context.get("error_signature") or "")
    said = context.get("question") or context.get("problem") or context.get("issue") or context.get("last_issue")
    return who, str(said or kind.replace("_", " "))


def asked_about(kind: str, context: Mapping[str, Any]) -> str:
    """What is asked, and why or what about, in one line."""
    return one_line(": ".join(filter(None, _question(kind, context))), _LONGEST_ASKED)


def _attempts(context: Mapping[str, Any]) -> list[tuple[str, int]]:
    attempts = context.get("attempts")
    return [(str(key), int(value)) for key, value in attempts.items()] if isinstance(attempts, Mapping) else []


def _counted(count: int, word: str) -> str:
    word = word.replace("_", " ")
    if count == 1:
        word = {"retries": "retry"}.get(word, word.removesuffix("s"))
    return f"{count} {word}"


def attention_cells(item: Attention, width: int, name_width: int = 16) -> tuple[Cell, ...]:
    """One line of the attention list, exactly ``width`` wide; ``name_width`` is that of the longest name in it."""
    then = fit(item.then, 22, right=True)
    name = fit(item.task, max(_SHORT_NAME, min(name_width, width // 5)))
    text = fit(item.text, max(0, width - cell_len(name) - cell_len(then) - 6))
    return Cell(f" {item.glyph} {name} ", item.tone), Cell(f"{text} "), Cell(f"{then} ", item.tone)
