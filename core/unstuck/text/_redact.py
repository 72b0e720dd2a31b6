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
from itertools import accumulate, chain, compress, repeat
from operator import add, lshift, sub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Span = tuple[int, int]
    Places = tuple[list[int], list[int]]

if __package__:
    from unstuck.text._secret_keys import BRANDED, begun_at_end, branded_at_once
    from unstuck.text._secret_rule import Rule
    from unstuck.text._secret_rules import RULES
else:
    from _secret_keys import BRANDED, begun_at_end, branded_at_once  # type: ignore[import-not-found,no-redef,unused-ignore]
    from _secret_rule import Rule  # type: ignore[import-not-found,no-redef,unused-ignore]
    from _secret_rules import RULES  # type: ignore[import-not-found,no-redef,unused-ignore]

PLACEHOLDER = "[redacted]"

_SHORTEST_VALUE = 8
_SHORTEST_LINE = 16
_UNQUOTED = frozenset(string.ascii_letters + string.digits + "-._~")
_MOST_PASSES = 8


# By what many hints have and few texts, which is looked for first: there are hundreds of hints.
_PARTS = ["key", "pas", "k_", "p_", "a_", "s_", "t_", "i_", "uth", "api", "-", "q", "is", "z", "cr", "_"]
_HINTS: dict[str, dict[str, list[int]]] = {}
for _number, _each in enumerate(RULES):
    for _hint in _each.hints:
        _part = next((part for part in _PARTS if part in _hint), _hint)
        _HINTS.setdefault(_part, {}).setdefault(_hint, []).append(_number)
# Characters of one text, and of all so far: RE2 takes milliseconds to load, and then a tenth of the time of the hints.
_LARGE, _MUCH = 1 << 13, 1 << 16
_searched = 0
_BRANDED = {number for number, rule in enumerate(RULES) if rule in BRANDED}
_AT_ONCE = 12


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
    match: Callable[[bytes], list[int] | None] = found.Match
    return match


@cache
def _likely_rules() -> tuple[Callable[[bytes], list[int] | None] | None, tuple[list[int], ...]]:
    """Return a search of large text, and the numbers of the rules that each of its patterns is for."""
    patterns: dict[str, list[int]] = {}
    for number, rule in enumerate(RULES):
        patterns.setdefault(rule.loosened(), []).append(number)
    return _search(patterns), tuple(patterns.values())


def _hinted(lowered: str) -> list[Rule]:
    """Return the rules that may find something in a text, which is ``lowered`` in lower case."""
    global _searched
    _searched += len(lowered)
    search = None
    if len(lowered) >= _LARGE or _searched >= _MUCH:
        search, rules = _likely_rules()
    if search is None:
        near = chain.from_iterable(hints.items() for part, hints in _HINTS.items() if part in lowered)
        found = {number for hint, numbers in near if hint in lowered for number in numbers}
    else:
        found = {number for at in search(lowered.encode(errors="surrogatepass")) or () for number in rules[at]}
        if len(lowered) > _MUCH and len(branded := found & _BRANDED) > _AT_ONCE:
            return [branded_at_once(), *(RULES[number] for number in found - branded)]
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


def ends_in_key(line: str) -> bool:
    """Return whether the rest of a key may stand in the next line."""
    return begun_at_end().search(line) is not None


def _pass(text: str) -> str:
    """Return ``text`` with the placeholder for each secret that it shows as it stands."""
    begins, ends = _places(text)
    return _replaced(text, begins, ends) if begins else text


def _places(text: str) -> Places:
    """Return where secrets begin and end in ``text`` as it stands."""
    # What begins a text stands behind something, too.
    within = "\n" + text
    lowered = _lowered(within)
    found = [rule.places(lowered if rule.folded else within) for rule in _hinted(lowered)]
    if _known and _has_known(within):
        known = [match.span() for match in _known.finditer(within)]
        found.append(([first for first, _ in known], [last for _, last in known]))
    begins, ends = _all_of([places for places in found if places[0]])
    return list(map(sub, begins, repeat(1))), list(map(sub, ends, repeat(1)))


def _lowered(text: str) -> str:
    """``text`` in lower case, with every character at its place; of other letters those that a rule may ask for."""
    if text.isascii():
        return text.lower()
    plain = text.replace("\u212a", "k").replace("Ñ", "ñ")  # the sign of kelvin
    return plain.encode(errors="surrogatepass").lower().decode(errors="surrogatepass")


def _replaced(text: str, begins: list[int], ends: list[int]) -> str:
    return PLACEHOLDER.join(map(text.__getitem__, map(slice, chain((0,), ends), chain(begins, (None,)))))


# JSON within JSON within a line of JSON, with an escape sequence in it.
_MOST_LEVELS = 4
# Where nearly all is secrets, the little between two of them is no evidence, and telling it apart takes longest.
_MANY, _DENSE = 1_000, 48
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
_PLAIN = bytes(code for code in range(128) if not _HIDES.match(chr(code)))
# With all the backslashes before it, of which each level of JSON has twice as many.
_ESCAPE = re.compile(r"(\\(?>\\{0,999})(?:u[0-9a-fA-F]{4}|[\"/bfnrt])?)")
_ESCAPED = {'"': '"', "/": "/", "b": "\b", "f": "\n", "n": "\n", "r": "\r", "t": "\t"}
_IS_SILENT = re.compile(f"[{_SILENT}]")


class _Characters(dict[str, str]):
    """Return the character that each escape of JSON stands for; halves of a character are still two places."""

    def __missing__(self, escape: str) -> str:
        rest = escape.lstrip("\\")
        slashes = len(escape) - len(rest)
        for _ in range(_MOST_LEVELS):
            if slashes % 2 and (rest in _ESCAPED or len(rest) > 1):
                rest = _ESCAPED.get(rest) or chr(int(rest[1:], 16))
                slashes //= 2
            elif slashes > 1:
                slashes -= slashes // 2
            else:
                break
        if _IS_SILENT.match(rest):
            rest = ""
        if len(self) >= _MOST_CODES:
            self.clear()
        self[escape] = shown = "\\" * slashes + rest
        return shown


_MOST_CODES = 1 << 16
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
    places, settled = _hidden(text)
    if ("delta" in text or "_chunk" in text) and (pieces := _in_pieces(text))[0]:
        places, settled = _all_of([places, pieces]), False
    return (_replaced(text, *places), settled) if places[0] else (text, settled)


def _in_pieces(text: str) -> Places:
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
    begins, ends = list[int](), list[int]()
    for run in runs:
        if len(run) > 1:
            joined = "".join(text[first:last] for first, last in run)
            limits = list(accumulate(last - first for first, last in run))
            for first, last in zip(*_all_of([_places(joined), _hidden(joined)[0]]), strict=True):
                for number in range(bisect_right(limits, first), bisect_right(limits, last - 1) + 1):
                    begin, end = run[number]
                    begins.append(max(begin, end - limits[number] + first))
                    ends.append(min(end, end - limits[number] + last))
    return begins, ends


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
    begins, ends = _places(decoded) if steps else ([], [])
    if not begins:
        return ([], []), True
    if len(begins) > _MANY and len(begins) * _DENSE > len(decoded):
        apart = [last + _DENSE // 2 < first for last, first in zip(ends, begins[1:], strict=False)]
        begins, ends = [begins[0], *compress(begins[1:], apart)], [*compress(ends, apart), ends[-1]]
    left = _replaced(decoded, begins, ends)
    settled = _pass(left) == left
    for parts, shown in reversed(steps):
        begins, ends = _places_before(parts, shown, begins, ends)
    return (begins, ends), settled


def _has_not_shown(text: str) -> bool:
    # To leave out what is surely shown is far faster than to look at each character.
    rest = text.encode(errors="surrogatepass").translate(None, _PLAIN)
    if len(rest) < len(text):
        text = rest.decode(errors="surrogatepass")
    return bool(rest) and _HIDES.search(text) is not None


def without_invisible(text: str) -> str:
    """Return ``text`` without colours and other characters that nobody sees."""
    return _NOT_SHOWN.sub("", text) if _has_not_shown(text) else text


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


def _all_of(found: list[Places]) -> Places:
    """Return in their order the places of all that was ``found``; those that overlap or touch are one."""
    if len(found) < 2:
        return found[0] if found else ([], [])
    begins, ends = [], [-1]
    # As one number each, which is several times faster than as two.
    spans = (map(add, map(lshift, begins, repeat(_HALF)), ends) for begins, ends in found)
    for span in sorted(chain.from_iterable(spans)):
        begin, end = span >> _HALF, span & _LOW_HALF
        if begin > ends[-1]:
            begins.append(begin)
            ends.append(end)
        elif end > ends[-1]:
            ends[-1] = end
    return begins, ends[1:]


_HALF = 40  # bits
_LOW_HALF = (1 << _HALF) - 1
