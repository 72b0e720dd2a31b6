"""The plan as a graph in lines: who needs whom, what holds what, and the longest way that is left. Pure.

Each task stands once, below the need that lies deepest; its other needs are named beside it. All is counted in one
pass over tasks and needs, however deep a plan is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from unstuck.eventlog.state import State, TaskRow
from unstuck.words.labels import Tone, glyph_of, needs_person, some, tone_of, word_of
from unstuck_tui.render.format import Cell, Line, fit, named_lines, width_of

_DEEPEST = 10
_STATE = 12
_LABEL = 12
_NAMED = 6
_FALLEN = ("skipped", "abandoned", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Graph:
    """``order`` is every task below what it stands under; ``depth`` how many needs lie above it, ``under`` that need.

    ``needed_by`` are the tasks that need it, in the plan's order, ``sorted`` all tasks after what they need.
    """

    order: tuple[str, ...]
    depth: Mapping[str, int]
    under: Mapping[str, str]
    needed_by: Mapping[str, tuple[str, ...]]
    sorted: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """``chain`` is the longest way that is left, ``places`` where its tasks stand on it, from 1 on.

    ``held`` says for each task that waits which one it waits for. ``still``: nothing can be recorded, so no agent goes
    on.
    """

    chain: tuple[str, ...]
    places: Mapping[str, int]
    held: Mapping[str, str]
    still: bool = False


def graph_of(needs: Mapping[str, Sequence[str]]) -> Graph:
    """The graph of tasks with what they need. What is not known, or would go round, is left out."""
    needed_by: dict[str, list[str]] = {task: [] for task in needs}
    missing = dict.fromkeys(needs, 0)
    for task, wanted in needs.items():
        for need in dict.fromkeys(wanted):
            if need in needed_by:
                needed_by[need].append(task)
                missing[task] += 1
    after = [task for task, count in missing.items() if not count]
    for task in after:
        for other in needed_by[task]:
            missing[other] -= 1
            if not missing[other]:
                after.append(other)
    after += [task for task, count in missing.items() if count > 0]
    depth: dict[str, int] = {}
    under: dict[str, str] = {}
    for task in after:
        above = [need for need in needs[task] if need in depth]
        under[task] = max(above, key=depth.__getitem__, default="")
        depth[task] = depth[under[task]] + 1 if above else 0
    below: dict[str, list[str]] = {}
    for task in needs:
        below.setdefault(under[task], []).append(task)
    order: list[str] = []
    waiting = below.get("", [])[::-1]
    while waiting:
        task = waiting.pop()
        order.append(task)
        waiting += below.get(task, [])[::-1]
    return Graph(tuple(order), depth, under, {task: tuple(others) for task, others in needed_by.items()}, tuple(after))


def standing_of(graph: Graph, state: State, *, still: bool = False) -> Standing:
    """The rest of the plan; ``still``: nothing can be recorded for the moment."""
    length: dict[str, int] = {}
    before: dict[str, str] = {}
    held: dict[str, str] = {}
    for task in graph.sorted:
        row = state.tasks[task]
        if row.state == "ended":
            continue
        needs = row.task.needs
        last = max((need for need in needs if need in length), key=length.__getitem__, default="") if needs else ""
        before[task], length[task] = last, length[last] + 1 if last else 1
        if row.state == "blocked":
            held[task] = _holder(state, row, held)
    end = max(length, key=length.__getitem__, default="")
    chain: list[str] = []
    while end:
        chain.append(end)
        end = before[end]
    way = tuple(reversed(chain)) if len(chain) > 1 else ()
    return Standing(way, {task: place for place, task in enumerate(way, 1)}, held, still)


def _holder(state: State, row: TaskRow, held: Mapping[str, str]) -> str:
    """The task at the beginning of what ``row`` waits for: one that fell first, then one that needs a person."""
    missing = [
        need for need in row.task.needs if (other := state.tasks.get(need)) and other.status not in ("succeeded",)
    ]
    ways = [way for need in missing if (way := held.get(need, need))]

    def weight(task: str) -> int:
        other = state.tasks[task]
        return 2 if other.status in _FALLEN else 1 if needs_person(state, other) else 0

    return max(ways, key=weight, default="")


def graph_cells(graph: Graph, standing: Standing, state: State, task: str, width: int, name: int) -> Line:
    """One line of the graph, at most ``width`` cells; ``name`` is the width of the widest name with its branch."""
    row = state.tasks[task]
    depth = graph.depth[task]
    branch = "  " * (min(depth, _DEEPEST) - 1) + ("╰─" if depth <= _DEEPEST else f"╰{depth}─") if depth else ""
    still = standing.still
    tone = tone_of(state, row, still=still)
    on_chain: Tone = "wait" if task in standing.places else "plain"
    room = max(10, min(name, width // 2))
    cells = [
        Cell("»" if task in standing.places else " ", "wait"),
        Cell(f"{glyph_of(state, row, still=still)} ", tone),
        Cell(branch, "quiet"),
        Cell(fit(task, max(4, room - width_of(branch))) + " ", on_chain),
        Cell(fit(word_of(state, row, still=still), _STATE), tone),
    ]
    left = width - sum(width_of(cell.text) for cell in cells)
    return (*cells, Cell(fit(_beside(graph, standing, state, row), left).rstrip(), "quiet"))


def _beside(graph: Graph, standing: Standing, state: State, row: TaskRow) -> str:
    parts = []
    holder = standing.held.get(row.id)
    if holder:
        parts.append(f"waits for {holder} ({word_of(state, state.tasks[holder], still=standing.still)})")
    others = [need for need in row.task.needs if need not in (graph.under[row.id], holder)]
    if others:
        parts.append(f"needs {some(others, _NAMED)}, too")
    if count := len(graph.needed_by[row.id]):
        parts.append(f"needed by {count}")
    return " · ".join(parts)


def about_lines(graph: Graph, standing: Standing, state: State, task: str, width: int) -> list[Line]:
    """The facts about one task of the graph, and what giving it up would touch."""
    row = state.tasks[task]
    lines: list[Line] = []
    for label, text in _facts(graph, standing, state, row):
        lines += named_lines(label, text, max(10, width - _LABEL - 2), 3, label=_LABEL)
    return lines


def _facts(graph: Graph, standing: Standing, state: State, row: TaskRow) -> Iterable[tuple[str, str]]:
    still = standing.still
    yield "task", f"{row.id}: {word_of(state, row, still=still)}"
    yield "needs", _with_states(state, row.task.needs, still) or "nothing"
    yield "needed by", _with_states(state, graph.needed_by[row.id], still) or "nothing"
    if holder := standing.held.get(row.id):
        yield "held by", f"{holder} ({word_of(state, state.tasks[holder], still=still)})"
    if row.state != "ended":
        yield "if skipped", _fallout(graph, state, row)
        yield "if abandoned", "the same, and you are not asked again"
    if place := standing.places.get(row.id):
        yield "critical", f"number {place} of {len(standing.chain)} on the critical path"


def _with_states(state: State, tasks: Sequence[str], still: bool) -> str:
    named = [
        f"{task} ({word_of(state, state.tasks[task], still=still)})" if task in state.tasks else task for task in tasks
    ]
    return some(named, _NAMED)


def _fallout(graph: Graph, state: State, row: TaskRow) -> str:
    """The consequence for those that need ``row``, directly or through others, when it does not get done."""
    found: dict[str, None] = {}
    frontier = [row.id]
    while frontier:
        for other in graph.needed_by[frontier.pop()]:
            if other not in found and state.tasks[other].state != "ended":
                found[other] = None
                frontier.append(other)
    if not found:
        return "nothing waits for it"
    does = {"run": "would continue without it", "skip": "would be skipped too"}.get(
        row.after_skip, "would stay blocked"
    )
    return f"{len(found)} {does}: {some(list(found), _NAMED)}"
