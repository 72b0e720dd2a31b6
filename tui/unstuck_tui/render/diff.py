"""A unified diff in lines, one below the other or side by side, with the colours of its language. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from unstuck.eventlog.state import State, TaskRow
from unstuck.supervision.checkpointing import Since
from unstuck.words.labels import some
from unstuck_tui.render.format import Cell, Ground, Line, Shade, fit, laid_out, width_of, wrapped

if TYPE_CHECKING:
    from pygments.lexer import Lexer

Kind = Literal["file", "head", "added", "removed", "same"]

SET_IN = "  "
_LINES = 5_000
_COLOURED = 300
"""Characters of the longest line that is coloured."""
_NUMBER = 5
_NAMED = 6
_SECRET = "[redacted"
_SINCE: dict[Since, str] = {
    "start": "its start",
    "attempt": "the start of its last attempt",
    "checkpoint": "its last checkpoint",
}
_KINDS: dict[str, Kind] = {"+": "added", "-": "removed", " ": "same"}
_SIGNS = {kind: sign for sign, kind in _KINDS.items()}
_TONES: dict[str, Shade] = {"added": "good", "removed": "bad", "same": "plain"}
_GROUNDS: dict[str, Ground] = {"added": "added", "removed": "removed"}
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_CUT = re.compile(r" … (?:\d+ (?:characters|files|lines|lines and more)|more lines) left out … ")
_NOTES = {"new file mode ": "new", "deleted file mode ": "deleted", "Binary files ": "binary", "old mode ": "mode"}
FILE = f"{SET_IN}▪ "
"""The beginning of the line above each file."""
_LEXERS = {
    "bash": "sh bash zsh", "c": "c h", "cpp": "cc cpp cxx hpp hh", "csharp": "cs", "css": "css", "diff": "diff patch",
    "go": "go", "html": "html htm", "ini": "ini cfg", "java": "java", "javascript": "js mjs cjs jsx", "json": "json",
    "kotlin": "kt kts", "lua": "lua", "php": "php", "python": "py pyi", "ruby": "rb", "rust": "rs", "scss": "scss",
    "sql": "sql", "swift": "swift", "toml": "toml", "typescript": "ts tsx mts cts", "yaml": "yaml yml",
}  # fmt: skip
_SUFFIXES = {f".{suffix}": name for name, suffixes in _LEXERS.items() for suffix in suffixes.split()}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line: its number in the old and in the new file, 0 where it has none, and its text in coloured parts."""

    kind: Kind
    parts: tuple[tuple[str, Shade], ...]
    old: int = 0
    new: int = 0


def next_since(since: Since) -> Since:
    """The next of the times since when changes can be told."""
    names = list(_SINCE)
    return names[(names.index(since) + 1) % len(names)]


def since_words(since: Since, checkpoint: str | None = None) -> str:
    """The start of a comparison in words, with its checkpoint; empty without one that it needs."""
    if checkpoint is None:
        return _SINCE[since]
    return f"{_SINCE[since]} ({checkpoint})" if checkpoint else ""


def read_diff(diff: str, *, coloured: bool = True) -> list[DiffLine]:
    """The first 5,000 lines of a unified diff. Takes a tenth of a second for long ones: read it beside the event loop.

    Each line is coloured on its own, so that no text of a file can hold up the screen for long.
    """
    found: list[DiffLine] = []
    lexer: Lexer | None = None
    old = new = 0
    in_hunk = False
    removed: set[str] = set()
    for line in diff.splitlines()[:_LINES]:
        text = laid_out(line).rstrip()
        if hunk := _HUNK.match(line):
            old, new, in_hunk = int(hunk[1]), int(hunk[2]), True
            removed.clear()
        elif line.startswith("diff --git "):
            in_hunk = False
        elif not in_hunk and line.startswith("+++ ") and coloured:
            lexer = _lexer_of(line[4:].strip().strip('"'))
        elif in_hunk and line[:1] in _KINDS:
            kind = _KINDS[line[0]]
            is_old, is_new = kind != "added", kind != "removed"
            parts = _coloured(text[1:], lexer, _TONES[kind])
            if kind == "removed":
                removed.add(text)
            elif kind == "added" and _SECRET in text and f"-{text[1:]}" in removed:
                parts += (("  (another value)", "quiet"),)  # nothing else shows what has changed
            found.append(DiffLine(kind, parts, old * is_old, new * is_new))
            old, new = old + is_old, new + is_new
            continue
        found.append(DiffLine("head", ((text, "quiet"),)))
    return found


def brief(lines: Sequence[DiffLine]) -> list[DiffLine]:
    """The same lines with one line above each file, which names it and counts its lines, and one above each hunk."""
    found: list[DiffLine] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        text = line.parts[0][0]
        if line.kind == "head" and text.startswith("diff --git "):
            end = next((place for place in range(at + 1, len(lines)) if not _is_of_head(lines[place])), len(lines))
            found.append(_file_line([one.parts[0][0] for one in lines[at:end]], _of_file(lines, end)))
            at = end
            continue
        if line.kind == "head" and (hunk := _HUNK.match(text)):
            around = text[hunk.end() :].strip()
            line = DiffLine("head", ((f"⋯ line {max(int(hunk[2]), 1)}{'  ' * bool(around)}{around}", "quiet"),))
        found.append(line)
        at += 1
    return found


def _is_of_head(line: DiffLine) -> bool:
    """True for a line between the name of a file and its first hunk."""
    text = line.parts[0][0]
    return line.kind == "head" and not _HUNK.match(text) and not text.startswith(("diff --git ", " … "))


def _of_file(lines: Sequence[DiffLine], begin: int) -> Iterator[DiffLine]:
    """The lines up to the next file."""
    for line in lines[begin:]:
        if line.kind == "head" and line.parts[0][0].startswith("diff --git "):
            return
        yield line


def _file_line(head: Sequence[str], lines: Iterable[DiffLine]) -> DiffLine:
    names = [text[4:].strip().strip('"') for text in head if text.startswith(("--- ", "+++ "))]
    name = next((name for name in reversed(names) if name != "/dev/null"), head[0].rpartition(" ")[2].strip('"'))
    notes = [note for begin, note in _NOTES.items() if any(text.startswith(begin) for text in head)]
    kinds = [line.kind for line in lines]
    counts = f"+{kinds.count('added')} -{kinds.count('removed')}" if "added" in kinds or "removed" in kinds else ""
    told = "  ".join(filter(None, (counts, *notes)))
    return DiffLine("file", ((name.removeprefix("a/").removeprefix("b/"), "name"), (f"  {told}", "quiet")))


def counts_of(diff: str) -> str:
    """The number of files and of lines more and less, as far as they are told."""
    lines = diff.splitlines()
    files = sum(line.startswith("diff --git ") for line in lines)
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    more = f", the first {_LINES} lines of it" if len(lines) > _LINES else ""
    least = "at least " if _CUT.search(diff) else ""  # what was left out in its middle cannot be counted
    return f"{least}{files} file{'' if files == 1 else 's'}, +{added} -{removed}{more}"


def heading(since: str, diff: str, width: int) -> Line:
    """The line above a diff: what it is compared with, and how much has changed."""
    return (Cell(fit(f"{SET_IN}since {since}: {counts_of(diff) if diff else 'no file has changed'}", width), "quiet"),)


def sharers(state: State, row: TaskRow) -> str:
    """The tasks whose work in the same directory may be among the changes of ``row``, in words; empty without any."""
    if row.task.isolation == "worktree":
        return ""
    others = [
        other.id
        for other in state.tasks.values()
        if other.id != row.id and other.attempts and other.task.isolation != "worktree"
    ]
    return f"shared directory: some changes may be of {some(others, _NAMED)}" if others else ""


def note_lines(note: str, width: int) -> list[Line]:
    """The reason why there is no diff."""
    return [(Cell(f"{SET_IN}{line}", "quiet"),) for line in wrapped(note, max(1, width - len(SET_IN) - 1), 4)]


def unified(lines: Sequence[DiffLine], width: int) -> list[Line]:
    """One below the other; a change has its sign as well as its colour."""
    return [_whole(line, width) for line in lines]


def side_by_side(lines: Sequence[DiffLine], width: int) -> list[Line]:
    """The old lines on the left, the new ones on the right, each with its number."""
    half = (width - len(SET_IN) - 1) // 2
    found: list[Line] = []
    for left, right in _pairs(lines):
        if left is not None and left.kind in ("head", "file"):
            found.append(_whole(left, width))
        else:
            found.append(
                (Cell(SET_IN), *_half(left, half, old=True), Cell("│", "quiet"), *_half(right, half, old=False))
            )
    return found


def _pairs(lines: Sequence[DiffLine]) -> Iterator[tuple[DiffLine | None, DiffLine | None]]:
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in lines:
        if line.kind == "added":
            added.append(line)
            continue
        if line.kind == "removed" and not added:
            removed.append(line)
            continue
        yield from zip_longest(removed, added)
        removed, added = ([line], []) if line.kind == "removed" else ([], [])
        if line.kind != "removed":
            yield line, line
    yield from zip_longest(removed, added)


def _whole(line: DiffLine, width: int) -> Line:
    if line.kind == "file":
        return (Cell(FILE, "quiet"), *_cut(line.parts, width - len(FILE), "", pad=False))
    if line.kind == "head":
        return (Cell(fit(SET_IN + line.parts[0][0], width).rstrip(), "quiet"),)
    ground = _GROUNDS.get(line.kind, "")
    sign = Cell(SET_IN + _SIGNS[line.kind], _TONES[line.kind], ground)
    return (sign, *_cut(line.parts, width - len(SET_IN) - 1, ground, pad=bool(ground)))


def _half(line: DiffLine | None, width: int, *, old: bool) -> Line:
    if line is None:
        return (Cell(" " * width),)
    ground = _GROUNDS.get(line.kind, "")
    number = Cell(f"{line.old if old else line.new:>{_NUMBER}} ", "quiet", ground)
    sign = Cell(f"{_SIGNS[line.kind]} ", _TONES[line.kind], ground)
    return (number, sign, *_cut(line.parts, width - _NUMBER - 3, ground, pad=True))


def _cut(parts: Sequence[tuple[str, Shade]], room: int, ground: Ground, *, pad: bool) -> Iterator[Cell]:
    for text, tone in parts:
        size = width_of(text)
        if size > room:
            yield Cell(fit(text, room), tone, ground)
            return
        room -= size
        yield Cell(text, tone, ground)
    if pad and room:
        yield Cell(" " * room, "plain", ground)


@lru_cache(maxsize=32)
def _lexer_of(path: str) -> Lexer | None:
    name = _SUFFIXES.get(PurePosixPath(path).suffix.lower())
    if name is None:
        return None
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(name, stripnl=False, ensurenl=False)


def _coloured(text: str, lexer: Lexer | None, tone: Shade) -> tuple[tuple[str, Shade], ...]:
    if lexer is None or not text.strip() or len(text) > _COLOURED:
        return ((text, tone),)
    parts = tuple((part, _tone_of(str(token))) for token, part in lexer.get_tokens(text) if part)
    return parts if "".join(part for part, _ in parts) == text else ((text, tone),)


def _tone_of(token: str) -> Shade:
    """The tone of a token of Pygments, by the beginning of its name."""
    for name, tone in _TOKENS.items():
        if token.startswith(name):
            return tone
    return "plain"


_TOKENS: dict[str, Shade] = {
    "Token.Keyword": "keyword",
    "Token.Operator.Word": "keyword",
    "Token.Name.Tag": "keyword",
    "Token.Literal.String": "string",
    "Token.Literal.Number": "number",
    "Token.Comment": "quiet",
    "Token.Name.Function": "name",
    "Token.Name.Class": "name",
    "Token.Name.Attribute": "name",
    "Token.Name.Decorator": "name",
}
