"""The settings themselves: frozen, complete with defaults, and strict about what they are given."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from unstuck.settings.durations import parse_duration
from unstuck.settings.problems import settings_error, shown
from unstuck.settings.screen import SCREEN_NAMES, ScreenSettings
from unstuck.settings.templates import Rung, checked_templates

__all__ = [
    "DEFAULT_TIMEOUTS",
    "TIMER_ANSWERS",
    "AutoResolve",
    "BudgetSettings",
    "EvaluatorSettings",
    "FailureHandlerSettings",
    "KnownWay",
    "Settings",
    "TimerSettings",
    "plain_name",
]

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
"""How long an attempt may take, in seconds by agent type."""

_LONGEST_TEXT = 1_000


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


def _pattern(value: object) -> str:
    text = _text(value)
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"must be a regular expression, not {shown(text)}: {error}") from None
    return text


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
    action: Text
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
    """How far the ladder goes: tries per rung, attempts per climb, and what never climbs it."""

    max_retries: Rungs = 3
    max_pivots: Rungs = 3
    max_research: Rungs = 2
    skip_to_ask: tuple[Pattern, ...] = ()
    auto_resolve: tuple[AutoResolve, ...] = ()
    patterns: tuple[KnownWay, ...] = ()
    max_attempts: Count = 20


class TimerSettings(_Frozen):
    """What answers a question by itself ``after`` so many seconds: only what can be taken back may be chosen.

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
"""What may answer a question of each type by itself."""


def _with_answers_they_take(timers: Mapping[str, TimerSettings]) -> Mapping[str, TimerSettings]:
    for name, timer in timers.items():
        if timer.answer not in TIMER_ANSWERS[name]:
            raise ValueError(f"{name} cannot be answered with {timer.answer}: only {', '.join(TIMER_ANSWERS[name])}")
    return timers


class BudgetSettings(_Frozen):
    """What a run may use up: ``tokens``, ``cost`` as the agents state it, ``time`` in seconds; None is no limit."""

    tokens: Annotated[int | None, BeforeValidator(_tokens)] = None
    cost: Annotated[float | None, BeforeValidator(_cost)] = None
    time: Annotated[float | None, BeforeValidator(_time)] = None


class EvaluatorSettings(_Frozen):
    """An agent that is asked what it would do with a run that was cut off: its command, and how long it may take.

    The command is text for a shell and holds ``{prompt_file}``, or reads the question from standard input.
    """

    command: Text
    timeout: Seconds = 120.0


def _evaluator(value: object) -> object:
    return {"command": value} if isinstance(value, str) else value


Words = Annotated[str, BeforeValidator(_words)]
Prompts = Annotated[dict[Rung, Words], AfterValidator(checked_templates)]
Timers = Annotated[
    Mapping[GateName, TimerSettings], BeforeValidator(_with_plain_names), AfterValidator(_with_answers_they_take)
]


class Settings(ScreenSettings):
    """Everything a user may set. Times are seconds, ``output_limit`` (per attempt) and ``prompt_limit`` bytes.

    ``timeouts`` overrides the default limits by agent type, ``agent_timeout`` holds for every other type;
    ``survivors`` says what becomes of an agent that has outlived a killed supervisor where nobody can be asked;
    ``recovery`` what becomes of an attempt that was cut off, and ``evaluator`` who may propose something about it;
    ``check_interval`` bounds how late a limit may be noticed; past ``prompt_limit`` a prompt goes by file;
    ``results`` is the way of what tasks did in work trees of their own to the user's branch: left on the run's
    ``branch``, by ``fast_forward`` only, or with a ``merge`` where that is not possible;
    ``hold_limit`` is how often a held call is denied before its attempt is stopped; ``disk_wait`` is how long a run
    that nobody watches waits for room on a full disk; ``keep_runs``, ``keep_days`` and ``keep_bytes`` bound how many
    old runs stay, each for itself; ``keep_checkpoints``, ``keep_checkpoint_days`` and ``keep_checkpoint_bytes`` do so
    for checkpoints, which leave out files over ``checkpoint_file_limit`` bytes. A restore that overwrites or removes
    more than ``restore_share`` of a tree's files is asked about. ``timers`` say by the type of a gate what answers it
    by itself; without one it waits for ever. ``after_quota`` says whether a task that waited long for a quota goes on
    by itself; ``prompts`` are the user's own words for a rung. ``experimental`` says whether agents may be
    used by protocols that their own makers call experimental.
    """

    failure_handler: FailureHandlerSettings = Field(default_factory=FailureHandlerSettings)
    task_failure_limit: Count = 3
    remediation_attempts: Rungs = 3
    agent_timeout: Seconds = 900.0
    timeouts: Annotated[Mapping[str, Seconds], BeforeValidator(_with_default_timeouts)] = Field(
        default_factory=lambda: dict(DEFAULT_TIMEOUTS)
    )
    idle_timeout: Seconds = 300.0
    verify_timeout: Seconds = 600.0
    check_interval: Seconds = 10.0
    window_size: Annotated[int, BeforeValidator(_whole(2, 100))] = 3
    max_parallel: Annotated[int, BeforeValidator(_whole(1, 64))] = 2
    ask: Literal["always", "never"] = "always"
    survivors: Literal["stop", "adopt"] = "stop"
    recovery: Literal["continue", "retry", "ask"] = "continue"
    evaluator: Annotated[EvaluatorSettings | None, BeforeValidator(_evaluator)] = None
    unverified: Literal["reject", "accept"] = "reject"
    results: Annotated[Literal["branch", "fast_forward", "merge"], BeforeValidator(_plain_word)] = "branch"
    output_limit: Annotated[int, BeforeValidator(_whole(4_096, 2**40))] = 16 * 2**20
    prompt_limit: Annotated[int, BeforeValidator(_whole(1_000, 130_000))] = 100_000
    hold_limit: Rungs = 3
    disk_wait: Seconds = 600.0
    keep_runs: Annotated[int, BeforeValidator(_whole(1, 1_000_000))] = 200
    keep_days: Annotated[int, BeforeValidator(_whole(1, 36_500))] = 90
    keep_bytes: Annotated[int, BeforeValidator(_whole(2**20, 2**50))] = 10 * 2**30
    keep_checkpoints: Annotated[int, BeforeValidator(_whole(1, 10_000))] = 200
    keep_checkpoint_days: Annotated[int, BeforeValidator(_whole(1, 36_500))] = 30
    keep_checkpoint_bytes: Annotated[int, BeforeValidator(_whole(2**20, 2**50))] = 2 * 2**30
    checkpoint_file_limit: Annotated[int, BeforeValidator(_whole(1_000, 2**40))] = 100 * 2**20
    restore_share: Annotated[float, BeforeValidator(_share)] = 0.3
    budget: BudgetSettings = Field(default_factory=BudgetSettings)
    timers: Timers = Field(default_factory=dict)
    after_quota: Literal["ask", "resume"] = "ask"
    prompts: Prompts = Field(default_factory=dict)
    experimental: Literal["reject", "accept"] = "reject"
    language: Literal["en"] = "en"

    def timeout_for(self, agent_type: str) -> float:
        """How many seconds an attempt of this type of agent may take."""
        return self.timeouts.get(plain_name(agent_type), self.agent_timeout)

    def frozen(self) -> dict[str, Any]:
        """A JSON-able copy for the first event of a run: complete but for what is a matter of the screen."""
        return self.model_dump(mode="json", exclude=set(SCREEN_NAMES))

    @classmethod
    def thaw(cls, frozen: Mapping[str, Any]) -> Self:
        """What :meth:`frozen` gave. Raises SettingsError where it came from something else."""
        try:
            return cls.model_validate(dict(frozen))
        except ValidationError as error:
            raise settings_error("the run's record", error, cls) from None
