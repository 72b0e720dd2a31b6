"""Recognition of a failure in an output without a known exit code."""

from __future__ import annotations

from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput
from unstuck.diagnosis.parsing.run_summary import run_summaries

# How sure a line of a known tool is, and a line that only says that there is an error.
REPORTED, SAID = 58, 42
# A line that only says "error" counts where it begins or ends the output, a report where nothing good follows it.
NEAR = 3
# An output of so few lines is its last line.
SHORT = 4
WELL = Lazy(
    r"(?i)(?!.*\b(?:not|no|un\w+|fail\w*|errors?|0)\b).*\b(?:done|ok|success(?:ful(?:ly)?)?|succeeded|recovered|passed"
    r"|completed?|finished)\b"
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
    lines = [line.strip() for line in parsed.seen.text.split("\n") if line and not line.isspace()]
    if not lines or WELL.match(lines[-1]):
        return False
    if parsed.weight >= REPORTED:
        return True
    if len(lines) <= SHORT and error_type is not ErrorType.UNKNOWN and parsed.headline in lines[-1]:
        return True
    return (
        parsed.weight >= SAID
        and parsed.kind != "lint"
        and any(parsed.headline in line for line in (*lines[:NEAR], *lines[-NEAR:]))
    )
