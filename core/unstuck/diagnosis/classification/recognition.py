"""Recognition of a failure in an output without a known exit code."""

from __future__ import annotations

from collections.abc import Iterable

from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput
from unstuck.diagnosis.parsing.run_summary import run_summaries
from unstuck.diagnosis.parsing.wrappers import SUMMED_UP
from unstuck.text import admit

# How sure a line of a known tool is, one that is called an error, and one that only says what went wrong.
REPORTED, CALLED, SAID = 58, 45, 42
# A line that only says "error" counts where it begins or ends the output, a report where nothing good follows it.
NEAR = 3
# An output of so few lines is its last line.
SHORT = 4
TITLE = "Traceback (most recent call last)"
TROUBLE = Lazy(r"(?i)\b(?:error|exception|fail\w*|fatal|abort\w*|exit\w*|stop\w*|not|cannot|could|killed|traceback)\b")
# A line that no rule knows is a complaint by its first word.
REFUSED = Lazy(
    r"(?i)(?:no|not|cannot|can't|could not|couldn't|unable|failed|invalid|unknown|bad|illegal|missing)\b(?!:)"
    r"|\w+: usage: "
)
WELL = Lazy(
    r"(?i)(?!.*(?:\b(?:not|no|un\w+|fail\w*|errors?|usage|0)\b|`)).*\b(?:done|ok|success(?:ful(?:ly)?)?|succeeded|recovered|passed"
    r"|completed?|finished)\b|.*\b(?:ignored|skipped)$"
)


def is_recognised(parsed: ParsedOutput, error_type: ErrorType) -> bool:
    """Return whether the output reports a failure by its words alone: a count of failures, or a tool's own report."""
    counted = [one for one in run_summaries(parsed.seen.text) if one.certain]
    if any(one.failed for one in counted):
        return True
    if any(one.ran for one in counted):
        return False
    if parsed.context_exhausted:
        return True
    said = [line for line in parsed.seen.text.split("\n") if line and not line.isspace()]
    if not said or WELL.match(said[-1].strip()) or _went_on(parsed, said):
        return False
    if parsed.weight >= REPORTED:
        return True
    lines = [line for line in said if line[0] not in " \t#>" and not SUMMED_UP.match(line)]
    if len(lines) <= SHORT and error_type is not ErrorType.UNKNOWN and _is_in(parsed, lines[-1:]):
        told = parsed.weight >= SAID or error_type is ErrorType.HTTP_ERROR
        return told or REFUSED.match(lines[-1]) is not None
    least = SAID if error_type is not ErrorType.UNKNOWN else CALLED
    return parsed.weight >= least and parsed.kind != "lint" and _is_in(parsed, (*lines[:NEAR], *lines[-NEAR:]))


def _is_in(parsed: ParsedOutput, lines: Iterable[str]) -> bool:
    """Return whether the headline is in one of ``lines``, which have not been admitted."""
    return any(parsed.headline in line or parsed.headline in admit(line) for line in lines)


def _went_on(parsed: ParsedOutput, said: list[str]) -> bool:
    """Return whether the program of a Python traceback printed more below it: an exception that ends one is its end."""
    if parsed.kind != "run" or TITLE not in parsed.seen.text or not _is_in(parsed, said):
        return False
    last = max(number for number, line in enumerate(said) if _is_in(parsed, [line]))
    below = said[last + 1 :]
    return bool(below) and not any(line[0] in " \t" or TROUBLE.search(line) for line in below)
