"""Diagnosis of failures: signature, location, error type, failure type, category and cause. Pure: no I/O, no clock.

Each name is imported at its first use, so that reading a diagnosis imports no rules.
"""

from __future__ import annotations

from unstuck.lazy_exports import when_used

_PUBLIC = {
    "unstuck.diagnosis.classification.categories": ("classify_error",),
    "unstuck.diagnosis.classification.causes": ("Approach", "Execution", "Failure", "HandlerResult", "classify_cause"),
    "unstuck.diagnosis.signatures.fingerprint": ("without_volatile",),
    "unstuck.diagnosis.pipeline": ("diagnose",),
    "unstuck.diagnosis.classification.failure_types": ("classify_failure",),
    "unstuck.diagnosis.classification.hints": ("ErrorAnalysis", "analyze_error"),
    "unstuck.diagnosis.enums": ("Cause", "ErrorCategory", "ErrorType", "FailureType"),
    "unstuck.diagnosis.model": ("Diagnosis",),
    "unstuck.diagnosis.signatures.signature": ("FailureSignature", "extract_failure_signature"),
}
__all__, __getattr__, __dir__ = when_used(__name__, _PUBLIC)
