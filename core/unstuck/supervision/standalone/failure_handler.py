"""The failure handler that works alone: the ladder behind one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from unstuck.diagnosis.classification.causes import Approach, Execution, Failure, HandlerResult, classify_cause
from unstuck.diagnosis.classification.hints import analyze_error
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose
from unstuck.diagnosis.signatures.signature import extract_failure_signature
from unstuck.escalation.alternatives import alternatives
from unstuck.escalation.ladder import next_rung, step_onto
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.limits import Limits
from unstuck.escalation.research_targets import research_targets
from unstuck.escalation.stuck_report import format_stuck_question, stuck_report


class FailureHandler:
    """Answers the failures of one task with retry, pivot, research and, when nothing is left, the question.

    One handler per task. ``output`` gets the one-line messages; ``limits`` the numbers. Nothing is done here:
    :meth:`handle` returns what is to be done.
    """

    def __init__(self, *, limits: Limits | None = None, output: Callable[[str], None] = lambda line: None) -> None:
        self._limits = limits or Limits()
        self._output = output
        self.climb = Climb()
        self.max_retries = self._limits.max_retries
        self.max_pivots = self._limits.max_pivots
        self.max_research = self._limits.max_research

    @property
    def retry_count(self) -> int:
        """Retries of the present approach."""
        return self.climb.retries

    @property
    def pivot_count(self) -> int:
        """Pivots since the last research."""
        return self.climb.pivots

    @property
    def research_count(self) -> int:
        """Research in this climb."""
        return self.climb.research

    def handle(self, failure: Failure, execution: Execution) -> HandlerResult:
        """What answers ``failure``: RETRY, PIVOT, RESEARCH or ASK."""
        diagnosis = self._diagnosis(failure)
        fresh = diagnosis.identity not in self.climb.seen
        current = execution.current_approach
        name = getattr(current, "name", None) or (current if isinstance(current, str) else "")
        climb = replace(self.climb, approach=name or self.climb.approach)
        noted = climb.noting(diagnosis.identity, climb.approach)
        remembered, patterns = _known(execution.intent, climb.approach)
        ways = alternatives(diagnosis.cause, remembered=remembered, patterns=patterns, failed=noted.failed_approaches)
        rung = next_rung(
            noted,
            diagnosis.cause,
            diagnosis.failure_type,
            self._limits,
            fresh=fresh,
            alternatives=bool(ways),
            direct=execution.mode == "direct",
        )
        if rung == "human":
            return self._ask(failure, execution, diagnosis, noted)
        self.climb = step_onto(noted, rung, diagnosis.failure_type, fresh=fresh)  # type: ignore[arg-type]
        if rung == "retry":
            return self._retry(failure, execution)
        if rung == "pivot":
            return self._pivot(execution, ways[0])
        return self._research(failure, execution, diagnosis)

    def succeeded(self) -> None:
        """The task got past its failure: the next one starts a new climb."""
        self.climb = Climb(failed_approaches=self.climb.failed_approaches)

    def _diagnosis(self, failure: Failure) -> Diagnosis:
        found = diagnose(failure.error, phase=failure.phase or None)
        if found is None:
            found = Diagnosis(signature=extract_failure_signature(failure.error, "", ""))
        return replace(found, cause=classify_cause(failure))

    def _retry(self, failure: Failure, execution: Execution) -> HandlerResult:
        fix = analyze_error(failure.error)
        self._output(f"  → Retry {self.climb.retries}/{self.max_retries}: {fix.fix_hint}")
        return HandlerResult(action="RETRY", fix=fix, phase=execution.current_phase)

    def _pivot(self, execution: Execution, way: Approach) -> HandlerResult:
        self.climb = replace(self.climb, approach=way.name)
        self._output(f"  → Pivot {self.climb.pivots}/{self.max_pivots}: Trying {way.name}")
        return HandlerResult(action="PIVOT", new_approach=way, phase=execution.current_phase)

    def _research(self, failure: Failure, execution: Execution, diagnosis: Diagnosis) -> HandlerResult:
        targets = research_targets(
            diagnosis.cause,
            failure.error,
            file=execution.current_file,
            files=tuple(failure.involved_files),
            approach=self.climb.approach,
        )
        read = ", ".join(target.name for target in targets) or "the code round the failure"
        self._output(f"  → Research {self.climb.research}/{self.max_research}: Reading {read}")
        return HandlerResult(action="RESEARCH", phase=execution.current_phase, targets=list(targets))

    def _ask(self, failure: Failure, execution: Execution, diagnosis: Diagnosis, noted: Climb) -> HandlerResult:
        report = stuck_report("task", noted, diagnosis, reason="nothing is left to try")
        question = format_stuck_question(report)
        self.climb = noted.answered()
        tried = noted.told_retries, noted.told_pivots, noted.told_research
        self._output(
            "! I am stuck and need help.\n\nI tried:\n"
            f"• {tried[0]} retries\n• {tried[1]} alternative approaches\n• {tried[2]} research\n\n"
            f"Problem: {failure.summary or diagnosis.headline}\n"
        )
        return HandlerResult(action="ASK", question=question, stuck_report=report, phase=execution.current_phase)


Known = tuple[tuple[str, float], ...]


def _known(intent: Any, current: str) -> tuple[Known, Known]:
    """What the caller's memory offers: similar tasks that succeeded, by similarity, and patterns, by confidence.

    ``intent.memory`` may hold ``similar_tasks`` (``outcome``, ``approach``, ``similarity``) and ``applicable_patterns``
    (``name``, ``approach``, ``confidence``); what is missing counts as empty.
    """
    memory = getattr(intent, "memory", None)
    tasks = getattr(memory, "similar_tasks", None) or ()
    patterns = getattr(memory, "applicable_patterns", None) or ()
    return (
        tuple(
            (task.approach, task.similarity) for task in tasks if task.outcome == "success" and task.approach != current
        ),
        tuple((pattern.approach, pattern.confidence) for pattern in patterns if pattern.name != current),
    )
