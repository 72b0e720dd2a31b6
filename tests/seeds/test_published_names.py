"""Every published name, number, default, event and field, in tables."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

import unstuck
from unstuck import (
    ErrorCategory,
    ErrorType,
    Failure,
    FailureSignature,
    FailureType,
    LoopDetector,
    TimeoutMonitor,
    classify_cause,
    classify_error,
    classify_failure,
)
from unstuck.escalation.limits import Limits
from unstuck.eventlog.events import EVENTS
from unstuck.settings.models import Settings

TIMEOUTS = [
    ("orchestrator", 1800),
    ("backend_developer", 900),
    ("frontend_developer", 900),
    ("qa_engineer", 600),
    ("security_expert", 1200),
    ("devops_engineer", 1800),
    ("documentation", 600),
    ("ui_ux_designer", 900),
]
EVENT_FIELDS = [
    ("transient_error_retry", "error_type retry delay_seconds"),
    ("transient_error_resolved", "error_type total_retries"),
    ("transient_error_escalated", "error_type reason"),
    ("agent_failure", "task_id agent_type error_type attempt"),
    ("agent_timeout", "agent_id task_id elapsed_ms"),
    ("agent_crashed", "agent_id task_id error_message"),
    ("signal_parse_failure", "agent_id task_id raw_output_sample"),
    ("infrastructure_blocked", "issue reported_by"),
    ("remediation_dispatched", "attempt issue"),
    ("infrastructure_restored", "attempts_used"),
    ("configuration_error", "task_id error_type"),
    ("agent_seeks_guidance", "agent_id task_id question"),
    ("divine_response_received", "task_id response"),
    ("workflow_failed", "reason details last_state attempts last_issue"),
]
DEFAULTS: list[tuple[str, Any, Any]] = [
    ("max_retries", Settings().failure_handler.max_retries, 3),
    ("max_pivots", Settings().failure_handler.max_pivots, 3),
    ("max_research", Settings().failure_handler.max_research, 2),
    ("skip_to_ask", Settings().failure_handler.skip_to_ask, ()),
    ("auto_resolve", Settings().failure_handler.auto_resolve, ()),
    ("TASK_FAILURE_LIMIT", Settings().task_failure_limit, 3),
    ("REMEDIATION_ATTEMPTS", Settings().remediation_attempts, 3),
    ("AGENT_TIMEOUT", Settings().agent_timeout, 900),
    ("check interval", Settings().check_interval, 10),
    ("window size", Settings().window_size, 3),
    ("detector's window size", LoopDetector().window_size, 3),
    ("monitor's check interval", TimeoutMonitor().check_interval, 10),
    ("transient retries", Limits().transient_retries, 3),
    ("retries of an unknown failure", Limits().unknown_retries, 1),
    ("limits of the ladder", (Limits().max_retries, Limits().max_pivots, Limits().max_research), (3, 3, 2)),
]
NAMES = """
    FailureSignature ErrorType extract_failure_signature FailureType classify_failure ErrorCategory classify_error Cause
    classify_cause Failure Execution HandlerResult Approach ErrorAnalysis analyze_error StuckReport FailureHandler
    EscalationLevel LoopDetector is_circular_fix TimeoutMonitor GateManager GateType CheckpointManager diagnose
    Supervisor Task Guidance Outcome Agent Observation Directive Answer Gate
"""
PARAMETERS: list[tuple[Any, str]] = [
    (TimeoutMonitor.monitor_task, "self task_id agent_id agent_type timeout_seconds on_timeout metadata"),
    (TimeoutMonitor.complete_task, "self task_id"),
    (TimeoutMonitor.start, "self"),
    (TimeoutMonitor.stop, "self"),
    (TimeoutMonitor.get_monitor_stats, "self"),
    (LoopDetector.check_and_trigger_gate, "self task_id agent_id project_id error_signature"),
    (LoopDetector.record_failure, "self task_id error_signature"),
    (LoopDetector.record_success, "self task_id"),
    (LoopDetector.get_loop_stats, "self"),
    (FailureSignature.from_error, "error_message agent_id task_id stack_trace"),
    (FailureSignature.is_identical_to, "self other"),
    (FailureSignature.is_similar_to, "self other"),
    (FailureSignature._classify_error, "error_message"),
    (FailureSignature._extract_location, "error_message stack_trace"),
    (FailureSignature._hash_context, "error_message stack_trace"),
    (unstuck.extract_failure_signature, "error_output agent_id task_id"),
    (unstuck.FailureHandler.handle, "self failure execution"),
]


@pytest.mark.parametrize("name", NAMES.split())
def test_public_names(name: str) -> None:
    """Everything that is published can be imported from ``unstuck``."""
    assert name in unstuck.__all__
    assert getattr(unstuck, name).__name__ == name


@pytest.mark.parametrize(("function", "names"), PARAMETERS, ids=lambda value: getattr(value, "__qualname__", ""))
def test_parameters(function: Any, names: str) -> None:
    """Published parameters keep their names and their order; what is added comes after them."""
    wanted = names.split()
    assert list(inspect.signature(function).parameters)[: len(wanted)] == wanted


@pytest.mark.parametrize(("agent_type", "seconds"), TIMEOUTS)
def test_timeouts(agent_type: str, seconds: int) -> None:
    """Each agent type's limit, in the monitor and in the settings, with hyphens as well."""
    assert TimeoutMonitor.DEFAULT_TIMEOUTS[agent_type] == seconds
    assert Settings().timeout_for(agent_type) == seconds
    assert Settings().timeout_for(agent_type.replace("_", "-")) == seconds


def test_other_agents_have_the_fallback() -> None:
    """A type that nobody named has AGENT_TIMEOUT, and no further type is listed."""
    assert Settings().timeout_for("poet") == 900
    assert set(TimeoutMonitor.DEFAULT_TIMEOUTS) == {agent_type for agent_type, _ in TIMEOUTS}


@pytest.mark.parametrize(
    ("name", "value", "wanted"), DEFAULTS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_defaults(name: str, value: Any, wanted: Any) -> None:
    """Every number has its published default."""
    assert value == wanted, name


@pytest.mark.parametrize(("name", "fields"), EVENT_FIELDS)
def test_events(name: str, fields: str) -> None:
    """Each event keeps its name and has all of its fields."""
    assert set(fields.split()) <= set(EVENTS[name].model_fields)
    assert EVENTS[name].name == name


@pytest.mark.parametrize(
    "name", ["exact_message", "error_type", "location", "context_hash", "timestamp", "agent_id", "task_id", "metadata"]
)
def test_fields_of_a_signature(name: str) -> None:
    """A signature has every published field."""
    assert hasattr(unstuck.extract_failure_signature("boom", "a", "t"), name)


def test_enumerations() -> None:
    """Members, values and order."""
    assert [kind.value for kind in ErrorType] == [
        "SYNTAX_ERROR",
        "TYPE_ERROR",
        "IMPORT_ERROR",
        "ATTRIBUTE_ERROR",
        "KEY_ERROR",
        "VALUE_ERROR",
        "INDEX_ERROR",
        "RUNTIME_ERROR",
        "ASSERTION_ERROR",
        "TIMEOUT_ERROR",
        "CONNECTION_ERROR",
        "HTTP_ERROR",
        "DATABASE_ERROR",
        "VALIDATION_ERROR",
        "UNKNOWN",
    ]
    assert [kind.value for kind in FailureType] == [
        "BROKEN_BUILD",
        "VERIFICATION_FAILED",
        "CIRCULAR_FIX",
        "CONTEXT_EXHAUSTED",
        "UNKNOWN",
    ]
    categories = ["transient", "agent_failure", "infrastructure", "configuration", "unrecoverable"]
    assert [(kind.name, kind.value) for kind in ErrorCategory] == [(name.upper(), name) for name in categories]
    assert {kind.value for kind in unstuck.Cause} == {
        "syntax_error",
        "simple_logic",
        "test_assertion",
        "approach_wrong",
        "pattern_mismatch",
        "dependency_issue",
        "complex_logic",
        "unknown_api",
        "integration_issue",
    }
    for kind in (ErrorType, FailureType, ErrorCategory, unstuck.Cause, unstuck.GateType):
        assert all(isinstance(member, str) for member in kind)
        assert str(next(iter(kind))).startswith(f"{kind.__name__}.")


CATEGORIES = [
    ("transient", "timeout network_error rate_limit", False),
    ("agent_failure", "agent_timeout agent_crash parse_failure signal_missing", False),
    ("agent_failure", "test_failure lint_error type_error env_unavailable", False),
    ("infrastructure", "test_failure lint_error type_error env_unavailable", True),
    ("configuration", "ambiguous_requirement missing_info scope_unclear", False),
    ("unrecoverable", "task_limit_exceeded remediation_limit_exceeded", False),
    ("agent_failure", "anything_else", False),
    ("transient", "timeout", True),
]


@pytest.mark.parametrize(
    ("kind", "pre_existing", "category"),
    [(kind, existing, category) for category, kinds, existing in CATEGORIES for kind in kinds.split()],
)
def test_classify_error(kind: str, pre_existing: bool, category: str) -> None:
    """Every row of the classification."""
    error = SimpleNamespace(type=kind, details="", options=[], context={}, pre_existing=pre_existing)
    assert classify_error(error) == category


FAILURE_TYPES = [
    (
        FailureType.BROKEN_BUILD,
        (
            "syntax error|compilation error|module not found|import error|cannot find module|unexpected token"
            "|indentation error|parse error|Error: Cannot find module './utils' from 'src/index.js'"
        ),
    ),
    (
        FailureType.VERIFICATION_FAILED,
        "verification failed|expected 1|assertion|test failed|status code 404|AssertionError: Expected 200 but got 404",
    ),
    (
        FailureType.CONTEXT_EXHAUSTED,
        (
            "context window exceeded|token limit reached|maximum length of the prompt"
            "|Error: Maximum context length (128k tokens) exceeded"
        ),
    ),
    (FailureType.UNKNOWN, "boom|Error: Connection refused to database server"),
]


@pytest.mark.parametrize(("text", "kind"), [(text, kind) for kind, texts in FAILURE_TYPES for text in texts.split("|")])
def test_classify_failure(text: str, kind: FailureType) -> None:
    """Every indicator and every example of a failure type."""
    assert classify_failure(text, "subtask-1") is kind
    assert classify_failure(text.upper(), "subtask-1") is kind


def test_the_order_of_the_failure_types() -> None:
    """Build before verification before context before circular."""
    words = ["syntax error", "assertion", "token limit reached"]
    kinds = [kind for kind, _ in FAILURE_TYPES[:3]]
    for start in range(3):
        assert classify_failure(" and ".join(reversed(words[start:])), circular=True) is kinds[start]
    assert classify_failure("boom", circular=True) is FailureType.CIRCULAR_FIX


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        (Failure("x", phase="parse"), "syntax_error"),
        (Failure("Invalid SYNTAX here"), "syntax_error"),
        (Failure("Expected 1", phase="test"), "test_assertion"),
        (Failure("Expected 1", phase="build"), "simple_logic"),
        (Failure("module not found"), "dependency_issue"),
        (Failure("failed to import x"), "dependency_issue"),
        (Failure("TypeError: x", retry_count=0), "simple_logic"),
        (Failure("TypeError: x", retry_count=1), "simple_logic"),
        (Failure("TypeError: x", retry_count=2), "approach_wrong"),
        (Failure("x", same_location_count=1), "simple_logic"),
        (Failure("x", same_location_count=2), "approach_wrong"),
        (Failure("x", involved_files=list("abc")), "simple_logic"),
        (Failure("x", involved_files=list("abcd")), "integration_issue"),
        (Failure("x", involves_external_api=True), "unknown_api"),
        (Failure("x"), "simple_logic"),
    ],
)
def test_classify_cause(failure: Failure, cause: str) -> None:
    """Every rule of the handler's own classification, at its boundary."""
    assert classify_cause(failure) == cause
