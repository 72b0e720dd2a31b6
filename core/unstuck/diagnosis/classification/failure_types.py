"""How the next attempt has to be prepared: the failure types, by indicator and by structure."""

from __future__ import annotations

from unstuck.diagnosis.classification.phrases import Phrases
from unstuck.diagnosis.enums import ErrorType, FailureType
from unstuck.diagnosis.matching.context_window import says_context_exhausted
from unstuck.diagnosis.matching.prefilter import IndexedText
from unstuck.diagnosis.parsing.parsed_output import Reading
from unstuck.diagnosis.parsing.truncation import ends_of

__all__ = ["classify_failure", "failure_type_of"]

BUILD_INDICATORS = (
    "syntax error",
    "compilation error",
    "compilation failed",
    "compile error",
    "module not found",
    "import error",
    "cannot find module",
    "no module named",
    "unexpected token",
    "indentation error",
    "parse error",
)
# A space in an indicator may be missing or a dash, so that class names match as well ("SyntaxError").
BROKEN_BUILD = Phrases(
    *(said.replace(" ", between) for said in BUILD_INDICATORS for between in (" ", "-")),
    *("…" + said.replace(" ", "") for said in BUILD_INDICATORS),
)
VERIFICATION_FAILED = Phrases(
    "verification failed",
    "assertion…",
    ("expected", r"\bexpected\b"),
    (" failed", r"\btests? failed\b"),
    ("status code", r"\bstatus code\b"),
)
TRACED = 70
# What keeps a program from being loaded at all.
UNLOADED = (ErrorType.SYNTAX_ERROR, ErrorType.IMPORT_ERROR)


def classify_failure(error: str, subtask_id: str = "", *, circular: bool = False) -> FailureType:
    """The failure type of an error's text; ``circular`` says whether the history of ``subtask_id`` goes in circles.

    Checked in this order: build, verification, context, circular. Context counts by whole phrases only, because the
    word alone is in every second program. Of a long error the head and the tail are looked at.
    """
    error = ends_of(error)
    kind = _by_indicator(IndexedText(error.lower()))
    if kind is FailureType.UNKNOWN and says_context_exhausted(error):
        return FailureType.CONTEXT_EXHAUSTED
    return FailureType.CIRCULAR_FIX if kind is FailureType.UNKNOWN and circular else kind


def _by_indicator(said: IndexedText) -> FailureType:
    if BROKEN_BUILD.are_in(said):
        return FailureType.BROKEN_BUILD
    return FailureType.VERIFICATION_FAILED if VERIFICATION_FAILED.are_in(said) else FailureType.UNKNOWN


def failure_type_of(reading: Reading, error_type: ErrorType) -> FailureType:
    """The failure type of an output that was read: its structure first, the words of its headline last."""
    if reading.context_exhausted:
        return FailureType.CONTEXT_EXHAUSTED
    if reading.kind == "test":
        return FailureType.VERIFICATION_FAILED if _ran(reading, error_type) else FailureType.BROKEN_BUILD
    if reading.kind == "lint":
        return FailureType.VERIFICATION_FAILED
    if reading.kind == "build" or error_type in UNLOADED:
        return FailureType.BROKEN_BUILD if reading.exit_code != 127 else FailureType.UNKNOWN
    if error_type is ErrorType.DATABASE_ERROR or _has_class(reading):
        # The words of a query are data, and a class says more than the words of its message.
        return FailureType.UNKNOWN
    return _by_indicator(reading.said)


def _has_class(reading: Reading) -> bool:
    """A bare assertion is taken by its words, one with a stack by its class."""
    return bool(reading.name) and (reading.weight >= TRACED or reading.name != "AssertionError")


def _ran(reading: Reading, error_type: ErrorType) -> bool:
    """Tests that could not be loaded did not run."""
    return error_type not in UNLOADED or "::" in reading.test
