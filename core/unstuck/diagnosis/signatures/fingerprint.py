"""What stays the same when the same failure happens again: volatile parts masked, what it is about kept."""

from __future__ import annotations

import re
from hashlib import sha256

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsing.parsed_output import Reading

__all__ = ["digest", "essence_of", "mask", "steady", "words_of"]

HASH_LENGTH = 16
# What these say is the key, which may be a number.
KEYED = ("KeyError", "KeyNotFoundException")

# One pass, one alternation; the order decides, and every repetition is bounded.
# Nearly every alternative starts a word, most with one of a few letters, so that most positions fail at once.
_VOLATILE = Lazy(
    r"(?<!\w)(?:(?=[\dA-Fa-fhjmprst])(?:(?P<url>https?://[^\s'\"<>)\]]{1,400})"
    r"|(?P<time>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?|\d{4}/\d\d/\d\d\b"
    r"|\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?\b)"
    r"|(?P<uuid>[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)"
    r"|(?P<address>0x[0-9a-fA-F]{2,16}\b)"
    r"|(?P<id>(?:req|msg|run|job|call|toolu|sess|session|chatcmpl|trace|thread)[_-](?=[\w-]{0,40}\d)[\w-]{3,60}\b)"
    r"|(?P<duration>\d{1,9}(?:\.\d{1,9})? ?(?:ms|µs|us|ns|secs?|seconds?|minutes?|mins?|s)\b)"
    r"|(?P<sha>(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,64}(?:-[0-9a-f]{2,40}){0,4}(?:::\w{1,40})?\b)"
    r"|(?P<pid>pid[ =:]{1,2}\d{1,10}\b|(?<=localhost:)\d{2,5}\b|(?<=\d\.\d\.\d:)\d{2,5}\b))"
    r"|(?<!\.)(?P<path>(?:[A-Za-z]:\\|~?/|\.{1,2}/)[^\s'\"`:,;()<>|*?]{1,300}))"
    r"|\((?P<position>\d{1,7}:\d{1,7})\)",
)
_NAMED = {
    "time": "TIME",
    "uuid": "ID",
    "address": "0xADDR",
    "id": "ID",
    "duration": "TIME",
    "sha": "ID",
    "pid": "PORT",
    "position": "(N:N)",
}
# Whatever is volatile has a digit or is a path, and most headlines have neither.
_CHANGING = Lazy(r"[\d/\\]")
_NUMBER = Lazy(r"(?<![A-Za-z_\d])-?\d[\d,]{0,30}(?:\.\d{1,30})?(?![A-Za-z_\d])")
_QUOTED = Lazy(r"'(?<!\w')([^'\n]{1,300})'|\"([^\"\n]{1,300})\"|`([^`\n]{1,300})`|‘([^’\n]{1,300})’|“([^”\n]{1,300})”")
_STATUS = Lazy(r"(?:error|status|code|HTTP\S{0,8})\W{1,3}([1-5]\d\d)\b(?!\.\d)", re.IGNORECASE)
_ASSERTED = Lazy(r"\b(?:expected|received|actual|left|right): {0,4}(\S{1,100})", re.IGNORECASE)
_WORD = Lazy(r"[A-Za-z_][\w.]*|\d+")


def digest(text: str) -> str:
    """16 hexadecimal characters of the SHA-256 of ``text``."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:HASH_LENGTH]


def steady(text: str) -> str:
    """``text`` without what changes by itself: times, durations, addresses, ids, directories. Numbers stay."""
    if _CHANGING.search(text):
        text = _VOLATILE.sub(_stand_in, text)
    return " ".join(text.split())


def mask(text: str) -> str:
    """As :func:`steady`, with every number as ``N`` and in lower case."""
    return _NUMBER.sub("N", steady(text)).lower() if _CHANGING.search(text) else _in_one_case(text)


def _in_one_case(text: str) -> str:
    return " ".join(text.split()).lower()


def words_of(text: str) -> frozenset[str]:
    """The words of a line, volatile parts masked."""
    return frozenset(word.lower() for word in _WORD.findall(_NUMBER.sub("N", steady(text))))


def essence_of(reading: Reading) -> tuple[str, str]:
    """The context, of which the hash is made, and the subject.

    The context is the headline with numbers and literals masked, and where in the code it was; the subject is what the
    failure is about: quoted names, asserted values, the field at fault, the failing tests.
    """
    headline = reading.headline
    quoted = _QUOTED.findall(headline)
    changing = _CHANGING.search(headline) is not None
    said = _QUOTED.sub("STR", headline) if quoted else headline
    said = mask(said) if changing else _in_one_case(said)
    file = _base_of(reading.location.rpartition(":")[0]) if reading.location else ""
    function = mask(reading.function.replace("<module>", "")) if reading.function else ""
    subject = _subject(reading, quoted, changing) if quoted or changing or reading.detail else reading.test
    return f"{said}\n{reading.code}\n{file}\n{function}", subject


def _subject(reading: Reading, quoted: list[tuple[str, ...]], changing: bool) -> str:
    literals = (next(filter(None, match)) for match in quoted)
    parts = [mask(text) if " " in text else steady(text) for text in literals]
    asserted = reading.kind == "test" or reading.name == "AssertionError"
    if changing:
        parts += _STATUS.findall(reading.headline)
        if asserted or reading.name in KEYED:
            parts += _NUMBER.findall(steady(reading.headline))
    if reading.detail:
        parts += _details(reading, asserted)
    return "\n".join((*parts, reading.test))


def _details(reading: Reading, asserted: bool) -> list[str]:
    values = _ASSERTED.findall(reading.detail) if asserted and reading.name not in KEYED else []
    fields = [mask(reading.detail)] if reading.name.endswith(("ValidationError", "ZodError")) else []
    return values + fields


def _stand_in(match: re.Match[str]) -> str:
    kind = str(match.lastgroup)
    if kind == "path":
        return _base_of(match[0])
    if kind == "url":
        scheme, _, rest = match[0].partition("://")
        return f"{scheme}://{rest.partition('/')[2].partition('?')[0]}"
    return _NAMED[kind]


def _base_of(path: str) -> str:
    return path.replace("\\", "/").rstrip("/.").rpartition("/")[2]
