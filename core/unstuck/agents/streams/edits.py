"""Changes of files that a call makes, as diffs, from what any known agent gives its tools. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import islice
from typing import Any, NamedTuple

from unstuck.agents.streams.stream import items, text

PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path")
"""Names under which a tool is given a file."""
_REPLACED = (
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
    ("old_str", "new_str"),
)
_WRITTEN = ("content", "new_text", "new_source", "file_text", "contents")
_COMPARED = 2_000
"""Lines above which two texts are not compared, because that takes the square of their number."""
_MOST_LINES = 20_000
_PATCH = re.compile(r"\*\*\* Begin Patch\n(.*?)(?:\n?\*\*\* End Patch|\Z)", re.DOTALL)
_HUNK = re.compile(r"@@(?: -\d.*)?$")
_FILE = re.compile(r"\*\*\* (Update|Add|Delete) File: (.+)")


class Change(NamedTuple):
    """Change of some files. ``diff`` has a sign before each line; a line ``@@ FILE`` begins the next of several."""

    paths: tuple[str, ...]
    diff: str


def change_in(given: Any) -> Change | None:
    """Return the change that a call with these arguments makes; None if it is not known to make one."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        return _listed(given)
    if not isinstance(given, Mapping):
        return None
    for key in ("input", "patch", "patchText", "command"):
        if found := patch_in(text(given, key)):
            return found
    path = next((text(given, name) for name in PATHS if text(given, name)), "")
    if not path:
        return None
    if isinstance(given.get("diff"), str):
        return Change((path,), text(given, "diff"))
    replaced = [_replacement(one) for one in [given, *items(given, "edits")]]
    parts = ["\n".join(compared(*pair)) for pair in replaced if pair is not None]
    if parts:
        return Change((path,), "\n@@\n".join(parts))
    written = next((text(given, name) for name in _WRITTEN if isinstance(given.get(name), str)), None)
    return None if written is None else Change((path,), "\n".join(compared("", written)))


def patch_in(words: str) -> Change | None:
    """Return the change in the format of Codex that stands in ``words``; None if there is none."""
    found = _PATCH.search(words) if "*** Begin Patch" in words else None
    if found is None:
        return None
    lines, paths = list[str](), list[str]()
    for line in found[1].splitlines():
        if (file := _FILE.match(line)) is not None:
            paths.append(file[2].strip())
            lines.append(f"@@ {paths[-1]}")
        elif not line.startswith("*** "):
            lines.append(line)
    if len(paths) == 1:
        lines = lines[1:]
    return Change(tuple(paths), "\n".join(_without_first_hunk(lines)))


def compared(old: str, new: str) -> Iterator[str]:
    """Yield the lines of a diff of two texts, without line numbers."""
    before, after = old.splitlines(), new.splitlines()
    if min(len(before), len(after)) > _COMPARED:
        yield from (f"{sign}{line}" for sign, lines in (("-", before), ("+", after)) for line in lines)
        return
    diff = islice(unified_diff(before, after, lineterm=""), 3, _MOST_LINES)
    yield from ("@@" if line.startswith("@@") else line for line in diff)


def _replacement(given: Any) -> tuple[str, str] | None:
    """Return the old and the new text that the arguments name; None if they name none."""
    for old, new in _REPLACED:
        if isinstance(given, Mapping) and isinstance(given.get(old), str) and isinstance(given.get(new), str):
            return given[old], given[new]
    return None


def _listed(given: Sequence[Any]) -> Change | None:
    """Return the change that Codex lists: for each file what is done to it, its path, and perhaps the diff."""
    files = [one for one in given if isinstance(one, list) and len(one) in (2, 3) and all(_is_text(x) for x in one)]
    if not files or len(files) != len(given):
        return None
    several = len(files) > 1
    lines = [line for file in files if len(file) == 3 for line in _file_lines(file, several=several)]
    return Change(tuple(file[1] for file in files), "\n".join(lines))


def _file_lines(file: list[str], *, several: bool) -> Iterator[str]:
    kind, path, diff = file
    if several:
        yield f"@@ {path}"
    lines = diff.splitlines()
    is_diff = any(line.startswith("@@") for line in lines)
    is_diff = is_diff or (kind == "add" and bool(lines) and all(line[:1] == "+" for line in lines))
    sign = {"add": "+", "delete": "-"}.get(kind, "")
    yield from _without_first_hunk(lines) if is_diff or not sign else (f"{sign}{line}" for line in lines)


def _without_first_hunk(lines: Sequence[str]) -> Sequence[str]:
    return lines[1:] if lines and _HUNK.match(lines[0]) else lines


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
