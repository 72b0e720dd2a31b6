"""An agent's messages and tool calls as lines of a given width. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from unstuck.history.entries import Entry, EntryLine, lines_of
from unstuck_tui.render.format import Cell, Line, fit, laid_out, pieces, width_of, wrapped

_LONGEST = 400
"""Lines into which one line of a text may be broken."""


class TranscriptLayout:
    """Lines of a transcript that grows: an entry is laid out again only where it, or the width, has changed."""

    def __init__(self) -> None:
        self._how: tuple[int, bool] = (0, False)
        self._known: dict[int, tuple[Entry, list[Line]]] = {}

    def lines(self, entries: Iterable[Entry], *, width: int, unfold: bool = False, note: str = "") -> list[Line]:
        """Return the entries as lines, with ``note`` below; without ``unfold`` long parts show only some lines."""
        if self._how != (width, unfold):
            self._how, self._known = (width, unfold), {}
        before, self._known = self._known, {}
        lines: list[Line] = []
        for entry in entries:
            # The entry is kept with its lines, so that no other one gets its identity.
            known = before.get(id(entry)) or (entry, entry_lines(entry, width, unfold=unfold))
            self._known[id(entry)] = known
            lines += known[1]
        return [*lines, (Cell(f" {fit(note, width - 1)}", "quiet"),)] if note else lines


def entry_lines(entry: Entry, width: int, *, unfold: bool = False) -> list[Line]:
    """Return the lines of one entry. Signs of ours stand in the first column, and no text of an agent does."""
    return [line for one in lines_of(entry, unfold=unfold) for line in _laid_out(one, width, unfold)]


def _laid_out(line: EntryLine, width: int, unfold: bool) -> Iterable[Line]:
    room = max(8, width - 2)
    sign = line.sign
    for piece in _broken(line, room, unfold):
        # A cut line keeps its sign and colour, and the sign stands once.
        yield (Cell(f"{sign} ", line.tone), Cell(piece.rstrip(), line.tone))
        sign = " "


def _broken(line: EntryLine, room: int, unfold: bool) -> Sequence[str]:
    text = laid_out(line.text)
    if width_of(text) <= room:
        return (text,)
    if line.prose:
        return wrapped(text, room, _LONGEST)
    return pieces(text, room) if unfold or line.sign in ("$", "→", "±") else (fit(text, room),)
