"""Escape sequences of terminals: title, notification, clipboard. Pure."""

from __future__ import annotations

from base64 import b64encode

from unstuck.text import one_line

TITLE_KEPT = "\x1b[22;2t"
"""The terminal remembers its title."""
TITLE_BACK = "\x1b]2;\x1b\\\x1b[23;2t"
"""It has the one before again; a terminal that remembers none has none."""
_END = "\x1b\\"
_LONGEST = 200


def title(text: str) -> str:
    return f"\x1b]2;{one_line(text, _LONGEST)}{_END}"


def notification(way: str, text: str, *, number: int = 0, in_tmux: bool = False) -> str:
    """``text`` as a notification of the terminal, by ``way``: bell, osc9, osc99 or osc777; empty for other ways.

    OSC 9 is iTerm2's (also of WezTerm and Windows Terminal), OSC 99 kitty's, where ``number`` names the notification,
    OSC 777 urxvt's (also of foot and Ghostty). A bell passes tmux as it is.
    """
    message = one_line(text, _LONGEST)
    spelled = {
        "osc9": f"\x1b]9;unstuck: {message}{_END}",
        "osc99": f"\x1b]99;i=unstuck-{number}:d=0;unstuck{_END}\x1b]99;i=unstuck-{number}:d=1:p=body;{message}{_END}",
        "osc777": f"\x1b]777;notify;unstuck;{message.replace(';', ',')}{_END}",
    }.get(way, "")
    if way == "bell":
        return "\a"
    return through_tmux(spelled) if in_tmux and spelled else spelled


def clipboard(text: str, *, in_tmux: bool = False) -> str:
    """Puts ``text`` into the terminal's clipboard (OSC 52); in tmux both for it and for the terminal round it."""
    plain = f"\x1b]52;c;{b64encode(text.encode('utf-8', 'replace')).decode('ascii')}\a"
    return plain + through_tmux(plain) if in_tmux else plain


def through_tmux(sequence: str) -> str:
    """``sequence`` for the terminal round tmux, which passes it on where ``allow-passthrough`` is on."""
    return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + _END
