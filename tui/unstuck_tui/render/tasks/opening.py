"""A run before it is open, as lines of toned cells: from its plan, or from the rows beside its log. Pure, and light."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from unstuck.words.labels import ENDED, LIVE, Tone, error_name, question_words
from unstuck_tui.render.attention import ALL, Attention
from unstuck_tui.render.format import Cell, Line, fit, fit_middle, flat, width_of
from unstuck_tui.render.tasks.table import Columns, Needs, state_cells

_NAME_LIMIT = 100
_PIPS = 10
"""The cells of the tries that there are without settings."""


class KnownTask(NamedTuple):
    """A task as far as it is known. ``state`` is the way in which it ended, else the state that it is in."""

    id: str
    agent: str = ""
    state: str = "ready"
    problem: str = ""
    repeats: int = 0


class Opening(NamedTuple):
    """A run as far as it is known. ``elapsed`` is in seconds; ``questions`` wait for an answer."""

    project: str
    id: str = ""
    kind: str = "plan"
    state: str = "running"
    tasks: Sequence[KnownTask] = ()
    questions: Sequence[Attention] = ()
    elapsed: float = 0.0
    tokens: int = 0
    cost: float | None = None
    exit_reason: str = ""
    exit_code: int | None = None

    @property
    def counts(self) -> Counter[str]:
        """The number of tasks that are counted under each word of the header."""
        groups = Counter(_group_of(task) for task in self.tasks)
        return groups + Counter({"needs you": sum(item.task == ALL for item in self.questions)})

    @property
    def needs(self) -> Needs:
        """The room that the columns of its table want."""
        return Needs(
            task=_widest(task.id for task in self.tasks),
            agent=_widest(task.agent for task in self.tasks),
            pips=_PIPS,
            failure=_widest(task.problem for task in self.tasks if task.state in LIVE),
            repeats=int(any(task.repeats for task in self.tasks)),
            used=int(bool(self.tokens or self.cost)),
        )


def opening_of_tasks(project: str, tasks: Iterable[tuple[str, str, Sequence[str]]]) -> Opening:
    """Return a run that has not begun: of each of its ``tasks`` the id, the agent and what it needs."""
    known = (
        KnownTask(id, agent, "blocked", _needing(needs)) if needs else KnownTask(id, agent)
        for id, agent, needs in tasks
    )
    return Opening(project, tasks=list(known))


def opening_of(rows: Sequence[Mapping[str, Any]], project: str, *, elapsed: float) -> Opening:
    """Return the run of the saved ``rows``: its own, then its tasks, then its open questions."""
    run, gates = rows[0], [row for row in rows if "gate" in row]
    asked = {row["task"] for row in gates}
    return Opening(
        project=project,
        id=run["run"],
        kind=run["kind"],
        state=run["state"],
        tasks=[_task(row, asked, is_cut_off=run["state"] == "interrupted") for row in rows if "timeline" in row],
        questions=[_question(row) for row in gates],
        elapsed=elapsed,
        tokens=run["tokens"],
        cost=run["cost"],
        exit_reason=run["exit_reason"],
        exit_code=run["exit_code"],
    )


def _task(row: Mapping[str, Any], asked: Collection[str], *, is_cut_off: bool) -> KnownTask:
    status, state = row["status"], row["state"]
    if status:
        return KnownTask(row["task"], row["agent"], status, row["reason"])
    failure = "  ".join(filter(None, (error_name(row["error_type"]), row["location"] or row["headline"])))
    problem = _needing(row["needs"]) if state == "blocked" else failure
    if row["task"] in asked:
        state = "waiting"
    elif is_cut_off and state == "running":
        state = "interrupted"
    return KnownTask(row["task"], row["agent"], state, problem, row.get("repeats", 0))  # older rows have none


def _needing(needs: Iterable[str]) -> str:
    return f"waits for {', '.join(needs)}"


def _question(row: Mapping[str, Any]) -> Attention:
    text = ": ".join(filter(None, question_words(row["type"], row["context"])))
    return Attention(row["task"] or ALL, "!", text, "waits for you", "ask", row["gate"])


def known_cells(task: KnownTask, columns: Columns) -> Line:
    """The line of one task, as wide as that of the table that takes its place; its clocks are not known yet."""
    glyph, word, tone = _told(task)
    name: Tone = "quiet" if task.state in ENDED else "plain"
    between = (
        columns.kind, columns.pips, columns.level, columns.activity, columns.time, columns.used, columns.repeats
    )  # fmt: skip
    return (
        Cell(f"{glyph} ", tone),
        Cell(fit_middle(task.id, columns.task), name),
        *state_cells(word, columns.state, tone),
        Cell(fit_middle(task.agent, columns.agent) + " " * bool(columns.agent), "quiet"),
        Cell(" " * sum(width + 1 for width in between if width)),
        Cell(fit(task.problem, columns.failure), name),
    )


def _told(task: KnownTask) -> tuple[str, str, Tone]:
    if task.state in ENDED:
        return ENDED[task.state][0], task.state, ENDED[task.state][1]
    return LIVE[task.state][:3]


def _group_of(task: KnownTask) -> str:
    if task.state in ENDED:
        return "done" if task.state == "succeeded" else task.state
    return LIVE[task.state][3]


def _widest(texts: Iterable[str]) -> int:
    return max((width_of(flat(text[:_NAME_LIMIT])) for text in texts), default=0)
