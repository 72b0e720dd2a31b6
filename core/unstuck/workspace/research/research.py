"""Research without a model: what the project itself says about a failure, and what is installed.

Of the project only regular files inside the tree are read, each up to a bound; nothing here raises for odd input.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from pathlib import Path

from unstuck.errors import WorkspaceError
from unstuck.escalation.research_targets import Target, imports_in
from unstuck.text import Clean, admit, one_line
from unstuck.workspace.git.repository import Result, find_repository, run_git, split_paths
from unstuck.workspace.research.installed_packages import describe

_AROUND = 15
_READ_LIMIT = 2_000_000
_OUTPUT_LIMIT = 200_000
_NAMES = 4
_FILES = 20_000
_LINES_ROUND_A_NAME = 2
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
_FUNCTION = re.compile(r"\s*(?:export\s+)?(?:async\s+)?(?:def|function|func|fn)\s+(\w+)")
_DEFINITION = re.compile(r"\s*(?:async\s+)?(?:def|class|function|func|fn|export|pub|interface|type|struct|enum)\b")
# Conversations, settings and logs of agents and of Unstuck: they quote the failure and document nothing.
_OF_AGENTS = (
    *(".aider*", ".claude", ".cline", ".codex", ".continue", ".crush", ".cursor", ".gemini", ".goose", ".kilocode"),
    *(".opencode", ".pi", ".qwen", ".roo", ".specstory", ".unstuck", ".windsurf"),
)
_OF_THE_PROJECT = (
    *("--", "."),
    *(f":(exclude,glob)**/{name}{below}" for name in _OF_AGENTS for below in ("", "/**")),
)

Finding = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Insight:
    """Something found out: where, and what it says."""

    source: str
    text: Clean


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Files round a failure: its ``file``, the imports of that, and every path of the tree, with slashes."""

    file: str = ""
    imports: tuple[tuple[str, str], ...] = ()
    files: tuple[str, ...] = ()


async def surroundings(tree: Path, location: str | None) -> Surroundings:
    """Return the files round ``location``, from which research chooses. Never raises for odd input."""
    root = await asyncio.to_thread(tree.resolve)
    file, _ = _locate(root, location)
    try:
        lines = await asyncio.to_thread(_read, file) if file else []
        files = await _files(root)
    except (WorkspaceError, OSError, ValueError):
        return Surroundings()
    place = file.relative_to(root).as_posix() if file else ""
    return Surroundings(place, imports_in("\n".join(lines)), files)


async def _files(root: Path) -> tuple[str, ...]:
    if await find_repository(root) is None:
        found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        return tuple(islice((path.as_posix() for path in found if not _is_of_agents(path)), _FILES))
    listed = await _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", *_OF_THE_PROJECT)
    return tuple(split_paths(listed.out)[:_FILES])


def _is_of_agents(path: Path) -> bool:
    return any(part[0] == "." and any(fnmatchcase(part, name) for name in _OF_AGENTS) for part in path.parts)


async def gather(
    tree: Path,
    *,
    location: str | None,
    headline: str,
    symbols: Sequence[str] = (),
    targets: Sequence[Target] = (),
    environ: Mapping[str, str] | None = None,
    limit: int = 8,
    size: int = 4000,
    seconds: float = 20.0,
) -> tuple[Insight, ...]:
    """Up to ``limit`` insights of at most about ``size`` characters each, the most telling first, in ``seconds``.

    The code round ``location`` (``file``, ``file:line`` or ``file:line:column``) and its callers, the module that could
    not be imported, the last commits that touched the place, where the names of ``headline`` and ``symbols`` are used,
    and what ``targets`` say; installed packages are looked for as ``environ`` has them. Empty where there is nothing to
    say; never raises for what a failure may contain.
    """
    root = await asyncio.to_thread(tree.resolve)
    file, line = _locate(root, location)
    names = _names(headline, symbols)
    steps = (
        partial(_code, root, file, line, size),
        partial(_module, root, file, headline),
        *(partial(_target, root, target, names, environ or {}) for target in targets),
        partial(_callers, root, file, line),
        partial(_history, root, file, line),
        partial(_uses, root, names),
    )
    found: dict[str, str] = {}
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            for step in steps:
                with suppress(WorkspaceError, OSError, ValueError):  # one source less
                    found |= {source: text for source, text in await step() if source not in found}
    told = islice(found.items(), max(0, limit))
    return tuple(Insight(one_line(source), admit(text, limit=size)) for source, text in told)


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
    return [(f"module {name}", f"No file of this worktree is {name}: it has to be installed, or its name is wrong.")]


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


def insights_of(tree: Path, targets: Sequence[Target], headline: str, *, limit: int = 4000) -> tuple[Insight, ...]:
    """Return the findings in files and installed dependencies of ``targets``, without processes. Never raises."""
    root, names, found = tree.resolve(), _names(headline, ()), []
    for target in targets:
        with suppress(OSError, ValueError):
            found += _read_target(root, target, names, os.environ)
    return tuple(Insight(one_line(source), admit(text, limit=limit)) for source, text in found)


async def _target(root: Path, target: Target, names: Sequence[str], environ: Mapping[str, str]) -> list[Finding]:
    """Return the findings of one target."""
    if target.kind == "pattern":
        return [(f"examples: {source}", text) for source, text in await _uses(root, _telling(target.name))]
    return await asyncio.to_thread(_read_target, root, target, names, environ)


def _read_target(root: Path, target: Target, names: Sequence[str], environ: Mapping[str, str]) -> list[Finding]:
    """Return the findings of a dependency or a file."""
    if target.kind == "dependency":
        said = describe(root, target.name, environ)
        return [(f"package {target.name}", said)] if said else []
    place = _inside(root, root / target.name) if target.kind == "file" else None
    return [(f"related {target.name}", _about(place, names))] if place else []


def _about(file: Path, names: Sequence[str]) -> str:
    """The lines of a related file that hold one of the names, with those beside them; else what it defines."""
    lines = _read(file)
    met = [at for at, text in enumerate(lines) if any(name in text for name in names)]
    near = sorted({at + by for at in met[:_USES] for by in range(-_LINES_ROUND_A_NAME, _LINES_ROUND_A_NAME + 1)})
    shown = [f"{at + 1:>6} | {lines[at][:160]}" for at in near if 0 <= at < len(lines)]
    return "\n".join(shown[:_OUTLINE]) or _outline(file)


async def _callers(root: Path, file: Path | None, line: int) -> list[Finding]:
    """Return the callers of the function that failed."""
    lines = await asyncio.to_thread(_read, file) if file and line else []
    names = (found[1] for text in reversed(lines[:line]) if (found := _FUNCTION.match(text)))
    name = next(names, "")
    if len(name) < 3 or name.startswith("test"):
        return []
    return [(f"callers of {name}", text) for _, text in await _uses(root, [name], call=True)]


async def _history(root: Path, file: Path | None, line: int) -> list[Finding]:
    """The last commits that touched the place; those of the file where its line is not in them."""
    if file is None or await find_repository(root) is None:
        return []
    path = str(file.relative_to(root))
    layout = ("--max-count=3", "--date=short", "--format=%h %ad %s", "--no-ext-diff", "--no-textconv")
    if line:
        near = f"-L{max(1, line - 3)},{line + 3}:{path}"
        logged = await _git(root, "log", *layout, near)
        if logged.out.strip():
            return [(f"last commits of {path}:{line}", logged.out.decode("utf-8", "replace"))]
    logged = await _git(root, "--literal-pathspecs", "log", *layout, "--patch", "--unified=1", "--", path)
    text = logged.out.decode("utf-8", "replace")
    return [(f"last commits of {path}", text)] if text.strip() else []


async def _uses(root: Path, names: Iterable[str], *, call: bool = False) -> list[Finding]:
    """Return the places of names in the tree; with ``call`` only their calls, not their definitions."""
    known = await find_repository(root) is not None
    where = ("--untracked",) if known else ("--no-index", "--exclude-standard")
    found = []
    for name in names:
        wanted = f"{name}(" if call else name
        result = await _git(
            root, "grep", "-n", *(() if call else ("-w",)), "-F", "-I", *where, "-e", wanted, *_OF_THE_PROJECT
        )
        lines = result.out.decode("utf-8", "replace").splitlines()
        if call:
            lines = [line for line in lines if not _DEFINITION.match(line.split(":", 2)[-1])]
        if lines:
            more = [f"… {len(lines) - _USES} more"] if len(lines) > _USES else []
            found.append((f"uses of {name}", "\n".join([line[:200] for line in lines[:_USES]] + more)))
    return found


def _telling(text: str) -> list[str]:
    """The words of an approach that may stand in code."""
    return [word for word in _NAME.findall(text) if _TELLING.search(word) and word not in _COMMON][:_NAMES]


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
