"""Replacement that an edit makes, parsed from its call."""

from __future__ import annotations

import json
import re

__all__ = ["replacement_in"]

_OLD_AND_NEW = re.compile(
    r"\bold(?:_?(?:str|string|text))?\s*[=:]\s*(?P<old>'[^']*'|\"[^\"]*\")"
    r".{0,40}?\bnew(?:_?(?:str|string|text))?\s*[=:]\s*(?P<new>'[^']*'|\"[^\"]*\")",
    re.DOTALL | re.IGNORECASE,
)
_OLD = ("old_string", "old_str", "oldText", "old_text", "old")
_NEW = ("new_string", "new_str", "newText", "new_text", "new")
_FILE = ("file_path", "path", "file", "filePath")


def replacement_in(call: str) -> tuple[str, str, str] | None:
    """Return file, old and new text of an edit, or None where the call does not have them."""
    start = call.find("{")
    if start >= 0:
        try:
            given = json.loads(call[start:])
        except (ValueError, RecursionError):
            given = None
        if isinstance(given, dict):
            old, new = _text(given, _OLD), _text(given, _NEW)
            return (_text(given, _FILE), old, new) if old and new else None
    found = _OLD_AND_NEW.search(call)
    return (call[: found.start()], found["old"], found["new"]) if found else None


def _text(given: dict[str, object], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := given.get(name), str)), "")
