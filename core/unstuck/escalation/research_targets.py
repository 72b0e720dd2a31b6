"""Research targets for a failure: at most five, chosen without reading a file. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol

from unstuck.detection.similarity import similarity
from unstuck.diagnosis.enums import Cause
from unstuck.text import one_line

MOST_TARGETS = 5
_MOST_RELATED = 3
_MOST_IMPORTS = 200
_READ = 200_000

_PYTHON = re.compile(
    r"^[ \t]{0,40}(?:from[ \t]+([\w.]{1,200})[ \t]+import[ \t]+([^\n#'\"]{1,400})|import[ \t]+([^\n#'\"]{1,400}))$",
    re.M,
)
_SCRIPT = re.compile(r"(?:\bfrom|\bimport|\brequire\()[ \t]{0,4}['\"]([^'\"\n]{1,200})['\"]")
_SCRIPT_NAMES = re.compile(r"\bimport[ \t]+([^'\"\n]{1,300}?)[ \t]+from[ \t]+['\"]([^'\"\n]{1,200})['\"]")
_DEPENDENCY = re.compile(
    r"(?:No module named|[Cc]annot find (?:module|package)|Could not resolve|[Cc]an't resolve"
    r"|No matching distribution found for|cannot import name .{1,120}? from|unresolved import|cannot find package)"
    r"[ :]{0,3}['\"`]?(@?\w[\w.-]{0,99}(?:/[\w.-]{1,100})?)"
)
_ALIKE = 0.7
_MOST_KNOWN = 2
_LOOKED_AT = 400
_HELPED = {"worked": "where it helped", "used": "where it was used before the check passed"}
"""The origin of a finding in words, by its outcome."""
_ENDINGS = ("", ".py", "/__init__.py", ".js", ".ts", ".jsx", ".tsx", ".mjs", "/index.js", "/index.ts")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Target:
    """Research target: a file of the tree, an installed dependency, or examples of an approach."""

    kind: Literal["file", "dependency", "pattern"]
    name: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}"


def research_targets(
    cause: Cause,
    headline: str,
    *,
    file: str = "",
    imports: Sequence[tuple[str, str]] = (),
    files: Sequence[str] = (),
    approach: str = "",
) -> tuple[Target, ...]:
    """Return the targets in this order: related files, imports in the headline, the dependency, the pattern.

    ``file`` is the place of the failure, ``imports`` are (name, module) of that file. ``files`` are all paths of the
    tree, relative and with slashes. ``approach`` is the one that failed.
    """
    found = [Target("file", path) for path in related_files(file, files, imports)]
    words = set(_WORD.findall(headline))
    for name, module in imports:
        if name in words and (path := resolved(module, file, files)):
            found.append(Target("file", path))
    if cause is Cause.DEPENDENCY_ISSUE and (dependency := dependency_in(headline)):
        found.append(Target("dependency", dependency))
    if cause in (Cause.APPROACH_WRONG, Cause.PATTERN_MISMATCH) and approach:
        found.append(Target("pattern", approach))
    return tuple(dict.fromkeys(found))[:MOST_TARGETS]


def related_files(file: str, files: Sequence[str], imports: Iterable[tuple[str, str]] = ()) -> tuple[str, ...]:
    """Return at most three files related to ``file``: its test or its subject, its imports, then its neighbours."""
    if not file:
        return ()
    folder, _, ending = _split(file)
    near = [other for other in files if other != file]
    found = [other for other in near if _is_counterpart(file, other)]
    found += [real for _, module in imports if (real := resolved(module, file, near))]
    found += sorted(other for other in near if _split(other)[::2] == (folder, ending))
    return tuple(dict.fromkeys(found))[:_MOST_RELATED]


def _is_counterpart(one: str, other: str) -> bool:
    """Return whether one is the other's test, by their names."""
    (_, stem, ending), (_, there, same) = _split(one), _split(other)
    return ending == same and stem != there and _subject(stem) == _subject(there)


def _split(path: str) -> tuple[str, str, str]:
    """Return the folder, the name and the ending of a path."""
    folder, _, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    return folder, stem if dot else ending, ending if dot else ""


def _subject(stem: str) -> str:
    return stem.removeprefix("test_").removesuffix("_test").removesuffix(".test").removesuffix(".spec")


def imports_in(text: str) -> tuple[tuple[str, str], ...]:
    """Return (name, module) of the imports of a Python or JavaScript file. A name is the one used in the file."""
    return tuple(islice(dict.fromkeys(_imports(text[:_READ])), _MOST_IMPORTS))


def _imports(text: str) -> Iterator[tuple[str, str]]:
    for found in _PYTHON.finditer(text):
        module, names, plain = found.groups()
        for part in (names or plain or "").strip("() ").split(","):
            name, _, called = part.strip(" ()").partition(" as ")
            if _WORD.fullmatch(name.replace(".", "_")):
                yield (called.strip() or name.split(".")[0]) if plain else (called.strip() or name), module or name
    for found in _SCRIPT_NAMES.finditer(text):
        for name in _WORD.findall(found[1]):
            yield name, found[2]
    for found in _SCRIPT.finditer(text):
        yield found[1].rpartition("/")[2], found[1]


def resolved(module: str, file: str, files: Iterable[str]) -> str:
    """The path in ``files`` that ``module``, as ``file`` names it, stands for; empty where it is none of them."""
    if module.startswith(("./", "../")):
        wanted = {_joined(_split(file)[0], module) + ending for ending in _ENDINGS}
        return next((path for path in files if path in wanted), "")
    parts = module.strip(".").replace(".", "/") if "/" not in module else module
    wanted = {parts + ending for ending in _ENDINGS}
    below = tuple(f"/{name}" for name in wanted if name != parts)
    found = [path for path in files if path in wanted or path.endswith(below)]
    return min(found, key=len, default="")


def _joined(folder: str, module: str) -> str:
    parts = folder.split("/") if folder else []
    for part in module.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def dependency_in(headline: str) -> str:
    """The package or module that a failure says is missing or lacks something; empty where it names none."""
    found = _DEPENDENCY.search(headline)
    return found[1].rstrip(".") if found else ""


class Known(Protocol):
    """An insight from memory: ``note`` says it, ``approach`` is the headline of the failure that it is about."""

    @property
    def signature(self) -> str: ...
    @property
    def approach(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def when(self) -> str: ...


def insights_about(known: Iterable[Known], *, signature: str, headline: str) -> tuple[str, ...]:
    """Return at most two findings that helped against this failure, or else against a similar one, with their origin.

    Those that were ``used`` beside others count, too: one of them may have helped.

    ``known`` is newest first, and so is the result.
    """
    helped = list(islice((one for one in known if one.outcome in _HELPED and one.note), _LOOKED_AT))
    same = [one for one in helped if one.signature == signature]
    matching = same or [one for one in helped if headline and similarity(one.approach, headline) >= _ALIKE]
    notes = dict.fromkeys(one.note for one in matching)
    first = [next(one for one in matching if one.note == note) for note in islice(notes, _MOST_KNOWN)]
    return tuple(
        f"Known since {one.when[:10]} from the task {one_line(one.task, 80)}, {_HELPED[one.outcome]}:\n{one.note}"
        for one in first
    )
