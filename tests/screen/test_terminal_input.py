"""Bytes of every kind from a terminal: what was typed arrives, what was pasted stays text, and nothing ends it."""

from __future__ import annotations

import pytest
from textual import events

from unstuck_tui.terminal.input import TerminalInput


def read(*chunks: bytes) -> list[str]:
    """The keys that were pressed, and what was pasted in brackets."""
    incoming, found = TerminalInput(), []
    for chunk in chunks:
        for message in incoming.read(chunk):
            if isinstance(message, events.Key):
                found.append(message.key)
            elif isinstance(message, events.Paste):
                found.append(f"<{message.text}>")
    return found


def every_split(data: bytes) -> list[tuple[bytes, ...]]:
    return [(data[:place], data[place:]) for place in range(len(data))] + [tuple(bytes([byte]) for byte in data)]


def test_a_pasted_escape_presses_no_key() -> None:
    """However its bytes come in: what follows an escape in a pasted text is pasted, too, and chooses nothing."""
    data = b"a\x1b[200~say \x1b\x1b[31mred\x1b]0;title\x07 3 and a long tail of text\x1b[201~b"
    for chunks in every_split(data):
        assert read(*chunks) == ["a", "<say red 3 and a long tail of text>", "b"]


def test_two_pastes_and_keys_between() -> None:
    """Each pasted text is one, and keys work between and after them."""
    data = b"\x1b[200~one\x1b[201~x\x1b[A\x1b[200~two\x1b[201~\r"
    for chunks in every_split(data):
        if chunks[0].endswith((b"\x1b", b"x\x1b")):
            continue
        assert read(*chunks) == ["<one>", "x", "up", "<two>", "enter"]


@pytest.mark.parametrize("key", ["?", "/", "1", "0", " "])
def test_two_keys_that_come_at_once(key: str) -> None:
    """Escape and the key after it, which a slow line delivers together: both are pressed."""
    alone = read(key.encode())
    assert read(b"\x1b" + key.encode()) == ["escape", *alone]
    assert read(b"j\x1b" + key.encode() + b"j\x1b" + key.encode()) == ["j", "escape", *alone, "j", "escape", *alone]


@pytest.mark.parametrize("garbage", [b"\xff\xfe", b"\x1b[99999999999u", b"\x1b[48;5;5;0;0t\x1b[<0;3;3M", b"\xc3\x28"])
def test_bytes_that_nobody_understands(garbage: bytes) -> None:
    """A letter of another encoding, a key number beyond all keys, a window of no size: the next key works."""
    assert read(b"a" + garbage, b"b")[-1] == "b"
    assert read(garbage + b"\x1b[200~", b"q\x1b[201~", b"b")[-2:] == ["<q>", "b"]
