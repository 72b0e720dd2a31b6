"""Unstuck: supervise coding agents, notice when one is stuck, climb a ladder of answers, and ask once, well.

Everything public is here and comes in when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from unstuck.lazy_exports import when_used

__version__ = "0.1.0"

_PUBLIC = {
    "unstuck.contract": (
        "Agent", "Answer", "Capabilities", "Directive", "Gate", "Guidance", "Observation", "Outcome", "Receipt",
        "Report", "Task", "Verdict",
    ),
    "unstuck.detection": ("LoopDetector", "is_circular_fix"),
    "unstuck.diagnosis": (
        "Approach", "Cause", "Diagnosis", "ErrorAnalysis", "ErrorCategory", "ErrorType", "Execution", "Failure",
        "FailureSignature", "FailureType", "HandlerResult", "analyze_error", "classify_cause", "classify_error",
        "classify_failure", "diagnose", "extract_failure_signature",
    ),
    "unstuck.errors": ("AnswerRefused", "GateClosed", "GateUnknown", "LaggedBehind", "UnstuckError"),
    "unstuck.escalation.limits": ("EscalationLevel", "Limits"),
    "unstuck.escalation.stuck_report": ("StuckReport",),
    "unstuck.supervision.standalone.checkpoint_manager": ("CheckpointManager",),
    "unstuck.supervision.run.coordinator": ("Coordinator",),
    "unstuck.supervision.gates.gate_types": ("GateManager", "GateType"),
    "unstuck.supervision.standalone.error_handlers": (
        "handle_agent_failure", "handle_configuration_error", "handle_infrastructure_error", "handle_transient_error",
        "handle_unrecoverable_error",
    ),
    "unstuck.supervision.standalone.failure_handler": ("FailureHandler",),
    "unstuck.supervision.run.supervisor": ("Supervisor",),
    "unstuck.supervision.standalone.timeout_monitor": ("TimeoutMonitor",),
    "unstuck.text": ("Clean", "admit"),
}  # fmt: skip
_names, __getattr__, __dir__ = when_used(__name__, _PUBLIC)
__all__ = [*_names, "__version__"]  # noqa: PLE0604
