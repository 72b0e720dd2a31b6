"""Secrets out of raw output before it is written: the rules are those of ``unstuck.text``, loaded by their path."""

from __future__ import annotations

import os
import sys
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

_LONGEST_LINE = 128 * 1024  # more without a line end is written before one comes
_MOST_PIECES = 1024 * 1024  # each few characters of a text are a whole line of JSON
_END = 64 * 1024
_LONGEST_WORD = 4 * 1024
_LONGEST_KEY = 20 * 1024  # a private key has many lines, and only its first and last one say what it is
_KEYS = ((b"-----BEGIN ", b"-----END "), (b"Private-Lines: ", b"Private-MAC: "))
_LONGEST_LOGIN = 600
_MOST_LINES = 16
_WRAPPED = 40  # characters of a key at least, before it is broken at the end of a line
_ASKED = ("assword", "assphrase", "asscode")
_TRIES = 8
_PIECES_BACK = 64
_BRACE = ord("{")


class Redactor:
    """Replaces the ``values`` and everything that looks like a secret. Costs nothing before there is output."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = values
        self._loaded: ModuleType | None = None

    def clean(self, raw: bytes | bytearray) -> bytes:
        """``raw`` without secrets; every other byte stays as it is."""
        text = raw.decode("utf-8", "surrogateescape")
        clean = self._rules().redact(text)
        return bytes(raw) if clean is text else clean.encode("utf-8", "surrogateescape")

    def settled(self, raw: bytearray) -> int:
        """Return the number of first bytes of ``raw`` that can be redacted whatever comes after it."""
        lines = self._before_what_goes_on(raw, raw.rfind(b"\n") + 1)
        for first, last in _KEYS:
            key = raw.rfind(first, 0, lines)
            if key >= 0 and raw.find(last, key, lines) < 0 and lines - key < _LONGEST_KEY:
                lines = raw.rfind(b"\n", 0, key) + 1
        login = raw.rfind(b"machine ", max(0, lines - _LONGEST_LOGIN), lines)
        if login >= 0 and _is_begun(raw[login:lines].split()):
            lines = raw.rfind(b"\n", 0, login) + 1
        if lines:
            return self._settled_pieces(raw[:lines])
        if len(raw) < _LONGEST_LINE:
            return 0
        # Where it may be cut is looked for near its end alone: a look costs as much as the cleaning itself.
        before, end = len(raw) - _END, raw[-_END:]
        whole = self.clean(end)
        cuts = (cut for cut in _cuts(end) if self.clean(end[:cut]) + self.clean(end[cut:]) == whole)
        return before + next(cuts, _END)

    def _settled_pieces(self, raw: bytearray) -> int:
        """Return as :meth:`settled` what can go of whole lines, the last of which may hold pieces of one text."""
        begin, lines, pieces = len(raw), deque[int](), deque[bytes]()
        while begin and len(raw) - begin < _MOST_PIECES and raw[line := raw.rfind(b"\n", 0, begin - 1) + 1] == _BRACE:
            if (piece := self._rules().piece_of(raw[line:begin].decode(errors="replace"))) is None:
                break
            lines.appendleft(line)
            pieces.appendleft(piece.encode(errors="replace"))
            begin = line
        text = bytearray().join(pieces)
        if (settled := self.settled(text)) == len(text):
            return len(raw)
        if not settled and len(raw) - begin >= _MOST_PIECES:
            settled = text.rfind(b" ") + 1 or len(text)
        # Where a line of the text ends, a piece seldom does: it has to go with what stands before it.
        whole, end, tries = self.clean(text[:settled]), len(text), _PIECES_BACK
        while pieces and tries:
            end -= len(pieces.pop())
            if end <= settled:
                tries -= 1
                if self.clean(text[:end]) + self.clean(text[end:settled]) == whole:
                    return lines[len(pieces)]
        return begin if len(raw) - begin < _MOST_PIECES else len(raw)

    def _before_what_goes_on(self, raw: bytearray, lines: int) -> int:
        """Return the end of whole ``lines`` whose values do not stand, as a whole or in part, in the next line."""
        end = lines
        for _ in range(_MOST_LINES):
            begin = raw.rfind(b"\n", 0, end - 1) + 1
            part = raw[max(begin, end - _LONGEST_LOGIN) : end].decode(errors="replace")
            shown = self._rules().without_invisible(part).rstrip()
            line = shown.lower()
            word = line[-_WRAPPED:].replace("-", "").replace("_", "").replace(".", "")
            wrapped = len(line) >= _WRAPPED and word.isalnum()
            wrapped = wrapped or self._rules().ends_in_key(shown)
            if not end or not (wrapped or line.endswith(("|", ">", ":")) or any(name in line for name in _ASKED)):
                return end
            end = begin
        return lines

    def _rules(self) -> ModuleType:
        if self._loaded is None:
            sys.path.append(
                os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "text")
            )
            import _redact  # type: ignore[import-not-found]

            _redact.set_secret_values(self._values)
            self._loaded = _redact
        return self._loaded


def _is_begun(login: list[bytearray]) -> bool:
    """Return True for the start of a netrc login, whose password may stand in the next line."""
    return login[2:3] in ([], [b"login"]) and login[4:] in ([], [b"password"])


def _cuts(raw: bytearray) -> Iterator[int]:
    """Return the cut in a line without an end: behind a word, or anywhere but in the middle of a secret."""
    for number in range(1, _TRIES):
        limit = len(raw) - number * _LONGEST_WORD
        yield raw.rfind(b" ", limit - _LONGEST_WORD, limit) + 1 or limit
