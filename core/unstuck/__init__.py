"""Unstuck: supervise coding agents, notice when one is stuck, climb a ladder of answers, and ask once, well.

Everything public is here and comes in when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "unstuck.contract": (
        "Agent", "Answer", "Capabilities", "Directive", "Gate", "Guidance", "Observation", "Outcome", "Receipt",
        "Report", "Task", "Verdict",
    ),
    "unstuck.detection": ("LoopDetector", "is_circular_fix"),
    "unstuck.diagnosis.categories": ("classify_error",),
    "unstuck.diagnosis.causes": ("Approach", "Execution", "Failure", "HandlerResult", "classify_cause"),
    "unstuck.diagnosis.examine": ("diagnose",),
    "unstuck.diagnosis.failure_types": ("classify_failure",),
    "unstuck.diagnosis.hints": ("ErrorAnalysis", "analyze_error"),
    "unstuck.diagnosis.kinds": ("Cause", "ErrorCategory", "ErrorType", "FailureType"),
    "unstuck.diagnosis.model": ("Diagnosis",),
    "unstuck.diagnosis.signature": ("FailureSignature", "extract_failure_signature"),
    "unstuck.errors": ("AnswerRefused", "GateClosed", "GateUnknown", "LaggedBehind", "UnstuckError"),
    "unstuck.escalation.levels": ("EscalationLevel",),
    "unstuck.escalation.report": ("StuckReport",),
    "unstuck.supervision.checkpoints": ("CheckpointManager",),
    "unstuck.supervision.coordinator": ("Coordinator",),
    "unstuck.supervision.gates": ("GateManager", "GateType"),
    "unstuck.supervision.handler": ("FailureHandler",),
    "unstuck.supervision.supervisor": ("Supervisor",),
    "unstuck.supervision.timeouts": ("TimeoutMonitor",),
    "unstuck.text": ("Clean", "admit"),
}  # fmt: skip
_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted([*_MODULES, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'unstuck' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
