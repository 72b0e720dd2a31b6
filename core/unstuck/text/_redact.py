"""Secrets, recognised by their shape, by the name they are given, or because they were named as such."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

__all__ = ["PLACEHOLDER", "redact", "secret_values", "set_secret_values"]

PLACEHOLDER = "[redacted]"

_SHORTEST_VALUE = 8
_MOST_PASSES = 8


@dataclass(frozen=True, slots=True)
class _Rule:
    """What to replace; ``hints`` are lower-case, and only text that holds one of them is searched.

    A group named ``keep`` stays. No pattern may need more than linear time: repetitions are possessive, bounded, or
    fail within a few characters. Most starts see no hint of most rules, so a pattern is compiled when it is needed.
    """

    hints: tuple[str, ...]
    pattern: str
    flags: re.RegexFlag

    def apply(self, text: str, lowered: str) -> str:
        for hint in self.hints:
            if hint in lowered:
                return _compiled(self.pattern, self.flags).sub(r"\g<keep>" + PLACEHOLDER, text)
        return text


def _rule(hints: str, pattern: str, *, keep: str = "") -> _Rule:
    flags = re.ASCII | re.IGNORECASE if keep else re.ASCII
    return _Rule(tuple(hints.split()), f"(?P<keep>{keep})(?:{pattern})", flags)


_compiled = cache(re.compile)


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

_known: re.Pattern[str] | None = None


def set_secret_values(values: Iterable[str]) -> None:
    """From now on redact each of ``values`` wherever it stands; shorter ones than 8 characters are ignored."""
    global _known
    worth = {value for given in values if len(value := given.strip()) >= _SHORTEST_VALUE and value not in PLACEHOLDER}
    longest_first = sorted(worth, key=lambda value: (-len(value), value))
    _known = re.compile("|".join(map(re.escape, longest_first))) if worth else None


_SECRET_NAME = re.compile(
    r"pass(?:word|wd|phrase)|secret|credential|api_?key|(?:access|private|signing|account)_?key|token(?!s)",
    re.IGNORECASE,
)


def secret_values(environ: Mapping[str, str]) -> list[str]:
    """The values of ``environ`` whose names say that they are secrets; paths and plain numbers are not."""
    return [
        value
        for name, value in environ.items()
        if _SECRET_NAME.search(name) and not name.upper().endswith(("_ID", "_FILE", "_PATH", "_SOCK"))
        if not value.startswith(("/", "~")) and not value.isdigit()
    ]


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
    lowered = text.lower()
    for rule in _RULES:
        text = rule.apply(text, lowered)
    return _known.sub(PLACEHOLDER, text) if _known else text
