"""What went wrong: signature, location, error type, failure type, category and cause. Pure: no I/O, no clock."""

from __future__ import annotations

from unstuck.diagnosis.categories import classify_error
from unstuck.diagnosis.causes import Approach, Execution, Failure, HandlerResult, classify_cause
from unstuck.diagnosis.essence import steady
from unstuck.diagnosis.examine import diagnose
from unstuck.diagnosis.failure_types import classify_failure
from unstuck.diagnosis.hints import ErrorAnalysis, analyze_error
from unstuck.diagnosis.kinds import Cause, ErrorCategory, ErrorType, FailureType
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.signature import FailureSignature, extract_failure_signature

__all__ = [
    "Approach",
    "Cause",
    "Diagnosis",
    "ErrorAnalysis",
    "ErrorCategory",
    "ErrorType",
    "Execution",
    "Failure",
    "FailureSignature",
    "FailureType",
    "HandlerResult",
    "analyze_error",
    "classify_cause",
    "classify_error",
    "classify_failure",
    "diagnose",
    "extract_failure_signature",
    "steady",
]
