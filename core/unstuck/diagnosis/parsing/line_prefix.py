"""Prefixes that other programs put before every line of an output: a time, the name of a service, an indentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import takewhile

from unstuck.diagnosis.matching.lazy_regex import Lazy

# A job's step behind a service's time stamp behind an indentation is the deepest nesting in use.
DEPTH = 4
SAMPLE = 12
# The share of lines, of ten, that have a prefix, and the share from which interleaved services are sorted.
MOST, NEARLY_ALL = 5, 8

_DAY = r"\d{4}-\d\d-\d\d"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_STAMP = rf"{_DAY}[T ]{_CLOCK}(?:Z| ?[+-]\d\d:?\d\d)?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
# Where the message is empty, the blank at the end may be missing.
_END = r"(?:[ \t]|$)"
_LEVEL = r"(?i:error|err|warn|warning|info|debug|trace|fatal|notice|note|failed|passed|ok|success)"
# A name and a task have these letters; a line number is no task.
_NAME = r"[\w@.][\w@./-]{0,79}"
_TASK = r"[A-Za-z][\w:.-]{0,59}"
_SHAPES = {
    # gh run view --log: job, step and time
    "step": rf"(?P<step>[^\t\n]{{1,120}}\t[^\t\n]{{1,120}}\t)\ufeff?{_STAMP}{_END}",
    # syslog and journald
    "host": rf"(?:<\d{{1,3}}>)?(?:{_MONTH} [ \d]\d {_CLOCK}|{_STAMP})(?! \d\d[OE] )"
    rf"(?P<host> [\w.-]{{1,80}} [\w./@-]{{1,80}}\[[\w.]{{1,40}}\]:{_END})",
    # GitHub Actions, GitLab (with the stream), docker logs -t, loggers, ts; in brackets in Jenkins
    "time": rf"(?P<time>\ufeff?(?:{_STAMP}|\[{_STAMP}\]|\[{_CLOCK}\]|{_MONTH} [ \d]\d {_CLOCK})"
    rf"(?: \d\d[OE]\+?)?{_END})",
    # docker compose, foreman, pm2
    "service": rf"(?:{_CLOCK} )?(?P<service>(?:\d{{1,3}}\|)?[A-Za-z][\w.@/-]{{0,79}}"
    rf"(?: {{2,80}}|(?<=[-_.]\d) |(?<=[-_.]\d\d) ))\|{_END}",
    # concurrently, kubectl --prefix, yarn workspaces
    "bracket": rf"(?P<bracket>\[(?!{_LEVEL}\])[\w@][\w@./:-]{{0,79}}\]:?{_END})",
    # turbo (a task), lerna (a scope), pnpm -r (a folder), the tag of a log
    "task": rf"(?P<task>{_NAME}[:#]{_TASK}:{_END}|@[\w.-]{{1,60}}/[\w.-]{{1,60}}:{_END}"
    rf"|{_NAME} {_TASK}[:$]{_END}|[\w.-]{{1,80}}\[[\w.]{{1,40}}\]:{_END})",
}
_ANY = Lazy("|".join(_SHAPES.values()))
_PREFIXES = {name: Lazy(shape) for name, shape in _SHAPES.items()}
# Words that begin a message, not a prefix.
_MESSAGE = Lazy(r"(?i:.*\b(?:error|errors|warning|exception|fatal|failed|failure|panic|note|hint|usage|line)\b)")
# A time or a step is a prefix by its shape, a name only where more lines have it.
_RUN = Lazy(
    r"^@[\w.-]+/[\w.-]+:$|^\[pod/"
    r"|(?:[:#]| )(?:build|bundle|compile|test|lint|check|type-?check|dev|start|ci|e2e|verify)[\w:.-]{0,40}[:$]$"
)
_CERTAIN = frozenset(("step", "time", "host", "service"))
# Some tools indent all of their lines by two.
_INDENT = Lazy(r" {3,400}|[ \t]*\t[ \t]*")


def without_prefixes(text: str) -> str:
    """Return ``text`` without the prefix that most of its lines share; the lines of each service stand together."""
    for _ in range(DEPTH):
        shorter = _stripped(text)
        if shorter is None:
            break
        text = shorter
    return text


def _stripped(text: str) -> str | None:
    """Return ``text`` without the outermost prefix, or None where its lines share none."""
    lines = text.split("\n")
    said = [line for line in lines if line and not line.isspace()]
    sample = said[:: len(said) // SAMPLE + 1]
    shapes = Counter(found.lastgroup for line in sample if (found := _ANY.match(line)))
    if shapes and 10 * shapes.total() >= MOST * len(sample):
        shorter = _without(str(shapes.most_common(1)[0][0]), lines, len(said))
        if shorter is not None:
            return shorter
    return _dedented(lines, said) if sample and all(line[0] in " \t" for line in sample) else None


def _without(shape: str, lines: list[str], said: int) -> str | None:
    """Return the lines without the prefix of this shape where most of the ``said`` lines have it, else None."""
    found = list(_found(shape, lines))
    labels = [label for _, label in found]
    ends = [end for end, _ in found]
    if shape not in _CERTAIN:
        uses = Counter(labels)
        names = {one for one in uses if (uses[one] > 1 or _RUN.search(one)) and not _MESSAGE.match(one)}
        ends = [end if label in names else 0 for end, label in found]
    count = len(ends) - ends.count(0)
    if not count or 10 * count < MOST * said:
        return None
    rest = [line[end:] if end else line for line, end in zip(lines, ends, strict=True)]
    return "\n".join(_together(labels, rest) if 10 * count >= NEARLY_ALL * said else rest)


def _found(shape: str, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the end of each line's prefix, 0 for none, and its label. A name is mostly that of the line before."""
    match = _PREFIXES[shape].match
    before, label = "\n", ""
    for line in lines:
        if line.startswith(before):
            yield len(before), label
        elif (one := match(line)) is None:
            yield 0, ""
        elif shape == "time":
            yield one.end(), ""
        else:
            label = one[shape].strip()
            before = one[0] if one[0][-1] in " \t" else "\n"
            yield one.end(), label


def _together(labels: list[str], lines: list[str]) -> list[str]:
    """Return the lines of each label together, the labels in the order of their first line."""
    by_label: dict[str, list[str]] = {}
    for label, line in zip(labels, lines, strict=True):
        by_label.setdefault(label, []).append(line)
    return [line for group in by_label.values() for line in group]


def _dedented(lines: list[str], said: list[str]) -> str | None:
    """Return the lines without the indentation that all of them share; None where they share none."""
    pairs = zip(min(said), max(said), strict=False)
    shared = _INDENT.match("".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return "\n".join(line[shared.end() :] for line in lines) if shared else None
