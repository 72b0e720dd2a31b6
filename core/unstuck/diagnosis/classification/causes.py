"""Cause of a failure, which decides its first escalation level, and the values of the failure handler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from unstuck.arguments import check_fields
from unstuck.diagnosis.enums import Cause, ErrorType
from unstuck.diagnosis.matching.lazy_regex import Lazy, lines_with
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput
from unstuck.diagnosis.parsing.truncation import ends_of

# Patterns in lower case, each with the literals that a line needs for it.
SYNTAX = Lazy(r"syntax|\bparse ?error|unexpected token|indentation ?error")
SYNTAX_PARTS = ("syntax", "parse", "unexpected token", "indentation")
DEPENDENCY = Lazy(
    r"(?:find|resolve|load|named?|missing|unknown|required?|install|the requested|no) (?:\S{1,40} ){0,3}?"
    r"(?:module|package|import)"
    r"|module[ -]?not[ -]?found|import ?error|cannot import|unresolved import|failed (?:to )?import|modules? missing"
    r"|(?:module|package|import) \S{1,120} (?:not found|does not exist|could not|is missing|has no)"
    r"|no matching distribution"
)
DEPENDENCY_PARTS = ("module", "package", "import", "no matching distribution")
TYPE = Lazy(r"\btypes?\b|type ?error|\btype[sd]? ?mismatch")
TYPE_PARTS = ("type",)
BY_TYPE = {ErrorType.SYNTAX_ERROR: Cause.SYNTAX_ERROR, ErrorType.IMPORT_ERROR: Cause.DEPENDENCY_ISSUE}
# No history makes these worse.
SETTLED = (Cause.SYNTAX_ERROR, Cause.DEPENDENCY_ISSUE, Cause.TEST_ASSERTION)
PATIENCE = 2
MANY_FILES = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """Failure as the handler takes it. ``phase`` is ``parse``, ``test`` or any other word.

    Example::

        Failure("AssertionError: 401 != 200", phase="test", summary="The signature never matches")
    """

    error: str
    phase: str = ""
    type: str = ""
    summary: str = ""
    retry_count: int = 0
    same_location_count: int = 0
    involved_files: Sequence[str] = ()
    involves_external_api: bool = False


@dataclass(frozen=True, slots=True)
class Approach:
    """Approach to a task. ``source`` names its origin; ``confidence`` is 0.0 to 1.0.

    ``record`` says how often it worked, such as ``worked 4 of 5``, where that decides the order.

    Raises ArgumentError for a wrong value.

    Example::

        Approach("use sqlite", "memory")
    """

    name: str
    source: str = ""
    confidence: float = 0.0
    record: str = ""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class Execution:
    """Execution that failed. ``intent`` holds the task's memory, ``test_context`` the results of its tests.

    Raises ArgumentError for a wrong value.

    Example::

        Execution(current_phase="test", current_approach=Approach("raw body", "memory"))
    """

    current_phase: Any = ""
    current_approach: Any = None
    current_file: str = ""
    intent: Any = None
    test_context: Any = None
    mode: str = "orchestrated"

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class HandlerResult:
    """Answer of the handler: ``action`` is RETRY, PIVOT, RESEARCH or ASK; each other field belongs to one of them.

    ``targets`` are those of research, the most relevant first.

    Example::

        if handler.handle(failure, execution).action == "ASK":
            print("a person is needed")
    """

    action: str
    fix: Any = None
    phase: Any = None
    new_approach: Any = None
    insights: list[Any] = field(default_factory=list)
    checkpoint: Any = None
    question: str = ""
    stuck_report: Any = None
    targets: list[Any] = field(default_factory=list)


def classify_cause(failure: Any) -> Cause:
    """Return the cause of a :class:`Failure`, or of an object with its attributes; a missing one counts as empty.

    A ``type`` that names a cause decides where no rule does, for causes that no text shows. Of a long error only the
    head and the tail count.
    """
    error = ends_of(getattr(failure, "error", "")).lower()
    phase = getattr(failure, "phase", "")
    if phase == "parse" or _has(error, SYNTAX_PARTS, SYNTAX):
        return Cause.SYNTAX_ERROR
    if phase == "test" and "expect" in error:
        return Cause.TEST_ASSERTION
    if _has(error, DEPENDENCY_PARTS, DEPENDENCY):
        return Cause.DEPENDENCY_ISSUE
    if _has(error, TYPE_PARTS, TYPE):
        patient = (getattr(failure, "retry_count", 0) or 0) < PATIENCE
        return Cause.SIMPLE_LOGIC if patient else Cause.APPROACH_WRONG
    stated: Cause = Cause.read(getattr(failure, "type", ""), Cause.SIMPLE_LOGIC)
    return _by_circumstance(
        getattr(failure, "same_location_count", 0) or 0,
        len(getattr(failure, "involved_files", ()) or ()),
        bool(getattr(failure, "involves_external_api", False)),
        stated,
    )


def _has(error: str, parts: tuple[str, ...], pattern: Lazy) -> bool:
    """Return whether ``pattern`` is in a line of ``error`` that has one of ``parts``."""
    return any(pattern.search(line) for part in parts for line in lines_with(error, part))


def _by_circumstance(same_location: int, files: int, external_api: bool, otherwise: Cause) -> Cause:
    if same_location >= PATIENCE:
        return Cause.APPROACH_WRONG
    if files > MANY_FILES:
        return Cause.INTEGRATION_ISSUE
    return Cause.UNKNOWN_API if external_api else otherwise


def cause_of(parsed: ParsedOutput, error_type: ErrorType, *, phase: str | None = None) -> Cause:
    """The cause of a parsed output, as far as one failure shows it: its error type, then its files."""
    if phase == "parse":
        return Cause.SYNTAX_ERROR
    if error_type is ErrorType.ASSERTION_ERROR and (parsed.kind == "test" or phase == "test"):
        return Cause.TEST_ASSERTION
    return BY_TYPE.get(error_type) or cause_after(Cause.SIMPLE_LOGIC, error_type, files=len({*parsed.files}))


def cause_after(
    cause: Cause,
    error_type: ErrorType,
    *,
    retries: int = 0,
    same_location: int = 0,
    files: int = 0,
    external_api: bool = False,
) -> Cause:
    """The cause after earlier failures. ``cause`` is that of this failure alone.

    ``retries`` counts occurrences of the same failure, ``same_location`` those of any failure at its location.
    ``files`` is the number of files that took part. ``external_api`` means that a failure came from one.
    """
    if cause in SETTLED:
        return cause
    if error_type is ErrorType.TYPE_ERROR:
        return Cause.SIMPLE_LOGIC if retries < PATIENCE else Cause.APPROACH_WRONG
    external_api = external_api or error_type is ErrorType.HTTP_ERROR
    return _by_circumstance(same_location, files, external_api, Cause.SIMPLE_LOGIC)
