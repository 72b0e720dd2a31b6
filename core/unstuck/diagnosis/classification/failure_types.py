"""Failure types by indicator words and by structure."""

from __future__ import annotations

from unstuck.diagnosis.classification.expectations import by_expectation
from unstuck.diagnosis.enums import ErrorType, FailureType
from unstuck.diagnosis.matching.context_window import says_context_exhausted
from unstuck.diagnosis.matching.phrase_table import Phrases
from unstuck.diagnosis.matching.prefilter import IndexedText
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput
from unstuck.diagnosis.parsing.truncation import ends_of

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
    *(words.replace(" ", between) for words in BUILD_INDICATORS for between in (" ", "-")),
    *("…" + words.replace(" ", "") for words in BUILD_INDICATORS),
)
VERIFICATION_FAILED = Phrases(
    "verification failed",
    "assertion…",
    ("expected", r"\bexpected\b"),
    (" failed", r"\btests? failed\b"),
    ("status code", r"\bstatus code\b"),
)
TRACED = 70
# Errors that keep a program from being loaded.
UNLOADED = (ErrorType.SYNTAX_ERROR, ErrorType.IMPORT_ERROR)


def classify_failure(error: str, subtask_id: str = "", *, circular: bool = False) -> FailureType:
    """Return the failure type of an error's text. ``circular`` means that the history of ``subtask_id`` is a loop.

    Checked in this order: build, verification, context, circular. Context counts by whole phrases only, because the
    word alone is frequent. Of a long error only the head and the tail count.
    """
    error = ends_of(error)
    kind = _by_indicator(IndexedText(error.lower()))
    if kind is FailureType.UNKNOWN and says_context_exhausted(error):
        return FailureType.CONTEXT_EXHAUSTED
    return FailureType.CIRCULAR_FIX if kind is FailureType.UNKNOWN and circular else kind


def _by_indicator(lowered: IndexedText) -> FailureType:
    if BROKEN_BUILD.match(lowered):
        return FailureType.BROKEN_BUILD
    return FailureType.VERIFICATION_FAILED if VERIFICATION_FAILED.match(lowered) else FailureType.UNKNOWN


def failure_type_of(parsed: ParsedOutput, error_type: ErrorType, *, phase: str | None = None) -> FailureType:
    """Return the failure type of a parsed output: by its structure first, by the words of its headline last.

    In the ``phase`` ``test`` an assertion or a value that was expected is the check's own, with a stack as well.
    """
    if parsed.context_exhausted:
        return FailureType.CONTEXT_EXHAUSTED
    if parsed.kind == "test":
        return FailureType.VERIFICATION_FAILED if _ran(parsed, error_type) else FailureType.BROKEN_BUILD
    if parsed.kind == "lint":
        return FailureType.VERIFICATION_FAILED
    if error_type is ErrorType.ASSERTION_ERROR and (phase == "test" or not parsed.name):
        return FailureType.VERIFICATION_FAILED
    if parsed.kind == "build" or error_type in UNLOADED:
        return FailureType.BROKEN_BUILD if parsed.exit_code != 127 else FailureType.UNKNOWN
    if phase == "test" and by_expectation(parsed.lowered.text) is ErrorType.ASSERTION_ERROR:
        return FailureType.VERIFICATION_FAILED
    if error_type is ErrorType.DATABASE_ERROR or _has_class(parsed):
        # The words of a query are data, and a class is more certain than its message.
        return FailureType.UNKNOWN
    return _by_indicator(parsed.lowered)


def _has_class(parsed: ParsedOutput) -> bool:
    """Return whether the error has a class; a bare assertion without a stack counts by its words."""
    return bool(parsed.name) and (parsed.weight >= TRACED or parsed.name != "AssertionError")


def _ran(parsed: ParsedOutput, error_type: ErrorType) -> bool:
    """Return whether the tests ran; those that could not be loaded did not."""
    return error_type not in UNLOADED or "::" in parsed.test
