"""The failure handler that works alone: the escalation levels behind one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unstuck.arguments import checked
from unstuck.diagnosis.classification.causes import Approach, Execution, Failure, HandlerResult, classify_cause
from unstuck.diagnosis.classification.failure_types import classify_failure
from unstuck.diagnosis.classification.hints import ErrorAnalysis, analyze_error
from unstuck.diagnosis.enums import FailureType
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.parsing.truncation import as_text
from unstuck.diagnosis.pipeline import diagnose
from unstuck.diagnosis.signatures.signature import extract_failure_signature
from unstuck.escalation.alternatives import alternatives
from unstuck.escalation.ladder import next_rung, step_onto
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.limits import Limits
from unstuck.escalation.research_targets import research_targets
from unstuck.escalation.stuck_report import format_stuck_question, stuck_report
from unstuck.settings.regex import matches
from unstuck.words.labels import counted
from unstuck.workspace.research.research import Insight, insights_of

UNREAD = "read the code around the failure, then rewrite it"


class FailureHandler:
    """Answers the failures of one task with retry, pivot, research and, when nothing is left, the question.

    One handler per ``task_id`` (``task`` is its old name). ``output`` gets the one-line messages. ``max_retries``,
    ``max_pivots``, ``max_research``, ``skip_to_ask`` and ``auto_resolve`` may be changed at any time. ``auto_resolve``
    holds rules with ``pattern`` and ``action``. ``checkpointer`` saves the files: it is called with a reason before a
    pivot and a question, and returns the checkpoint or its id. Research reads files below ``root``. Everything else is
    up to the caller: :meth:`handle` returns what is to be done.

    Example::

        handler = FailureHandler(output=print)
        answer = handler.handle(Failure("AssertionError: 401 != 200", phase="test"), Execution())
        print(answer.action)  # RETRY
    """

    @checked
    def __init__(
        self,
        *,
        limits: Limits | None = None,
        output: Callable[[str], None] | None = None,
        skip_to_ask: str | Sequence[str] | None = None,
        auto_resolve: Sequence[Mapping[str, str]] | None = None,
        checkpointer: Callable[[str], Any] | None = None,
        task_id: str = "",
        root: Path | str = ".",
        task: str = "",
    ) -> None:
        self._limits = limits or Limits()
        self._output = output or (lambda line: None)
        self._checkpointer = checkpointer
        self.task_id = task_id or task or "task"
        self.root = Path(root)
        self.climb = Climb()
        self._stated = ""
        self.max_retries = self._limits.max_retries
        self.max_pivots = self._limits.max_pivots
        self.max_research = self._limits.max_research
        self.skip_to_ask: str | Sequence[str] = self._limits.skip_to_ask if skip_to_ask is None else skip_to_ask
        self.auto_resolve: Sequence[Mapping[str, str]] = (
            [{"pattern": pattern, "action": hint or command} for pattern, hint, command in self._limits.auto_resolve]
            if auto_resolve is None
            else auto_resolve
        )

    @property
    def task(self) -> str:
        """The old name of ``task_id``."""
        return self.task_id

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

    @checked
    def handle(self, failure: Failure, execution: Execution) -> HandlerResult:
        """Return the answer to ``failure``: RETRY, PIVOT, RESEARCH or ASK."""
        if (text := as_text(failure.error)) is not failure.error:  # such as the exception itself
            failure = replace(failure, error=text)
        diagnosis = self._diagnosis(failure)
        fresh = diagnosis.identity not in self.climb.seen
        climb = replace(self.climb, approach=self._followed(execution.current_approach))
        noted = climb.noting(diagnosis.identity, climb.approach)
        # A string is a sequence, too: its letters would match everything.
        straight = (self.skip_to_ask,) if isinstance(self.skip_to_ask, str) else self.skip_to_ask
        if any(matches(pattern, failure.error) for pattern in straight):
            return self._ask(failure, execution, diagnosis, noted, reason="such a failure goes straight to a person")
        if resolved := self._resolved(failure, execution, noted):
            return resolved
        remembered, patterns = _known(execution.intent, climb.approach)
        ways = alternatives(diagnosis.cause, remembered=remembered, patterns=patterns, failed=noted.failed_approaches)
        rung = next_rung(
            noted,
            diagnosis.cause,
            diagnosis.failure_type,
            self._present_limits(),
            fresh=fresh,
            alternatives=bool(ways),
            direct=execution.mode == "direct",
        )
        if rung == "human":
            return self._ask(failure, execution, diagnosis, noted, reason="nothing is left to try")
        checkpoint = self._saved("before another approach") if rung == "pivot" else None
        self.climb = step_onto(noted, rung, diagnosis.failure_type, fresh=fresh)  # type: ignore[arg-type]
        if rung == "retry":
            return self._retry(execution, analyze_error(failure.error))
        if rung == "pivot":
            return self._pivot(execution, ways[0], checkpoint)
        return self._research(failure, execution, diagnosis, ways)

    def succeeded(self) -> None:
        """Record that the task got past its failure: the next one starts a new climb."""
        self.climb = Climb(failed_approaches=self.climb.failed_approaches)

    def _followed(self, current: Any) -> str:
        """Return the approach that failed: the caller's where it is a new one, else the one given here last."""
        name = str(getattr(current, "name", None) or (current if isinstance(current, str) else ""))
        before, self._stated = self._stated, name
        return name if name != before else self.climb.approach or name

    def _present_limits(self) -> Limits:
        return replace(
            self._limits,
            max_retries=self.max_retries,
            max_pivots=self.max_pivots,
            max_research=self.max_research,
            # An attribute that is set higher must not be cut by the limit of a failure type.
            verification_retries=max(self._limits.verification_retries, self.max_retries),
        )

    def _diagnosis(self, failure: Failure) -> Diagnosis:
        found = diagnose(failure.error, phase=failure.phase or None, failed=True)
        if found is None:
            found = Diagnosis(signature=extract_failure_signature(failure.error, "", ""))
        if found.failure_type is FailureType.UNKNOWN:
            # In an output the class of an error outweighs its words; here the caller says what the error is.
            found = replace(found, failure_type=classify_failure(failure.error, self.task_id))
        return replace(found, cause=classify_cause(failure))

    def _resolved(self, failure: Failure, execution: Execution, noted: Climb) -> HandlerResult | None:
        """Return one retry with the known answer to this failure, or None."""
        for rule in self.auto_resolve:
            used = f"{rule['pattern']}\n{noted.signature}"
            if used not in noted.resolved and matches(rule["pattern"], failure.error):
                self.climb = replace(
                    noted,
                    resolved=(*noted.resolved, used),
                    told_retries=noted.told_retries + 1,
                    directives=noted.directives + 1,
                )
                self._output(f"  → Known answer: {rule['action']}")
                fix = ErrorAnalysis("auto_resolve", failure.error, rule["pattern"], rule["action"])
                return HandlerResult(action="RETRY", fix=fix, phase=execution.current_phase)
        return None

    def _saved(self, reason: str) -> Any:
        return self._checkpointer(reason) if self._checkpointer is not None else None

    def _retry(self, execution: Execution, fix: ErrorAnalysis) -> HandlerResult:
        self._output(f"  → Retry {self.climb.retries}/{self.max_retries}: {fix.description}")
        return HandlerResult(action="RETRY", fix=fix, phase=execution.current_phase)

    def _pivot(self, execution: Execution, way: Approach, checkpoint: Any) -> HandlerResult:
        self.climb = replace(self.climb, approach=way.name)
        self._output(f"  → Pivot {self.climb.pivots}/{self.max_pivots}: Trying {way.name}")
        return HandlerResult(action="PIVOT", new_approach=way, checkpoint=checkpoint, phase=execution.current_phase)

    def _research(
        self, failure: Failure, execution: Execution, diagnosis: Diagnosis, ways: Sequence[Approach]
    ) -> HandlerResult:
        targets = research_targets(
            diagnosis.cause,
            failure.error,
            file=execution.current_file,
            files=tuple(failure.involved_files),
            approach=self.climb.approach,
        )
        read = ", ".join(target.name for target in targets) or "the code round the failure"
        self._output(f"  → Research {self.climb.research}/{self.max_research}: Reading {read}")
        insights = insights_of(self.root, targets, failure.error)
        if insights:
            sources = ", ".join(insight.source for insight in insights)
            self._output(f"  → Found {counted(len(insights), 'insight')}: {sources}")
        way = replace(ways[0], source="research") if ways else Approach(UNREAD, "research")
        self.climb = replace(self.climb, approach=way.name, insights=(*self.climb.insights, *map(_told, insights)))
        return HandlerResult(
            action="RESEARCH",
            insights=list(insights),
            new_approach=way,
            phase=execution.current_phase,
            targets=list(targets),
        )

    def _ask(
        self, failure: Failure, execution: Execution, diagnosis: Diagnosis, noted: Climb, *, reason: str
    ) -> HandlerResult:
        checkpoint = self._saved("before a question")
        saved = str(getattr(checkpoint, "id", checkpoint) or "")
        report = stuck_report(self.task_id, noted, diagnosis, reason=reason, checkpoint=saved)
        report = replace(report, summary=failure.summary or report.summary)
        self.climb = noted.answered()
        tried = (
            counted(noted.told_retries, "retry", "retries"),
            counted(noted.told_pivots, "alternative approach", "alternative approaches"),
            counted(noted.told_research, "research round"),
        )
        listed = "\n".join(f"• {text}" for text in tried)
        self._output(
            f"! I am stuck and need help.\n\nI tried:\n{listed}\n\nProblem: {report.summary}\n\n"
            + (f"Checkpoint saved: {saved}\n" if saved else "No checkpoint was taken.\n")
        )
        return HandlerResult(
            action="ASK",
            checkpoint=checkpoint,
            question=format_stuck_question(report),
            stuck_report=report,
            phase=execution.current_phase,
        )


Known = tuple[tuple[str, float], ...]


def _told(insight: Insight) -> str:
    return f"{insight.source}\n{insight.text}"


def _known(intent: Any, current: str) -> tuple[Known, Known]:
    """Return the memory's suggestions: similar tasks that succeeded, by similarity, and patterns, by confidence.

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
