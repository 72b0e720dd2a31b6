"""What went wrong: signature, location, error type, failure type, category and cause. Pure: no I/O, no clock.

Whoever only reads what was found needs none of the rules that find it: each name comes in when it is first used.
"""

from __future__ import annotations

from unstuck.public import when_used

_PUBLIC = {
    "unstuck.diagnosis.categories": ("classify_error",),
    "unstuck.diagnosis.causes": ("Approach", "Execution", "Failure", "HandlerResult", "classify_cause"),
    "unstuck.diagnosis.essence": ("steady",),
    "unstuck.diagnosis.examine": ("diagnose",),
    "unstuck.diagnosis.failure_types": ("classify_failure",),
    "unstuck.diagnosis.hints": ("ErrorAnalysis", "analyze_error"),
    "unstuck.diagnosis.kinds": ("Cause", "ErrorCategory", "ErrorType", "FailureType"),
    "unstuck.diagnosis.model": ("Diagnosis",),
    "unstuck.diagnosis.signature": ("FailureSignature", "extract_failure_signature"),
}
__all__, __getattr__, __dir__ = when_used(__name__, _PUBLIC)
