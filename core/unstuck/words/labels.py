"""States, failures and questions in words; a state as a glyph and a tone, too, to be told without colour. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from unstuck.text import one_line
from unstuck.words.amounts import span, used_of

if TYPE_CHECKING:
    from unstuck.contract import Level, Report
    from unstuck.diagnosis.model import Diagnosis
    from unstuck.escalation.ladder_state import Climb
    from unstuck.eventlog.events import StopReceipt, UsageCounted
    from unstuck.eventlog.state import GateRow, State, TaskRow

PASSED_BEFORE_WORK = "passed before any work: it cannot show that the task is done"
"""Label of a check that needed no work to pass."""
UNREAD = (
    "the agent did not read its prompt, so it hears of no failure: put {prompt} into its command, "
    "or read $UNSTUCK_PROMPT_FILE"
)
"""Warning about an agent that gets no prompt."""
_CHECKPOINT_REASONS = {
    "good": "check passed",
    "pivot": "before a new approach",
    "ask": "you were asked",
    "baseline": "start",
    "loads": "tests ran",
    "hand-over": "before your edit",
    "hand-back": "after your edit",
    "rollback": "before a restore",
    "progress": "new session",
}
UNSEEN = "unseen"
"""The end of a watch that no session came to, beside the exit reasons of the runs that have tasks."""
_EXIT_REASONS = {
    "succeeded": "every task succeeded",
    "incomplete": "ended, not every task succeeded",
    "needs_person": "paused: needs your answer",
    "halted": "halted",
    "budget": "the budget is used up",
    "interrupted": "interrupted",
    UNSEEN: "no session was seen",
}
_TRIED = {
    "retries": ("retry", "retries"),
    "pivots": ("new approach", "new approaches"),
    "research": ("round of research", "rounds of research"),
    "sessions": ("new session", "new sessions"),
    "waits": ("wait", "waits"),
    "agent_failures": ("failure of the agent", "failures of the agent"),
}
_FAILURE_TYPES = {
    "BROKEN_BUILD": "broken build",
    "VERIFICATION_FAILED": "failed check",
    "CIRCULAR_FIX": "circular fix",
    "CONTEXT_EXHAUSTED": "full context",
    "UNKNOWN": "unknown failure",
}
_LONGEST_ASKED = 160

_NAMED = 6

Tone = Literal["plain", "quiet", "work", "wait", "ask", "chip", "good", "bad"]

ACTORS = {"human": "a person", "policy": "a rule", "timer": "the timer", "agent": "the agent"}
"""The actor of a decision, in words."""
VIAS = {
    "screen": "at the screen",
    "attached_screen": "at an attached screen",
    "page": "on the page",
    "command": "with `unstuck answer`",
    "file": "with `unstuck answer`, while no run was live",
    "socket": "through the socket",
    "program": "from a program",
    "option": "with an option of the run",
}
"""Ways in which an answer came in, in words. A rule and a timer are named by the actor."""


def answer_words(row: GateRow) -> str:
    """The answer that a person gave on another machine, and their name there; empty for any other."""
    if row.answer is None or not row.via.startswith("fleet:"):
        return ""
    text = one_line(row.answer.text, _LONGEST_ASKED)
    answer = row.answer.choice.replace("_", " ") + (f" ({text})" if text else "")
    return f"{answer}, {via_words(row.via)}"


def via_words(via: str) -> str:
    """The way in which an answer came in, in words; empty where there are none for it."""
    return f"from another machine, by {via.removeprefix('fleet:')}" if via.startswith("fleet:") else VIAS.get(via, "")


ENDED: dict[str, tuple[str, Tone]] = {
    "succeeded": ("✓", "good"),
    "unverified": ("~", "wait"),
    "failed": ("✗", "bad"),
    "skipped": ("-", "quiet"),
    "abandoned": ("×", "quiet"),
    "cancelled": ("-", "quiet"),
}
"""Glyph and tone of every way to end."""
WAY_ENDS: dict[str, tuple[str, Tone]] = {"passed": ("✓", "good"), "failed": ("✗", "bad"), "stopped": ("■", "quiet")}
"""Glyph and tone of the end of one of several approaches."""
TERMINAL = "waits for you in its own terminal"
LIVE: dict[str, tuple[str, str, Tone, str]] = {
    "blocked": ("◌", "blocked", "quiet", "blocked"),
    "ready": ("○", "queued", "plain", "queued"),
    "running": ("▶", "working", "work", "working"),
    "judging": ("▷", "checking", "work", "working"),
    "undecided": ("▷", "deciding", "work", "working"),
    "preparing": ("▷", "preparing", "work", "working"),
    "backoff": ("…", "waiting", "wait", "waiting"),
    "waiting": ("!", "needs you", "ask", "needs you"),
    "asks": ("!", "needs you", "ask", "needs you"),
    "parked": ("‖", "paused", "wait", "waiting"),
    "interrupted": ("↯", "interrupted", "wait", "waiting"),
    "held": ("‖", "held", "wait", "waiting"),
    "awaits": ("○", "queued", "plain", "queued"),
}
"""Glyph, word, tone and group of every state of a task that has not ended."""
GROUPS: dict[str, tuple[str, Tone]] = {
    "needs you": ("!", "ask"),
    "working": ("▶", "work"),
    "waiting": ("…", "wait"),
    "queued": ("○", "plain"),
    "blocked": ("◌", "quiet"),
    **{"done" if status == "succeeded" else status: told for status, told in ENDED.items()},
}
"""The words of the header in their order, each with its glyph and tone."""


def counted_group(word: str, count: int) -> str:
    """Return how many tasks are in the group ``word`` of the header: `1 needs you`, `2 need you`."""
    return f"{count} {'need you' if word == 'needs you' and count > 1 else word}"


def needs_person(state: State, row: TaskRow) -> bool:
    """True where an open gate of this task waits for an answer."""
    gate = state.gates.get(row.gate) if row.gate else None
    return gate is not None and gate.status == "open"


def asks_in_terminal(state: State, row: TaskRow) -> str:
    """The question to the person in the agent's own terminal; empty without one."""
    attempt = state.attempts.get(row.attempt) if row.state == "running" else None
    return attempt.asks if attempt is not None and attempt.asks and attempt.is_live else ""


def awaited_host(state: State, row: TaskRow) -> str:
    """The reason why no host of a shared plan works the task yet; empty once one does."""
    attempt = state.attempts.get(row.attempt) if row.state == "running" else None
    return attempt.awaits if attempt is not None and attempt.awaits and attempt.is_live else ""


def host_of(state: State, row: TaskRow) -> str:
    """The host of a shared plan that works the task now; empty without one."""
    attempt = state.attempts.get(row.attempt) if row.state == "running" else None
    return attempt.host if attempt is not None and attempt.is_live else ""


def is_held(state: State, row: TaskRow, *, still: bool = False) -> bool:
    """True where its agent is held by a question about more than this task, such as a used budget.

    ``still``: nothing can be recorded, so all of them do, which no record says.
    """
    if row.state != "running":
        return False
    attempt = state.attempts.get(row.attempt)
    stands = still or (attempt is not None and attempt.state == "held")
    return stands and not needs_person(state, row)


def held_word(state: State, row: TaskRow) -> str:
    """The word for an agent that waits for an answer: it was suspended, or is held at its next tool call."""
    gate = state.gates.get(row.gate)
    return "suspended" if gate is not None and gate.gate.standing == "frozen" else "held"


_PLACED = ("running", "judging", "undecided", "preparing")


def is_checking(state: State, row: TaskRow) -> bool:
    """True while the check of the task runs, after an attempt or, on the first files, before any."""
    if row.state != "ready":
        return row.state == "judging"
    is_first = row.attempts == 0 and row.baseline not in ("", "none") and row.baseline_check is None
    may_run = bool(row.task.verify) and is_first and state.run.state == "running" and state.run.kind != "watch"
    return may_run and _has_place(state)


def _has_place(state: State) -> bool:
    """True where fewer tasks work than may work at the same time."""
    most = state.run.settings.get("max_parallel")
    if not isinstance(most, int):
        return True
    attempts = state.attempts
    working = (
        row
        for row in state.tasks.values()
        if row.state in _PLACED or ((attempt := attempts.get(row.attempt)) is not None and attempt.is_live)
    )
    return sum(1 for _ in islice(working, most)) < most


def _live(state: State, row: TaskRow, still: bool) -> str:
    if row.state == "running":
        if asks_in_terminal(state, row):
            return "asks"
        if is_held(state, row, still=still):
            return "held"
        return "awaits" if awaited_host(state, row) else "running"
    return "judging" if row.state == "ready" and is_checking(state, row) else row.state


def glyph_of(state: State, row: TaskRow, *, still: bool = False) -> str:
    """One cell that tells the state."""
    if row.state == "ended":
        return ENDED[row.status or "cancelled"][0]
    return "!" if needs_person(state, row) else LIVE[_live(state, row, still)][0]


def word_of(state: State, row: TaskRow, *, still: bool = False) -> str:
    """The state in a word or two."""
    if row.state == "ended":
        return row.status or "ended"
    return "needs you" if needs_person(state, row) else LIVE[_live(state, row, still)][1]


def tone_of(state: State, row: TaskRow, *, still: bool = False) -> Tone:
    if row.state == "ended":
        return ENDED[row.status or "cancelled"][1]
    return "ask" if needs_person(state, row) else LIVE[_live(state, row, still)][2]


def rung_of(state: State, row: TaskRow, limits: Mapping[str, int]) -> str:
    """The escalation level of the task: ``first try``, ``new approach 1 of 3``, ``asked you``."""
    if row.state == "waiting" and row.gate in state.gates and state.gates[row.gate].gate.type == "stuck":
        return "asked you"
    attempt = state.attempts.get(row.attempt)
    if attempt is not None and attempt.is_live and (ways := attempt.guidance.ways):
        left = f"{len(ways) - len(attempt.ways)}/" if attempt.ways else ""
        return f"{left}{len(ways)} at once"
    return rung_label(row.level, row.climb, limits.get(row.level, 0))


def rung_label(level: Level, climb: Climb, limit: int) -> str:
    """An escalation level and how often it has been used: ``retry 2 of 3``."""
    used = {"retry": climb.retries, "pivot": climb.pivots, "research": climb.research}.get(level)
    if used is not None:
        word = level_word(level)
        return f"{word} {max(1, used)} of {limit}" if limit else f"{word} {max(1, used)}"
    return {"human": "as you said", "continue": "new session"}.get(level, "first try")


def level_word(level: str) -> str:
    """An escalation level as people read it; ``pivot`` is its id."""
    return {"first": "first try", "pivot": "new approach", "human": "asked you", "asked": "asked you"}.get(level, level)


def solved_by(resolution: str) -> str:
    """Resolution of a failure in words: the escalation level and its approach."""
    level, colon, approach = resolution.partition(":")
    return f"{'waiting' if level == 'again' else level_word(level)}{colon}{approach}"


def group_of(state: State, row: TaskRow, *, still: bool = False) -> str:
    """The group that the header counts the task in: fewer words than there are states."""
    if row.state == "ended":
        return "done" if row.status == "succeeded" else row.status or "ended"
    return "needs you" if row.gate and needs_person(state, row) else LIVE[_live(state, row, still)][3]


def time_left(state: State, row: TaskRow, now: float) -> tuple[float, float] | None:
    """(seconds left, limit in seconds) of the live attempt; None where no clock runs. ``now`` is monotonic."""
    attempt = state.attempts.get(row.attempt)
    if row.state != "running" or attempt is None or attempt.deadline is None or needs_person(state, row):
        return None
    if is_held(state, row):
        return None
    return attempt.deadline - now, max(1.0, attempt.deadline - attempt.started)


def repeats_of(state: State, row: TaskRow) -> int:
    """Return the number of equal failures in a row, or equal steps in the attempt; 0 for only one."""
    if row.state == "ended":
        return 0
    attempt = state.attempts.get(row.attempt)
    inside = attempt.repeats if attempt is not None and attempt.is_live else 0
    repeats = max(row.climb.repeats, inside)
    return repeats if repeats > 1 else 0


def named(task: str, said: str) -> str:
    """``said`` about ``task``, with its name before it unless it begins with that."""
    return said if said.startswith((f"{task}:", f"{task} ")) else f"{task}: {said}"


def receipt_words(event: StopReceipt) -> str:
    """The processes that a stop has ended, which and how, and those that would not end."""
    ended = [f"{pid} {one_line(how)}" for pid, _, how in event.ended]
    alive = f"; still alive: {some([str(pid) for pid, _ in event.alive], _NAMED)}" if event.alive else ""
    return f"{counted(len(ended), 'process', 'processes')}{': ' if ended else ''}{some(ended, _NAMED)}{alive}"


def left_behind(report: Report) -> str:
    """The processes that outlived an agent that ended by itself, such as a server that it had started."""
    if report.how != "ended" or report.exit_code is None or report.receipt is None:
        return ""
    left = [f"{pid} {how}" for pid, _, how in report.receipt.ended if how in ("terminated", "killed")]
    return f"; it left {counted(len(left), 'process', 'processes')} behind: {some(left, 3)}" if left else ""


def some(names: Sequence[str], most: int) -> str:
    """The first ``most`` names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def ended_as(exit_reason: str) -> str:
    """The exit reason of a run, in words."""
    return _EXIT_REASONS.get(exit_reason, exit_reason)


def agent_mark(row: TaskRow) -> str:
    """The agent of a task; with a sign where it goes on in place of another one."""
    return "⇄ " * bool(row.failovers) + (row.task.agent or row.task.agent_type)


def kind_mark(row: TaskRow) -> str:
    """The type of the agent of a task; empty where its name says it."""
    kind, name = row.task.agent_type, row.task.agent or row.task.agent_type
    return "" if kind in ("default", name) or name.startswith((f"{kind}-", f"{kind}_")) else kind


def replaced_words(before: str, agent: str, why: str) -> str:
    """A change of agents and its reason."""
    return f"⇄ {agent} goes on in place of {before}: {why}"


def broken_check(issue: str) -> str:
    """The problem that keeps every task from starting, in words."""
    return issue if issue.startswith("setup failed") else f"the project's own check is broken: {issue}"


def used_words(event: UsageCounted) -> str:
    """Tokens and cost of an event, such as ``110 tokens, cost 0.02``."""
    cost = "" if event.cost is None else f", cost {event.cost:g}"
    return f"{event.tokens} tokens{cost}"


def collision_words(state: State, row: TaskRow) -> str:
    """Return the live tasks that also change files of ``row``, with a file; empty without any."""
    from unstuck.eventlog.state import collisions_of

    return "; ".join(f"⋈ {one.other}: {some(one.paths, 1)}" for one in collisions_of(state, row))


def doubts_about(row: TaskRow) -> str:
    """Return the doubts about the success of ``row``, in a few words; empty without any."""
    check = row.check
    if check is not None and check.weakened:
        more = f" and {len(check.weakened) - 1} more" if len(check.weakened) > 1 else ""
        return f"! changed its check or tests: {check.weakened[0]}{more}"
    if row.passed_before_work:
        return "! its check passed before any work"
    return f"~ flaky: {row.flaky}" if row.flaky else ""


def question_words(kind: str, context: Mapping[str, Any]) -> tuple[str, str]:
    """The event behind a question, and its reason or subject; either may be empty."""
    if kind == "stuck":
        attempts = tried(context)
        if len(attempts) > 1:  # a line has no room for each level, and the question itself names them
            attempts = [f"{sum(_counts(context).values())} tries"]
        return " after ".join(["stuck", *attempts]), str(context.get("problem") or "nothing has helped")
    if kind == "timeout":
        if context.get("clock") == "idle":
            return f"no activity for {span(float(context.get('silent_seconds') or 0.0))}", ""
        return f"its time is up after {span(float(context.get('elapsed_seconds') or 0.0))}", ""
    who = str(context.get("subagent") or "")
    if kind == "loop_detected":
        times = context.get("repeats") or context.get("window_size")
        what = f"{who} repeats itself{f' {times} times' if isinstance(times, int) else ''}".strip()
        return what, str(context.get("problem") or context.get("error_signature") or "")
    if kind == "budget":
        used, limit = (context.get(name) for name in ("used", "limit"))
        if isinstance(used, int | float) and isinstance(limit, int | float):
            return "all agents are held", f"{used_of(one_line(str(context.get('kind'))), used, limit)} used"
    text = context.get("question") or context.get("problem") or context.get("issue") or context.get("last_issue")
    if str(context.get("error_type")).startswith("agent_"):  # the cure stands on a line of its own
        text = str(text).replace("\n", ": ", 1)
    return who, str(text or kind.replace("_", " "))


def asked_about(kind: str, context: Mapping[str, Any]) -> str:
    """The question and its reason or subject, in one line."""
    return one_line(": ".join(filter(None, question_words(kind, context))), _LONGEST_ASKED)


def tried(context: Mapping[str, Any]) -> list[str]:
    """The attempts of a stuck task, counted by kind: ``2 retries``."""
    counts = _counts(context).items()
    return [counted(count, *_TRIED.get(kind, (one_line(str(kind)),) * 2)) for kind, count in counts]


def _counts(context: Mapping[str, Any]) -> dict[str, int]:
    """The attempts of a stuck task by kind, without those that there were none of."""
    attempts = context.get("attempts")
    counts = attempts.items() if isinstance(attempts, Mapping) else ()
    return {kind: count for kind, count in counts if count and isinstance(count, int)}


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things in words: ``1 file``, ``2 files``."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def failure_of(diagnosis: Diagnosis) -> tuple[str, str]:
    """A failure's type and its ``file:line`` as the table shows them; either may be empty."""
    return error_name(diagnosis.signature.error_type.value), diagnosis.signature.location or ""


def failure_words(failure_type: str, category: str) -> str:
    """A failure's type and category: ``failed check, agent failure``; empty where neither is known."""
    return ", ".join(filter(None, (_FAILURE_TYPES.get(failure_type, ""), category.replace("_", " "))))


def error_name(value: str) -> str:
    """``TYPE_ERROR`` as people write it: ``TypeError``; empty where nothing is known."""
    if value == "UNKNOWN":
        return ""
    return "HTTP error" if value == "HTTP_ERROR" else "".join(part.capitalize() for part in value.split("_"))


def checkpoint_reason(reason: str) -> str:
    """Return the reason of a checkpoint in words; a person's own words stay."""
    return _CHECKPOINT_REASONS.get(reason, reason)
