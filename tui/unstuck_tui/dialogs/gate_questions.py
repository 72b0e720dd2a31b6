"""The question of a gate: its problem, the facts, and the effect of each choice. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from unstuck.contract import HELD, Answer, Choice, Gate
from unstuck.errors import AnswerRefused
from unstuck.eventlog.state import GateRow, State
from unstuck.supervision.gates.gate_types import effect_of
from unstuck.supervision.outcome.consequences import fallout
from unstuck.text import admit, one_line
from unstuck_tui.dialogs.questions import AnswerOption, Question, Scope, Takes
from unstuck_tui.keys.actions import Area, actions_of, keys_now, spoken
from unstuck_tui.render.amounts import span
from unstuck_tui.render.format import time_of_day
from unstuck_tui.render.labels import failure_words, level_word

__all__ = ["question_of"]

_AREAS: dict[str, Area] = {"loop_detected": "loop", "disk": "integration"}
_TOLD = ("stuck", "loop_detected", "timeout", "question")
"""The gates whose retry can carry words to the agent."""
_VARIED = ("recovery", "question")
"""The gates that do not all take the same."""
_AMOUNTS: dict[str, Takes] = {"tokens": "tokens", "cost": "cost"}
"""What more of each budget is counted in, where it is not time."""
_FACT_LIMIT = 2_000
_NOT_HERE = "not possible here: this question does not take it"
_MEANWHILE = {
    "waits": "the agent is paused meanwhile",
    "held": "the agent is held at its next tool call meanwhile",
    "frozen": "the agent is suspended meanwhile, and its timeouts are paused",
    "runs_on": "the agent cannot be held and keeps running meanwhile",
    "": "nothing is decided without you",
}


def question_of(state: State, row: GateRow) -> Question:
    """The question that ``row`` asks, with what its answers would touch as things stand in ``state``."""
    gate = row.gate
    return Question(
        gate=gate,
        about=gate.task,
        title=_title(gate),
        problem=_problem(gate),
        where=one_line(str(gate.context.get("location") or "")),
        facts=tuple((label, text) for label, text in _facts(state, row) if text),
        options=tuple(_options(state, row)),
        leaving=f"{spoken('dialog.back')} leaves it open: {_MEANWHILE[_standing(gate)]}",
    )


def _standing(gate: Gate) -> str:
    """The state of the gate's agent meanwhile; empty where it is about no single task."""
    return "" if not gate.task else gate.standing if gate.attempt else "waits"


# --- what is the matter ----------------------------------------------------------------------------------------------


def _is_idle(gate: Gate) -> bool:
    """True where the agent's silence ran out, and not its time."""
    return gate.context.get("clock") == "idle"


def _title(gate: Gate) -> str:
    task = gate.task or "this run"
    words = {
        "stuck": f"{task} is stuck",
        "loop_detected": f"{task} repeats itself",
        "timeout": f"{task} " + ("shows no activity" if _is_idle(gate) else "has used up its time"),
        "question": f"{task} is paused" if gate.key == HELD else f"{task} asks",
        "permission": f"{task} "
        + ("asks to restore its files" if gate.context.get("checkpoint") else "wants to do something"),
        "remediation": "The baseline check fails: no task can start",
        "integration": f"{task} is done, but its result conflicts" if gate.task else "The results have to wait",
        "budget": "The budget is used up",
        "recovery": f"{task} " + ("was interrupted" if "continue" in gate.choices else "has outlived its supervisor"),
        "disk": "The disk is full",
    }
    return one_line(words.get(gate.type, f"{task} needs an answer"))


def _problem(gate: Gate) -> str:
    context = gate.context
    if gate.type == "timeout":
        if _is_idle(gate):
            silent = span(_number(context.get("silent_seconds")))
            return f"{_said(context.get('verdict'))}: nothing seen for {silent}"
        ran, limit = _number(context.get("elapsed_seconds")), _number(context.get("timeout_seconds"))
        return f"No end after {span(ran)}; the limit is {span(limit)}"
    keys = ("question", "problem") if gate.type == "question" else ("problem", "error_signature", "question")
    return next((_said(context[key]) for key in keys if context.get(key)), "")


def _saved(gate: Gate) -> str:
    """The checkpoint of the files in question, or why there is none; empty for an old log."""
    context = gate.context
    several = context.get("checkpoints")
    if isinstance(several, Mapping) and len(several) > 1:
        return ", ".join(f"{_said(task)} {_said(saved)}" for task, saved in several.items())
    saved = _said(context.get("saved" if gate.type == "permission" else "checkpoint"))
    return saved or (f"nothing: {_said(context['not_saved'])}" if context.get("not_saved") else "")


def _facts(state: State, row: GateRow) -> Iterable[tuple[str, str]]:
    context = row.gate.context
    yield "Before", _before(context)
    if row.gate.type == "stuck":
        yield "Baseline", f"the check {_said(context['baseline'])}" if context.get("baseline") else ""
        yield "Failure", failure_words(str(context.get("failure_type", "")), str(context.get("category", "")))
        yield "Tried", _tried(context)
        yield "Analysis", _said(context.get("analysis"))
        yield "Findings", ";  ".join(found.rstrip(":") for found in _each(context.get("insights")))
        yield "Changed", "; ".join(_each(context.get("files")))
        yield "Weakened", "\n".join(_each(context.get("weakened")))
        yield "Used", _used(context.get("tokens"))
        yield "Saved", _saved(row.gate) or "nothing: no checkpoint could be made"
        return
    if row.gate.type == "budget":
        yield "Used", _spent(context)
    yield "Saved", _saved(row.gate)
    if row.gate.type == "loop_detected":
        yield (
            "Seen",
            f"{int(_number(context.get('repeats', context.get('window_size'))))} times, with nothing new in between",
        )
    yield "Seen", "; ".join(_each(context.get("signals")))
    yield "Processes", ", ".join(_each(context.get("processes")))
    yield "Last activity", _said(context.get("last_sign"))
    yield "Context", _said(context.get("context"))
    yield "Phase", _said(context.get("phase"))
    yield "Agent", " › ".join(filter(None, (_said(context.get("agent_id")), _said(context.get("subagent")))))
    yield "Since", _since(context.get("started_at") or context.get("detected_at"))
    yield "Attempts", _said((context.get("attempts") or "") if row.gate.type == "remediation" else "")
    yield "Check", _said(context.get("check"))
    yield "Suggested", _said(context.get("suggested"))
    yield "Weakened", "\n".join(_each(context.get("weakened")))
    yield "Files", ", ".join(_each(context.get("paths"))) + _more(context)
    yield (
        "Worktree",
        _said(context.get("tree")) + (f", in the middle of {under}" if (under := _under_way(context)) else ""),
    )
    yield "Branch", _said(context.get("branch"))
    yield "Trouble", _said(context.get("trouble"))
    yield "Proposed", _proposed(context.get("proposal"))
    task = state.tasks.get(row.gate.task)
    if task is not None and task.diagnosis is not None and row.gate.type != "question":
        yield "Last", _said(task.diagnosis.headline)


def _more(context: Mapping[str, Any]) -> str:
    """The number of files beyond those that are named; empty for an old log."""
    paths = context.get("paths")
    more = int(_number(context.get("paths_in_all"))) - (len(paths) if isinstance(paths, list | tuple) else 0)
    return f" and {more} more" if more > 0 else ""


def _spent(context: Mapping[str, Any]) -> str:
    """The used part of a budget, and the budget."""
    used, limit = (_number(context.get(name)) for name in ("used", "limit"))
    match context.get("kind"):
        case "time":
            return f"{span(used)} of {span(limit)}"
        case "cost":
            return f"${used:,.2f} of ${limit:,.2f}"
        case kind:
            return f"{int(used):,} of {int(limit):,} {_said(kind)}"


def _under_way(context: Mapping[str, Any]) -> str:
    return _said(context.get("under_way"))


def _proposed(proposal: Any) -> str:
    """The choice that an evaluator proposes, and its reason."""
    if not isinstance(proposal, Mapping) or not proposal.get("choice"):
        return ""
    by = _said(proposal.get("evaluator"))
    return f"{_spoken(proposal['choice'])}: {_said(proposal.get('reason'))}" + (f" ({by})" if by else "")


def _tried(context: Any) -> str:
    attempts = context.get("attempts")
    words = {
        "retries": ("retry", "retries"),
        "pivots": ("new approach", "new approaches"),
        "research": ("research", "research"),
        "sessions": ("new session", "new sessions"),
        "waits": ("wait", "waits"),
        "agent_failures": ("failure of the agent itself", "failures of the agent itself"),
    }
    counted = []
    for kind, count in attempts.items() if isinstance(attempts, dict) else ():
        one, many = words.get(kind, (one_line(kind), one_line(kind)))
        number = int(_number(count))
        if number:
            counted.append(f"{number} {one if number == 1 else many}")
    ways = _each(context.get("approaches"))
    return " · ".join(counted or ["one attempt"]) + (f" ({'; '.join(ways)})" if ways else "")


def _used(tokens: object) -> str:
    """The tokens that each level has used, where its agent reports them."""
    used = tokens.items() if isinstance(tokens, dict) else ()
    return " · ".join(f"{level_word(one_line(str(rung)))} {int(_number(count)):,} tokens" for rung, count in used)


# --- what can be done ------------------------------------------------------------------------------------------------


def _options(state: State, row: GateRow) -> Iterable[AnswerOption]:
    gate = row.gate
    if gate.type == "question":
        yield from _offered(gate)
    yield from _learnt(gate)
    for action in actions_of(_area(gate)):
        name = action.id.partition(".")[2]
        choice, scope = _meaning(name)
        if gate.type in _VARIED and choice not in gate.choices and not _why_not(gate, choice):
            continue  # an agent that is still at work is another question than one that is not
        yield AnswerOption(
            name=name,
            key=spoken(action.id),
            keys=keys_now(action),
            label=action.label,
            touches=_touches(state, row, name) or _does(gate, name) or action.help,
            choice=choice,
            scope=scope,
            takes=_takes(gate, choice),
            refused=_refused(gate, choice, scope),
        )


def _does(gate: Gate, choice: str) -> str:
    """The effect of a choice in the question's own words."""
    answers = gate.context.get("answers")
    return _said(answers.get(choice)) if isinstance(answers, Mapping) else ""


def _offered(gate: Gate) -> Iterable[AnswerOption]:
    """The options that came with a question; those after the ninth have no key and are chosen by cursor."""
    for number, option in enumerate(_each(gate.context.get("options"), limit=300), 1):
        key = str(number) if number < 10 else ""
        takes_command = gate.context.get("text_for") == number
        yield AnswerOption(
            name=f"option_{number}",
            key=key,
            keys=key,
            label=option,
            touches="",
            choice="choose",
            number=float(number),
            takes="command" if takes_command else "",
            text=_said(gate.context.get("suggested") or gate.context.get("check")) if takes_command else "",
        )


def _learnt(gate: Gate) -> Iterable[AnswerOption]:
    """The earlier answer to this very failure, if it helped: once more, or as a rule from now on."""
    before = gate.context.get("learnt")
    if not isinstance(before, dict) or before.get("outcome") != "worked":
        return
    choice, text = str(before.get("choice")), _said(before.get("text"))
    if choice not in ("show_me", "retry") or choice not in gate.choices or not text:
        return
    again: Choice = "show_me" if choice == "show_me" else "retry"
    touches = f"{_spoken(choice)}: {one_line(text, 200)}"
    yield AnswerOption(
        name="as_before",
        key="0",
        keys="0",
        label=f"As on {_day(before)}: it worked",
        touches=touches,
        choice=again,
        text=text,
    )
    yield AnswerOption(
        name="always",
        key="9",
        keys="9",
        label="The same, and from now on",
        touches="applied without asking when this failure returns, as long as it helps",
        choice=again,
        text=text,
        scope="pattern",
    )


def _before(context: Mapping[str, Any]) -> str:
    """The earlier answer to this very failure, and how that ended."""
    before = context.get("learnt")
    if not isinstance(before, dict):
        return ""
    ended = "it worked" if before.get("outcome") == "worked" else "it did not help"
    text = one_line(str(before.get("text") or ""), 300)
    return f"you answered this on {_day(before)} with {_spoken(before.get('choice'))}: {text}; {ended}"


def _day(before: Mapping[str, Any]) -> str:
    return one_line(str(before.get("when") or "")[:10]) or "an earlier day"


def _spoken(choice: object) -> str:
    return one_line(str(choice)).replace("_", " ")


def _area(gate: Gate) -> Area:
    if gate.type == "disk" and not gate.task:
        return "room"
    found: dict[str, Area] = {area: area for area in get_args(Area)}
    return _AREAS.get(gate.type) or found[gate.type]


def _meaning(name: str) -> tuple[Choice, Scope]:
    choice, _, scope = name.partition("__")
    known: dict[str, Choice] = {word: word for word in get_args(Choice)}
    scopes: dict[str, Scope] = {word: word for word in get_args(Scope)}
    return known[choice], scopes.get(scope, "once")


def _takes(gate: Gate, choice: Choice) -> Takes:
    if choice == "show_me":
        return "lines"
    if choice == "extend":
        return _AMOUNTS.get(gate.key, "duration") if gate.type == "budget" else "duration"
    if choice == "deny" and gate.attempt:
        return "reason"
    return "line" if choice == "retry" and gate.type in _TOLD else ""


def _refused(gate: Gate, choice: Choice, scope: Scope) -> str:
    if choice not in gate.choices:
        return f"not possible: {_why_not(gate, choice)}" if _why_not(gate, choice) else _NOT_HERE
    if scope == "pattern" and not gate.context.get("error_signature"):
        return "not possible here: no pattern is known for this loop"
    try:
        effect_of(gate, Answer(choice=choice))
    except AnswerRefused as error:
        return f"not possible: {one_line(str(error))}"
    return ""


def _why_not(gate: Gate, choice: str) -> str:
    """The question's own reason against a choice."""
    refused = gate.context.get("refused")
    return _said(refused.get(choice)) if isinstance(refused, Mapping) else ""


def _touches(state: State, row: GateRow, name: str) -> str:
    """The effect of a choice on the task, its files and the tasks that need it; empty: the same everywhere."""
    gate = row.gate
    task = state.tasks.get(gate.task)
    if task is None:
        return ""
    files = "in its own worktree" if task.task.isolation == "worktree" else "in the project directory"
    checkpoint = one_line(str(gate.context.get("checkpoint") or ""))
    keeps = f"; {checkpoint} keeps the files" if checkpoint else ""
    match name:
        case "skip":
            return f"{fallout(state, gate.task)}; you are asked again when you resume"
        case "abandon":
            saved = f" and in {checkpoint}" if checkpoint else ""
            return f"no result; {fallout(state, gate.task)}; its files stay {files}{saved}"
        case "continue" if gate.key == HELD:
            return "the agent continues"
        case "deny" if gate.attempt:
            return "you may give a reason; the agent is told"
        case "show_me" if gate.attempt:
            return "the agent gets what you write at its next step or attempt"
        case "show_me":
            return f"the agent follows what you write{keeps}"
        case "retry" if gate.type == "timeout":
            return "the agent restarts with your approach, on the files as they are"
        case "retry" if gate.type in _TOLD and gate.attempt:
            return "the agent gets it at its next step; its next attempt starts with your approach"
        case "retry" if gate.type in _TOLD:
            return f"a new session starts with your approach{keeps}"
    return ""


# --- text ------------------------------------------------------------------------------------------------------------


def _said(value: object) -> str:
    """Text from a gate's context, which may have been written by a log of any version."""
    return "" if value is None else admit(str(value), limit=_FACT_LIMIT).replace("\t", "    ").strip()


def _since(value: object) -> str:
    """A time as people read it; what is none is said as it stands."""
    try:
        return time_of_day(str(value or ""))
    except ValueError:
        return _said(value)


def _each(values: object, limit: int = 200) -> list[str]:
    return [one_line(str(value), limit) for value in values] if isinstance(values, list | tuple) else []


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
