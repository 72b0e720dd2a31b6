"""A run that was cut off, as lines of text: its facts and the choices. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from unstuck.supervision.recovery.facts import RecoveryChoice, RecoveryState, SavedFacts, TaskRecovery
from unstuck.words.amounts import span, time_of_day
from unstuck.words.labels import Tone, checkpoint_reason, counted
from unstuck.words.questions import sentence
from unstuck_tui.keys.actions import actions_of, spoken
from unstuck_tui.render.format import Cell, fit, wrapped

WORDS: dict[RecoveryChoice, str] = {
    "continue": "continue",
    "retry": "restore, redo",
    "done": "done, if it passes",
    "skip": "skip for now",
    "abandon": "abandon",
    "adopt": "keep running",
    "stop": "stop, continue",
}
_CHECKS: dict[str, tuple[str, Tone]] = {
    "passed": ("passes", "good"),
    "failed": ("fails", "bad"),
    "could_not_run": ("cannot run", "wait"),
    "not_run": ("not run", "quiet"),
    "none": ("none", "quiet"),
}
_WAS, _FILES, _CHECK, _WILL = 11, 18, 10, 20
_NAMED, _LEAST = 4, 7
_LABEL, _CHOICE, _MOST = 10, 23, 3


def title_of(facts: RecoveryState) -> str:
    """The event that cut the run off, in a line."""
    count = len(facts.tasks)
    if not count:
        how = "was interrupted" if facts.died else "is paused"
        waits = f"{counted(len(facts.gates), 'question waits', 'questions wait')} for you" if facts.gates else ""
        return f"Run {facts.run} {how}: {waits or 'no task was at work'}"
    how = " was interrupted" if facts.died else ""
    cut = "at work" if facts.died else "interrupted"
    return f"Run {facts.run}{how}: {count} {'task was' if count == 1 else 'tasks were'} {cut}"


def name_width(facts: RecoveryState, width: int) -> int:
    """The width of the name column in a line of ``width`` cells."""
    longest = max((cell_len(task.task) for task in facts.tasks), default=0)
    return max(_LEAST, min(longest + 1, width - 2 - _WAS - _FILES - _CHECK - _WILL - 4))


def heading(name: int, width: int) -> str:
    names = [fit("TASK", name), fit("ATTEMPT", _WAS), fit("FILES", _FILES), fit("CHECK", _CHECK)]
    return fit("  " + " ".join([*names, "WILL"]), width)


def task_cells(
    task: TaskRecovery, choice: RecoveryChoice, name: int, width: int, *, checking: bool = False
) -> tuple[Cell, ...]:
    """One task: what it was at, what it has left, what its check says, and what is to become of it.

    ``name`` is the width of its name; ``checking``: its check runs just now.
    """
    word, tone = ("runs …", "work") if checking else _CHECKS[task.check.result]
    proposed = "" if task.proposal is None or task.proposal.choice == choice else f" ({task.proposal.choice}?)"
    glyph: Cell = Cell("▶ ", "work") if task.processes else Cell("↯ ", "wait")
    will = width - 2 - name - _WAS - _FILES - _CHECK - 4
    return (
        glyph,
        Cell(fit(task.task, name) + " "),
        Cell(fit(f"{task.number}, {span(task.ran)}", _WAS) + " ", "quiet"),
        Cell(fit(_counted(task.back) if task.back is not None else "no checkpoint", _FILES) + " "),
        Cell(fit(word, _CHECK) + " ", tone),  # type: ignore[arg-type]
        Cell(fit(WORDS[choice] + proposed, will), "bad" if choice == "abandon" else "plain"),
    )


def _counted(saved: SavedFacts) -> str:
    if not saved.total:
        return "unchanged"
    return f"{saved.total} {'file' if saved.total == 1 else 'files'} +{saved.added} -{saved.removed}"


def facts_of(task: TaskRecovery) -> Iterator[tuple[str, str]]:
    """Everything about one task: pairs of a label and a text."""
    rung = "" if task.level == "first" else f" ({task.level})"
    yield "Attempt", f"{task.number}{rung} of {task.agent}, after {span(task.ran)}"
    if task.processes:
        named = ", ".join(
            f"{one.pid} {one.command or one.name} (since {time_of_day(one.since)})" for one in task.processes
        )
        yield "At work", f"{named}: found by process id and start time; it is suspended"
    if task.back is not None:
        yield "Changed", _changed(task.back)
    if task.last is not None:
        yield "Since", f"{_own(task.last)} since {_named(task.last)}{_by_others(task.last)}"
    if task.saved:
        yield "Saved", f"{task.saved} holds the files as they are"
    if task.under_way:
        yield "Worktree", f"in the middle of {task.under_way}"
    if task.trouble:
        yield "Trouble", task.trouble
    text = f": {task.check.said}" if task.check.said else ""
    yield "Check", f"{task.check.command or 'it has none'} · {_CHECKS[task.check.result][0]}{text}"
    if task.proposal is not None:
        by = f" ({task.proposal.evaluator})" if task.proposal.evaluator else ""
        yield "Proposed", f"{WORDS[task.proposal.choice]}: {task.proposal.reason}{by}"


def facts_lines(task: TaskRecovery, width: int) -> list[str]:
    """The same in lines of at most ``width`` cells, each text in a column of its own."""
    lines = []
    for label, text in facts_of(task):
        first, *rest = wrapped(text, max(20, width - _LABEL), _MOST)
        lines += [f"{label:<{_LABEL}}{first}", *(f"{'':<{_LABEL}}{line}" for line in rest)]
    return lines


def choice_lines(task: TaskRecovery, chosen: RecoveryChoice, width: int) -> list[str]:
    """The choices, a key each, and why the rest is not possible."""
    lines = []
    for action in actions_of("recovery"):
        name = action.id.partition(".")[2]
        if name in task.refused or name in task.possible:
            mark = "›" if name == chosen else " "
            about = sentence(f"not possible: {task.refused[name]}") if name in task.refused else action.help
            lines.append(fit(f"{mark} {spoken(action.id)} {action.label:<{_CHOICE}} {about}", width).rstrip())
    return lines


def _changed(saved: SavedFacts) -> str:
    names = "; ".join(str(change) for change in saved.changes[:_NAMED])
    more = f"; and {saved.total - _NAMED} more" if saved.total > _NAMED else ""
    text = f"{_own(saved)} since {_named(saved)}" + (f": {names}{more}" if names else "")
    return text + _by_others(saved)


def _own(saved: SavedFacts) -> str:
    return _counted(saved) if saved.total or not saved.others else "unchanged by it"


def _by_others(saved: SavedFacts) -> str:
    return f" · and {saved.others} {'file' if saved.others == 1 else 'files'} by others" if saved.others else ""


def _named(saved: SavedFacts) -> str:
    return f"{saved.id} ({checkpoint_reason(saved.reason)}, {time_of_day(saved.created)})"


def other_lines(facts: RecoveryState) -> Iterator[str]:
    """The rest that needs no decision: open questions, and tasks that go on by themselves."""
    for gate in facts.gates:
        yield f"? {gate.gate}  {gate.type}  {gate.task}  still open" + (f": {gate.problem}" if gate.problem else "")
    for task in facts.onward:
        yield f"· {task.task}  {task.state}: {task.next}"


def listing(facts: RecoveryState) -> list[str]:
    """All of it for a terminal without a screen."""
    lines = [title_of(facts)]
    for task in facts.tasks:
        lines += ["", f"{'▶' if task.processes else '↯'} {task.task}"]
        lines += [f"  {label:<9} {text}" for label, text in facts_of(task)]
        lines += [f"  {'Choose':<9} --recover {task.task}={' | '.join(task.possible)}"]
        lines += [f"  {'Not':<9} {choice}: {why}" for choice, why in task.refused.items()]
    others = list(other_lines(facts))
    go_on = f"unstuck run --resume {facts.run}"
    last = ["", f"Resume with: {go_on} [--recover TASK=CHOICE]…"] if facts.tasks else []
    return [*lines, *([""] if others else []), *others, *last]
