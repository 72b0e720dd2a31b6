"""Escape sequences beside the screen stay as meant, whatever texts they carry."""

from __future__ import annotations

import base64
import re

import pytest

from unstuck_tui.terminal.escapes import clipboard, notification, through_tmux, title

HOSTILE = "web\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9d0;evil\x9c\x1bPq\x1b\\\u202e;4;1\nnext\x1b]0;un"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize(
    ("way", "begin", "end"),
    [("osc9", "\x1b]9;unstuck: ", "\x1b\\"), ("osc777", "\x1b]777;notify;unstuck;", "\x1b\\")],
)
def test_no_text_ends_a_notification_early(way: str, begin: str, end: str) -> None:
    """Between the begin and the end of a notification stands no control character, and for OSC 777 no semicolon."""
    written = notification(way, HOSTILE)
    assert written.startswith(begin)
    assert written.endswith(end)
    inner = written.removeprefix(begin).removesuffix(end)
    assert not CONTROL.search(inner)
    assert "web" in inner
    assert way != "osc777" or ";" not in inner


def test_kittys_notification_has_a_title_and_a_text() -> None:
    """OSC 99 sends both under one name, so that the next notification does not join them."""
    assert notification("osc99", "web needs you", number=3) == (
        "\x1b]99;i=unstuck-3:d=0;unstuck\x1b\\\x1b]99;i=unstuck-3:d=1:p=body;web needs you\x1b\\"
    )
    assert len(CONTROL.findall(notification("osc99", HOSTILE))) == 4 * 1 + 0


def test_a_bell_is_a_bell() -> None:
    """A bell is one sign where no text can be told, inside tmux as well; switched off, it is none."""
    assert notification("bell", HOSTILE, in_tmux=True) == "\a"
    assert notification("off", HOSTILE) == ""


def test_tmux_passes_on_what_is_wrapped() -> None:
    """In tmux a notification is wrapped for the terminal round it, with every escape doubled."""
    assert notification("osc9", "hi", in_tmux=True) == "\x1bPtmux;\x1b\x1b]9;unstuck: hi\x1b\x1b\\\x1b\\"
    assert through_tmux("x") == "\x1bPtmux;x\x1b\\"


def test_a_title_is_one_line_of_text() -> None:
    """Whatever a project is called, its name moves no cursor and sets no other title."""
    written = title(f"unstuck: 1 needs you · {HOSTILE}")
    assert written.startswith("\x1b]2;unstuck: 1 needs you · web")
    assert not CONTROL.search(written.removeprefix("\x1b]2;").removesuffix("\x1b\\"))


def test_what_is_copied_arrives_whole() -> None:
    """The clipboard gets the very text, also over several lines, and in tmux twice: for it and for its terminal."""
    written = clipboard("shop/cart.py:18\n‖ ü")
    (coded,) = re.findall(r"\x1b\]52;c;([^\a]*)\a", written)
    assert base64.b64decode(coded).decode() == "shop/cart.py:18\n‖ ü"
    assert clipboard("x", in_tmux=True) == clipboard("x") + through_tmux(clipboard("x"))
