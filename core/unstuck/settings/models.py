"""The settings themselves: frozen, complete with defaults, and strict about what they are given."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from unstuck.arguments import checked
from unstuck.errors import SettingsError
from unstuck.settings.durations import parse_duration
from unstuck.settings.messages import settings_error, shown
from unstuck.settings.prompt_templates import Rung, checked_templates
from unstuck.settings.regex import InvalidPattern, compiled
from unstuck.settings.screen_settings import SCREEN_NAMES, ScreenSettings

DEFAULT_TIMEOUTS: Mapping[str, float] = {
    "orchestrator": 1800.0,
    "backend_developer": 900.0,
    "frontend_developer": 900.0,
    "qa_engineer": 600.0,
    "security_expert": 1200.0,
    "devops_engineer": 1800.0,
    "documentation": 600.0,
    "ui_ux_designer": 900.0,
}
"""Time limit of an attempt in seconds, by agent type."""

_LONGEST_TEXT = 1_000
_MOST_PATTERNS = 100
_THAWED = "thawed"


def plain_name(name: str) -> str:
    """Hyphen and underscore are the same in names."""
    return name.strip().replace("-", "_")


def _whole(least: int, most: int) -> Callable[[object], int]:
    def check(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", value.strip()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"must be a whole number from {least} to {most}, not {shown(value)}")
        return value

    return check


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text, not {shown(value)}; put it in quotes")
    if not value.strip() or len(value) > _LONGEST_TEXT:
        raise ValueError(f"must be text of 1 to {_LONGEST_TEXT} characters")
    return value


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text, not {shown(value)}")
    return value


def _pattern(value: object, info: ValidationInfo) -> str:
    text = _text(value)
    if info.context == _THAWED:  # an older run may hold what this engine does not take: it is compared as text
        return text
    try:
        compiled(text)
    except InvalidPattern as error:
        raise ValueError(f"must be a regular expression, not {shown(text)}: {error}") from None
    return text


def _few(value: object, info: ValidationInfo) -> object:
    if isinstance(value, list | tuple) and len(value) > _MOST_PATTERNS and info.context != _THAWED:
        raise ValueError(f"must have at most {_MOST_PATTERNS} entries")
    return value


def _plain_word(value: object) -> object:
    return plain_name(value) if isinstance(value, str) else value


def _tokens(value: object) -> object:
    return None if value is None else _whole(0, 10**15)(value)


def _cost(value: object) -> float | None:
    if value is None:
        return None
    try:
        cost = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (OverflowError, ValueError):
        cost = math.nan
    if not 0 <= cost < 1e12:
        raise ValueError(f"must be a number from 0, not {shown(value)}")
    return cost


def _share(value: object) -> float:
    share = _cost(value)
    if share is None or share > 1:
        raise ValueError(f"must be a number from 0 to 1, not {shown(value)}")
    return share


def _time(value: object) -> float | None:
    if value is None or (not isinstance(value, bool) and value in (0, "0")):
        return None if value is None else 0.0
    return parse_duration(value)  # type: ignore[arg-type]


def _seconds_of_extend(value: object) -> float | None:
    return None if value is None else parse_duration(value)  # type: ignore[arg-type]


def _with_plain_names(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {plain_name(name) if isinstance(name, str) else name: entry for name, entry in value.items()}


def _with_default_timeouts(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {**DEFAULT_TIMEOUTS, **{plain_name(str(name)): limit for name, limit in value.items()}}


GateName = Literal[
    "stuck", "timeout", "loop_detected", "question", "permission",
    "remediation", "budget", "integration", "recovery", "disk",
]  # fmt: skip
Seconds = Annotated[float, BeforeValidator(parse_duration)]
Text = Annotated[str, BeforeValidator(_text)]
Glob = Annotated[str, BeforeValidator(_text)]
Pattern = Annotated[str, BeforeValidator(_pattern)]
Rungs = Annotated[int, BeforeValidator(_whole(0, 100))]
Count = Annotated[int, BeforeValidator(_whole(1, 1_000))]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


class AutoResolve(_Frozen):
    """A hint for failures that match ``pattern``; an ``action`` that begins with ``run `` is a command to be run.

    ``trusted`` is set by where it was read from, never by what was read: an action that names a command is only ever
    words to the agent where it is False.
    """

    pattern: Pattern
    """Regular expression that the failure has to match."""
    action: Text
    """Hint for the agent, or ``run CMD``."""
    trusted: bool = False

    @property
    def command(self) -> str:
        """The command to run; empty where the action is words to the agent."""
        return self.action.removeprefix("run ").strip() if self.trusted and self.action.startswith("run ") else ""


class KnownWay(_Frozen):
    """An ``approach`` that a pivot may take for failures that match ``pattern``; ``confidence`` is 0 to 1."""

    pattern: Pattern
    approach: Text
    confidence: Annotated[float, BeforeValidator(_share)] = 1.0


class FailureHandlerSettings(_Frozen):
    """Limits of the escalation: tries per level, attempts per task, and failures that skip levels."""

    max_retries: Rungs = 3
    """Number of retries before Unstuck tries a new approach."""
    max_pivots: Rungs = 3
    """Number of new approaches before Unstuck starts research."""
    max_research: Rungs = 2
    """Number of research rounds before Unstuck asks you."""
    skip_to_ask: Annotated[tuple[Pattern, ...], BeforeValidator(_few)] = ()
    """Regular expressions of RE2, at most 100. A failure that matches one becomes a question at once."""
    auto_resolve: Annotated[tuple[AutoResolve, ...], BeforeValidator(_few)] = ()
    """List of ``pattern`` and ``action``. The action is a hint for the agent, or ``run CMD`` to run a command first.
    A project file cannot run a command.
    """
    patterns: Annotated[tuple[KnownWay, ...], BeforeValidator(_few)] = ()
    """List of ``pattern``, ``approach`` and an optional ``confidence`` from 0 to 1. A new approach for failures that
    match.
    """
    max_attempts: Count = 20
    """Total number of automatic attempts for one failure, whatever the other limits allow."""


class PivotSettings(_Frozen):
    """New approaches of the second escalation level."""

    parallel: Annotated[int, BeforeValidator(_whole(1, 8))] = 1
    """Number of new approaches that are worked at the same time, each in a worktree of its own. The first that passes
    the check is taken. It needs a task with a worktree and a check; any other works one at a time.
    """


class TimerSettings(_Frozen):
    """Answer given to a question ``after`` so many seconds. Only answers that can be undone may be chosen.

    ``number`` is how many seconds ``extend`` gives, ``approach`` what ``retry`` tells the agent.
    """

    after: Seconds
    answer: Literal["extend", "continue", "stop", "retry", "skip", "deny"]
    approach: Text | None = None
    number: Annotated[float | None, BeforeValidator(_seconds_of_extend)] = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.answer == "extend") != (self.number is not None):
            raise ValueError("`number` (how long) goes with `answer: extend`, which needs it")
        if self.approach is not None and self.answer != "retry":
            raise ValueError("`approach` goes with `answer: retry`")
        return self


TIMER_ANSWERS: dict[str, tuple[str, ...]] = {
    "stuck": ("retry", "skip"),
    "timeout": ("extend", "continue", "stop", "retry", "skip"),
    "loop_detected": ("continue", "retry", "skip"),
    "question": ("skip",),
    "permission": ("deny",),
    "remediation": ("retry", "skip"),
    "budget": ("extend", "stop"),
    "integration": ("retry", "skip"),
    "recovery": ("continue", "stop", "retry", "skip"),
    "disk": ("retry", "skip"),
}
"""Answers that a timer may give to a question of each type."""


def _with_answers_they_take(timers: Mapping[str, TimerSettings]) -> Mapping[str, TimerSettings]:
    for name, timer in timers.items():
        if timer.answer not in TIMER_ANSWERS[name]:
            raise ValueError(f"{name} cannot be answered with {timer.answer}: only {', '.join(TIMER_ANSWERS[name])}")
    return timers


class BudgetSettings(_Frozen):
    """Limits of a run: ``tokens``, ``cost`` as the agents state it, ``time`` in seconds; None is no limit."""

    tokens: Annotated[int | None, BeforeValidator(_tokens)] = None
    """Number of tokens a run may use, as its agents report them."""
    cost: Annotated[float | None, BeforeValidator(_cost)] = None
    """Cost of a run in US dollars, as its agents report it."""
    time: Annotated[float | None, BeforeValidator(_time)] = None
    """Time a run may work."""
    task_tokens: Annotated[int | None, BeforeValidator(_tokens)] = None
    """Number of tokens the attempts at one task may use before Unstuck asks you. Your answer begins a new count."""
    task_cost: Annotated[float | None, BeforeValidator(_cost)] = None
    """Cost of the attempts at one task in US dollars, likewise."""
    attempt_tokens: Annotated[int | None, BeforeValidator(_tokens)] = None
    """Number of tokens one attempt may use before it is stopped and checked."""
    attempt_cost: Annotated[float | None, BeforeValidator(_cost)] = None
    """Cost of one attempt in US dollars, likewise."""


class PriceSettings(_Frozen):
    """Price of a model in US dollars per million tokens that are ``read`` and ``written``."""

    read: Annotated[float, BeforeValidator(_cost)]
    written: Annotated[float, BeforeValidator(_cost)]


class CheckPolicySettings(_Frozen):
    """Rules for believing a check that passed."""

    baseline: Annotated[float, BeforeValidator(_time), Field(ge=0)] = 120.0
    """Longest time that the check of a task may take before its first attempt. A check that passes without any work
    cannot show that the task is done, and is named. 0 does not run it before.
    """
    prove: bool = False
    """Require of a passing check that it fails without the work and passes with the tests as they were. The files of
    the task are replaced and put back for that.
    """
    protected: tuple[Glob, ...] = ()
    """Patterns of paths that decide whether a task is done, such as ``tests/*``. A task that changes one of them
    becomes a question before it succeeds. ``*`` also matches ``/``.
    """


class EvaluatorSettings(_Frozen):
    """An agent that is asked what it would do with a run that was cut off: its command, and how long it may take.

    The command is text for a shell and holds ``{prompt_file}``, or reads the question from standard input.
    """

    command: Text
    timeout: Seconds = 120.0


class MemorySettings(_Frozen):
    """Use of the project's memory."""

    order: Literal["confidence", "learned"] = "confidence"
    """Order of new approaches. ``confidence`` ranks them by their source. ``learned`` ranks them by their share of
    successes against similar failures, which counts less with age.
    """


def _evaluator(value: object) -> object:
    return {"command": value} if isinstance(value, str) else value


Words = Annotated[str, BeforeValidator(_words)]
Prompts = Annotated[dict[Rung, Words], AfterValidator(checked_templates)]
Timers = Annotated[
    Mapping[GateName, TimerSettings], BeforeValidator(_with_plain_names), AfterValidator(_with_answers_they_take)
]


class Settings(ScreenSettings):
    """Everything a user may set; times are in seconds, sizes in bytes. A wrong value raises SettingsError.

    Example::

        settings = Settings.model_validate({"failure_handler": {"max_retries": 1}, "ask": "never"})
    """

    failure_handler: FailureHandlerSettings = Field(default_factory=FailureHandlerSettings)
    pivot: PivotSettings = Field(default_factory=PivotSettings)
    task_failure_limit: Count = 3
    """Number of times the agent itself may fail (crash, timeout, missing status line) before Unstuck asks you."""
    remediation_attempts: Rungs = 3
    """Number of attempts to repair a failing baseline check."""
    agent_timeout: Seconds = 900.0
    """Time limit of an attempt, for agent types without a limit of their own."""
    timeouts: Annotated[Mapping[str, Seconds], BeforeValidator(_with_default_timeouts)] = Field(
        default_factory=lambda: dict(DEFAULT_TIMEOUTS)
    )
    """Time limits by agent type. See the table below."""
    idle_timeout: Seconds = 300.0
    """Time an attempt may show no activity."""
    verify_timeout: Seconds = 600.0
    """Time limit of a check."""
    check_interval: Seconds = 10.0
    """Accepted for old files and ignored. Time limits are exact."""
    window_size: Annotated[int, BeforeValidator(_whole(2, 100))] = 3
    """Number of identical failures, or of identical steps of an agent, that count as a loop."""
    max_parallel: Annotated[int, BeforeValidator(_whole(1, 64))] = 2
    """Number of tasks that may run at the same time."""
    ask: Literal["always", "never"] = "always"
    """``never`` stops the run instead of asking a person."""
    survivors: Literal["stop", "adopt"] = "stop"
    """Treatment of an orphan (an agent that outlived its supervisor) if nobody can be asked. ``adopt`` lets it
    work on.
    """
    recovery: Literal["continue", "retry", "ask"] = "continue"
    """Continuation of an interrupted attempt if nobody can be asked. ``continue`` keeps the files, ``retry`` restores
    them first, ``ask`` waits for a person.
    """
    evaluator: Annotated[EvaluatorSettings | None, BeforeValidator(_evaluator)] = None
    """Command of an agent that suggests how an interrupted run continues, or a mapping of ``command`` and
    ``timeout``.
    """
    unverified: Literal["reject", "accept"] = "reject"
    """``accept`` counts a task without a check as done."""
    check_policy: CheckPolicySettings = Field(default_factory=CheckPolicySettings)
    memory: MemorySettings = Field(default_factory=MemorySettings)
    results: Annotated[Literal["branch", "fast_forward", "merge"], BeforeValidator(_plain_word)] = "branch"
    """Way in which results reach your branch at the end of a run."""
    output_limit: Annotated[int, BeforeValidator(_whole(4_096, 2**40))] = 16 * 2**20
    """Bytes of an attempt's output that are kept."""
    prompt_limit: Annotated[int, BeforeValidator(_whole(1_000, 130_000))] = 100_000
    """Longest prompt, in bytes, that is passed as an argument. A longer prompt is passed in a file."""
    hold_limit: Rungs = 3
    """Number of times a held tool call is refused before the attempt is stopped."""
    disk_wait: Seconds = 600.0
    """Time a run without a screen waits for space on a full disk."""
    keep_runs: Annotated[int, BeforeValidator(_whole(1, 1_000_000))] = 200
    """Number of ended runs that are kept."""
    keep_days: Annotated[int, BeforeValidator(_whole(1, 36_500))] = 90
    """Number of days an ended run is kept. The ten newest runs always stay."""
    keep_bytes: Annotated[int, BeforeValidator(_whole(2**20, 2**50))] = 10 * 2**30
    """Bytes of ended runs that are kept."""
    keep_checkpoints: Annotated[int, BeforeValidator(_whole(1, 10_000))] = 200
    """Number of checkpoints that are kept."""
    keep_checkpoint_days: Annotated[int, BeforeValidator(_whole(1, 36_500))] = 30
    """Number of days a checkpoint is kept."""
    keep_checkpoint_bytes: Annotated[int, BeforeValidator(_whole(2**20, 2**50))] = 2 * 2**30
    """Bytes that all checkpoints may use."""
    checkpoint_file_limit: Annotated[int, BeforeValidator(_whole(1_000, 2**40))] = 100 * 2**20
    """Files over this number of bytes are not saved. The checkpoint lists them."""
    restore_share: Annotated[float, BeforeValidator(_share)] = 0.3
    """Share of the files that a restore may overwrite or remove without asking. Up to 20 files never need a question.
    """
    failover: Annotated[tuple[Text, ...], BeforeValidator(_few)] = ()
    """Names of agents that go on with a task, in this order, where its own has to wait long, needs your cure or has
    used up its levels. A task of a plan may have its own list.
    """
    failover_files: Literal["keep", "passing"] = "keep"
    """Files with which the next agent of a failover starts. ``passing`` restores the last passing checkpoint first."""
    budget: BudgetSettings = Field(default_factory=BudgetSettings)
    prices: Mapping[Glob, PriceSettings] = Field(default_factory=dict)
    """Prices of agents that report no cost: the name of an agent, or a pattern of the model in its command, then
    ``read`` and ``written`` in US dollars per million tokens. The first that matches counts.
    """
    timers: Timers = Field(default_factory=dict)
    """Questions that answer themselves: question type, then ``after``, ``answer``, and its ``number`` or
    ``approach``.
    """
    outage_limit: Annotated[float, BeforeValidator(_time), Field(ge=0)] = 1800.0
    """Time that a task waits for an outage or a spent quota that its agent reports, before Unstuck asks you. 0 asks
    after the third short wait.
    """
    after_quota: Literal["ask", "resume"] = "ask"
    """``resume`` lets a task continue after a quota wait of more than ten minutes. ``ask`` waits for you."""
    prompts: Prompts = Field(default_factory=dict)
    """Your own text for an escalation level."""
    experimental: Literal["reject", "accept"] = "reject"
    """``accept`` allows agent protocols that the agent's maker calls experimental."""
    language: Literal["en"] = "en"
    """Language of messages."""

    @checked
    def timeout_for(self, agent_type: str) -> float:
        """Return the time limit of an attempt of this type of agent, in seconds."""
        return self.timeouts.get(plain_name(agent_type), self.agent_timeout)

    def frozen(self) -> dict[str, Any]:
        """A JSON-able copy for the first event of a run: complete but for what is a matter of the screen."""
        return self.model_dump(mode="json", exclude=set(SCREEN_NAMES))

    @classmethod
    @checked
    def thaw(cls, frozen: Mapping[str, Any]) -> Self:
        """Return the settings that :meth:`frozen` gave. Raises SettingsError for anything else."""
        try:
            return cls.model_validate(dict(frozen), context=_THAWED)
        except SettingsError as error:
            raise SettingsError("the event log", error.key, error.problem) from None

    @model_validator(mode="wrap")
    @classmethod
    def _in_our_words(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Raise SettingsError for a wrong value, as the other ways to give settings do."""
        try:
            return handler(given)
        except ValidationError as error:
            raise settings_error("settings", error, cls) from None
