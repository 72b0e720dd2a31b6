"""Secrets, recognised by their shape, by the name they are given, or because they were named as such.

The process beside each agent loads this file by its path, for the raw output: it imports nothing of ours, and a pattern
is compiled when text first hints at it.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["PLACEHOLDER", "known_values", "redact", "secret_values", "set_secret_values"]

PLACEHOLDER = "[redacted]"

_SHORTEST_VALUE = 8
_SHORTEST_LINE = 16
_MOST_PASSES = 8


class _Rule:
    """What to replace; ``hints`` are lower-case, and only text that holds one of them is searched.

    A group named ``keep`` stays. No pattern may need more than linear time: repetitions are possessive, bounded, or
    fail within a few characters.
    """

    __slots__ = ("_compiled", "_flags", "_pattern", "hints")

    def __init__(self, hints: tuple[str, ...], pattern: str, flags: re.RegexFlag) -> None:
        self.hints = hints
        self._pattern, self._flags = pattern, flags
        self._compiled: re.Pattern[str] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._pattern, self._flags)
        return self._compiled

    def apply(self, text: str, lowered: str) -> str:
        for hint in self.hints:
            if hint in lowered:
                return self.pattern.sub(r"\g<keep>" + PLACEHOLDER, text)
        return text


def _rule(hints: str, pattern: str, *, keep: str = "") -> _Rule:
    flags = re.ASCII | re.IGNORECASE if keep else re.ASCII
    return _Rule(tuple(hints.split()), f"(?P<keep>{keep})(?:{pattern})", flags)


_KEY_LABEL = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_KEY_TEXT = r"[A-Za-z0-9+/]{16,}+={0,2}"
_KEY_BREAK = r"(?:\s|\\[nr]){1,4}+"
_KEY_LAST = rf"[A-Za-z0-9+/=]{{1,80}}+{_KEY_BREAK}"
_KEY_LINE = rf"(?:[\s\"',]|\\[nr])*+{_KEY_TEXT}"

# A name, what may stand between it and its value, and the value: quoted, or up to the next delimiter.
_NAME = (
    r"(?:pass(?:word|wd|phrase)|pwd(?![\"']?[:=] ?[\"']?[/~])|secret|credentials?|(?<!expected )token"
    r"|(?:api|access|secret|private|signing|encryption|account)[_-]?key)"
)
# Not just "pass" and "key": every output of a test run says PASSED, and many a message KeyError.
_NAME_HINTS = (
    "password passwd passphrase pwd secret credential token _key -key"
    " apikey accesskey privatekey signingkey encryptionkey accountkey"
)
_IS = r"(?:\\?[\"'])?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}"
_TO_DELIMITER = r"(?:[^\s\"'\\,;&]|\\(?![nrt\"']))++"
_TO_QUOTE = r"(?:(?<=\")[^\"\n\\]++(?=\\?\")|(?<=')[^'\n\\]++(?=\\?'))"
# Source code and messages name secrets without giving them: references, types, constants, calls, punctuation.
_ENDS = r"(?![^\s\"',;)=|\]])"
_REFERENCE = rf"\$\{{?[A-Za-z_]\w{{0,60}}\}}?{_ENDS}|\$[({{]|(?:self|this|os|process|args|request)\."
_CONSTANT = rf"(?:none|null|true|false|undefined|str|string|bytes|bool|int|any|optional){_ENDS}"
_CALL = r"[a-z_.]{1,60}\((?=[^\n]{0,200}\))"
_NO_VALUE = rf"(?![\[\](){{}}<>=:|*…]|{_REFERENCE}|{_CONSTANT}|{_CALL})"
_NO_STRING = r"(?!\[redacted\]|[<…]|\*\*|\{\{|\$\{)"
_VALUE = rf"{_NO_STRING}{_TO_QUOTE}|{_NO_VALUE}{_TO_DELIMITER}"

_SCHEME = r"(?:bearer|basic|token|digest|negotiate|apikey)[ \t]{1,8}"

_RULES = (
    _rule("private", rf"-----BEGIN {_KEY_LABEL}(?:(?!-----)[\s\S]){{0,16384}}+-----END {_KEY_LABEL}"),
    _rule("private", rf"-----BEGIN {_KEY_LABEL}(?:{_KEY_LINE})*+"),
    _rule("-----end", rf"(?<![A-Za-z0-9+/=])(?:{_KEY_TEXT}{_KEY_BREAK}){{1,80}}+(?:{_KEY_LAST})?-----END {_KEY_LABEL}"),
    _rule("akia asia abia acca", r"(?<![A-Za-z0-9])A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _rule("gho_ ghp_ ghr_ ghs_ ghu_ github_pat_", r"(?:gh[oprsu]_|github_pat_)\w{20,}"),
    _rule("glpat-", r"glpat-[\w-]{20,}"),
    _rule("sk-", r"(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{0,40}[0-9])[\w-]{16,}"),
    _rule("k_live_ k_test_", r"(?<![A-Za-z0-9])[rs]k_(?:live|test)_\w{16,}"),
    _rule("xox xapp-", r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    _rule("hooks.slack.com", r"hooks\.slack\.com/services/[\w/]{20,}"),
    _rule("aiza ya29.", r"AIza[\w-]{30,}|ya29\.[\w-]{20,}"),
    _rule("npm_ hf_ pypi-", r"(?<![A-Za-z0-9])(?:npm_|hf_)[A-Za-z0-9]{30,}|pypi-AgE[\w-]{40,}"),
    _rule("eyj", r"(?<![\w.-])eyJ[\w-]{5,}+(?:\.[\w-]++){2,4}+"),
    _rule(
        "authorization", rf"(?!\[redacted\]|…){_TO_DELIMITER}", keep=rf"authorization{_IS}(?:\\?[\"'])?(?:{_SCHEME})?+"
    ),
    _rule("bearer", r"(?=[a-z._~+/=-]{0,40}[0-9])[\w.~+/=-]{16,}", keep=r"\bbearer[ \t]{1,8}"),
    _rule(_NAME_HINTS, _VALUE, keep=rf"{_NAME}{_IS}(?:\\?[\"'])?"),
    _rule(
        "--",
        rf"(?!-|is\b|or\b|and\b){_NO_VALUE}{_TO_DELIMITER}",
        keep=rf"--(?:[a-z]{{1,20}}-){{0,3}}{_NAME}[ \t]{{1,4}}",
    ),
    _rule("://", r"[^\s/@:\"'<>]{0,256}:[^\s/\"'<>]{1,512}(?=@)", keep="://"),
)

# Most short texts have none of them, and that is quickly said.
_HINTS = tuple(dict.fromkeys(hint for rule in _RULES for hint in rule.hints))

_values: tuple[str, ...] = ()
_known: re.Pattern[str] | None = None


def set_secret_values(values: Iterable[str]) -> None:
    """From now on redact each of ``values`` wherever it stands; shorter ones than 8 characters are ignored.

    Of a value with several lines each long line counts, too, and so does a value as JSON has it.
    """
    global _values, _known
    forms = {form.strip() for value in values for form in _forms(value)}
    worth = {form for form in forms if len(form) >= _SHORTEST_VALUE and form not in PLACEHOLDER}
    _values = tuple(sorted(worth, key=lambda value: (-len(value), value)))  # the longest first
    _known = re.compile("|".join(map(re.escape, _values))) if _values else None


def _forms(value: str) -> Iterator[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield from (line for line in value.splitlines() if len(line) >= _SHORTEST_LINE)


def known_values() -> tuple[str, ...]:
    """What :func:`set_secret_values` was given and whatever follows from it, for a process that shall redact it too."""
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

    Known key shapes, values given to secret names, passwords in URLs, private key blocks, and ``set_secret_values``.
    """
    for _ in range(_MOST_PASSES):
        once = _pass(text)
        if once == text:
            break
        # What stood beside a replaced secret may only now have a shape of its own.
        text = once
    return text


def _pass(text: str) -> str:
    # Named values first: a rule that sees only a part of one would leave the rest of it unrecognisable.
    if _known:
        text = _known.sub(PLACEHOLDER, text)
    lowered = text.lower()
    if any(map(lowered.__contains__, _HINTS)):
        for rule in _RULES:
            text = rule.apply(text, lowered)
    return text
