"""Reader of YAML settings files. A problem is one line."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unstuck.errors import SettingsError
from unstuck.settings.messages import printable, shown

LARGEST_FILE = 2**20
MOST_ALIASES = 20


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the mapping in ``path``, empty for a missing or empty file. Raises SettingsError."""
    source = printable(str(path))
    text = _text(path, source)
    value = read_value(text, source) if text else None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SettingsError(source, "", f"must be a mapping of settings, not {shown(value)}")
    for key in value:
        if not isinstance(key, str):
            raise SettingsError(source, printable(str(key)), "keys must be text")
    return value


def line_of(path: Path, key: str | Sequence[str]) -> int:
    """Return the line, from 1, of the setting ``key`` (dotted, or its parts) or of its last existing part; else 0."""
    import yaml

    try:
        node = yaml.compose(_text(path, ""), yaml.SafeLoader)
    except (yaml.YAMLError, SettingsError, RecursionError):
        return 0
    line = 0
    parts = (key.split(".") if key else ()) if isinstance(key, str) else key
    for part in parts:
        found = _below(node, part)
        if found is None:
            break
        at, node = found
        line = at.start_mark.line + 1
    return line


def _below(node: Any, part: str) -> tuple[Any, Any] | None:
    """Return the place and the value of ``part`` of a key below ``node``."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        return next((pair for pair in node.value if str(pair[0].value).replace("-", "_") == part), None)
    if isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
        return node.value[int(part)], node.value[int(part)]
    return None


def read_value(text: str, source: str) -> Any:
    """Return the value of a YAML text. Raises SettingsError with the line."""
    import yaml  # most starts have nothing to read

    try:
        _refuse_explosion(text, source)
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _not_yaml(source, line, error.problem or "cannot be read") from None
    except yaml.reader.ReaderError as error:
        raise _not_yaml(source, text.count("\n", 0, error.position) + 1, f"{error.reason}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise SettingsError(source, "", f"is not valid YAML: {printable(str(error))}") from None
    except RecursionError:
        raise SettingsError(source, "", "is nested too deeply") from None


def _refuse_explosion(text: str, source: str) -> None:
    """Refuse merge keys with many aliases, because nested copies can fill the memory."""
    if "<<" not in text:
        return
    import yaml

    aliases = sum(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader))
    if aliases > MOST_ALIASES:
        raise SettingsError(source, "", f"has more than {MOST_ALIASES} aliases beside merge keys")


def _not_yaml(source: str, line: int, problem: str) -> SettingsError:
    return SettingsError(f"{source}:{line}", "", f"is not valid YAML: {printable(problem)}")


def _text(path: Path, source: str) -> str:
    try:
        raw = _bytes(path)
    except FileNotFoundError:
        return ""
    except NotADirectoryError:
        return ""
    except OSError as error:
        raise SettingsError(source, "", f"cannot be read: {error.strerror}") from error
    if raw is None:
        raise SettingsError(source, "", "must be a file")
    if len(raw) > LARGEST_FILE:
        raise SettingsError(source, "", f"is larger than {LARGEST_FILE // 2**20} MiB")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{source}:{line}", "", "is not UTF-8") from None


def _bytes(path: Path) -> bytes | None:
    """Return at most one byte over the limit, None for no plain file. Opening a pipe does not wait."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(LARGEST_FILE + 1)
