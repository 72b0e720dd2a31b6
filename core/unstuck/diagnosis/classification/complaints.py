"""Complaints of any program: what it was given, what it does not find, what it cannot do, and where it says so."""

from __future__ import annotations

from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.matching.phrase_table import Phrases, Table
from unstuck.diagnosis.matching.prefilter import IndexedText
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput
from unstuck.diagnosis.parsing.wrappers import SUMMED_UP
from unstuck.text import admit

# How many lines of a headline's neighbours are read: what a program says goes on below, or began above.
BELOW, ABOVE, FIRST = 6, 10, 2
LINE_LIMIT = 400
# Characters at each side of the headline, and at the beginning, in which they are.
NEIGHBOURS = 4_000
# A line that only refers to another place.
POINTER = Lazy(r"(?i)\W{0,3}(?:use|try|run|see|check|read|for|full|help|note|hint|tip|warning|info|usage)\b")
USAGE = Lazy(r"(?i)usage(?: error)?:|syntax: |\S{1,80} (?:\S{1,40} ){0,4}\[--?\w")

# In the words of a compiler they are about types as well.
GIVEN = Table(
    (
        ErrorType.IMPORT_ERROR,
        Phrases(
            *(
                (said, rf"\b(?:package|library|module|program|executable|command)s?\b.{{0,200}}\b{said}\b")
                for said in ("not found", "not installed")
            ),
            (": not found", r"^(?:\w+: )?[^\s./]+: not found$"),
        ),
    ),
    (
        ErrorType.VALUE_ERROR,
        Phrases(
            *(
                (said, rf"(?:^|: )(?:\S{{1,40}}: )?{said}\b")
                for said in ("invalid", "illegal", "bad", "unknown", "unsupported", "malformed", "ambiguous")
            ),
            *(
                (said, rf"\b{said}\b")
                for said in (
                    "wrong number of",
                    "not a valid",
                    "no valid",
                    "is unknown",
                )
            ),
            *((said, rf"\bnot {said.strip('…')}") for said in ("recogni…", "understood", "an option")),
            ("too ", r"\btoo (?:many|few|great|big|large|long|old|short|small)\b"),
            ("missing ", r"\bmissing (?:\w+ ){0,3}(?:operand|argument|parameter|value|character)s?\b"),
            (
                "require…",
                (
                    r"\brequires (?:an? )?(?:\w+ )?(?:argument|value|parameter|version|name|option)"
                    r"|\brequired (?:\w+ )?arguments?\b"
                ),
            ),
            (
                "must ",
                (
                    r"(?<!: )\bmust (?:not )?"
                    r"(?:be|contain|have|start|end|match|include|give|specify|provide|supply|name)\b"
                ),
            ),
            ("needs a…", r"\bneeds an? (?:argument|value|parameter|name)\b"),
            ("no such ", r"\bno such (?:tool|command|subcommand|option|flag)\b"),
            ("be ", r"\b(?:cannot|can't|may not) be (?:empty|blank|negative|null|zero|used|combined|specified)\b"),
            ("both", r"\bcannot (?:specify|use|give|set|combine|pass) both\b"),
            ("input file…", r"\bno input file"),
            ("no ", r"\bno (?:command|option) named\b|\bno \w+ specified\b"),
            ("unrecogni…", r"\bunrecogni[sz]ed\b"),
            ("expected", r"\b(?:expression|operator|operand|number|integer|argument|value) expected$"),
            ("argument", r"\bnon-\w+ argument\b"),
            ("not a", r"\bnot an? (?:\w+ ){0,2}(?:file|archive|image|number|integer|value|name|identifier)\b"),
            ("usage: ", r"(?:^|: )usage: "),
            ("--help", r"\btry .{0,40}--help\b"),
            ("out of range", r"\bout of range\b"),
            "garbage",
        ),
    ),
    (
        ErrorType.RUNTIME_ERROR,
        Phrases(
            "cannot",
            "can't",
            "could not",
            "couldn't",
            "unable to",
            "does not",
            "doesn't",
            "do not",
            ("not found", r"[^:] not found\b"),
            "no such",
            ("found", r"\bno (?!broken|error|problem|issue|warning|vulnerab|match|change|test|result).{1,60} found\b"),
            ("exists", r"\bno \w+ exists\b"),
            (
                "no ",
                (
                    r"^(?:[^:]{1,60}: ){0,3}no "
                    r"(?!broken|error|problem|issue|warning|vulnerab|match|change|test|result|rule)[a-z]"
                ),
            ),
            ("neither ", r"\bneither .{1,200}\bnor\b"),
            ("failed to ", r"\bfailed to (?!solve: process)\w"),
            ("denied", r"\bdenied\b"),
            ("is ", r"\bis (?:unavailable|not available|unreachable|inaccessible)\b"),
            ("is not a", r"\bis not an? (?:\S{1,40} ){0,4}(?:directory|repository|project|workspace)\b"),
            ("outside ", r"\boutside (?:of )?(?:the |any )?(?:allowed|permitted|workspace|project|sandbox)\b"),
            "not something",
            "not mounted",
        ),
    ),
)


def more_certain(parsed: ParsedOutput, types: tuple[Table[ErrorType], ...]) -> ErrorType:
    """Return the error type that lines around the headline tell, where the headline itself tells none.

    The headline becomes the line that tells it where no rule has chosen the headline.
    """
    text = parsed.seen.text.strip()
    at = text.find(parsed.headline)
    above, below = _lines(text[max(0, at - NEIGHBOURS) : at]), _lines(text[at : at + NEIGHBOURS]) if at >= 0 else []
    first = _lines(text[:NEIGHBOURS])
    for line in (*below[1 : 1 + BELOW], *above[: -ABOVE - 1 : -1], *first[:FIRST]):
        if len(line) > LINE_LIMIT or POINTER.match(line) or SUMMED_UP.match(line):
            continue
        lowered = IndexedText(line.lower())
        if found := next(filter(None, (table.first_in(lowered) for table in types)), None):
            _head(parsed, line)
            return found
    usage = next((line for line in first if USAGE.match(line)), "")
    if usage:
        _head(parsed, usage)
    return ErrorType.VALUE_ERROR if usage else ErrorType.UNKNOWN


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line and not line.isspace()]


def _head(parsed: ParsedOutput, line: str) -> None:
    if not parsed.weight:
        parsed.headline = admit(line)
        parsed.lowered = IndexedText(parsed.headline.lower())
