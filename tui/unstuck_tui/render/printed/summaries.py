"""Past runs as lines for people: a run, its tasks with their timelines, failures, load. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unstuck.text import one_line
from unstuck.words.amounts import ago, clock_time, full_time, limit_of, span
from unstuck.words.labels import (
    PASSED_BEFORE_WORK,
    WAY_ENDS,
    counted,
    failure_words,
    level_word,
    replaced_words,
    solved_by,
)
from unstuck.words.story import story_line

Row = Mapping[str, Any]
_MOST = 40
_SAID_LINES = 8


def row_lines(row: Row) -> list[str]:
    """The lines of one row of ``show``."""
    if "run" in row:
        return _run(row)
    return _gate(row) if "gate" in row else _task(row)


def load_words(load: Row) -> str:
    """The load on people: questions, waits, and decisions made without them; empty where there was none."""
    parts = []
    if load["asked"]:
        mean = load["to_answer"]
        answered = f", answered in {span(mean)} on average" if mean is not None else ", none answered"
        parts.append(counted(load["asked"], "question") + answered)
    if load["waited_seconds"] >= 1:
        parts.append(f"agents waited {span(load['waited_seconds'])} for a person")
    if load["pages"]:
        parts.append(counted(load["pages"], "notification"))
    if decided := [f"{count} by {by}" for by, count in load["decided"].items() if count]:
        parts.append(f"decided without a person: {', '.join(decided)}")
    return "; ".join(parts)


FAILURES_HEAD = ("FAILURE", "TIMES", "LAST", "TYPE", "WHERE", "TASKS", "LEVEL", "SOLVED BY", "WHAT")


def failure_cells(row: Row, now: float) -> tuple[str, ...]:
    """One failure: how often and when last, what and where, in how many tasks, how far it got, what worked."""
    failed = failure_words(str(row.get("failure_type", "")), str(row.get("category", "")))
    return (
        row["signature"][:8],
        str(row["count"]),
        ago(str(row["last"]), now),
        one_line(row["error_type"] or "-", 18),
        one_line(row["location"] or "-", 28),
        str(len(row["tasks"])),
        level_word(row["rung"]),
        one_line(solved_by(row["worked"]) or "-", 26),
        f"{one_line(row['headline'], 90)}{failed and f'  ({failed})'}",
    )


def run_state(row: Row) -> str:
    """The state of a run, in one word."""
    state = str(row["exit_reason"] or row["state"])
    return "paused" if state in ("needs_person", "parked") else state


def used_words(row: Row) -> list[str]:
    """The agents' own figures of what they used; empty where there are none."""
    tokens = [f"{row['tokens']} tokens"] if row["tokens"] else []
    return [*tokens, *([f"cost {row['cost']:.4g}"] if row["cost"] is not None else [])]


def _run(row: Row) -> list[str]:
    used = [*used_words(row), f"{limit_of('time', row['seconds'])} of work"]
    limits = [limit_of(name, limit) for name, limit in row["budget"].items()]
    budget = f"; budget: {', '.join(limits)}" if limits else ""
    lines = [
        f"run {row['run']}  {run_state(row)}  started {full_time(str(row['started']))}",
        f"  used: {', '.join(used)}{budget}",
    ]
    if words := load_words(row["load"]):
        lines.append(f"  people: {words}")
    if len(row["days"]) > 1:
        lines += [f"    {day}  {words}" for day, load in row["days"].items() if (words := load_words(load))]
    return lines


def _task(row: Row) -> list[str]:
    where = f"  {row['location']}" if row["location"] else ""
    problem = f"  {one_line(row['headline'], 90)}{where}" if row["headline"] and row["status"] != "succeeded" else ""
    kind = failure_words(str(row.get("failure_type", "")), str(row.get("category", "")))
    word = row["status"] or row["state"]
    spent = [
        f"{level_word(rung)} {', '.join(used_words(used))}" for rung, used in row["rungs"].items() if used_words(used)
    ]
    earlier = len(row["timeline"]) - _MOST
    level, attempts = level_word(row["level"]), counted(row["attempts"], "attempt")
    return [
        f"  {row['task']:<20} {word:<11} {level:<12} {attempts}{problem}",
        *([f"    failure: {kind}"] if kind and problem else []),
        *([f"    used: {', '.join(used_words(row))} ({'; '.join(spent)})"] if used_words(row) else []),
        *(f"    {replaced_words(one['before'], one['agent'], one['why'])}" for one in row.get("failovers") or ()),
        *_waiting(row.get("waits") or {}),
        *_before_work(row),
        *_proved(row.get("proof") or {}),
        *(
            f"    ⋈ also changed by {one_line(one['other'], 40)}: {one_line(', '.join(one['paths']), 120)}"
            for one in row.get("collisions", ())
        ),
        *([f"    ~ flaky: {one_line(row['flaky'], 120)} failed, then passed"] if row.get("flaky") else []),
        *(f"    ! the task changed its check or tests: {finding}" for finding in row.get("weakened", ())),
        *_ending(row),
        *([f"    … {earlier} earlier (--json has all of it)"] if earlier > 0 else []),
        *(line for moment in row["timeline"][-_MOST:] for line in (_moment(moment), *_ways(moment))),
    ]


def _waiting(wait: Row) -> list[str]:
    if not wait:
        return []
    if wait["for"] == "host":
        return [f"    … {one_line(wait['reason'], 160)}"]
    asks = f", asks you in {span(wait['asks_in'])} at the latest" if "asks_in" in wait else ""
    what = {"quota": "for a quota", "outage": "for an outage to pass"}.get(wait["for"], "for a passing trouble")
    return [f"    … waits {what}: {span(wait['left'])} of {span(wait['seconds'])} left{asks}"]


def _before_work(row: Row) -> list[str]:
    before = row.get("baseline_check") or {}
    if row.get("passed_before_work"):
        return [f"    ! its check {PASSED_BEFORE_WORK}"]
    if before.get("result") in ("failed", "contradicted"):
        said = f": {one_line(before['headline'], 90)}" if before["headline"] else ""
        return [f"    its check failed before any work{said}"]
    return []


def _proved(proof: Row) -> list[str]:
    if found := proof.get("problem") or proof.get("note"):
        return [f"    ! its check proves nothing: {found}" if proof["problem"] else f"    ~ {found}"]
    return ["    proved: its check fails without the work"] if proof else []


def _ending(row: Row) -> list[str]:
    """Return the bad end of the last attempt, and the agent's last words."""
    if not row.get("ending") or row["status"] == "succeeded":
        return []
    said = [one_line(line, 160) for line in str(row["said"]).splitlines()][-_SAID_LINES:]
    return [f"    ! the agent {one_line(row['ending'], 160)}", *(f"      | {line}" for line in said)]


def _ways(moment: Row) -> list[str]:
    """The approaches of an attempt that were worked at the same time."""
    return [
        f"      {WAY_ENDS[way['result']][0]} approach {way['slot']} {way['result']}: {one_line(way['approach'], 120)}"
        for way in moment.get("ways") or ()
    ]


def _moment(moment: Row) -> str:
    """One line of a timeline: time, escalation level, outcome, and checkpoint."""
    line = story_line(moment)
    lasted = f"  ({span(line.seconds)})" if line.seconds is not None else ""
    saved = f"  {line.saved}" if line.saved else ""
    text = f" {line.text}" if line.text else ""
    return f"    {clock_time(line.time)}  {line.label:<14} {line.glyph}{text}{lasted}{saved}"


def _fact(text: str) -> list[str]:
    """Return the first lines of a fact; those after the first are set in."""
    first, *rest = [str(one_line(line, 160)) for line in text.splitlines()[:_SAID_LINES]] or [""]
    return [first, *(f"{'':<14}{line}" for line in rest)]


def _gate(row: Row) -> list[str]:
    context = row["context"]
    question = context.get("question") or context.get("problem") or context.get("error_signature") or ""
    return [
        "",
        f"? {row['gate']}  {row['type']}  {' › '.join(one_line(str(name), 100) for name in row['path'])}",
        *(f"  {line}" for line in str(question).splitlines()),
        *(
            f"    {number}. {one_line(str(option), 160)}"
            for number, option in enumerate(context.get("options") or (), 1)
        ),
        *(f"    {label:<13} {line}" for label, text in row.get("facts", {}).items() for line in _fact(text)),
        f"  answer: unstuck answer {row['gate']} {' | '.join(row['choices'])}",
    ]
