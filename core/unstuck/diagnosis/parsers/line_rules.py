"""Rules for one-line reports: a literal, a pattern and a weight; the heaviest rule that matches gives the finding."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unstuck.diagnosis.matching.lazy_regex import Lazy, lines_with
from unstuck.diagnosis.matching.prefilter import IndexedText, Literals, Prefilter
from unstuck.diagnosis.parsers.base import Finding, is_library, place

FILES_KEPT = 50
LINE_LIMIT = 2_000
MACROS = {
    "FILE": r"(?P<file>[^\s:(][^:(\n]{0,400}?)",
    "LINE": r"(?P<line>\d{1,7})",
    "MSG": r"(?P<msg>\S.*?)",
    "CODE": r"(?P<code>[A-Za-z]{1,10}\d{1,5})",
}
# A word in capitals may have one of them within itself.
MACRO = Lazy(rf"(?<![A-Z])(?:{'|'.join(MACROS)})(?![A-Z])")
# Last lines of build tools and package managers, after the tool's own report.
SUMMARIES = (
    "error: could not compile",
    "error: test failed",
    "error: aborting",
    "error: process didn't exit",
    "error Command failed",
    "npm error A complete log",
    "error: failed to push some refs",
    "fatal error: too many errors",
    "tar: Exiting with failure",
)


# A program that runs one command line has no script with lines.
COMMAND_LINE = ("bash", "sh", "dash", "zsh", "-c", "awk", "gawk", "mawk")
# The literal of the rules for lines that begin with a file, a line and a colon, and a pattern that finds any of them.
ANY_PLACE = ":"
# The weight of the rule for any line with a place, which asks for a file of the user's.
ANYTHING = 40
PLACED = Lazy(r"\n[ \t]{0,8}(?:[A-Za-z][\w.+-]{0,30}: ?){0,2}(?:[A-Za-z]\W\\)?[^\s:]{1,300}\.\w{0,8}:\d{1,7}[:. ]")


@dataclass(frozen=True, slots=True)
class Rule:
    """``pattern`` is matched at the start of every line that has the one of ``literals``.

    Groups of the pattern: ``msg`` (the headline; else the whole line), ``file``, ``line``, ``code``, ``name`` (the
    error's class) and ``function``. ``weight`` 0 to 100 orders the rules; among equals the first in the table is asked
    first, so the particular stands before the general. ``name`` and ``code`` say what the pattern cannot read.
    """

    weight: int
    literals: Literals
    pattern: Lazy
    kind: str = "build"
    name: str = ""
    code: str = ""


def rule(weight: int, literal: str, pattern: str, kind: str = "build", name: str = "", code: str = "") -> Rule:
    """Return a rule. FILE, LINE, MSG and CODE in its pattern stand for the groups of those names."""
    if pattern.endswith("MSG"):
        pattern += "$"
    return Rule(weight, Literals(literal), Lazy(MACRO.sub(_spelled, pattern)), kind, name, code)


def _spelled(macro: re.Match[str]) -> str:
    return MACROS[macro[0]]


def first_match(rules: Prefilter[Rule], seen: IndexedText, floor: int = -1) -> Finding | None:
    """Return the first report of the surest rule above ``floor``. ``rules`` are ordered by weight."""
    if rules.entries[0].weight <= floor:
        return None
    placed: bool | None = None
    for one in rules.candidates(seen):
        if one.weight <= floor:
            return None
        part = one.literals.part
        if part == ANY_PLACE:
            placed = _has_places(seen) if placed is None else placed
        elif part not in seen.lines:
            continue
        if (placed or part != ANY_PLACE) and (finding := _reported(one, part, seen.text)) is not None:
            return finding
    return None


def _has_places(seen: IndexedText) -> bool:
    """Return whether a line begins with a file, a line and a colon."""
    return PLACED.search(seen.lines) is not None


def _reported(one: Rule, part: str, text: str) -> Finding | None:
    """Return the finding in the first line that matches, with the files of the others."""
    best: Finding | None = None
    files: dict[str, None] = {}
    for full_line in lines_with(text, part):
        line = full_line[:LINE_LIMIT].rstrip()
        found = one.pattern.match(line)
        if found is None or line.startswith(SUMMARIES):
            continue
        parts = found.groupdict()
        file = parts.get("file") or ""
        if best is None or (one.weight == ANYTHING and not best.location and not is_library(file)):
            best = _finding(one, line, parts)
        if not file or len(files) >= FILES_KEPT:
            break
        if not is_library(file):
            files[file] = None
    if best and files:
        best.files = tuple(files)
    return best


def _finding(one: Rule, line: str, parts: dict[str, str | None]) -> Finding:
    file, number = parts.get("file") or "", parts.get("line") or ""
    located = bool(file and number) and file.rpartition("/")[2] not in COMMAND_LINE
    return Finding(
        weight=one.weight,
        headline=(parts.get("msg") or line).strip(),
        name=parts.get("name") or one.name,
        code=parts.get("code") or one.code,
        location=place(file, number) if located and not is_library(file) else None,
        function=parts.get("function") or "",
        kind=one.kind,
    )
