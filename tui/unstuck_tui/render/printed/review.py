"""Reviewed sessions as lines: a summary, a table, what each loop was, and the failures. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from unstuck.history.review import FailureGroup, Loop, Used
from unstuck.history.reviews import Session
from unstuck.text import one_line
from unstuck.words.amounts import span, tokens_of
from unstuck.words.labels import counted

_LINE = "{:<16}  {:<8}  {:<10}  {:<20}  {:>5}  {:>6}  {:>5}  {:<30}  {:<8}  {}"
_COLUMNS = "STARTED|AGENT|SESSION|PROJECT|STEPS|FAILED|LOOPS|AFTER THE FIRST LOOP|CLAIMED|LAST CHECK"
_HEAD = _LINE.format(*_COLUMNS.split("|"))
_LOOPS_SHOWN = 5
_FAILURES_SHOWN = 15
_FAILURE = "{:>5}  {:>8}  {:<20}  {:<32}  {}"
_FAILURES_HEAD = _FAILURE.format("SEEN", "SESSIONS", "TYPE", "WHERE", "WHAT")
CLAIMS = {"done": "done", "not_done": "not done", "unknown": "-"}
CHECKS = {"passed": "passed", "failed": "failed", "contradicted": "contradicted", "none": "none ran"}


def review_lines(sessions: Sequence[Session]) -> Iterator[str]:
    """Yield the summary, the table with the loops of each session, and the failures of all of them."""
    yield "; ".join(summary_words(sessions))
    yield ""
    yield _HEAD
    for session in sessions:
        yield from _session_lines(session)
    groups = failures_of(sessions)
    if groups:
        yield ""
        yield _FAILURES_HEAD
    for group, seen in groups[:_FAILURES_SHOWN]:
        what = one_line(group.headline, 90)
        yield _FAILURE.format(
            group.count, seen, one_line(group.error_type, 20), one_line(group.location, 32) or "-", what
        )
    if len(groups) > _FAILURES_SHOWN:
        yield f"  … {len(groups) - _FAILURES_SHOWN} more"


def _session_lines(session: Session) -> Iterator[str]:
    review = session.review
    yield _LINE.format(
        started_words(session),
        session.agent,
        short_id(session),
        one_line(session.project.rpartition("/")[2] or "-", 20),
        review.used.steps,
        review.failed,
        len(review.loops),
        one_line(used_words(review.after), 30) if review.after else "",
        CLAIMS[review.claim],
        CHECKS[review.last_check] + (" (live)" if session.live else ""),
    ).rstrip()
    for loop in review.loops[:_LOOPS_SHOWN]:
        yield f"  {loop_words(loop)}"
    if len(review.loops) > _LOOPS_SHOWN:
        yield f"  … {counted(len(review.loops) - _LOOPS_SHOWN, 'more loop')}"
    if is_false_claim(session):
        yield f"  ! {false_claim_words(session)}"
    for note in session.notes:
        yield f"  ~ {note}"


def summary_words(sessions: Sequence[Session]) -> tuple[str, str]:
    """Return all sessions in two phrases: how many, and what came of them."""
    looping = [session.review.after for session in sessions if session.review.after is not None]
    steps = sum(session.review.used.steps for session in sessions)
    failed = sum(session.review.failed for session in sessions)
    claims = sum(map(is_false_claim, sessions))
    counts = [counted(len(sessions), "session"), counted(steps, "step"), counted(failed, "failure")]
    if claims:
        counts.append(f"{claims} claimed done after a failed check")
    if not looping:
        return ", ".join(counts), "none went round in circles"
    return ", ".join(
        counts
    ), f"{len(looping)} went round in circles, and {used_words(total_of(looping))} came after that"


def total_of(uses: Sequence[Used]) -> Used:
    """Return the sum of ``uses``, each of which has seconds in ``at``."""
    tokens = [use.tokens for use in uses if use.tokens is not None]
    costs = [use.cost for use in uses if use.cost is not None]
    return Used(
        steps=sum(use.steps for use in uses),
        at=sum(use.at for use in uses),
        tokens=sum(tokens) if tokens else None,
        cost=sum(costs) if costs else None,
    )


def used_words(used: Used | None) -> str:
    """Return steps, time, tokens and cost, as far as they are known."""
    if used is None:
        return ""
    cost = f"${used.cost:,.2f}" if used.cost else ""
    time = span(used.at) if used.at >= 1 else ""
    return ", ".join(filter(None, (counted(used.steps, "step"), time, tokens_of(used.tokens or 0), cost)))


def loop_words(loop: Loop) -> str:
    """Return one loop: where it began, what Unstuck would have done and when, and how long it went on."""
    does = "would nudge" if loop.action == "nudge" else "would ask you"
    then = f", ask you at {loop.asked}" if loop.asked is not None else ""
    kind, evidence = loop.kind.replace("_", " "), one_line(loop.evidence, 120)
    return f"{kind} at steps {loop.first} to {loop.last}, {does} at {loop.noticed}{then}: {evidence}"


def is_false_claim(session: Session) -> bool:
    """Return whether the agent claimed that the work is done although its last check failed."""
    return session.review.claim == "done" and session.review.last_check in ("failed", "contradicted")


def false_claim_words(session: Session) -> str:
    """Return what was claimed against the last check that ran."""
    review = session.review
    return (
        f"claimed done, but the last check {CHECKS[review.last_check]} at step {review.check_step}: "
        f"{one_line(review.check_command, 100)}"
    )


def failures_of(sessions: Sequence[Session]) -> list[tuple[FailureGroup, int]]:
    """Return the failures of all sessions, matching ones once, each with the number of its sessions."""
    found: dict[str, tuple[FailureGroup, int]] = {}
    for session in sessions:
        for group in session.review.groups:
            known, seen = found.get(group.signature, (None, 0))
            count = group.count + (known.count if known else 0)
            one = FailureGroup(
                group.signature, group.error_type, group.headline, group.location, group.first, group.last, count
            )
            found[group.signature] = one, seen + 1
    return sorted(found.values(), key=lambda one: -one[0].count)


def started_words(session: Session) -> str:
    """Return the local time at which a session began."""
    return local_time(session.started, "%Y-%m-%d %H:%M") or "-"


def local_time(seconds: float, form: str) -> str:
    """Return a local time as ``strftime`` does; empty where it is unknown."""
    try:
        return datetime.fromtimestamp(seconds).astimezone().strftime(form) if seconds else ""
    except (ValueError, OverflowError, OSError):
        return ""


def short_id(session: Session) -> str:
    """Return the end of a session's id where all begin alike, else its begin."""
    id = str(session.session)
    return one_line(id[-10:] if session.agent in ("codex", "opencode") else id[:8], 10)
