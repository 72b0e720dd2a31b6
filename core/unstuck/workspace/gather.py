"""Research without a model: what the project itself says about a failure.

Only regular files inside the tree are read, each up to a bound; nothing here raises for odd input.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from unstuck.errors import WorkspaceError
from unstuck.text import Clean, admit, one_line
from unstuck.workspace.git import Result, find_repository, run_git, split_paths

__all__ = ["Insight", "gather"]

_AROUND = 15
_READ_LIMIT = 2_000_000
_OUTPUT_LIMIT = 200_000
_NAMES = 4
_USES = 20
_OUTLINE = 60
_PLACE_LIMIT = 4096
_LOCATION = re.compile(r"(?P<file>.+?)(?::(?P<line>\d{1,9}))?(?::\d{1,9})?(?: in .*)?", re.DOTALL)
_QUOTED = re.compile(r"['\"`]([A-Za-z_][\w.]{1,80})(?:\(\))?['\"`]")
_NAME = re.compile(r"\b[A-Za-z_]\w{2,80}\b")
_TELLING = re.compile(r"_|[a-z][A-Z]")  # snake_case and camelCase are names; plain words are mostly prose
_COMMON = frozenset({"None", "NoneType", "True", "False", "self", "int", "str", "list", "dict", "tuple", "object"})
_MODULE = re.compile(r"No module named ['\"]?([\w.]{1,200})|cannot import name .{1,200}? from ['\"]?([\w.]{1,200})")
_SCRIPT = re.compile(r"Cannot find module ['\"]([^'\"\n]{1,200})['\"]")
_SCRIPT_ENDINGS = ("", ".js", ".ts", ".jsx", ".tsx", ".mjs", ".json", "/index.js", "/index.ts", "/index.tsx")
_DEFINITION = re.compile(r"\s*(?:async\s+)?(?:def|class|function|func|fn|export|pub|interface|type|struct|enum)\b")

Finding = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Insight:
    """Something found out: where, and what it says."""

    source: str
    text: Clean


async def gather(
    tree: Path,
    *,
    location: str | None,
    headline: str,
    symbols: Sequence[str] = (),
    limit: int = 5,
    size: int = 4000,
) -> tuple[Insight, ...]:
    """Up to ``limit`` insights of at most about ``size`` characters each, the most telling first.

    The code round ``location`` (``file``, ``file:line`` or ``file:line:column``), the module that could not be
    imported, the last commits of the file, and where the names of ``headline`` and ``symbols`` are used. Empty where
    there is nothing to say; never raises for what a failure may contain.
    """
    root = await asyncio.to_thread(tree.resolve)
    file, line = _locate(root, location)
    steps = (
        partial(_code, root, file, line, size),
        partial(_module, root, file, headline),
        partial(_history, root, file),
        partial(_uses, root, _names(headline, symbols)),
    )
    found: list[Finding] = []
    for step in steps:
        try:
            found += await step()
        except (WorkspaceError, OSError, ValueError):
            continue  # one source less
    return tuple(Insight(one_line(source), admit(text, limit=size)) for source, text in found[: max(0, limit)])


def _locate(root: Path, location: str | None) -> tuple[Path | None, int]:
    found = _LOCATION.fullmatch((location or "").strip()[:_PLACE_LIMIT])
    if found is None:
        return None, 0
    return _inside(root, Path(root, found["file"])), int(found["line"] or 0)


def _inside(root: Path, place: Path) -> Path | None:
    """``place`` without symbolic links, if that is a regular file of the tree and none of git's own."""
    try:
        real = place.resolve()
        if not real.is_relative_to(root) or ".git" in real.relative_to(root).parts:
            return None
        return real if stat.S_ISREG(real.lstat().st_mode) else None
    except (OSError, ValueError, RuntimeError):
        return None


def _read(file: Path) -> list[str]:
    # Not to wait at a pipe, and not to follow a link, that took the file's place since it was looked at.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(_READ_LIMIT) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    return [] if b"\0" in data[:8000] else data.decode("utf-8", "replace").splitlines()


async def _code(root: Path, file: Path | None, line: int, size: int) -> list[Finding]:
    lines = await asyncio.to_thread(_read, file) if file else []
    if file is None or not lines:
        return []
    first = max(1, min(line, len(lines)) - _AROUND)
    width = max(40, size // (2 * _AROUND + 1) - 10)  # so that a long line does not push the failing one out
    shown = [
        f"{'>' if number == line else ' '}{number:>5} | {text[:width]}"
        for number, text in enumerate(lines[first - 1 : first + 2 * _AROUND], first)
    ]
    place = f"{file.relative_to(root)}:{line}" if line else str(file.relative_to(root))
    return [(f"code at {place}", "\n".join(shown))]


async def _module(root: Path, file: Path | None, headline: str) -> list[Finding]:
    if python := _MODULE.search(headline):
        name = (python[1] or python[2]).strip(".")
        places = await _python_files(root, name)
    elif script := _SCRIPT.search(headline):
        name = script[1]
        near = file.parent if file and name.startswith(".") else root
        places = [near / (name + ending) for ending in _SCRIPT_ENDINGS]
    else:
        return []
    for place in places:
        if real := _inside(root, place):
            outline = await asyncio.to_thread(_outline, real)
            return [(f"module {name}: {real.relative_to(root)}", outline)]
    return [(f"module {name}", f"No file of this tree is {name}: it has to be installed, or its name is wrong.")]


async def _python_files(root: Path, name: str) -> list[Path]:
    path = name.replace(".", "/")
    plain = [f"{path}.py", f"{path}/__init__.py"]
    if await find_repository(root) is None:
        return [root / folder / file for folder in ("", "src") for file in plain]
    patterns = [f":(glob)**/{file}" for file in plain]
    listed = await _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns)
    return [root / file for file in sorted(split_paths(listed.out), key=len)]


def _outline(file: Path) -> str:
    lines = list(enumerate(_read(file), 1))
    defined = [entry for entry in lines if _DEFINITION.match(entry[1])] or lines
    return "\n".join(f"{number:>6} | {text[:160]}" for number, text in defined[:_OUTLINE]) or "(the file is empty)"


async def _history(root: Path, file: Path | None) -> list[Finding]:
    if file is None or await find_repository(root) is None:
        return []
    path = str(file.relative_to(root))
    layout = ("--max-count=3", "--date=short", "--format=%h %ad %s", "--patch", "--unified=1")
    safe = ("--no-ext-diff", "--no-textconv")
    logged = await _git(root, "--literal-pathspecs", "log", *layout, *safe, "--", path)
    text = logged.out.decode("utf-8", "replace")
    return [(f"last commits of {path}", text)] if text.strip() else []


async def _uses(root: Path, names: Iterable[str]) -> list[Finding]:
    known = await find_repository(root) is not None
    where = ("--untracked",) if known else ("--no-index", "--exclude-standard")
    found = []
    for name in names:
        result = await _git(root, "grep", "-n", "-w", "-F", "-I", *where, "-e", name)
        lines = result.out.decode("utf-8", "replace").splitlines()
        if lines:
            more = [f"… {len(lines) - _USES} more"] if len(lines) > _USES else []
            found.append((f"uses of {name}", "\n".join([line[:200] for line in lines[:_USES]] + more)))
    return found


def _names(headline: str, symbols: Iterable[str]) -> list[str]:
    return list(islice(dict.fromkeys(_candidates(headline, symbols)), _NAMES))


def _candidates(headline: str, symbols: Iterable[str]) -> Iterator[str]:
    quoted = (match[1].rpartition(".")[2] for match in _QUOTED.finditer(headline))
    telling = (word for word in _NAME.findall(headline) if _TELLING.search(word) and not word.endswith("Error"))
    for name in (*symbols, *quoted, *telling):
        if len(name) > 2 and name.isprintable() and name not in _COMMON:
            yield name


async def _git(root: Path, *arguments: str) -> Result:
    return await run_git(root, *arguments, check=False, most=_OUTPUT_LIMIT)
