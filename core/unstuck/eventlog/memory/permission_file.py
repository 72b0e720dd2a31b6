"""Permission rules that the user has given for always: one file beside the user settings, for every project."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from unstuck.eventlog.storage.durable_files import make_directory, write_private
from unstuck.settings.layers import default_user_file
from unstuck.text import one_line

_MOST_RULES = 500
_SIZE_LIMIT = 1_000_000
_RULE_LIMIT = 300


def permission_file() -> Path:
    """Return the path of the file, which may not exist."""
    return default_user_file().with_name("permissions.json")


def kept_rules() -> tuple[str, ...]:
    """Return the kept rules, oldest first; none of a file that cannot be read or has another form."""
    file = permission_file()
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        if file.is_file() and file.stat().st_size < _SIZE_LIMIT:
            listed = json.loads(file.read_text("utf-8"))["allow"]
            if isinstance(listed, list):
                return tuple(rule for rule in listed if isinstance(rule, str) and rule == one_line(rule, _RULE_LIMIT))
    return ()


def keep_rules(rules: Sequence[str]) -> None:
    """Add ``rules``. Raises OSError."""
    _write(dict.fromkeys((*kept_rules(), *rules)))


def drop_rule(rule: str) -> bool:
    """Remove ``rule``; False where it was not kept. Raises OSError."""
    before = kept_rules()
    if rule in before:
        _write(dict.fromkeys(one for one in before if one != rule))
    return rule in before


def _write(rules: dict[str, None]) -> None:
    file = permission_file()
    make_directory(file.parent)
    new = file.with_name(f".{file.name}.{os.getpid()}")
    write_private(new, json.dumps({"allow": list(rules)[-_MOST_RULES:]}, indent=2, ensure_ascii=False) + "\n")
    new.replace(file)
