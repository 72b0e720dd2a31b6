"""From a class, a code or a phrase to one of the error types."""

from __future__ import annotations

from unstuck.diagnosis.classification.phrases import STRONG, SYNTAX, WEAK
from unstuck.diagnosis.classification.vocabulary import CLASSES, CODES, CURL, ENDINGS, GENERIC, LIBRARIES
from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.parsing.parsed_output import Reading

__all__ = ["error_type_of"]

EXITS = {
    124: ErrorType.TIMEOUT_ERROR,
    127: ErrorType.IMPORT_ERROR,
    134: ErrorType.RUNTIME_ERROR,
    137: ErrorType.RUNTIME_ERROR,
    139: ErrorType.RUNTIME_ERROR,
}
COMPILED = 78


def error_type_of(reading: Reading) -> ErrorType:
    """The class or code decides; a phrase of the headline where there is none; then how the program ended."""
    if reading.kind == "lint":
        wrong = _by_code(reading) or _by_class(reading.name) or SYNTAX.spoken_in(reading.said)
        return ErrorType.SYNTAX_ERROR if wrong is ErrorType.SYNTAX_ERROR else ErrorType.VALIDATION_ERROR
    return (
        STRONG.spoken_in(reading.said)
        or _by_code(reading)
        or _by_class(reading.name)
        or LIBRARIES.get(reading.headline.partition(".")[0])
        or WEAK.spoken_in(reading.said)
        or _by_nature(reading)
    )


def _by_code(reading: Reading) -> ErrorType | None:
    code = reading.code
    if not code:
        return None
    if code.isdigit():
        if reading.headline.startswith("curl: ("):
            return CURL.get(int(code), ErrorType.CONNECTION_ERROR)
        return ErrorType.HTTP_ERROR
    if code.startswith("TS") and code[2:].isdigit() and code not in CODES:
        return ErrorType.SYNTAX_ERROR if len(code) == 6 and code[2] == "1" else ErrorType.TYPE_ERROR
    return ErrorType.IMPORT_ERROR if code == "exit 127" else CODES.get(code)


def _by_class(name: str) -> ErrorType | None:
    if not name or name in GENERIC:
        return None
    return CLASSES.get(name) or next((CLASSES[ending] for ending in ENDINGS if name.endswith(ending)), None)


def _by_nature(reading: Reading) -> ErrorType:
    """What the tool alone says: a compiler's error is one of types, a class that nobody knows is a program's own."""
    if reading.kind == "build" and reading.weight >= COMPILED:
        denied = reading.code.startswith("error=") or "-W" in reading.code
        return ErrorType.VALIDATION_ERROR if denied else ErrorType.TYPE_ERROR
    if reading.name:
        return ErrorType.RUNTIME_ERROR
    told = reading.code.removeprefix("exit ")
    return EXITS.get(int(told) if told.isdigit() else reading.exit_code or 0, ErrorType.UNKNOWN)
