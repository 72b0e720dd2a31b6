"""A log as lines on a screen: the place of each, and those that match a search. A million cost eight megabytes.

Everything here blocks and belongs in a thread, but for what is asked of lines that are known already.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path

from unstuck.eventlog.envelope import Record, decode
from unstuck.eventlog.storage.durable_files import open_for_reading
from unstuck_tui.runs.log.query import Query

_PIECE = 1 << 20
_KEPT = 500


class LogLines:
    """The whole lines of a log that may still grow. Nothing of them is kept but where they stand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begins = array("Q", [0])
        self._records: OrderedDict[int, Record | None] = OrderedDict()

    def __len__(self) -> int:
        """The number of whole lines that are known."""
        return len(self._begins) - 1

    def grow(self) -> None:
        """Look for lines that have come. What a repair has cut off is forgotten. Raises OSError."""
        with open_for_reading(self.path) as file:
            size = file.seek(0, 2)
            while len(self._begins) > 1 and self._begins[-1] > size:
                self._begins.pop()
            file.seek(self._begins[-1])
            place = self._begins[-1]
            while piece := file.read(_PIECE):
                found = piece.find(b"\n")
                while found >= 0:
                    self._begins.append(place + found + 1)
                    found = piece.find(b"\n", found + 1)
                place += len(piece)

    def record(self, index: int) -> Record | None:
        """The record in line ``index`` (from 0 on); None where that line is none. The last ones asked for are kept."""
        if index in self._records:
            self._records.move_to_end(index)
            return self._records[index]
        try:
            with open_for_reading(self.path) as file:
                file.seek(self._begins[index])
                record: Record | None = decode(file.read(self._begins[index + 1] - self._begins[index]))
        except (OSError, RecursionError, ValueError):
            record = None
        self._records[index] = record
        if len(self._records) > _KEPT:
            self._records.popitem(last=False)
        return record

    def matching(self, query: Query, begin: int, end: int) -> Iterator[int]:
        """Those of the lines from ``begin`` to before ``end`` that ``query`` looks for. Raises OSError."""
        end = min(end, len(self))
        with open_for_reading(self.path) as file:
            while begin < end:
                until = max(begin + 1, min(end, bisect_right(self._begins, self._begins[begin] + _PIECE) - 1))
                file.seek(self._begins[begin])
                piece = file.read(self._begins[until] - self._begins[begin])
                yield from self._within(piece, query, begin, until)
                begin = until

    def _within(self, piece: bytes, query: Query, begin: int, until: int) -> Iterator[int]:
        """Those of the lines in ``piece`` that are looked for. Most are passed over without a look at each."""
        base, hint = self._begins[begin], query.hint
        index = begin
        while index < until:
            if hint is not None:
                found = hint.search(piece, self._begins[index] - base)
                if found is None:
                    return
                index = bisect_right(self._begins, base + found.start()) - 1
            if query.finds(piece[self._begins[index] - base : self._begins[index + 1] - base]):
                yield index
            index += 1
