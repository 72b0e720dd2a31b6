"""Who has to respond to a failure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unstuck.diagnosis.kinds import ErrorCategory, ErrorType
from unstuck.diagnosis.reading import Reading

__all__ = ["category_of", "classify_error", "http_status"]

TRANSIENT = frozenset({"timeout", "network_error", "rate_limit"})
AGENT = frozenset({"agent_timeout", "agent_crash", "parse_failure", "signal_missing"})
BASELINE = frozenset({"test_failure", "lint_error", "type_error", "env_unavailable"})
CONFIGURATION = frozenset({"ambiguous_requirement", "missing_info", "scope_unclear"})
LIMITS = frozenset({"task_limit_exceeded", "remediation_limit_exceeded"})

RETRIABLE_STATUS = frozenset({"408", "425", "429", "500", "502", "503", "504", "529"})
STATUS = re.compile(
    r"(?:error|status|code|HTTP\S{0,8})\W{1,3}([1-5]\d\d)\b|\b([45]\d\d) (?:client|server) error", re.IGNORECASE
)
BUSY = re.compile(
    r"\b(?:EBUSY|ETXTBSY|EAGAIN)\b|resource (?:busy|temporarily unavailable)|text file busy|device or resource busy"
    r"|database is locked|could not (?:get|obtain) lock|try again later",
    re.IGNORECASE,
)
RATE_LIMIT = re.compile(r"rate.?limit|too many requests|overloaded|resource_exhausted|quota", re.IGNORECASE)
LASTING = re.compile(r"EADDRINUSE|already in use|certificate|self.signed", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Stated:
    type: str
    pre_existing: bool = False


def classify_error(error: Any) -> ErrorCategory:
    """The category of an object with ``type`` and ``pre_existing``; an attribute that is missing counts as empty."""
    kind = getattr(error, "type", "") or ""
    if kind in TRANSIENT:
        return ErrorCategory.TRANSIENT
    if kind in AGENT:
        return ErrorCategory.AGENT_FAILURE
    if kind in BASELINE:
        return ErrorCategory.INFRASTRUCTURE if getattr(error, "pre_existing", False) else ErrorCategory.AGENT_FAILURE
    if kind in CONFIGURATION:
        return ErrorCategory.CONFIGURATION
    if kind in LIMITS:
        return ErrorCategory.UNRECOVERABLE
    return ErrorCategory.AGENT_FAILURE


def category_of(reading: Reading, error_type: ErrorType, *, pre_existing: bool = False) -> ErrorCategory:
    """The category of an output. Nothing read in a text makes it configuration, unrecoverable or infrastructure."""
    return classify_error(_Stated(_stated(reading, error_type), pre_existing))


def http_status(reading: Reading) -> str:
    """The three digits of an HTTP answer, empty where there is none."""
    if reading.code.isdigit() and len(reading.code) == 3:
        return reading.code
    status = STATUS.search(reading.headline)
    return (status[1] or status[2]) if status else ""


def _stated(reading: Reading, error_type: ErrorType) -> str:
    """The word of the classification for what was read."""
    if reading.kind == "lint":
        return "lint_error"
    if reading.kind == "test":
        return "test_failure"
    if reading.context_exhausted or LASTING.search(reading.headline):
        return "test_failure"
    if error_type is ErrorType.HTTP_ERROR:
        return (
            "rate_limit"
            if http_status(reading) in RETRIABLE_STATUS or RATE_LIMIT.search(reading.headline)
            else "test_failure"
        )
    if error_type is ErrorType.TIMEOUT_ERROR:
        return "timeout"
    if error_type is ErrorType.CONNECTION_ERROR or BUSY.search(reading.headline):
        return "network_error"
    return "type_error" if reading.kind == "build" else "test_failure"
