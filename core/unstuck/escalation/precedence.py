"""Precedence of decisions: one failure gets one directive, of the first line that applies. Pure.

The lines: 1 done · 2 the check could not run · 3 skip to ask · 4 auto resolve · 5 full context, no turns left ·
6 transient · 7 stated configuration, proven infrastructure · 8 the agent failed · 9 circular fix · 10 the levels.
Only line 10 counts towards the limits of the levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from unstuck.contract import (
    AGENT,
    CHECK,
    CONTRADICTED,
    DENIED,
    OUTAGE_LASTS,
    QUOTA,
    WEAKENED,
    CheckResult,
    Denial,
    Report,
)
from unstuck.diagnosis.agent_messages.outages import OUTAGE
from unstuck.diagnosis.agent_messages.own_limits import OWN_LIMIT
from unstuck.diagnosis.agent_messages.troubles import PERMISSION, TROUBLE
from unstuck.diagnosis.classification.causes import Approach
from unstuck.diagnosis.enums import Cause, ErrorCategory, FailureType
from unstuck.diagnosis.extent import NOT_RUN, UNKNOWN_EXTENT, Extent
from unstuck.diagnosis.model import Diagnosis
from unstuck.escalation.complexity import grows, growth
from unstuck.escalation.ladder import next_rung, step_onto
from unstuck.escalation.ladder_state import LOADS, Climb
from unstuck.escalation.limits import Limits
from unstuck.settings.regex import matches
from unstuck.text.last_words import last_line

LEARNT = "what a person said"
"""Name of the rule for a person's own answer, among the used rules."""
PERMISSION_DENIED = "permission_denied"
"""Type of a failure: the agent's own permissions do not allow what it needs."""
AGENT_LINE = 8
"""The line of a decision about an agent that failed itself."""
FIXED = "I have fixed it: go on"
"""Option of a question about the agent's own failure: the attempt is repeated and no escalation level is used."""
WITHOUT = "do without it: take another approach"
"""Option of a question about a call that was not allowed."""
_SHORTEST_OUTAGE_WAIT, _LONGEST_OUTAGE_WAIT = 8.0, 300.0
_CONTRADICTED_OPTIONS = ("treat it as failed from now on", "believe its exit code from now on", "edit the check")
_WEAKENED_OPTIONS = ("accept it as it is", "no: tell the agent what is wrong")
MOST_DENIED = 32
_AGENT_FAILED = {
    "crashed": "agent_crash",
    "timed_out": "agent_timeout",
    "over_budget": "agent_budget",
    "not_started": "agent_crash",
    "no_signal": "signal_missing",
    "bad_signal": "parse_failure",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts for one decision. ``circular`` and ``infrastructure`` are results of earlier steps.

    ``resets_in`` is the number of seconds until a quota resets, 0 where unknown. ``learnt`` is a person's remembered
    answer to this failure. ``before`` and ``now`` are the extents of the check with the files before and after the
    attempt. ``back`` tells whether the checkpoint to restore after a broken build loads or passes. ``ending`` is how an
    attempt ended badly, ``said`` the agent's last words then. ``fruitless``: it failed and changed no file. ``size`` is
    the number of changed lines. ``denied`` are the calls that were not allowed and that a person has not yet been asked
    about, ``untouched``: it changed no file. ``over`` names the budget of the task that is used up. ``apart``: several
    approaches can be worked at the same time.
    """

    check: CheckResult
    report: Report
    diagnosis: Diagnosis | None
    climb: Climb
    alternatives: tuple[Approach, ...] = ()
    circular: bool = False
    infrastructure: bool = False
    direct: bool = False
    may_ask: bool = True
    check_problem: str = ""
    check_trouble: str = "env_unavailable"
    resets_in: float = 0.0
    learnt: str = ""
    before: Extent = UNKNOWN_EXTENT
    now: Extent = UNKNOWN_EXTENT
    back: Literal["", "loads", "passes"] = ""
    ending: str = ""
    said: str = ""
    fruitless: bool = False
    size: int = 0
    denied: tuple[Denial, ...] = ()
    untouched: bool = False
    over: str = ""
    apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The task is done, or ended without a check."""

    status: Literal["succeeded", "unverified", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskQuestion:
    """Ask a person for information that no attempt can find.

    ``call`` is one that was not allowed. With ``rules`` the first option grants them.
    """

    key: str
    error_type: str
    question: str
    options: tuple[str, ...]
    line: int
    call: str = ""
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BackOff:
    """Wait ``delay`` seconds, then repeat the attempt. ``retry`` counts from 1; ``quota`` marks a long wait.

    ``outage`` marks a wait for an outage beyond the short ones.
    """

    error_type: str
    retry: int
    delay: float
    climb: Climb
    quota: bool = False
    outage: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Direct:
    """Start the next attempt on ``level``, or with ``human`` save a checkpoint and open the stuck gate.

    ``hint`` goes to the agent. ``command`` runs before the attempt. ``fresh`` starts a new session. ``restore`` names
    the files to restore first. ``approaches`` are those to work at the same time, if there are several.
    """

    level: Literal["retry", "pivot", "research", "human", "continue"]
    line: int
    climb: Climb
    hint: str = ""
    command: str = ""
    approach: str = ""
    fresh: bool = False
    restore: Literal["", "good", "baseline"] = ""
    checkpoint: str = ""
    reason: str = ""
    approaches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Redispatch:
    """Repeat the attempt: the agent failed, not its work."""

    error_type: str
    failures: int
    climb: Climb


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Start no task until the baseline check passes."""

    issue: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """End the task: no person may be asked and nothing is left to try. ``line`` is that of the question instead."""

    reason: str
    details: str
    line: int = 0


Decision = Finish | AskQuestion | BackOff | Direct | Redispatch | Block | Halt


def decide(facts: Facts, limits: Limits) -> Decision:
    return (
        _done(facts)
        or _check_could_not_run(facts)
        or _over_budget(facts)
        or _patterns(facts, limits)
        or _needs_cure(facts)
        or _context_exhausted(facts, limits)
        or _transient(facts, limits)
        or _stated_or_proven(facts)
        or _denied(facts)
        or _agent_failed(facts, limits)
        or _fruitless(facts, limits)
        or _circular(facts)
        or _ladder(facts, limits)
    )


def _done(facts: Facts) -> Decision | None:
    if facts.check == "passed":
        return Finish(status="succeeded")
    report = facts.report
    if report.how == "stopped":
        # A stop without an answer came from the agent's own user.
        return Finish(status="cancelled")
    ended_well = report.how == "ended" and not report.exit_code and report.error is None
    if facts.check == "none" and ended_well and report.signal in (None, "complete"):
        return Finish(status="unverified")
    return None


def _check_could_not_run(facts: Facts) -> Decision | None:
    if facts.check == "contradicted":
        return _contradicted(facts)
    if facts.check != "could_not_run":
        return None
    problem = facts.check_problem or "the check could not run"
    if facts.infrastructure:
        return Block(issue=problem)
    if not facts.may_ask:
        return Halt(reason=facts.check_trouble, details=problem)
    return AskQuestion(
        key=CHECK,
        error_type=facts.check_trouble,
        question=f"{problem}. What should be done?",
        options=("run the check again",),
        line=2,
    )


def _contradicted(facts: Facts) -> Decision | None:
    """Return a question, or None where no person may be asked: the check then counts as failed."""
    if not facts.may_ask:
        return None
    if facts.check_trouble == WEAKENED:
        question = f"{facts.check_problem}. May the task succeed all the same?"
        return AskQuestion(key=CHECK, error_type=WEAKENED, question=question, options=_WEAKENED_OPTIONS, line=2)
    doubt = "does a pipe or `|| true` hide its exit code" if "printed" in facts.check_problem else "is it the right one"
    return AskQuestion(
        key=CHECK,
        error_type=CONTRADICTED,
        question=f"{facts.check_problem}: {doubt}?",
        options=_CONTRADICTED_OPTIONS,
        line=2,
    )


def _over_budget(facts: Facts) -> Decision | None:
    if not facts.over:
        return None
    if not facts.may_ask:
        return Halt(reason="agent_budget", details=facts.over)
    return _ask(facts, line=AGENT_LINE, reason=facts.over)


def _patterns(facts: Facts, limits: Limits) -> Decision | None:
    if facts.diagnosis is None:
        return None
    headline = facts.diagnosis.headline
    for pattern in limits.skip_to_ask:
        if matches(pattern, headline):
            return _ask(facts, line=3, reason=f"{pattern} goes straight to a person")
    for pattern, hint, command in limits.auto_resolve:
        if matches(pattern, headline) and (found := _known_answer(facts, limits, pattern, hint, command)):
            return found
    return _known_answer(facts, limits, LEARNT, facts.learnt, "") if facts.learnt else None


def _known_answer(facts: Facts, limits: Limits, rule: str, hint: str, command: str) -> Decision | None:
    """Return one retry with the known answer to this failure, or None where it was tried before."""
    climb, _ = _noted(facts)
    used = f"{rule}\n{climb.signature}"
    if used in climb.resolved or not _may_continue(facts, limits):
        return None
    return Direct(
        level="retry",
        line=4,
        climb=replace(
            climb,
            resolved=(*climb.resolved, used),
            told_retries=climb.told_retries + 1,
            directives=climb.directives + 1,
        ),
        hint="" if command else hint,
        command=command,
        checkpoint="command" if command else "",
        approach=climb.approach,
        reason=f"known answer to {rule}",
    )


def _needs_cure(facts: Facts) -> Decision | None:
    """Return the question about an agent that a person has to cure: no further attempt could end otherwise."""
    diagnosis = facts.diagnosis
    kind = diagnosis.signature.metadata.get(TROUBLE, "") if diagnosis else ""
    if diagnosis is None or not kind or kind == PERMISSION:
        return None
    return _ask_cure(facts, f"agent_{kind}", f"{diagnosis.headline}\n{diagnosis.fix_hint}")


def _ask_cure(facts: Facts, error_type: str, question: str) -> Decision:
    if not facts.may_ask:
        return Halt(reason=error_type, details=question)
    return AskQuestion(key=AGENT, error_type=error_type, question=question, options=(FIXED,), line=7)


def _fruitless(facts: Facts, limits: Limits) -> Decision | None:
    """Return the question about an agent that failed several times in a row without changing a file."""
    times = facts.climb.fruitless + 1
    if not facts.fruitless or times < limits.task_failure_limit:
        return None
    last = f"{last_line(facts.said)}\n" if facts.said else ""
    told = f"The agent {facts.ending}, {times} times in a row. Look at what it needs, and start it once by hand."
    return _ask_cure(facts, "agent_crash", f"{last}{told}")


def _context_exhausted(facts: Facts, limits: Limits) -> Decision | None:
    """Return the next session after a full context, or the next turn after a limit of the agent's own."""
    diagnosis = facts.diagnosis
    own_limit = diagnosis is not None and OWN_LIMIT in diagnosis.signature.metadata
    if not own_limit and (diagnosis is None or diagnosis.failure_type is not FailureType.CONTEXT_EXHAUSTED):
        return None
    climb = facts.climb
    reason = "the agent reached its own limit" if own_limit else "the context window was full"
    without_progress = 0 if _progresses(facts) else climb.continuations
    if without_progress >= limits.continuations or not _may_continue(facts, limits):
        # Another approach would get there in the same way.
        return _ask(facts, line=5, reason=f"{reason} again, without progress")
    climb = replace(climb, continuations=without_progress + 1, directives=climb.directives + 1, best=_best_now(facts))
    direct = Direct(
        level="continue", line=5, climb=climb, approach=climb.approach, fresh=True, checkpoint="progress", reason=reason
    )
    return replace(direct, level="retry", fresh=False, hint="Go on where you were.") if own_limit else direct


def _transient(facts: Facts, limits: Limits) -> Decision | None:
    diagnosis = facts.diagnosis
    if diagnosis is None or diagnosis.category is not ErrorCategory.TRANSIENT:
        return None
    retry = facts.climb.transient
    used_up = limits.blind_wait if diagnosis.signature.metadata.get("used_up") else 0.0
    told = _retry_after(diagnosis) or facts.resets_in or used_up
    if facts.climb.transient_over or retry >= limits.transient_retries:
        return _outage(facts, diagnosis, told, limits) if OUTAGE in diagnosis.signature.metadata else None
    delay = told or float(2**retry)
    quota = delay > limits.long_wait
    if quota and not (facts.may_ask or limits.resume_after_quota):
        details = f"{diagnosis.headline}: nothing continues after such a wait, and the run never asks a person"
        return Halt(reason="rate_limit", details=details)
    # A transient failure is not the approach's, so it is not recorded as one.
    error_type = diagnosis.signature.error_type.value
    climb = replace(facts.climb, transient=retry + 1, waited=facts.climb.waited + 1, waited_for=error_type)
    return BackOff(error_type=error_type, retry=retry + 1, delay=delay, climb=climb, quota=quota)


def _outage(facts: Facts, diagnosis: Diagnosis, told: float, limits: Limits) -> Decision:
    """Return the next wait for an outage that the agent reports, or the question after the last one.

    Without a time that the provider has ``told``, each wait is as long as those before it together.
    """
    climb = facts.climb
    left = limits.outage_limit - climb.outage
    if left <= 0 or told > left:
        lasts = f"It has not passed in {_minutes(climb.outage)}." if climb.outage else "It has not passed."
        over = f" The provider names {_minutes(told)} more." if told else ""
        question = f"{diagnosis.headline}\n{lasts}{over} Continue?"
        if not facts.may_ask:
            return Halt(reason=OUTAGE_LASTS, details=question)
        return AskQuestion(key=QUOTA, error_type=OUTAGE_LASTS, question=question, options=("Continue",), line=6)
    delay = min(told or min(max(climb.outage, _SHORTEST_OUTAGE_WAIT), _LONGEST_OUTAGE_WAIT), left)
    error_type = diagnosis.signature.error_type.value
    waits = replace(climb, waited=climb.waited + 1, waited_for=error_type, outage=climb.outage + delay)
    return BackOff(error_type=error_type, retry=waits.waited, delay=delay, climb=waits, outage=True)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} s"


def _retry_after(diagnosis: Diagnosis) -> float:
    """Return the seconds that the service asked for, or 0."""
    try:
        return max(0.0, float(diagnosis.signature.metadata.get("retry_after", 0)))
    except (TypeError, ValueError):
        return 0.0


def _stated_or_proven(facts: Facts) -> Decision | None:
    report = facts.report
    if report.signal in ("blocked", "needs_guidance"):
        question = report.question or "the agent is blocked and says no more"
        if not facts.may_ask:
            return Halt(reason="missing_info", details=question)
        error_type = "ambiguous_requirement" if report.options else "missing_info"
        return AskQuestion(
            key=report.signal, error_type=error_type, question=question, options=tuple(report.options), line=7
        )
    if facts.infrastructure and facts.diagnosis is not None:
        return Block(issue=facts.diagnosis.headline)
    return None


def not_allowed(denial: Denial, program: str) -> str:
    """Return the sentence about a call that was not allowed, and its cure on a second line."""
    use = "use" if denial.rules[0].endswith("(*)") else "run"
    return f"{program or 'The agent'} was not allowed to {use} this: {denial.what}\n{denial.cure}".strip()


def _denied(facts: Facts) -> Decision | None:
    """Return the question about a call that was not allowed: twice, or once in an attempt that changed no file."""
    needed = [rule for denial in facts.denied for rule in denial.rules]
    again = (one for one in facts.denied if any(needed.count(r) > 1 or r in facts.climb.denied for r in one.rules))
    found = next(again, facts.denied[0] if facts.denied and facts.untouched else None)
    if found is None:
        return None
    problem = not_allowed(found, facts.report.program)
    if not facts.may_ask:
        return Halt(reason=PERMISSION_DENIED, details=problem)
    rules = found.rules if found.grants else ()
    allow = (f"allow `{', '.join(rules)}` for this run",) if rules else ()
    return AskQuestion(
        key=DENIED,
        error_type=PERMISSION_DENIED,
        question=problem,
        options=(*allow, WITHOUT),
        line=7,
        call=found.what,
        rules=rules,
    )


def _agent_failed(facts: Facts, limits: Limits) -> Decision | None:
    error_type = _AGENT_FAILED.get(facts.report.how)
    if error_type is None:
        return None
    failures = facts.climb.agent_failures + 1
    climb = replace(facts.climb, agent_failures=failures)
    if failures < limits.task_failure_limit:
        return Redispatch(error_type=error_type, failures=failures, climb=climb)
    details = f"the agent failed {failures} times ({error_type})"
    if not facts.may_ask:
        return Halt(reason="task_limit_exceeded", details=details, line=AGENT_LINE)
    return Direct(level="human", line=AGENT_LINE, climb=replace(climb, rung="human"), checkpoint="ask", reason=details)


def _circular(facts: Facts) -> Decision | None:
    if not facts.circular or _progresses(facts):
        return None
    return _ask(facts, line=9, reason="the same idea was tried again and again")


def _ladder(facts: Facts, limits: Limits) -> Decision:
    climb, fresh = _noted(facts)
    diagnosis = facts.diagnosis
    failure_type = diagnosis.failure_type if diagnosis else FailureType.UNKNOWN
    cause = diagnosis.cause if diagnosis else Cause.SIMPLE_LOGIC
    if _progresses(facts):
        # The approach makes progress: its retries count again from zero.
        climb, fresh, cause = replace(climb, retries=0, unknown=0), True, Cause.SIMPLE_LOGIC
    elif cause is Cause.DEPENDENCY_ISSUE and _broke_the_build(facts):
        # The attempt removed the dependency: a restore brings it back, another approach would lose the work.
        cause = Cause.SIMPLE_LOGIC
    rung = next_rung(
        climb, cause, failure_type, limits, fresh=fresh, alternatives=bool(facts.alternatives), direct=facts.direct
    )
    if rung == "retry":
        return _retry(facts, step_onto(climb, "retry", failure_type, fresh=fresh))
    if rung == "pivot":
        stepped = step_onto(climb, "pivot", failure_type, fresh=fresh)
        return _at_once(facts, _pivot(facts, stepped, line=10), limits)
    if rung == "research":
        stepped = step_onto(climb, "research", failure_type, fresh=fresh)
        return Direct(level="research", line=10, climb=replace(stepped, approach=""))
    return _ask(facts, line=10, reason="nothing is left to try")


def _retry(facts: Facts, climb: Climb) -> Direct:
    """Return a retry. It keeps the files unless they are known to have loaded before this attempt broke them."""
    goes_back = _broke_the_build(facts)
    return Direct(
        level="retry",
        line=10,
        climb=climb,
        hint=facts.diagnosis.fix_hint if facts.diagnosis else "",
        restore="good" if goes_back else "",
        checkpoint="rollback" if goes_back else LOADS if facts.now.stage == "run" else "",
        approach=climb.approach,
        reason="the build was broken by the last attempt" if goes_back else "",
    )


def _broke_the_build(facts: Facts) -> bool:
    """Return whether the checkpoint is better than the files: it passed, or the attempt made the build worse."""
    if facts.diagnosis is None or facts.diagnosis.failure_type is not FailureType.BROKEN_BUILD or not facts.back:
        return False
    newly = facts.back == "passes" and facts.now.stage in NOT_RUN and facts.before.stage not in NOT_RUN
    return newly or facts.now.broke(facts.before)


def _progresses(facts: Facts) -> bool:
    """Return whether the check came further than ever since the last answer."""
    return facts.now.is_better_than(_best(facts))


def _best(facts: Facts) -> Extent:
    """Return the best extent of the check since the last answer, or the one before where that is known."""
    return facts.before if facts.climb.best == UNKNOWN_EXTENT else facts.climb.best


def _best_now(facts: Facts) -> Extent:
    """Return the best extent of the check since the last answer, with this failure."""
    best = _best(facts)
    return facts.now.after(best) if best == UNKNOWN_EXTENT or _progresses(facts) else best


def _pivot(facts: Facts, climb: Climb, *, line: int) -> Direct:
    way = facts.alternatives[0]
    return Direct(
        level="pivot",
        line=line,
        # A new approach starts from the baseline, so the best extent of another one does not apply.
        climb=replace(climb, approach=way.name, best=UNKNOWN_EXTENT),
        approach=way.name,
        fresh=True,
        restore="baseline",
        checkpoint="pivot",
        reason=growth(climb.sizes) if grows(climb.sizes) else f"from {way.source}{way.record and ', '}{way.record}",
    )


def _at_once(facts: Facts, pivot: Direct, limits: Limits) -> Direct:
    """Return ``pivot`` with as many approaches as may be worked at the same time; each of them uses up one."""
    more = facts.alternatives[1 : min(limits.parallel, limits.max_pivots - pivot.climb.pivots + 1)]
    if not more:
        return pivot
    if not facts.apart:
        return replace(pivot, reason="one at a time: several need a worktree of the task and a check")
    climb = replace(pivot.climb, pivots=pivot.climb.pivots + len(more), told_pivots=pivot.climb.told_pivots + len(more))
    return replace(pivot, climb=climb, approaches=(pivot.approach, *(way.name for way in more)))


def chosen(facts: Facts, level: Literal["pivot", "research", "human"]) -> Decision:
    """Return the directive for the level that a person has chosen; research where no other approach is known.

    It counts as used, also past its limit.
    """
    climb, fresh = _noted(facts)
    failure_type = facts.diagnosis.failure_type if facts.diagnosis else FailureType.UNKNOWN
    if level == "human":
        return _ask(facts, line=0, reason="you wanted to be asked")
    if level == "pivot" and facts.alternatives:
        return _pivot(facts, step_onto(climb, "pivot", failure_type, fresh=fresh), line=0)
    stepped = step_onto(climb, "research", failure_type, fresh=fresh)
    return Direct(level="research", line=0, climb=replace(stepped, approach=""))


def checked_again(facts: Facts) -> Decision:
    """Return the question after a check that a person ran without an attempt; no escalation level is used."""
    asked = _check_could_not_run(facts)
    if isinstance(asked, AskQuestion):
        return asked
    identity = facts.diagnosis.identity if facts.diagnosis else facts.climb.signature
    climb = facts.climb if identity == facts.climb.signature else facts.climb.noting(identity, "")
    return _to_person(facts, climb, line=0, reason="the check has failed again")


def _ask(facts: Facts, *, line: int, reason: str) -> Decision:
    return _to_person(facts, _noted(facts)[0], line=line, reason=reason)


def _to_person(facts: Facts, climb: Climb, *, line: int, reason: str) -> Decision:
    if not facts.may_ask:
        headline = facts.diagnosis.headline if facts.diagnosis else reason
        return Halt(reason="task_limit_exceeded", details=f"{headline} ({reason})", line=line)
    return Direct(level="human", line=line, climb=replace(climb, rung="human"), checkpoint="ask", reason=reason)


def _noted(facts: Facts) -> tuple[Climb, bool]:
    """Return the climb with this failure, and whether its signature is new in the climb."""
    identity = facts.diagnosis.identity if facts.diagnosis else facts.report.how
    approach = facts.climb.approach or facts.report.approach or ""
    noted = facts.climb.noting(identity, approach, facts.report.alternatives, facts.size)
    noted = replace(noted, fruitless=facts.climb.fruitless + 1 if facts.fruitless else 0)
    denied = (*noted.denied, *(rule for denial in facts.denied for rule in denial.rules))
    noted = replace(noted, best=_best_now(facts), denied=tuple(dict.fromkeys(denied))[-MOST_DENIED:])
    return noted, identity not in facts.climb.seen


def _may_continue(facts: Facts, limits: Limits) -> bool:
    """Return whether this climb may have one more directive."""
    return facts.climb.directives < limits.max_attempts
