"""The list of what needs a person or will soon act without one, as lines of toned cells. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from heapq import nsmallest
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from unstuck.text import one_line
from unstuck.words.amounts import span
from unstuck.words.labels import TERMINAL, Tone, asks_in_terminal, broken_check, question_words, some, time_left
from unstuck_tui.keys.actions import spoken
from unstuck_tui.render.format import Cell, clock, fit, fit_middle

if TYPE_CHECKING:
    from unstuck.eventlog.state import GateRow, State, TaskRow

ALL = "all tasks"
_TOLD = 20
_SHORT_NAME = 7
_BLOCKS_NAMED = 3
_ROOMS = ((50, 5), (30, 3), (20, 2))


class Attention(NamedTuple):
    """One thing that waits for a person or will act without one; ``gate`` is empty where nothing can be answered."""

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
    """The list of what needs a look, questions first.

    ``soon`` are the tasks with a clock to look at, ``now`` is monotonic, ``ages`` how long each gate has been open.
    ``held`` says why nothing can be recorded for the moment, which comes before everything else; ``asked`` is the gate
    about that.
    """
    gates = tuple(gates)
    blocked = _blocked_by({row.gate.task for row in gates}, state)
    found = [_of_gate(state, row, ages.get(row.id, 0.0), now, blocked.get(row.gate.task, ())) for row in gates]
    if held:
        found.insert(0, Attention(ALL, "‖", f"no space on the disk: {held}", "agents are suspended", "bad", asked))
    if state.run.state == "blocked" and not any(item.task == ALL for item in found):
        issue = broken_check(state.run.blocked)
        then = f"remediation {state.run.remediation} at work" if state.run.remediation else "no task starts"
        found.append(Attention(ALL, "‖", issue, then, "bad"))
    for row in state.tasks.values() if state.run.kind == "watch" else ():
        if about := asks_in_terminal(state, row):
            found.append(Attention(row.id, "!", f"{TERMINAL}: {one_line(about, 300)}", "answer it there", "ask"))
    due = [(left, task) for task in soon if (left := _due_in(state, task, now)) is not None]
    return found + [_by_itself(state, state.tasks[task], left, now) for left, task in nsmallest(_TOLD, due)]


def _due_in(state: State, task: str, now: float) -> float | None:
    """The seconds until something happens to ``task`` without a person, where the list already shows them."""
    row = state.tasks[task]
    if row.state == "backoff":
        return max(0.0, row.backoff_until - now)
    time = time_left(state, row, now)
    return time[0] if time is not None and time[0] <= time[1] / 5 else None


def _by_itself(state: State, row: TaskRow, left: float, now: float) -> Attention:
    if row.state == "backoff":
        trouble = row.diagnosis.headline if row.diagnosis else "a passing trouble"
        if row.backoff_quota:
            return Attention(row.id, "…", f"waits for the quota: {trouble}", f"is over in {clock(left):>7}", "wait")
        if row.backoff_outage is not None:
            asks = f"asks you in {clock(left + row.backoff_outage)} at the latest"
            return Attention(
                row.id, "…", f"waits out an outage ({asks}): {trouble}", f"retries in {clock(left):>7}", "wait"
            )
        return Attention(row.id, "…", f"waits after {trouble}", f"retries in {clock(left):>7}", "wait")
    time = time_left(state, row, now)
    limit = f" of {span(time[1])}" if time is not None else ""
    return Attention(row.id, "◷", f"{span(left)}{limit} left", f"time is up in {clock(left):>7}", "wait")


def _blocked_by(tasks: Set[str], state: State) -> dict[str, list[str]]:
    """The tasks that need each of ``tasks``; one look at every task, however many questions there are."""
    blocked: dict[str, list[str]] = {}
    for other in state.tasks.values() if tasks else ():
        for need in other.task.needs:
            if need in tasks:
                blocked.setdefault(need, []).append(other.id)
    return blocked


def _of_gate(state: State, row: GateRow, age: float, now: float, blocked: Sequence[str]) -> Attention:
    what, why = question_words(row.gate.type, row.gate.context)
    if blocked:
        what = " · ".join(filter(None, (what, f"blocks {some(blocked, _BLOCKS_NAMED)}")))
    # Of a line that is too long the end is cut: the problem stands in the table, the dialog and the detail as well.
    text = (" · " if blocked else ": ").join(filter(None, (what, why)))
    then = f"waits for you {span(age):>7}"
    if row.gate.acts_at is not None:
        answer = state.run.settings.get("timers", {}).get(row.gate.type, {}).get("answer", "answers")
        then = f"{answer} in {clock(max(0.0, row.gate.acts_at - now)):>7}"
    return Attention(row.gate.task or ALL, "!", text, then, "ask", row.id)


def attention_cells(item: Attention, width: int, name_width: int = 16) -> tuple[Cell, ...]:
    """One line of the attention list, exactly ``width`` wide; ``name_width`` is that of the longest name in it."""
    then = fit(item.then, 22, right=True)
    name = fit_middle(item.task, max(_SHORT_NAME, min(name_width, width // 5)))
    text = fit(item.text, max(0, width - cell_len(name) - cell_len(then) - 6))
    return Cell(f" {item.glyph} {name} ", item.tone), Cell(f"{text} "), Cell(f"{then} ", item.tone)


def lines_for(height: int) -> int:
    """The lines that the list takes of a screen of ``height`` lines."""
    return next((lines for least, lines in _ROOMS if height >= least), 1)


def guide_lines(state: State, hooks: Mapping[str, bool]) -> tuple[str, ...]:
    """Lines that explain the screen to a newcomer, until the first question is asked.

    Of a watch without a session they say what to start; ``hooks`` are the agents, and whether theirs are installed.
    """
    if state.gates or state.run.state == "ended":
        return ()
    if state.run.kind == "watch" and not state.tasks:
        return watch_lines(hooks)
    return first_lines()


def first_lines() -> tuple[str, ...]:
    """Lines that explain the screen of a run to a newcomer."""
    answer, leave, help_key = spoken("gate.answer"), spoken("dialog.back"), spoken("app.help")
    return (
        f" {answer} opens a question, {leave} puts it aside. A stuck task's question opens at once.",
        " ▶ working  ▷ its check runs  ◌ waits for a task  ! needs you  ↻ same failure",
        f" ●●○ ○○○ ○○ retries, new approaches, research used; then you are asked.  {help_key} help",
    )


def watch_lines(hooks: Mapping[str, bool]) -> tuple[str, ...]:
    """Lines that say what to start in a watch without a session."""
    ready = [agent for agent, is_installed in hooks.items() if is_installed]
    if not hooks:
        return (" Watching this project.",)
    told = "   ".join(f"{agent} {'✓' if is_installed else '✗'}" for agent, is_installed in hooks.items())
    if ready:
        start = f" Watching this project: start {' or '.join(ready)} here in another terminal."
    else:
        start = f" Watching, but no agent has our hooks: type unstuck hooks install {next(iter(hooks))}"
    missing = next((agent for agent in hooks if agent not in ready), "")
    adds = f"   unstuck hooks install {missing} adds one" if missing and ready else ""
    return (
        start,
        f" Hooks: {told}{adds}",
    )


def empty_text(kind: str) -> str:
    """The line in the place of the tasks of a run that has none."""
    if kind != "watch":
        return "  no tasks yet"
    return "  no sessions yet: each becomes a task. Other agents: unstuck run -- COMMAND"
