"""Fingerprint of a failure: volatile parts masked, its subject kept."""

from __future__ import annotations

import re
from hashlib import sha256

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput

HASH_LENGTH = 16
# The message of these is the key, which may be a number.
KEYED = ("KeyError", "KeyNotFoundException")

_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
_DAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_ZONE = r"(?: ?(?:[AP]M|[ap]m|Z|UTC|GMT|[+-]\d\d:?\d\d)\b)?"
# The letters of the names that Kubernetes makes, and a temporary name, which has eight random letters in Python.
_SAFE = "[bcdfghjklmnpqrstvwxz2456789]"
_RANDOM = r"(?=[a-z]{0,11}[A-Z\d_])\w"
_TEMPORARY = rf"tmp[._-]{_RANDOM}{{5,12}}\b|tmp(?=[a-z_]{{0,7}}\d)\w{{8}}\b"

# One pass, one alternation; the order decides, and every repetition is bounded.
# Nearly every alternative starts a word, most with one of a few letters, so that most positions fail at once.
_VOLATILE = Lazy(
    r"(?<!\w)(?:(?=[\dA-FIJMNOSTWa-fhjmprst])(?:(?P<url>https?://[^\s'\"<>)\]]{1,400})"
    rf"|(?P<time>\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    rf"|\d{{4}}/\d\d/\d\d\b|\d{{4}}[ /-]{_MONTH}[ /-]\d{{1,2}}\b|[IWEF]\d{{4}} {_CLOCK} +\d{{1,10}}\b"
    rf"|(?:{_DAY},? {{1,2}})?(?:{_MONTH} {{1,2}}\d{{1,2}}\b|\d{{1,2}}[ /-]{_MONTH}\b)"
    rf"(?:,?[ /-]\d{{4}})?(?:(?:[ :T]|,? (?:at )?){_CLOCK}{_ZONE})?(?: \d{{4}}\b)?"
    rf"|(?:{_DAY},? )?{_CLOCK}{_ZONE}|\d{{1,2}}(?::\d\d)? ?[ap]m\b)"
    r"|(?P<uuid>[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|[0-7](?:[0-9A-HJKMNP-TV-Z]{25}|[0-9a-hjkmnp-tv-z]{25})\b|c(?=[a-z]{0,23}\d)[a-z\d]{24}\b)"
    r"|(?P<address>0x[0-9a-fA-F]{2,16}\b)"
    r"|(?P<id>(?:req|msg|run|job|call|toolu|sess|session|chatcmpl|trace|thread)[_-](?=[\w-]{0,40}\d)[\w-]{3,60}\b)"
    r"|(?P<duration>\d{1,9}(?:\.\d{1,9})? ?(?:ms|µs|us|ns|secs?|seconds?|minutes?|mins?|s)\b"
    r"|(?:\d{1,4}[dhm] ?){1,3}\d{1,3}(?:\.\d{1,9})?s\b|\d{1,4}[dh] ?\d{1,3}m\b)"
    rf"|(?P<temporary>{_TEMPORARY})"
    r"|(?P<sha>(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,64}(?:-[0-9a-f]{2,40}){0,4}(?:::\w{1,40})?\b)"
    r"|(?P<pid>pid[ =:]{1,2}\d{1,10}\b|(?<=localhost:)\d{2,5}\b|(?<=\d\.\d\.\d:)\d{2,5}\b))"
    r"|(?<!\.)(?P<path>(?:[A-Za-z]:\\|~?/|\.{1,2}/)[^\s'\"`:,;()<>|*?]{1,300})"
    rf"|(?<=[a-z\d]-)(?P<pod>(?:{_SAFE}{{8,10}}-)?(?=[a-z]{{1,4}}\d|\d{{1,4}}[a-z]){_SAFE}{{5}}(?![\w-]))"
    r"|(?P<worker>\$Proxy\d{1,9}|\[gw\d{1,4}\]))"
    r"|(?<=[a-z]_)(?P<typed>[0-7][0-9a-hjkmnp-tv-z]{25}\b)"
    r"|\((?P<position>\d{1,7}:\d{1,7})\)",
)
# In a directory for temporary files.
_TEMPORARY_NAME = Lazy(
    rf"{_TEMPORARY}|tmp\w{{8}}\b|cc\w{{6}}(?=\.\w)|pip-(?:[a-z]{{3,12}}-){{0,4}}\w{{3,8}}\b|(?<=[-_.])(?=[a-z]{{0,7}}[\d_])[a-z\d_]{{8}}\b"
)
_NAMED = {
    "time": "TIME",
    "uuid": "ID",
    "address": "0xADDR",
    "id": "ID",
    "duration": "TIME",
    "sha": "ID",
    "pid": "PORT",
    "temporary": "TMP",
    "pod": "ID",
    "typed": "ID",
    "worker": "ID",
    "position": "(N:N)",
}
# Volatile parts have a digit, are a path or are temporary; most headlines have none.
_CHANGING = Lazy(r"[\d/\\]|tmp")
_NUMBER = Lazy(r"(?<![A-Za-z_\d])-?\d[\d,]{0,30}(?:\.\d{1,30})?(?![A-Za-z_\d])")
_QUOTED = Lazy(r"'(?<!\w')([^'\n]{1,300})'|\"([^\"\n]{1,300})\"|`([^`\n]{1,300})`|‘([^’\n]{1,300})’|“([^”\n]{1,300})”")
_STATUS = Lazy(r"(?:error|status|code|HTTP\S{0,8})\W{1,3}([1-5]\d\d)\b(?!\.\d)", re.IGNORECASE)
_ASSERTED = Lazy(r"\b(?:expected|received|actual|left|right): {0,4}(\S{1,100})", re.IGNORECASE)
_WORD = Lazy(r"[A-Za-z_][\w.]*|\d+")


def digest(text: str) -> str:
    """Return 16 hexadecimal characters of the SHA-256 of ``text``."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:HASH_LENGTH]


def without_volatile(text: str) -> str:
    """Return ``text`` without volatile parts: times, durations, addresses, ids, directories. Numbers stay."""
    if _CHANGING.search(text):
        text = _VOLATILE.sub(_stand_in, text)
    return " ".join(text.split())


def mask(text: str) -> str:
    """Return :func:`without_volatile` in lower case with every number as ``N``."""
    return _NUMBER.sub("N", without_volatile(text)).lower() if _CHANGING.search(text) else _in_one_case(text)


def _in_one_case(text: str) -> str:
    return " ".join(text.split()).lower()


def words_of(text: str) -> frozenset[str]:
    """Return the words of a line, volatile parts masked."""
    return frozenset(word.lower() for word in _WORD.findall(_NUMBER.sub("N", without_volatile(text))))


def context_and_subject(parsed: ParsedOutput) -> tuple[str, str]:
    """Return the context, from which the hash is made, and the subject.

    The context is the headline with numbers and literals masked, and the place in the code. The subject is quoted
    names, asserted values, the field at fault, and the failing tests.
    """
    headline = parsed.headline
    quoted = _QUOTED.findall(headline)
    changing = _CHANGING.search(headline) is not None
    masked = _QUOTED.sub("STR", headline) if quoted else headline
    masked = mask(masked) if changing else _in_one_case(masked)
    file = _base_of(parsed.location.rpartition(":")[0]) if parsed.location else ""
    function = mask(parsed.function.replace("<module>", "")) if parsed.function else ""
    subject = _subject(parsed, quoted, changing) if quoted or changing or parsed.detail else parsed.test
    return f"{masked}\n{parsed.code}\n{file}\n{function}", subject


def _subject(parsed: ParsedOutput, quoted: list[tuple[str, ...]], changing: bool) -> str:
    literals = (next(filter(None, match)) for match in quoted)
    parts = [mask(text) if " " in text else without_volatile(text) for text in literals]
    asserted = parsed.kind == "test" or parsed.name == "AssertionError"
    if changing:
        parts += _STATUS.findall(parsed.headline)
        if asserted or parsed.name in KEYED:
            parts += _NUMBER.findall(without_volatile(parsed.headline))
    if parsed.detail:
        parts += _details(parsed, asserted)
    return "\n".join((*parts, parsed.test))


def _details(parsed: ParsedOutput, asserted: bool) -> list[str]:
    values = _ASSERTED.findall(parsed.detail) if asserted and parsed.name not in KEYED else []
    fields = [mask(parsed.detail)] if parsed.name.endswith(("ValidationError", "ZodError")) else []
    return values + fields


def _stand_in(match: re.Match[str]) -> str:
    kind = str(match.lastgroup)
    if kind == "path":
        base = _base_of(match[0])
        return str(_TEMPORARY_NAME.sub("TMP", base)) if "/tmp/" in match[0] or "/T/" in match[0] else base
    if kind == "url":
        scheme, _, rest = match[0].partition("://")
        return f"{scheme}://{rest.partition('/')[2].partition('?')[0]}"
    return _NAMED[kind]


def _base_of(path: str) -> str:
    return path.replace("\\", "/").rstrip("/.").rpartition("/")[2]
