"""Secrets out of raw output before it is written: the rules are those of ``unstuck.text``, loaded by their path."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_LONGEST_LINE = 128 * 1024  # more without a line end is written before one comes
_END = 64 * 1024
_LONGEST_WORD = 4 * 1024
_LONGEST_KEY = 20 * 1024  # a private key has many lines, and only its first and last one say what it is
_KEYS = ((b"-----BEGIN ", b"-----END "), (b"Private-Lines: ", b"Private-MAC: "))
_LONGEST_LOGIN = 600
_TRIES = 8


class Redactor:
    """Replaces the ``values`` and everything that looks like a secret. Costs nothing before there is output."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = values
        self._redact: Callable[[str], str] | None = None

    def clean(self, raw: bytes | bytearray) -> bytes:
        """``raw`` without secrets; every other byte stays as it is."""
        redact = self._redact or self._loaded()
        text = raw.decode("utf-8", "surrogateescape")
        clean = redact(text)
        return bytes(raw) if clean is text else clean.encode("utf-8", "surrogateescape")

    def settled(self, raw: bytearray) -> int:
        """Return the number of first bytes of ``raw`` that can be redacted whatever comes after it."""
        lines = raw.rfind(b"\n") + 1
        for first, last in _KEYS:
            key = raw.rfind(first, 0, lines)
            if key >= 0 and raw.find(last, key, lines) < 0 and lines - key < _LONGEST_KEY:
                lines = raw.rfind(b"\n", 0, key) + 1
        login = raw.rfind(b"machine ", max(0, lines - _LONGEST_LOGIN), lines)
        if login >= 0 and _is_begun(raw[login:lines].split()):
            lines = raw.rfind(b"\n", 0, login) + 1
        if lines or len(raw) < _LONGEST_LINE:
            return lines
        # Where it may be cut is looked for near its end alone: a look costs as much as the cleaning itself.
        before, end = len(raw) - _END, raw[-_END:]
        whole = self.clean(end)
        cuts = (cut for cut in _cuts(end) if self.clean(end[:cut]) + self.clean(end[cut:]) == whole)
        return before + next(cuts, _END)

    def _loaded(self) -> Callable[[str], str]:
        sys.path.append(
            os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "text")
        )
        import _redact  # type: ignore[import-not-found]

        _redact.set_secret_values(self._values)
        found: Callable[[str], str] = _redact.redact
        self._redact = found
        return found


def _is_begun(login: list[bytearray]) -> bool:
    """Return True for the start of a netrc login, whose password may stand in the next line."""
    return login[2:3] in ([], [b"login"]) and login[4:] in ([], [b"password"])


def _cuts(raw: bytearray) -> Iterator[int]:
    """Return the cut in a line without an end: behind a word, or anywhere but in the middle of a secret."""
    for number in range(1, _TRIES):
        limit = len(raw) - number * _LONGEST_WORD
        yield raw.rfind(b" ", limit - _LONGEST_WORD, limit) + 1 or limit
