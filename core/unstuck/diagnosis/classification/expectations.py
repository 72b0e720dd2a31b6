"""Headlines that say what was expected: a token by a parser, or a value by a check."""

from __future__ import annotations

from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.matching.lazy_regex import Lazy

EXPECTED = "expect"
# A quoted token, or a word of grammars that is not the name of a value.
_QUOTED = r"""['"‘“`<](?:[^\w\s]{1,4}|end|in|then|do|of|as|is|fi|from|where|asm|<?eof>?)['"’”`>]"""
_NOUN = (
    r"(?:(?:closing|opening|block|function|property|attribute|variable|indented|top-level|double-quoted|declaration) )?"
    r"(?:identifier|expression|statements?|declarations?|declarators?|specifiers?|initializers?|tokens?|newline|"
    r"semicolon|comma|[lr](?:paren|brace|bracket|curl)|colon|delimiter|operator|keyword|pattern|item|type|selector|(?:un)?qualified-id|instruction|"
    r"primary-expression|parameter|block|brace|bracket|parenthesis|paren|string delimiter|[a-z]+ name|key|"
    r"(?:start|end)[_ ]tag|end of (?:file|input|line|statement|block|declaration)|eof|block end)"
)
_NEXT = r"""(?=$|\s*[,;.:!]| (?:[(<]|but found|got\b|before|after|found|or\b|and\b|near|at (?:end|line)))"""
_GRAMMAR = Lazy(
    rf"\bexpect(?:ed|ing)(?: (?:one of|either|an?|the|any))*:? (?:{_QUOTED}|{_NOUN}{_NEXT}|"
    rf"(?:token|keyword|end tag|statement) ['\"‘`<])|(?:{_QUOTED}|\b{_NOUN}) expected\b(?! [\w\"'])|expected near "
)
# A value beside another one. A message about arguments or types is the program's own.
_MISMATCH = Lazy(
    r"\bexpected\b.{0,300}?\b(?:got|received|but|found|saw|was|were|actual|instead|returned|to (?:be|equal|have|match|"
    r"contain|include|exist|throw|return|see|find))\b|\bactual\b.{0,300}?\bexpected\b"
)
_USAGE = Lazy(r"\barguments?\b|\btypes?\b")


def by_expectation(lowered: str) -> ErrorType | None:
    """Return the error type of a headline in lower case that says what was expected; None where it does not show."""
    if EXPECTED not in lowered:
        return None
    if _GRAMMAR.search(lowered):
        return ErrorType.SYNTAX_ERROR
    return ErrorType.ASSERTION_ERROR if _MISMATCH.search(lowered) and not _USAGE.search(lowered) else None
