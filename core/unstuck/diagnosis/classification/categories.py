"""Error categories: the party that has to respond to a failure."""

from __future__ import annotations

import re
from typing import Any

from unstuck.diagnosis.classification.phrases import QUOTAS
from unstuck.diagnosis.enums import ErrorCategory, ErrorType
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.matching.phrase_table import Phrases
from unstuck.diagnosis.matching.prefilter import IndexedText
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput

TRANSIENT = frozenset({"timeout", "network_error", "rate_limit"})
AGENT = frozenset({"agent_timeout", "agent_crash", "parse_failure", "signal_missing"})
BASELINE = frozenset({"test_failure", "lint_error", "type_error", "env_unavailable"})
CONFIGURATION = frozenset({"ambiguous_requirement", "missing_info", "scope_unclear"})
LIMITS = frozenset({"task_limit_exceeded", "remediation_limit_exceeded"})

RETRIABLE_STATUS = frozenset({"408", "425", "429", "500", "502", "503", "504", "529"})
REFUSED_STATUS = frozenset({"401", "402", "403", "407"})
STATUS = Lazy(
    r"(?:error|status|code|HTTP\S{0,8})\W{1,3}([1-5]\d\d)\b(?!\.\d)|\b([45]\d\d) (?:client|server) error", re.IGNORECASE
)
# A state that cannot be repaired from here: corrupt storage, or a closed account.
LOST = Phrases(
    "file is not a database",
    "disk image is malformed",
    "object file is empty",
    *(
        (state, rf"\b(?:organi[sz]ation|account|project|workspace) (?:has been|is|was) {state}")
        for state in ("disabled", "suspended", "deactivated", "banned")
    ),
    ("is corrupt", r"\bobject .{0,60}\bis corrupt"),
)
# The machine, not the program.
MACHINE = Phrases(
    "no space left on device",
    "enospc",
    "address already in use",
    "eaddrinuse",
    "port is already allocated",
    "cannot connect to the docker daemon",
    "read-only file system",
    "out of memory: killed process",
    "cannot allocate memory",
)
# Settings that need access to the machine or the account.
SETTINGS = Phrases(
    "certificate…",
    "self-signed",
    "self signed",
    "password authentication failed",
    "access denied for user",
    "authentication failed",
    "could not read username",
    "invalid api key",
    "api key not valid",
    "externally managed",
    "externally-managed",
    "permission denied",
    "invalid x-api-key",
    "incorrect api key",
    "does not have permission",
    "must be set",
    "unbound variable",
    "parameter not set",
    "not configured",
    "to configure this",
    "a password is required",
    "not_found_error",
    "command not found",
    (" does not exist", r"\b(?:role|database) .{1,80} does not exist"),
    ("model", r"\bmodel\b.{0,80}(?:does not exist|not found)|\b404 model\b"),
    ("unknown database", r"\bunknown database\b"),
    (
        "environment variable",
        r"environment variable .{0,60}(?:not set|missing|required|is not defined)|missing .{0,40}environment variable",
    ),
)
# A package that is not installed. A missing module of the project is for the agent to write.
FOREIGN = Phrases(
    "no matching distribution",
    "no matching package",
    "could not resolve dependencies",
    "could not find artifact",
    "providing package",
    "provides package",
    'by not providing "find',
    "could not find a package",
    "unable to locate package",
    "has no installation candidate",
    "as a dependency of package",
    "unable to select packages",
    "cannot load such file -- ",
    "in @inc",
    "library stub",
    "classnotfoundexception",
    "noclassdeffounderror",
    "could not find or load main class",
    "can't find crate",
    "cannot find package '",
    ("no module named ", r"no module named ['\"]?[\w-]+['\"]?$"),
    ("cannot find module ", r"cannot find module ['\"](?![./])[^'\"]+['\"]"),
    (" resolve ", r"(?:can't resolve|failed to resolve import) ['\"](?![./])[^'\"]+['\"]"),
    ("package ", r"\bpackage .{1,80} does not exist"),
)
BUSY = Phrases(
    "resource busy",
    "resource temporarily unavailable",
    "text file busy",
    "database is locked",
    "try again later",
    "context canceled",
    *((code, rf"\b{code}\b") for code in ("ebusy", "etxtbsy", "eagain")),
    "could not get lock",
    "could not obtain lock",
)
RATE_LIMIT = Phrases(
    "too many requests",
    "overloaded",
    "resource_exhausted",
    "quota…",
    "usage limit",
    "throttl…",
    ("rate…", r"rate.?limit"),
    *QUOTAS,
)
CONFIGURATION_CODES = frozenset(
    {"usage", "configuration", "EACCES", "EPERM", "exit 127", "ERESOLVE", "E404", "ETARGET"}
)
PASSING = (ErrorType.TIMEOUT_ERROR, ErrorType.CONNECTION_ERROR)
# Members used in every diagnosis: before Python 3.12 access through the class costs a hundred times as much.
HTTP_ERROR = ErrorType.HTTP_ERROR
AGENT_FAILURE, INFRASTRUCTURE = ErrorCategory.AGENT_FAILURE, ErrorCategory.INFRASTRUCTURE
SURE = 90


def classify_error(error: Any) -> ErrorCategory:
    """Return the category of an object with ``type`` and ``pre_existing``. A missing attribute counts as empty."""
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


def category_of(parsed: ParsedOutput, error_type: ErrorType, *, pre_existing: bool = False) -> ErrorCategory:
    """Return the category of a parsed output. Only ``transient`` decides the next step alone."""
    own = INFRASTRUCTURE if pre_existing else AGENT_FAILURE
    if parsed.kind == "test" and error_type is HTTP_ERROR and http_status(parsed) in RETRIABLE_STATUS:
        # A busy service stopped the test, so the work was not judged.
        return ErrorCategory.TRANSIENT
    if parsed.kind in ("lint", "test") or parsed.context_exhausted or pre_existing:
        return own
    lowered = parsed.lowered
    if LOST.match(lowered):
        return ErrorCategory.UNRECOVERABLE
    if MACHINE.match(lowered) or "exit 137" in (parsed.code, f"exit {parsed.exit_code}"):
        return ErrorCategory.INFRASTRUCTURE
    if _is_configuration(parsed, error_type, lowered):
        return ErrorCategory.CONFIGURATION
    return ErrorCategory.TRANSIENT if _is_transient(parsed, error_type, lowered) else own


def _is_configuration(parsed: ParsedOutput, error_type: ErrorType, lowered: IndexedText) -> bool:
    if error_type is ErrorType.IMPORT_ERROR and parsed.weight < SURE and FOREIGN.match(lowered):
        return True
    return (
        parsed.environment
        or parsed.code in CONFIGURATION_CODES
        or (parsed.installing and error_type not in PASSING)
        or "configur" in parsed.name.lower()
        or (error_type is ErrorType.HTTP_ERROR and http_status(parsed) in REFUSED_STATUS)
        or SETTINGS.match(lowered)
    )


def _is_transient(parsed: ParsedOutput, error_type: ErrorType, lowered: IndexedText) -> bool:
    if error_type is ErrorType.HTTP_ERROR:
        return http_status(parsed) in RETRIABLE_STATUS or RATE_LIMIT.match(lowered)
    return error_type in PASSING or BUSY.match(lowered)


def http_status(parsed: ParsedOutput) -> str:
    """Return the HTTP status in the output, or an empty string."""
    if parsed.code.isdigit() and len(parsed.code) == 3:
        return parsed.code
    status = STATUS.search(parsed.headline)
    return (status[1] or status[2]) if status else ""
