"""The sanitiser removes what a terminal would obey and keeps what a person would read."""

from __future__ import annotations

import pytest

from unstuck.text import admit, sanitise


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        pytest.param("\x1b[1;31mred\x1b[0m", "red", id="colours"),
        pytest.param("\x1b[38:2::1:2:3mx\x1b[?25l\x1b[2J\x1b[!p", "x", id="CSI with every kind of parameter"),
        pytest.param("a\x1b]0;title\x07b", "ab", id="OSC title ended by BEL"),
        pytest.param("a\x1b]52;c;aGk=\x1b\\b", "ab", id="OSC clipboard ended by ST"),
        pytest.param("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb", id="hyperlink"),
        pytest.param("a\x1bPq#0;2\x1b\\b", "ab", id="DCS"),
        pytest.param("a\x1b_Gf=100;AAAA\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", "abcd", id="APC, PM, SOS"),
        pytest.param("\x1bPtmux;\x1b\x1b]0;t\x07\x1b\\ok", "ok", id="tmux passthrough"),
        pytest.param("\x1bkname\x1b\\ok", "ok", id="screen title"),
        pytest.param("a\x1b]0;never ended\nnext", "a\nnext", id="unterminated OSC ends with its line"),
        pytest.param("a\x1b_never ended", "a", id="unterminated APC at the end"),
        pytest.param("a\x1b[12;", "a", id="cut CSI"),
        pytest.param("a\u200b\x1b[31mb\x00\x9b0mc\x07\x1b]0;t\x07d", "abcd", id="behind what is invisible"),
        pytest.param("\x1b(B\x1b7\x1bc\x1b#8a\x1b", "a", id="two and three byte escapes, lone ESC"),
        pytest.param("\x9b31mred\x9d0;t\x9cx", "redx", id="C1 as characters"),
        pytest.param("a\x90b\x98c", "abc", id="lone C1 introducers take nothing along"),
        pytest.param("a\x00b\x07c\x08d\x7fe\x0bf\x0cg", "abcdefg", id="other controls"),
        pytest.param("a\r\nb\rc\r\r\nd\u2028e\u2029f", "a\nb\nc\nd\ne\nf", id="line ends"),
        pytest.param("a\r\x00\nb", "a\nb", id="a line end with a NUL in it"),
        pytest.param("\u202eevil\u2066x\u2069\u200f\u061c", "evilx", id="bidirectional controls"),
        pytest.param("a\u200bb\u200dc\u2060d\ufeffe\u00adf\U000e0041g\ufe01", "abcdefg", id="invisible characters"),
        pytest.param("\ud800x\udfff", "\ufffdx\ufffd", id="lone surrogates"),
        pytest.param("tab\tstays\nžčćđš 你好 👍🏽 ⚠️", "tab\tstays\nžčćđš 你好 👍🏽 ⚠️", id="ordinary text"),
    ],
)
def test_terminal_controls_go_and_words_stay(raw: str, clean: str) -> None:
    """Each class of escape leaves exactly the text around it."""
    assert sanitise(raw) == clean
    assert admit(raw) == clean


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        pytest.param(b"\x9b31mred\x9b0m", "red", id="CSI as one byte"),
        pytest.param(b"a\x9d0;title\x07b", "ab", id="OSC as one byte"),
        pytest.param(b"a\xc2\x9b1mb", "ab", id="C1 in UTF-8"),
        pytest.param("š€".encode()[:-1], "š\ufffd", id="a character cut in two"),
        pytest.param("👍".encode()[:-1] + b"! \x07", "\ufffd! ", id="an emoji cut in two is no control sequence"),
        pytest.param("žena i čaj".encode("cp1250"), "ena i \ufffdaj", id="another encoding keeps its line"),
        pytest.param(bytearray(b"caf\xe9"), "caf\ufffd", id="Latin-1"),
    ],
)
def test_bytes_are_decoded_and_cleaned(raw: bytes, clean: str) -> None:
    """Raw output may hold eight-bit controls, other encodings and cut characters."""
    assert admit(raw) == clean


def test_a_broken_sequence_cannot_hide_the_rest_of_the_output() -> None:
    """The failure that follows an unfinished escape is still there to be diagnosed."""
    output = "start\x1b]0;oops\nE   TypeError: no\n\x1bP more\n1 failed"
    assert admit(output) == "start\nE   TypeError: no\n\n1 failed"
