"""The input of the terminal: keys, mouse and pasted text, whatever bytes it sends."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from itertools import chain

from textual.constants import DISABLE_KITTY_KEY
from textual.events import Paste
from textual.message import Message

from unstuck.text import sanitise
from unstuck_tui.textual_internals.screens import XTermParser

_ESCAPE, _FOR_ESCAPE = "\x1b", "\ufdd0"
_BEGIN, _END = "\x1b[200~", "\x1b[201~"
# A digit, or a sign with which no report of a terminal begins. Escape and a letter are alt and that letter.
_NEXT_KEY = re.compile(r"(?<=\x1b)(?=[ -@`{|}~])")
_AS_KEY = "[27u"
"""The bytes that end an escape as the escape key, as terminals send it that tell every key apart."""


class TerminalInput:
    """Bytes in, messages out.

    Textual's own reader ends the screen at the first byte that is no UTF-8 and at a report it cannot calculate with,
    takes the escapes in a pasted text, and what follows them, for keys that were pressed, and loses the escape key
    where the next one comes with it, as over a slow line.
    """

    def __init__(self) -> None:
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._parser = XTermParser()
        self._pastes = False
        self._before = self._held = ""

    def read(self, data: bytes = b"") -> Iterator[Message]:
        """The messages that ``data`` makes, and those whose time has come: an escape that nothing followed is a key."""
        text = self._hide_escapes(self._decode(data))
        if not DISABLE_KITTY_KEY:
            text = _NEXT_KEY.sub(_AS_KEY, text)
        try:
            for message in chain(self._parser.feed(text) if text else (), self._parser.tick()):
                if isinstance(message, Paste):
                    yield Paste(sanitise(message.text.replace(_FOR_ESCAPE, _ESCAPE)))
                else:
                    yield message
        except Exception:
            # A parser that has raised is at its end; what it could not read is nothing that anybody typed.
            self._parser = XTermParser()
            if self._pastes:
                yield from self._parser.feed(_BEGIN)

    def _hide_escapes(self, text: str) -> str:
        """``text`` with something else for the escapes in what was pasted. A mark of a paste may come in two parts."""
        clean = ""
        while text:
            if self._pastes:
                pasted, end, text = (self._held + text).partition(_END)
                self._held = "" if end else _begun(pasted)
                clean += pasted.removesuffix(self._held).replace(_ESCAPE, _FOR_ESCAPE) + end
                self._pastes = not end
            else:
                _, begin, rest = (self._before + text).partition(_BEGIN)
                clean += text.removesuffix(rest) if begin else text
                self._before = "" if begin else (self._before + text)[1 - len(_BEGIN) :]
                self._pastes, text = bool(begin), rest
        return clean


def _begun(text: str) -> str:
    """The end of ``text``, where that may become the mark that ends a paste."""
    return next((_END[:size] for size in range(len(_END) - 1, 0, -1) if text.endswith(_END[:size])), "")
