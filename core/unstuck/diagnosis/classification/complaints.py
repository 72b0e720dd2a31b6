"""Complaints of any program: what it was given, what it does not find, and what it cannot do."""

from __future__ import annotations

from unstuck.diagnosis.classification.phrases import Phrases, Table
from unstuck.diagnosis.enums import ErrorType

# In the words of a compiler they are about types as well.
GIVEN = Table(
    (
        ErrorType.IMPORT_ERROR,
        Phrases(
            *(
                (said, rf"\b(?:package|library|module|program|executable|command)s?\b.{{0,200}}\b{said}\b")
                for said in ("not found", "not installed")
            ),
            (": not found", r"^(?:\w+: )?\S+: not found$"),
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
                    "too many",
                    "too few",
                    "too great",
                    "wrong number of",
                    "not a valid",
                    "no valid",
                    "is unknown",
                )
            ),
            *((said, rf"\bnot {said.strip('…')}") for said in ("recogni…", "understood", "an option")),
            ("missing ", r"\bmissing (?:\w+ ){0,3}(?:operand|argument|parameter|value|character)s?\b"),
            ("require…", r"\brequires (?:an? )?(?:\w+ )?(?:argument|value|parameter)|\brequired (?:\w+ )?arguments?\b"),
            ("argument…", r"\barguments? .{0,80}\bmust be\b"),
            ("input file…", r"\bno input file"),
            ("no ", r"\bno (?:command|option) named\b|\bno \w+ specified\b"),
            ("unrecogni…", r"\bunrecogni[sz]ed\b"),
            ("expected", r"\b(?:expression|operator|operand|number|integer|argument|value) expected$"),
            ("argument", r"\bnon-\w+ argument\b"),
            ("not a", r"\bnot an? (?:\w+ ){0,2}(?:file|archive|image|number|integer|value|name|identifier)\b"),
            ("usage: ", r"(?:^|: )usage: "),
            ("--help", r"\btry .{0,40}--help\b"),
            ("must ", r"\bmust (?:give|specify|provide|supply|name)\b"),
            ("out of range", r"\bout of range\b"),
            "does not contain",
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
            "do not",
            ("not found", r"[^:] not found\b"),
            "no such",
            ("found", r"\bno (?!broken|error|problem|issue|warning|vulnerab|match|change|test).{1,60} found\b"),
            ("exists", r"\bno \w+ exists\b"),
            "not something",
            "not mounted",
        ),
    ),
)
