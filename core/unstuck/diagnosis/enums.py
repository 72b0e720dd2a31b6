"""Error type, failure type, category and cause of a failure."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

Claim = Literal["done", "not_done", "unknown"]
"""Claim that an attempt is done, or is not."""


class _Tolerant(str, Enum):
    """String enumeration that reads values of other versions."""

    @classmethod
    def read(cls, value: Any, default: Any) -> Any:
        """Return the member whose value or name is ``value``, or ``default``."""
        if isinstance(value, cls):
            return value
        text = str(value or "")
        member = cls._value2member_map_.get(text) or cls.__members__.get(text.upper())
        return default if member is None else member


class ErrorType(_Tolerant):
    """Kind of error."""

    SYNTAX_ERROR = "SYNTAX_ERROR"
    TYPE_ERROR = "TYPE_ERROR"
    IMPORT_ERROR = "IMPORT_ERROR"
    ATTRIBUTE_ERROR = "ATTRIBUTE_ERROR"
    KEY_ERROR = "KEY_ERROR"
    VALUE_ERROR = "VALUE_ERROR"
    INDEX_ERROR = "INDEX_ERROR"
    RUNTIME_ERROR = "RUNTIME_ERROR"
    ASSERTION_ERROR = "ASSERTION_ERROR"
    TIMEOUT_ERROR = "TIMEOUT_ERROR"
    CONNECTION_ERROR = "CONNECTION_ERROR"
    HTTP_ERROR = "HTTP_ERROR"
    DATABASE_ERROR = "DATABASE_ERROR"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    UNKNOWN = "UNKNOWN"


class FailureType(_Tolerant):
    """Kind of failure, which decides the preparation of the next attempt."""

    BROKEN_BUILD = "BROKEN_BUILD"
    VERIFICATION_FAILED = "VERIFICATION_FAILED"
    CIRCULAR_FIX = "CIRCULAR_FIX"
    CONTEXT_EXHAUSTED = "CONTEXT_EXHAUSTED"
    UNKNOWN = "UNKNOWN"


class ErrorCategory(_Tolerant):
    """Party that has to respond: the agent, the person, or time."""

    TRANSIENT = "transient"
    AGENT_FAILURE = "agent_failure"
    INFRASTRUCTURE = "infrastructure"
    CONFIGURATION = "configuration"
    UNRECOVERABLE = "unrecoverable"


class Cause(_Tolerant):
    """Cause of a failure, which decides its first escalation level."""

    SYNTAX_ERROR = "syntax_error"
    TEST_ASSERTION = "test_assertion"
    DEPENDENCY_ISSUE = "dependency_issue"
    SIMPLE_LOGIC = "simple_logic"
    APPROACH_WRONG = "approach_wrong"
    PATTERN_MISMATCH = "pattern_mismatch"
    COMPLEX_LOGIC = "complex_logic"
    UNKNOWN_API = "unknown_api"
    INTEGRATION_ISSUE = "integration_issue"
