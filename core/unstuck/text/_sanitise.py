"""Sanitising: removes what could move the cursor, set a title, reach the clipboard or hide text."""

from __future__ import annotations

import re

# A string sequence (OSC, DCS, APC, PM, SOS, screen's title) never runs past its line: a broken one must not hide the
# rest of the output. The eight-bit introducers are also letters in legacy encodings, so alone they take nothing along.
_BODY = r"[^\n\r\x07\x18\x1a\x1b\x80-\x9f]*+"
_END = r"(?:\x1b\\|\x9c|\x07)"
_SEQUENCES = (
    rf"\x1b[\]PX^_k]{_BODY}{_END}?",
    rf"[\x90\x98\x9d-\x9f]{_BODY}{_END}",
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?",
    r"\x1b[ -/]*+[0-~]?",
)
# C0 but tab and line feed (carriage return is handled by itself), DEL, C1; then what is invisible or turns the
# writing direction: soft hyphen, joiners, marks, embeddings, isolates, fillers, annotation, tags, selectors.
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_INVISIBLE = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# What begins a sequence ends a run of the others, or the rest of that sequence would be left as text.
_OTHERS = r"\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x8f\x91-\x97\x99\x9a\x9c"
_DROPPED = re.compile("|".join((*_SEQUENCES, rf"[{_OTHERS}{_INVISIBLE}]++", r"[\x90\x98\x9d-\x9f]")))
_SUSPECT = re.compile(rf"[{_CONTROLS}{_INVISIBLE}\r\u2028\u2029\ud800-\udfff]")
# Nearly all text is plain ASCII, and taking out what is suspect in that is ten times faster than looking for it.
_WITHOUT_CONTROLS = dict.fromkeys(code for code in range(128) if _SUSPECT.match(chr(code)))

_SPLIT_CHARACTER = re.compile(r"[\udcc2-\udcf4][\udc80-\udcbf]{1,2}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_EIGHT_BIT = {0xDC00 + byte: byte for byte in range(0x80, 0xA0)}
_LINE_END = re.compile(r"\r+\n?|[\u2028\u2029]")


def sanitise(text: str) -> str:
    """``text`` without terminal escapes, control, bidirectional and invisible characters.

    Line feed and tab stay; every other line end becomes a line feed; lone surrogates become U+FFFD. Takes linear time.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    suspect = text.translate(_WITHOUT_CONTROLS) != text if text.isascii() else _SUSPECT.search(text)
    if not suspect:
        return text
    if _SURROGATE.search(text):
        text = _SPLIT_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", text).translate(_EIGHT_BIT)
        text = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)
    return _LINE_END.sub("\n", _DROPPED.sub("", text))
