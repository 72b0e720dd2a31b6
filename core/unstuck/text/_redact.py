"""Secrets, recognised by their shape, by the name they are given, or because they were named as such.

The process beside each agent loads this file by its path, for the raw output: it imports nothing of ours, a pattern is
compiled when text first hints at it, and RE2 loaded with the first large text.
"""

from __future__ import annotations

import binascii
import json
import re
import string
from bisect import bisect_right
from functools import cache
from itertools import accumulate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Span = tuple[int, int]

if __package__:
    from unstuck.text._secret_rules import LONG, RULES
else:
    from _secret_rules import LONG, RULES  # type: ignore[import-not-found,no-redef,unused-ignore]

PLACEHOLDER = "[redacted]"

_SHORTEST_VALUE = 8
_SHORTEST_LINE = 16
_UNQUOTED = frozenset(string.ascii_letters + string.digits + "-._~")
_MOST_PASSES = 8


_IS_LONG = re.compile(LONG, re.ASCII)
_HINTS = tuple(dict.fromkeys(hint for rule in RULES for hint in rule.hints if hint != "LONG"))
_LARGE = 1 << 13  # characters; RE2 takes milliseconds to load, and then a tenth of the time
_LOOK = re.compile(r"\(\?(?:=|<?!)(?:[^()\[\]]|\[[^\]]*\])*\)\+?")


@cache
def _searches() -> tuple[Callable[[bytes], list[int] | None], ...]:
    """Return a search for all hints at once, which gives their numbers, and one for keys of the ``LONG`` rules.

    A set of RE2's never gives up for a slower way, and takes as long for many as for one. Empty where RE2 cannot be
    loaded, as with little memory.
    """
    try:
        import re2
    except (ImportError, MemoryError):
        return ()
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # any bytes are text in it
    found = []
    for patterns in (map(re2.escape, _HINTS), (_LOOK.sub("", rule.pattern) for rule in RULES if "LONG" in rule.hints)):
        found.append(re2.Set.SearchSet(options))
        for pattern in patterns:
            found[-1].Add(pattern)
        found[-1].Compile()
    return tuple(each.Match for each in found)


def _hinted(text: str, lowered: str) -> set[str]:
    """Return the hints that ``text`` has, which is ``lowered`` in lower case."""
    if len(text) < _LARGE or not (searches := _searches()):
        hinted = {hint for hint in _HINTS if hint in lowered}
        return hinted | {"LONG"} if _IS_LONG.search(text) else hinted
    hints, keys = (
        search(form.encode(errors="surrogatepass")) for search, form in zip(searches, (lowered, text), strict=True)
    )
    return {_HINTS[number] for number in hints or ()} | ({"LONG"} if keys else set())


_values: tuple[str, ...] = ()
_known: re.Pattern[str] | None = None


def set_secret_values(values: Iterable[str]) -> None:
    """From now on redact each of ``values`` wherever it stands; shorter ones than 8 characters are ignored.

    Of a value with several lines each long line counts, too, and so does a value as JSON, a URL or base64 has it.
    """
    global _values, _known
    values = tuple(values)
    forms = {form.strip() for value in values for form in _forms(value)}
    worth = {form for form in forms if len(form) >= _SHORTEST_VALUE and form not in PLACEHOLDER}
    _values = values
    longest_first = sorted(worth, key=lambda value: (-len(value), value))
    _known = re.compile("|".join(map(re.escape, longest_first))) if worth else None


def _forms(value: str) -> Iterator[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    raw = value.encode("utf-8", "surrogateescape")
    yield "".join(chr(byte) if chr(byte) in _UNQUOTED else f"%{byte:02X}" for byte in raw)
    yield from filter(
        lambda form: len(form) >= _SHORTEST_LINE, map(_in_base64, (raw, b"?" + raw, b"??" + raw), range(3))
    )
    yield from (line for line in value.splitlines() if len(line) >= _SHORTEST_LINE)


def _in_base64(raw: bytes, before: int) -> str:
    """Return the base64 of ``raw`` that holds whatever stands round it; ``before`` of its bytes belong to that."""
    said = binascii.b2a_base64(raw, newline=False).rstrip(b"=")
    # A character that also holds bits of what stands round it may be any.
    return said[(before * 8 + 5) // 6 : len(raw) * 8 // 6].decode("ascii")


def known_values() -> tuple[str, ...]:
    """Return the values of :func:`set_secret_values`, for another process that redacts them."""
    return _values


_SECRET_NAME = re.compile(
    r"pass(?:word|wd|phrase|code)|secret|credential|api_?key|(?:access|private|signing|encryption|account|master)_?key"
    r"|token(?!s)|cookie|jwt|(?<!public)(?<!foreign)(?<!primary)_key$|(?<!^old)_(?:pwd|pass|auth|pat|dsn)$",
    re.IGNORECASE,
)
_NO_SECRET_NAME = ("_ID", "_FILE", "_PATH", "_SOCK", "_DIR", "_URL", "_HOST", "_PORT", "_NAME", "_TYPE")
_URL_PASSWORD = re.compile(r"^[a-z][a-z0-9+.-]*://[^/@:\s]*:([^/@\s]+)@", re.IGNORECASE)
# Some keys begin with a slash; a path has words in it, and seldom everything that makes a key hard to guess.
_KEY_WITH_SLASH = re.compile(r"/(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/]{31,}={0,2}")


def secret_values(environ: Mapping[str, str]) -> list[str]:
    """The secrets in ``environ``: values whose names say so, but for paths and plain numbers; passwords in URLs."""
    named = [value for name, value in environ.items() if _is_secret(name, value)]
    return named + [found[1] for value in environ.values() if (found := _URL_PASSWORD.match(value))]


def _is_secret(name: str, value: str) -> bool:
    if not _SECRET_NAME.search(name) or name.upper().endswith(_NO_SECRET_NAME) or value.isdigit():
        return False
    return not value.startswith(("/", "~")) or _KEY_WITH_SLASH.fullmatch(value) is not None


def redact(text: str) -> str:
    """``text`` with every secret it can recognise replaced by ``[redacted]``; hashes and UUIDs stay.

    Known key shapes, values given to secret names, passwords in URLs, private key blocks, and ``set_secret_values``;
    also behind the escapes of JSON, and where colours or invisible characters divide them.
    """
    passed = False
    for _ in range(_MOST_PASSES):
        # Hidden ones first: of a key in many lines the raw text may show the first line alone.
        shown = _without_hidden(text)
        if passed and shown == text:
            break
        once = _pass(shown)
        passed = once == shown
        if once == text:
            break
        # What stood beside a replaced secret may only now have a shape of its own.
        text = once
    return text


_FILL = "\0"
_ASCII_LETTERS = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def _pass(text: str, *, fill: bool = False) -> str:
    """``text`` with the placeholder for each secret; with ``fill`` as many fill characters as the secret has."""
    # Named values first: a rule that sees only a part of one would leave the rest of it unrecognisable.
    if _known:
        text = _known.sub((lambda match: _FILL * len(match[0])) if fill else PLACEHOLDER, text)
    # What begins a text stands behind something, too.
    within = "\n" + text
    lowered = _lowered(within)
    if not (hinted := _hinted(within, lowered)):
        return text
    for rule in RULES:
        if not hinted.isdisjoint(rule.hints):
            clean = _replaced(within, rule.spans(lowered if rule.folded else within), fill=fill)
            if clean is not within:
                within, lowered = clean, _lowered(clean)
    return within[1:]


def _lowered(text: str) -> str:
    """``text`` in lower case, with every character at its place."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.translate(_ASCII_LETTERS)


def _replaced(text: str, spans: Iterable[Span], *, fill: bool = False) -> str:
    pieces: list[str] = []
    end = 0
    if fill:
        for first, last in spans:
            pieces += (text[end:first], _FILL * (last - first))
            end = last
        return "".join((*pieces, text[end:])) if pieces else text
    for first, last in spans:
        pieces.append(text[end:first])
        end = last
    return PLACEHOLDER.join((*pieces, text[end:])) if pieces else text


# JSON within JSON within a line of JSON, with an escape sequence in it.
_MOST_LEVELS = 4
_FILLED = re.compile(f"{_FILL}+")
# As what is left out of shown text; the last ones are halves of tags, as JSON escapes have them.
_INVISIBLE = (
    r"\x80-\x9a\x9c-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\udb40\udc00-\udc7f"
)
_SILENT = rf"\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f{_INVISIBLE}"
_NOT_SHOWN = re.compile(
    rf"([\x1b\x9b\udc9b{_SILENT}](?:(?<=\x1b)(?:\[[0-?]*+[ -/]*+[@-~]?|[\]PX^_k][^\n\r\x07\x1b]*+(?:\x1b\\|\x07)?"
    rf"|[ -/]*+[0-~]?)|(?<=[\x9b\udc9b])[0-?]*+[ -/]*+[@-~]?|[{_SILENT}]*+))"
)
_HIDES = re.compile(rf"[\x1b\x9b\udc9b{_SILENT}]")
# Far faster than looking for them, in plain ASCII.
_WITHOUT_CONTROLS = dict.fromkeys(code for code in range(128) if _HIDES.match(chr(code)))
_SHORT_ESCAPE = re.compile(r"\\[\"\\/bfnrt]")
_ONE_CODE = re.compile(r"\\u[0-9a-fA-F]{4}")
_CODES = re.compile(rb"\\u[0-9a-fA-F]{4}(?>(?:\\u[0-9a-fA-F]{4})*)")
# No text has these once what is not shown is left out.
_BACKSLASH, _NOTHING, _SHORT, _CODE = b"\0", b"\1", "\2", "\3"
_SIMPLE = (
    (rb"\"", b'"'),
    (rb"\/", b"/"),
    (rb"\n", b"\n"),
    (rb"\r", b"\r"),
    (rb"\t", b"\t"),
    (rb"\b", b"\b"),
    (rb"\f", b"\n"),
    (_BACKSLASH, b"\\"),
)


# A line of JSON with the next piece of a text that an agent says piece by piece.
_PIECE = re.compile(
    r"^(?=[^\n]{0,2000}(?:delta|_chunk))"
    r"(\{[^\n]{0,2000}?\"(?:text|delta|content|data|thinking|partial_json)\" ?: ?\")((?>(?:[^\"\\\n]|\\.){0,1000}))\"",
    re.ASCII | re.MULTILINE,
)
_NO_DIGITS = str.maketrans("", "", string.digits)
_LINES_BETWEEN = 4


def piece_of(line: str) -> str | None:
    """Return the piece of a text in a line of JSON, or None for any other line."""
    found = _PIECE.match(line)
    return _decoded(found[2]) if found else None


def _without_hidden(text: str) -> str:
    found = _hidden(text, _MOST_LEVELS)
    if "delta" in text or "_chunk" in text:
        found += _in_pieces(text)
    return _replaced(text, _joined(sorted(found)))


def _in_pieces(text: str) -> list[Span]:
    """Return the places of secrets that stand in pieces of one text, each piece in a line of JSON."""
    runs: list[list[Span]] = []
    latest: dict[str, list[Span]] = {}
    for match in _PIECE.finditer(text):
        begin = match[1].translate(_NO_DIGITS)
        run = latest.get(begin)
        if run is None or text.count("\n", run[-1][1], match.start()) > _LINES_BETWEEN:
            run = latest[begin] = []
            runs.append(run)
        run.append(match.span(2))
    found = []
    for run in runs:
        if len(run) > 1:
            joined = "".join(text[first:last] for first, last in run)
            ends = list(accumulate(last - first for first, last in run))
            for first, last in [*_filled(joined), *_hidden(joined, _MOST_LEVELS)]:
                for number in range(bisect_right(ends, first), bisect_right(ends, last - 1) + 1):
                    end = run[number][1]
                    within = (max(run[number][0], end - ends[number] + first), min(end, end - ends[number] + last))
                    found += [within] if within[0] < within[1] else []
    return found


def _hidden(text: str, levels: int) -> list[Span]:
    """Return the places in ``text`` of secrets that only its decoded form shows."""
    if not levels:
        return []
    shown = _NOT_SHOWN.sub("", text) if _has_not_shown(text) else text
    decoded = _decoded(shown) if "\\" in shown else shown
    if decoded == text:
        return []
    found = _filled(decoded) + _hidden(decoded, levels - 1)
    if found and decoded is not shown:
        found = _before_decoding(shown, found)
    if found and shown is not text:
        found = _before_removal(text, found)
    return found


def _filled(text: str) -> list[Span]:
    """Return the places of secrets in ``text``, which has no ``_FILL``."""
    filled = _pass(text, fill=True)
    return [match.span() for match in _FILLED.finditer(filled)] if _FILL in filled else []


def _has_not_shown(text: str) -> bool:
    if text.isascii():
        return text.translate(_WITHOUT_CONTROLS) != text
    return _HIDES.search(text) is not None


def _decoded(text: str) -> str:
    """Return ``text`` with the characters of its JSON escapes; ``text`` has no ``_BACKSLASH``."""
    # Bytes are searched several times faster than text that is not ASCII.
    raw = text.encode(errors="surrogatepass").replace(rb"\\", _BACKSLASH)
    if rb"\u" in raw:
        raw = _CODES.sub(_characters, raw)
    for escape, character in _SIMPLE:
        raw = raw.replace(escape, character)
    return raw.decode(errors="surrogatepass")


def _characters(codes: re.Match[bytes]) -> bytes:
    raw = bytes.fromhex(codes[0].replace(rb"\u", b"").decode())
    text = raw.decode("utf-16-be", "surrogatepass")
    if 2 * len(text) != len(raw):  # two codes that are one character are still two places
        text = "".join(chr(raw[at] << 8 | raw[at + 1]) for at in range(0, len(raw), 2))
    return text.encode(errors="surrogatepass").replace(b"\0", _NOTHING).replace(b"\\", _BACKSLASH)


def _before_removal(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return as those of ``text`` the ``spans`` of what is shown of it."""
    parts = _NOT_SHOWN.split(text)
    places = list(accumulate(map(len, parts[:-1:2])))
    gone = list(accumulate(map(len, parts[1::2]), initial=0))
    return [
        (first + gone[bisect_right(places, first)], last + gone[bisect_right(places, last - 1)])
        for first, last in spans
    ]


def _before_decoding(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return as those of ``text`` the ``spans`` of its decoded form; ``text`` has no ``_SHORT`` and no ``_CODE``."""
    decoded = _ONE_CODE.sub(_CODE, _SHORT_ESCAPE.sub(_SHORT, text))
    found = []
    place = gone = 0
    for first, last in sorted(spans):
        gone += decoded.count(_SHORT, place, first) + 5 * decoded.count(_CODE, place, first)
        within = decoded.count(_SHORT, first, last) + 5 * decoded.count(_CODE, first, last)
        found.append((first + gone, last + gone + within))
        place = first
    return found


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """The sorted ``spans`` where those that overlap or touch are one."""
    first = last = -1
    for begin, end in spans:
        if begin > last:
            if last > 0:
                yield first, last
            first = begin
        last = max(last, end)
    if last > 0:
        yield first, last
