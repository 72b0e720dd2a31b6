"""JSON rows of a run: the run, its tasks with their timelines, its open gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from unstuck.eventlog.attention_stats import load_by_day, load_of, seconds_of
from unstuck.eventlog.state import AttemptRow, GateRow, State, TaskRow, collisions_of
from unstuck.eventlog.usage import usage_by_rung, usage_of
from unstuck.rows.timed_fields import count_down, state_now
from unstuck.text import one_line
from unstuck.words.labels import awaited_host, repeats_of
from unstuck.words.questions import question_facts

_ABOUT = 100


def run_row(run: str, state: State, now: float, *, live: bool = True) -> dict[str, Any]:
    """Return the row of one run; ``now`` is in seconds since 1970. ``live``: a process works it."""
    counts = Counter(row.status or _state(state, row) for row in state.tasks.values())
    return {
        "run": run,
        "state": state_now(state.run.state, lambda: live),
        "started": state.run.started,
        "ended": state.run.ended,
        "kind": state.run.kind,
        "about": _about(state),
        "exit_reason": state.run.exit_reason,
        "exit_code": state.run.exit_code,
        "tasks": dict(counts),
        "open_gates": len(state.open_gates()),
        "load": load_of(state, now).as_dict(),
    }


def _about(state: State) -> str:
    """Return what the run was started for: its task, or the first of its tasks and how many more there are."""
    tasks = [row.task for row in state.tasks.values()]
    more = f" and {len(tasks) - 1} more" if len(tasks) > 1 else ""
    return one_line(tasks[0].prompt or tasks[0].agent or tasks[0].id, _ABOUT) + more if tasks else ""


def show_rows(run: str, state: State, now: float, *, live: bool = True) -> Iterator[dict[str, Any]]:
    """Yield the run, then its tasks, then its open gates; ``now`` is in seconds since 1970."""
    yield run_row(run, state, now, live=live) | {
        "tokens": state.run.tokens,
        "cost": state.run.cost,
        "seconds": round(state.run.used("time", state.mono), 1),
        "budget": dict(state.run.limits),
        "days": {day: load.as_dict() for day, load in load_by_day(state, now).items()},
    }
    timelines = _timelines(state)
    for row in state.tasks.values():
        yield _task(state, row, now) | {"timeline": timelines.get(row.id, [])}
    for gate in state.open_gates():
        yield {
            "gate": gate.id,
            "type": gate.gate.type,
            "task": gate.gate.task,
            "path": [name for name in (gate.gate.task, gate.gate.context.get("subagent")) if name],
            "opened": gate.opened,
            "choices": [choice.replace("_", "-") for choice in gate.gate.choices],
            "standing": gate.gate.standing,
            "context": dict(gate.gate.context),
            "facts": {label: text for label, text in question_facts(state, gate) if text},
        }


def _state(state: State, row: TaskRow) -> str:
    """Return the state of a task; one that no host works yet is only ready."""
    return "ready" if awaited_host(state, row) else row.state


def _waits(state: State, row: TaskRow, now: float) -> dict[str, Any] | None:
    """Return the wait for a host or a service, with the seconds that are left of the latter; None for no wait."""
    if awaited := awaited_host(state, row):
        return {"for": "host", "reason": awaited}
    if row.state != "backoff":
        return None
    kind = "quota" if row.backoff_quota else "transient" if row.backoff_outage is None else "outage"
    delay, outage = row.backoff_delay, row.backoff_outage
    more = {} if outage is None else {"asks_in": delay + outage}
    wait = {"for": kind, "seconds": round(delay, 1), "left": delay, **more}
    count_down(wait, now - (seconds_of(row.backoff_since) or now))
    return wait


def _task(state: State, row: TaskRow, now: float) -> dict[str, Any]:
    diagnosis, used = row.diagnosis, usage_of(state, row)
    return {
        "task": row.id,
        "state": _state(state, row),
        "status": row.status,
        "agent": row.task.agent or row.task.agent_type,
        "failovers": [asdict(change) for change in row.failovers],
        "level": row.level,
        "attempts": row.attempts,
        "needs": list(row.task.needs),
        "repeats": repeats_of(state, row),
        "headline": diagnosis.headline if diagnosis else "",
        "location": (diagnosis.signature.location or "") if diagnosis else "",
        "error_type": diagnosis.signature.error_type.value if diagnosis else "",
        "failure_type": diagnosis.failure_type.value if diagnosis else "",
        "category": diagnosis.category.value if diagnosis else "",
        "reason": row.reason,
        "baseline_check": _baseline_check(row),
        "passed_before_work": row.passed_before_work,
        "waits": _waits(state, row, now),
        "proof": asdict(row.proof) if row.proof else None,
        "flaky": row.flaky,
        "collisions": [asdict(one) for one in collisions_of(state, row)],
        "weakened": list(row.check.weakened) if row.check else [],
        "ending": row.check.ending if row.check else "",
        "said": row.check.said if row.check else "",
        "baseline": row.baseline,
        "checkpoint": row.good,
        "tokens": used.tokens,
        "cost": used.cost,
        "rungs": {rung: asdict(spent) for rung, spent in usage_by_rung(state, row).items()},
    }


def _baseline_check(row: TaskRow) -> dict[str, str] | None:
    """Return the result of the check before the work, None if it is not known."""
    before = row.baseline_check
    if before is None:
        return None
    return {"result": before.result, "command": before.command, "headline": before.headline}


def _timelines(state: State) -> dict[str, list[dict[str, Any]]]:
    """Return by task its attempts and questions in order of time."""
    found: dict[str, list[dict[str, Any]]] = {}
    for attempt in state.attempts.values():
        found.setdefault(attempt.task, []).append(_attempt(state, attempt))
    for gate in state.gates.values():
        found.setdefault(gate.gate.task, []).append(question_row(gate))
    for moments in found.values():
        moments.sort(key=lambda moment: str(moment["time"]))
    return found


def timeline_of(state: State, task: str) -> list[dict[str, Any]]:
    """Return the attempts and questions of ``task`` in order of time."""
    moments = [_attempt(state, attempt) for attempt in state.attempts.values() if attempt.task == task]
    moments += [question_row(gate) for gate in state.gates.values() if gate.gate.task == task]
    return sorted(moments, key=lambda moment: str(moment["time"]))


def _attempt(state: State, row: AttemptRow) -> dict[str, Any]:
    report, task = row.report, state.tasks.get(row.task)
    stated = report.approach if report is not None else None
    approach = (stated or row.guidance.approach) if row.guidance.ways else (row.guidance.approach or stated)
    return {
        "kind": "attempt",
        "attempt": row.id,
        "agent": task.agent_of(row.guidance.number) if task is not None else "",
        "rung": row.guidance.level,
        "turn": row.turn,
        "time": row.begun,
        "seconds": row.seconds,
        "state": row.state,
        "how": report.how if report is not None else "",
        "claim": (report.claim or "unknown") if report is not None else "",
        "approach": approach or "",
        "ways": [
            {"slot": slot, "approach": row.guidance.ways[slot - 1].approach, "result": result}
            for slot, result in row.ways
            if slot <= len(row.guidance.ways)
        ],
        "check": row.check,
        "signature": row.signature,
        "headline": row.headline,
        "checkpoint": row.checkpoint,
        "answers": list(row.guidance.answers),
        "tokens": row.tokens,
        "cost": row.cost,
    }


def question_row(row: GateRow) -> dict[str, Any]:
    """Return a question with its answer, as a timeline has it."""
    opened, closed = seconds_of(row.opened), seconds_of(row.closed)
    answer = row.answer
    return {
        "kind": "question",
        "id": row.id,
        "type": row.gate.type,
        "time": row.opened,
        "seconds": round(closed - opened, 1) if opened is not None and closed is not None else None,
        "status": row.status,
        "choice": answer.choice.replace("_", "-") if answer is not None else "",
        "text": answer.text if answer is not None else "",
        "by": row.by or "",
        "via": row.via,
        "checkpoint": str(row.gate.context.get("checkpoint") or ""),
    }
