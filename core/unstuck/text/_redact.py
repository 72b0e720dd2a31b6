"""Secrets, recognised by their shape, by the name they are given, or because they were named as such.

The process beside each agent loads this file by its path, for the raw output: it imports nothing of ours, a pattern is
compiled when text first hints at it, and RE2 loaded with the first large text.
"""

from __future__ import annotations

import binascii
import json
import re
import string
from bisect import bisect_left, bisect_right
from functools import cache
from itertools import accumulate, chain, repeat
from operator import sub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Span = tuple[int, int]
    Places = tuple[list[int], list[int]]

if __package__:
    from unstuck.text._secret_rules import RULES, Rule
else:
    from _secret_rules import RULES, Rule  # type: ignore[import-not-found,no-redef,unused-ignore]

PLACEHOLDER = "[redacted]"

_SHORTEST_VALUE = 8
_SHORTEST_LINE = 16
_UNQUOTED = frozenset(string.ascii_letters + string.digits + "-._~")
_MOST_PASSES = 8


_HINTS: dict[str, list[int]] = {}
for _number, _each in enumerate(RULES):
    for _hint in _each.hints:
        _HINTS.setdefault(_hint, []).append(_number)
_LARGE = 1 << 13  # characters; RE2 takes milliseconds to load, and then a tenth of the time
_LOOK = re.compile(r"\(\?(?:=|<?!)(?:[^()\[\]]|\[[^\]]*\])*\)\+?")


def _search(patterns: Iterable[str]) -> Callable[[bytes], list[int] | None] | None:
    """Return a search for all ``patterns`` at once, which gives their numbers; None where RE2 cannot be loaded.

    A set of RE2's never gives up for a slower way, and takes as long for many as for one.
    """
    try:
        import re2
    except (ImportError, MemoryError):  # as with little memory
        return None
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # any bytes are text in it
    found = re2.Set.SearchSet(options)
    for pattern in patterns:
        found.Add(pattern.encode())
    found.Compile()
    return found.Match


@cache
def _likely_rules() -> tuple[Callable[[bytes], list[int] | None] | None, tuple[list[int], ...]]:
    """Return a search of large text, and the numbers of the rules that each of its patterns is for."""
    hinted = {hint: [number for number in rules if not RULES[number].likely] for hint, rules in _HINTS.items()}
    patterns = {re.escape(hint): rules for hint, rules in hinted.items() if rules}
    for number, rule in enumerate(RULES):
        if rule.likely:
            patterns.setdefault(rule.likely, []).append(number)
    return _search(patterns), tuple(patterns.values())


def _hinted(lowered: str) -> list[Rule]:
    """Return the rules that may find something in a text, which is ``lowered`` in lower case."""
    search = None
    if len(lowered) >= _LARGE:
        search, rules = _likely_rules()
    if search is None:
        found = {number for hint, numbers in _HINTS.items() if hint in lowered for number in numbers}
    else:
        found = {number for at in search(lowered.encode(errors="surrogatepass")) or () for number in rules[at]}
    return [RULES[number] for number in sorted(found)] if found else []


_values: tuple[str, ...] = ()
_known: re.Pattern[str] | None = None
_known_forms: tuple[str, ...] = ()


def set_secret_values(values: Iterable[str]) -> None:
    """From now on redact each of ``values`` wherever it stands; shorter ones than 8 characters are ignored.

    Of a value with several lines each long line counts, too, and so does a value as JSON, a URL or base64 has it.
    """
    global _values, _known, _known_forms
    values = tuple(values)
    forms = {form.strip() for value in values for form in _forms(value)}
    worth = {form for form in forms if len(form) >= _SHORTEST_VALUE and form not in PLACEHOLDER}
    _values = values
    longest_first = sorted(worth, key=lambda value: (-len(value), value))
    _known = re.compile("|".join(map(re.escape, longest_first))) if worth else None
    _known_forms = tuple(longest_first)
    _known_search.cache_clear()


@cache
def _known_search() -> Callable[[bytes], list[int] | None] | None:
    return _search(map(re.escape, _known_forms))


def _has_known(text: str) -> bool:
    """Return False where ``text`` surely has no known value."""
    if _known is None or len(text) < _LARGE or not (search := _known_search()):
        return _known is not None
    return bool(search(text.encode(errors="surrogatepass")))


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
    for _ in range(_MOST_PASSES):
        # Hidden ones first: of a key in many lines the raw text may show the first line alone.
        shown, settled = _without_hidden(text)
        once = _pass(shown)
        if once == text or (settled and once == shown):
            return once
        # What stood beside a replaced secret may only now have a shape of its own.
        text = once
    return text


_FILL = "\0"


def _pass(text: str, *, fill: bool = False) -> str:
    """``text`` with the placeholder for each secret; with ``fill`` as many fill characters as the secret has."""
    # Named values first: a rule that sees only a part of one would leave the rest of it unrecognisable.
    if _known and _has_known(text):
        text = _known.sub((lambda match: _FILL * len(match[0])) if fill else PLACEHOLDER, text)
    # What begins a text stands behind something, too.
    within = "\n" + text
    lowered = _lowered(within)
    changed = False
    for rule in _hinted(lowered):
        if changed and len(rule.hints) == 1 and rule.hints[0] not in lowered:
            continue  # a rule before it took that away
        begins, ends = rule.places(lowered if rule.folded else within)
        if begins:
            changed = True
            within = _replaced(within, begins, ends, fill=fill)
            lowered = within.lower() if within.isascii() else _replaced(lowered, begins, ends, fill=fill)
    return within[1:]


def _lowered(text: str) -> str:
    """``text`` in lower case, with every character at its place; of other letters those that a rule may ask for."""
    if text.isascii():
        return text.lower()
    plain = text.replace("\u212a", "k").replace("Ñ", "ñ")  # the sign of kelvin
    return plain.encode(errors="surrogatepass").lower().decode(errors="surrogatepass")


def _replaced(text: str, begins: Sequence[int], ends: Sequence[int], *, fill: bool = False) -> str:
    kept = map(text.__getitem__, map(slice, chain((0,), ends), chain(begins, (None,))))
    if not fill:
        return PLACEHOLDER.join(kept)
    fills = map(_FILL.__mul__, map(sub, ends, begins))
    return "".join(chain.from_iterable(zip(kept, chain(fills, repeat("")), strict=False)))


# JSON within JSON within a line of JSON, with an escape sequence in it.
_MOST_LEVELS = 4
_FILLED = re.compile(f"({_FILL}+)")
# Where nearly all is secrets, the little between two of them is no evidence, and telling it apart takes longest.
_MANY, _DENSE = 2_000, 24
_ALL_FILLED = re.compile(f"({_FILL}(?>(?:[^{_FILL}]{{0,24}}{_FILL})*))")
# As what is left out of shown text; the last ones are halves of tags, as JSON escapes have them.
_INVISIBLE = (
    r"\x80-\x9a\x9c-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff\udb40\udc00-\udc7f"
)
_SILENT = rf"\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f{_INVISIBLE}"
_NOT_SHOWN = re.compile(
    rf"([\x1b\x9b\udc9b{_SILENT}](?:(?<=\x1b)\x1b*+(?:\[[0-?]*+[ -/]*+[@-~]?|[\]PX^_k][^\n\r\x07\x1b]*+(?:\x1b\\|\x07)?"
    rf"|[ -/]*+[0-~]?)|(?<=[\x9b\udc9b])[0-?]*+[ -/]*+[@-~]?|[{_SILENT}]*+))"
)
_HIDES = re.compile(rf"[\x1b\x9b\udc9b{_SILENT}]")
# Far faster than looking for them, in plain ASCII.
_WITHOUT_CONTROLS = dict.fromkeys(code for code in range(128) if _HIDES.match(chr(code)))
# With all the backslashes before it, of which each level of JSON has twice as many.
_ESCAPE = re.compile(r"(\\(?>\\{0,999})(?:u[0-9a-fA-F]{4}|[\"/bfnrt])?)")
_ESCAPED = {'"': '"', "/": "/", "b": "\b", "f": "\n", "n": "\n", "r": "\r", "t": "\t"}
_IS_SILENT = re.compile(f"[{_SILENT}]")


class _Characters(dict[str, str]):
    """What is shown of each escape of JSON behind all of its levels; halves of a character are still two places."""

    def __missing__(self, escape: str) -> str:
        rest = escape.lstrip("\\")
        slashes = len(escape) - len(rest)
        for _ in range(_MOST_LEVELS):
            if slashes % 2 and (rest in _ESCAPED or len(rest) > 1):
                rest = _ESCAPED.get(rest) or chr(int(rest[1:], 16))
                slashes //= 2
            else:
                slashes -= slashes // 2
        if _IS_SILENT.match(rest):
            rest = ""
        shown = "\\" * slashes + rest
        if len(self) < _MOST_CODES:
            self[escape] = shown
        return shown


_MOST_CODES = 1 << 13
_CHARACTERS = _Characters()


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
    return "".join(_shown(_ESCAPE.split(found[2]))) if found else None


def _without_hidden(text: str) -> tuple[str, bool]:
    """Return ``text`` without secrets that only its decoded form shows, and whether that has none any more."""
    (begins, ends), settled = _hidden(text)
    if ("delta" in text or "_chunk" in text) and (pieces := _in_pieces(text)):
        begins, ends = map(list, zip(*_joined(sorted([*zip(begins, ends, strict=True), *pieces])), strict=True))
        settled = False
    return (_replaced(text, begins, ends), settled) if begins else (text, settled)


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
            for first, last in (*zip(*_filled(joined), strict=True), *zip(*_hidden(joined)[0], strict=True)):
                for number in range(bisect_right(ends, first), bisect_right(ends, last - 1) + 1):
                    end = run[number][1]
                    within = (max(run[number][0], end - ends[number] + first), min(end, end - ends[number] + last))
                    found += [within] if within[0] < within[1] else []
    return found


def _hidden(text: str) -> tuple[Places, bool]:
    """Return the places in ``text`` of secrets that its decoded form shows, and whether that has none without these.

    What each level of escapes shows is seen in the last of them, too.
    """
    if "\\" not in text and not _has_not_shown(text):
        return ([], []), True
    decoded = text
    steps: list[tuple[list[str], list[str]]] = []  # the parts before and behind
    for _ in range(_MOST_LEVELS):
        before = decoded
        if _has_not_shown(decoded):
            parts = _NOT_SHOWN.split(decoded)
            steps.append((parts, shown := parts[:]))
            shown[1::2] = repeat("", len(parts) // 2)
            decoded = "".join(shown)
        if "\\" in decoded:
            parts = _ESCAPE.split(decoded)
            shown = _shown(parts)
            if (plain := "".join(shown)) != decoded:
                steps.append((parts, shown))
                decoded = plain
        if decoded is before:
            break
    begins, ends = _filled(decoded) if steps else ([], [])
    if not begins:
        return ([], []), True
    left = _replaced(decoded, begins, ends)
    settled = _pass(left) == left
    for parts, shown in reversed(steps):
        begins, ends = _places_before(parts, shown, begins, ends)
    return (begins, ends), settled


def _filled(text: str) -> Places:
    """Return the places of secrets in ``text``, which has no ``_FILL``."""
    filled = _pass(text, fill=True)
    if _FILL not in filled:
        return [], []
    parts = _FILLED.split(filled)
    if len(parts) > _MANY and len(parts) * _DENSE > len(text):
        parts = _ALL_FILLED.split(filled)
    places = list(accumulate(map(len, parts)))
    return places[:-1:2], places[1::2]


def _has_not_shown(text: str) -> bool:
    if text.isascii():
        return text.translate(_WITHOUT_CONTROLS) != text
    return _HIDES.search(text) is not None


def _shown(parts: list[str]) -> list[str]:
    """Return ``parts`` of a text with what is shown of the escapes that every second of them is."""
    shown = parts[:]
    shown[1::2] = map(_CHARACTERS.__getitem__, parts[1::2])
    return shown


def _places_before(parts: list[str], shown: list[str], begins: list[int], ends: list[int]) -> Places:
    """Return as those in all ``parts`` the places in what is ``shown`` of each of them."""
    raw = list(accumulate(map(len, parts), initial=0))
    starts = list(accumulate(map(len, shown), initial=0))
    firsts, lasts = map(bisect_right, repeat(starts), begins), map(bisect_left, repeat(starts), ends)
    # Of what stands for something else either all goes or nothing.
    return (
        [raw[at - 1] + (at % 2 and place - starts[at - 1]) for at, place in zip(firsts, begins, strict=True)],
        [raw[at] - (at % 2 and starts[at] - place) for at, place in zip(lasts, ends, strict=True)],
    )


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
