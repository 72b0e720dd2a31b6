"""Keyword lists over the whole text: the baseline that the diagnosis is compared with."""

from __future__ import annotations

import re
from hashlib import sha256

__all__ = ["error_type", "failure_type", "identity", "location"]

TYPES = {
    "SYNTAX": ("syntaxerror", "syntax error", "unexpected token"),
    "TYPE": ("typeerror", "type"),
    "IMPORT": ("importerror", "modulenotfounderror", "module", "import"),
    "ATTRIBUTE": ("attributeerror", "attribute"),
    "KEY": ("keyerror", "key"),
    "VALUE": ("valueerror", "value"),
    "INDEX": ("indexerror", "index"),
    "ASSERTION": ("assertionerror", "assert", "expected"),
    "TIMEOUT": ("timeout", "timed out"),
    "CONNECTION": ("connection", "refused"),
    "HTTP": ("http", "status code"),
    "DATABASE": ("database", "sql"),
    "VALIDATION": ("validation",),
    "RUNTIME": ("runtimeerror", "error"),
}
FAILURES = {
    "BROKEN_BUILD": (
        "syntax error",
        "compilation error",
        "module not found",
        "import error",
        "cannot find module",
        "unexpected token",
        "indentation error",
        "parse error",
    ),
    "VERIFICATION_FAILED": ("verification failed", "expected", "assertion", "test failed", "status code"),
    "CONTEXT_EXHAUSTED": ("context", "token limit", "maximum length"),
}
PLACE = re.compile(r'File "([^"\n]+)", line (\d+)|([\w./-]+\.\w+):(\d+)')


def error_type(text: str) -> str:
    """The first type one of whose words is anywhere in the text."""
    return _first(TYPES, text)


def failure_type(text: str) -> str:
    """The first failure type one of whose indicators is anywhere in the text."""
    return _first(FAILURES, text)


def location(text: str) -> str | None:
    """The first thing that looks like a place."""
    found = PLACE.search(text)
    return f"{found[1] or found[3]}:{found[2] or found[4]}" if found else None


def identity(text: str) -> str:
    """The whole text, with line numbers, addresses and literals masked."""
    text = re.sub(r"line \d+|:\d+", "N", text)
    text = re.sub(r"0x[0-9a-f]+", "0xADDR", text)
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "STR", text)
    return sha256(text.lower().encode()).hexdigest()[:16]


def _first(words: dict[str, tuple[str, ...]], text: str) -> str:
    lowered = text.lower()
    return next((kind for kind, said in words.items() if any(word in lowered for word in said)), "UNKNOWN")
