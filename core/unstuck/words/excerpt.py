"""Lines around the place of a failure. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from unstuck.diagnosis.model import Diagnosis
from unstuck.eventlog.state import TaskRow
from unstuck.text import one_line
from unstuck.words.labels import error_name

_BEFORE, _AFTER = 3, 3
_LEAST, _LENGTH, _VALUES = 5, 60, 200
_GUTTER = "       | "
_CODE = "code at "
_NOTHING = re.compile(r"(?!)")
_POINTED = re.compile(r">(?= *\d+ \|)")


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """One line of code or output; ``is_failure`` for one that the failure names."""

    text: str
    is_failure: bool = False


def failure_pattern(diagnosis: Diagnosis | None) -> re.Pattern[str]:
    """Pattern for the lines of an output that hold the place or the message of a failure; it finds nothing without."""
    if diagnosis is None:
        return _NOTHING
    message = diagnosis.headline.removeprefix(f"{error_name(diagnosis.signature.error_type.value)}: ")
    found = (diagnosis.signature.location or "", message[:_LENGTH].strip())
    return re.compile(
        "|".join(re.escape(mark) + r"(?!\d)" for mark in found if len(mark) >= _LEAST) or _NOTHING.pattern
    )


def failure_excerpt(row: TaskRow | None) -> tuple[ExcerptLine, ...]:
    """Return the code around the last failure of a task as research found it, else the lines that its check printed.

    Empty without a failure, or where neither holds it.
    """
    if row is None or row.diagnosis is None:
        return ()
    found = f"{_CODE}{row.diagnosis.signature.location}:"
    for insight in row.climb.insights:
        head, _, code = insight.partition("\n")
        if head == found:
            lines = code.splitlines()
            excerpt = _around(
                [ExcerptLine(_POINTED.sub(" ", line, count=1), bool(_POINTED.match(line))) for line in lines]
            )
            return (*_paragraph(excerpt), *_values(row.diagnosis))
    pattern = failure_pattern(row.diagnosis)
    printed = row.check.evidence.splitlines() if row.check is not None else []
    return _around([ExcerptLine(line, bool(pattern.search(line))) for line in printed])


def _paragraph(lines: Sequence[ExcerptLine]) -> Sequence[ExcerptLine]:
    """``lines`` up to the first blank one below the failure: what follows is another function."""
    place = next((index for index, line in enumerate(lines) if line.is_failure), len(lines))
    end = next((index for index in range(place, len(lines)) if _is_blank(lines[index])), len(lines))
    return lines[:end]


def _values(diagnosis: Diagnosis) -> Sequence[ExcerptLine]:
    """The values that the check saw, which its message tells after the headline: a line below the code, or none."""
    headline, message = diagnosis.headline, diagnosis.signature.exact_message
    values = one_line(message.removeprefix(headline), _VALUES) if headline and message.startswith(headline) else ""
    return [ExcerptLine(f"{_GUTTER}{values}")] if len(values) >= _LEAST else []


def _is_blank(line: ExcerptLine) -> bool:
    return not line.text.strip(" |0123456789")


def _around(lines: Sequence[ExcerptLine]) -> tuple[ExcerptLine, ...]:
    """The first line of the failure with those around it, without blank ones at the ends."""
    place = next((index for index, line in enumerate(lines) if line.is_failure), None)
    if place is None:
        return ()
    found = list(lines[max(0, place - _BEFORE) : place + _AFTER + 1])
    while _is_blank(found[0]):
        found.pop(0)
    while _is_blank(found[-1]):
        found.pop()
    return tuple(found)
