"""Recognition of a failure in an output without a known exit code."""

from __future__ import annotations

from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput
from unstuck.diagnosis.parsing.run_summary import counted_in
from unstuck.diagnosis.parsing.wrappers import SUMMED_UP
from unstuck.text import admit

# How sure a line of a known tool is, one that is called an error, and one that only says what went wrong.
REPORTED, CALLED, SAID = 58, 45, 42
# A line that only says "error" counts where it begins or ends the output, a report where nothing good follows it.
NEAR = 3
# An output of so few lines is its last line.
SHORT = 4
TITLE = "Traceback (most recent call last)"
TROUBLE = Lazy(
    r"(?i)\b(?:errors?|problems?|exception|fail\w*|fatal|abort\w*|exit\w*|stop\w*|not|cannot|could|killed|traceback)\b"
)
# A line that no rule knows is a complaint by its first words: what is refused, and what could not be done.
REFUSED = Lazy(
    r"(?i)(?!.*:(?: \d+\b|$))(?:no (?!result|match)\w.* found\b|(?:not|failed|invalid|unknown|bad|illegal"
    r"|missing)(?: \S+){2,})"
    r"|(?:cannot|can't|could not|couldn't|unable to) (?:access|allocate|bind|change|connect|copy|create|delete"
    r"|determine|execute|find|get|import|install|load|locate|make|move|open|parse|read|remove|resolve|run|set"
    r"|start|stat|update|use|write)\b.*[\"'`‘“/.:\d]"
    r"|\w+: usage: "
)
WELL = Lazy(
    r"(?i)(?!.*(?:\b(?:not|no|un\w+|fail\w*|errors?|usage|0)\b|`)).*\b(?:done|ok|success(?:ful(?:ly)?)?|succeeded|recovered|passed"
    r"|completed?|finished)\b|.*\b(?:ignored|skipped)$"
)
# A line that is shown and not said: quoted, listed, assigned, compared or commented code, a cell of a table, a text to
# be filled, the name of a test with its arguments.
SHOWN = Lazy(
    r"""\s*(?:[\[{(]?["'`]|[|*#>]|[-+](?:[ \t]|\w+ ?[=(])|//|\d{1,6}\t|\d{1,6}[:-] |\w[\w.]*\(["']"""
    r"""|(?:def|class|raise|throw|return|print|puts|assert)\b|[A-Za-z_][\w.]* = ["']|(?:\S+::|<\w+ )\w+\[.*\]>?$"""
    r"""|[\w./-]+:\d+:(?:\t|  ))"""
    r"""|\s.*(?:["'][,;)\]]{1,3}|[{;(,])$|.*(?:%[sd]\b|\\n["']|[!=]==? ?["'])"""
)
# The border of a block of code in a document, and a line that begins a part of a program.
FENCE = "```"
CODE = Lazy(
    r"(?:from [\w.]+ import |import [\w.{\"]|(?:async )?def \w+\(|class \w+|@\w[\w.]*|#include |package \w+;?$|func \w"
    r"|(?:export )?(?:const|let|function) \w|(?:public|private) \w|use \w+::|(?:pub )?fn \w|require ['\"])"
)
CODE_LINES = 3
# What has been dealt with.
HANDLED = Lazy(
    r"(?i)\b(?:(?:caught|handled|rescued|recovered|retried|retrying|skipped|as (?:expected|documented|intended))\b"
    r"|warning(?: \[.{1,30}\])?:)"
)
# The reader of a pipe has ended, as `head` does.
PIPE_CLOSED = Lazy(r"(?i).*\b(?:broken pipe|pipe to stdout was broken)\b")
# A line below a report that belongs to it: a detail, a pointer to more, a count.
DETAIL = Lazy(
    r"""[\s│╰└╵|^~'"({}\[\]]|[A-Za-z ]{2,40}: |\S+:\d+[: ]|\w{1,8}\t|\d+(?: |$)|\S+ v\d|.{30,}\.$|.*:$"""
    r"""|(?i:for|see|run|use|try|please|at|in|note|hint|did|type|it|you|your|unhandled|errors?|and|or"""
    r"""|report|options?|checked \d|finished)\b"""
)
# A message of a log, and a level at which the program only tells of its work.
LOGGED = Lazy(r"(?:\S{1,40} ){0,4}\W{0,2}(?:level=)?(?:ERROR|FATAL|CRITICAL|WARN(?:ING)?|error|warn(?:ing)?)\b")
CALM = Lazy(r"(?:\S{1,40} ){0,4}\W{0,2}(?:level=)?(?:INFO|DEBUG|TRACE|NOTICE|info|debug)\b")
# A file of that name, and a setting.
NAME_ALONE = Lazy(r"(?i)error: \S+\.\w{1,5}$|[a-z_][\w.+-]{0,30}: no \S+$")


def is_recognised(parsed: ParsedOutput, error_type: ErrorType) -> bool:
    """Return whether the output reports a failure by its words alone: a count of failures, or a tool's own report."""
    counted = [one for one in counted_in(parsed.seen) if one.certain]
    if not (counted or parsed.weight or parsed.context_exhausted or error_type is not ErrorType.UNKNOWN):
        return False
    said = [line for line in parsed.seen.text.split("\n") if line and not line.isspace()]
    if any(line.startswith(FENCE) for line in said) or _is_code(said):
        return False
    if counted and (any(one.failed for one in counted) or any(one.ran for one in counted)):
        return any(one.failed for one in counted)
    spots = _spots(parsed, said)
    if not said or WELL.match(said[-1].strip()) or _is_shown(parsed, said, spots):
        return False
    return parsed.context_exhausted or (not _went_on(parsed, said, spots) and _is_told(parsed, said, error_type))


def _is_told(parsed: ParsedOutput, said: list[str], error_type: ErrorType) -> bool:
    """Return whether the headline is sure enough for where it stands: a report anywhere, other words near an end."""
    if parsed.weight >= REPORTED:
        return True
    if NAME_ALONE.match(parsed.headline) or (parsed.code.isupper() and ":" not in parsed.headline):
        return False
    lines = [line for line in said if line[0] not in " \t#>" and not SUMMED_UP.match(line)]
    if len(lines) <= SHORT and error_type is not ErrorType.UNKNOWN and _spots(parsed, lines[-1:]):
        told = parsed.weight >= SAID or error_type is ErrorType.HTTP_ERROR
        return told or REFUSED.match(lines[-1]) is not None
    least = SAID if error_type is not ErrorType.UNKNOWN else CALLED
    near = [*lines[:NEAR], *lines[-NEAR:]]
    return parsed.weight >= least and parsed.kind != "lint" and bool(_spots(parsed, near))


def _is_code(said: list[str]) -> bool:
    """Return whether the output is a program's text: a failing tool shows its lines indented, or one of them."""
    return sum(CODE.match(line) is not None for line in said) >= CODE_LINES


def _spots(parsed: ParsedOutput, said: list[str]) -> list[int]:
    """Return the numbers of the lines with the headline; ``said`` has not been admitted."""
    plain = [number for number, line in enumerate(said) if parsed.headline in line]
    return plain or [number for number, line in enumerate(said) if parsed.headline in admit(line)]


def _is_shown(parsed: ParsedOutput, said: list[str], spots: list[int]) -> bool:
    """Return whether each line with the headline only shows it, or is the message of a log that goes on."""
    if not spots:
        return False
    if not parsed.location and HANDLED.search(parsed.headline):
        return True
    lines = [said[number] for number in spots]
    if all(SHOWN.match(line) for line in lines) or all(PIPE_CLOSED.match(line) for line in lines):
        return True
    if parsed.weight >= REPORTED or not all(LOGGED.match(line) for line in lines):
        return False
    return any(CALM.match(line) and not TROUBLE.search(line) for line in said[spots[0] + 1 :])


def _went_on(parsed: ParsedOutput, said: list[str], spots: list[int]) -> bool:
    """Return whether the program printed something else below its report, so that it did not end there."""
    below = said[spots[-1] + 1 :] if spots and parsed.kind != "test" else []
    if not below:
        return False
    if parsed.kind == "run" and TITLE in parsed.seen.text:
        return not any(line[0] in " \t" or TROUBLE.search(line) for line in below)
    if parsed.weight < REPORTED and len(below) > SHORT:
        return False
    return not (DETAIL.match(below[-1]) or TROUBLE.search(below[-1]) or SUMMED_UP.match(below[-1]))
