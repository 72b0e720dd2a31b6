"""The output of an attempt: without secrets, bounded on disk and in memory."""

from __future__ import annotations

import os

from .redactor import Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

TAIL = 4096
MARK = b"UNSTUCK {"
MARKED_LIMIT = 20_000  # bytes; a longer line says nothing to us
_SLACK = 1 << 20  # trimming a little less often costs a little memory and saves much copying


class Output:
    """A file that gets the first half of ``limit`` bytes line by line and the last half when it is closed.

    ``total`` counts all bytes, ``recent`` is the last 4 KB of them, raw; ``start`` and, once closed, ``end`` say which
    bytes of the file are ours; ``lost`` says why writing had to be given up (or is empty). ``secrets`` are replaced in
    what is written, and so is everything else that looks like one.
    """

    def __init__(self, path: str, limit: int, secrets: Iterable[str] = ()) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.start = self.end = os.fstat(self.file).st_size
        self.total = 0
        self.recent = b""
        self.lost = ""
        self._secrets = Redactor(secrets)
        self._room, self._keep = limit - limit // 2, limit // 2
        self._line, self._last, self._left_out = bytearray(), bytearray(), 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes; a cost per chunk, none per line."""
        self.total += len(chunk)
        self.recent = (self.recent + chunk[-TAIL:])[-TAIL:]
        if self._room:
            self._line += chunk
            self._write_first(self._secrets.settled(self._line))
            return
        self._last += chunk
        if len(self._last) > self._keep + _SLACK:
            self._trim()

    def close(self) -> None:
        """Write the last half, with a line before it that says how much was left out."""
        self._write_first(len(self._line))
        self._trim()
        if self._left_out:
            self._write(b"\n[... %d bytes left out ...]\n" % self._left_out)
        if self._last:
            self._write(self._secrets.clean(self._last)[-self._keep :])
        os.close(self.file)

    def _write_first(self, count: int) -> None:
        """Write the first ``count`` bytes of the line, as far as there is room; what is beyond it comes last."""
        if not count:
            return
        clean = self._secrets.clean(self._line[:count])
        del self._line[:count]
        self._write(clean[: self._room])
        self._last += clean[self._room :]
        self._room = max(0, self._room - len(clean))
        if not self._room:
            self._last += self._line
            self._line.clear()

    def _trim(self) -> None:
        excess = len(self._last) - self._keep
        if excess <= 0:
            return
        # Half a line may hold half a secret, which nothing can recognise.
        end = self._last.find(b"\n", excess, excess + TAIL)
        excess = end + 1 if end >= 0 else excess
        del self._last[:excess]
        self._left_out += excess

    def _write(self, data: bytes | bytearray) -> None:
        try:
            with memoryview(data) as view:
                written = 0
                while written < len(view) and not self.lost:
                    count = os.write(self.file, view[written:])
                    written += count
                    self.end += count
        except OSError as error:  # a full disk must not end the supervision of the agent
            self.lost = os.strerror(error.errno or 0)


class Marked:
    """Finds the lines in which the agent speaks to its supervisor: they begin with ``MARK`` and are short.

    The cost for other output is one search per chunk, and at most ``MARKED_LIMIT`` bytes are kept between two chunks.
    """

    def __init__(self) -> None:
        self._rest = b""

    def add(self, chunk: bytes) -> list[str]:
        """The marked lines that end in this chunk."""
        data = self._rest + chunk if self._rest else chunk
        end = data.rfind(b"\n") + 1
        # What is kept of an overlong line does not begin with the mark, so that its end is not taken for a line.
        self._rest = data[end:] if len(data) - end <= MARKED_LIMIT else b"." * MARKED_LIMIT
        if data.find(MARK, 0, end) < 0:
            return []
        lines = (line for line in data[:end].splitlines() if line.startswith(MARK) and len(line) <= MARKED_LIMIT)
        return [line.decode(errors="replace") for line in lines]
