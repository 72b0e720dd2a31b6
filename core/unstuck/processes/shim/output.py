"""The output of an attempt: without secrets, bounded on disk and in memory."""

from __future__ import annotations

import os
import stat
from collections import deque
from contextlib import suppress

from .redactor import Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TAIL = 4096
MARK = b"UNSTUCK {"
MARKED_LIMIT = 20_000  # bytes; a longer line says nothing to us
OBJECT_LIMIT = 1 << 20  # bytes; of a line in a stream of JSON
_PIECE = 1 << 18  # bytes that are cleaned at once when the last half is written
_BLOCK = 1 << 16  # bytes; what is kept at least goes and comes by as much
_AHEAD = 8 << 20  # bytes that may wait to be cleaned


def _opened(path: str) -> int:
    """Open the file at ``path`` for its end; a pipe in its place, which would block, is removed."""
    with suppress(FileNotFoundError):
        if stat.S_ISFIFO(os.lstat(path).st_mode):
            os.unlink(path)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


class Output:
    """A file that gets the first half of ``limit`` bytes line by line and the last half when it is closed.

    Cleaning takes longer than printing: what is taken is cleaned when the agent prints nothing, so that it never waits
    for that before 8 MiB have come together.

    ``total`` counts all bytes, ``recent`` is the last 4 KB of them, raw; ``start`` and, once closed, ``end`` say which
    bytes of the file are ours; ``lost`` says why writing had to be given up (or is empty). ``secrets`` are replaced in
    what is written, and so is everything else that looks like one.
    """

    def __init__(self, path: str, limit: int, secrets: Iterable[str] = ()) -> None:
        self.file = _opened(path)
        self.start = self.end = os.fstat(self.file).st_size
        self.total = self._stamped = 0
        self.recent = b""
        self.lost = ""
        self._secrets = Redactor(secrets)
        self._room, self._keep = limit - limit // 2, limit // 2
        self._line, self._last = bytearray(), Last(self._keep)
        self._ahead = bytearray()

    def take(self, chunk: bytes) -> None:
        """Take the next bytes, to be cleaned and written by :meth:`work`; a cost per chunk, none per line."""
        self.total += len(chunk)
        self.recent = (self.recent + chunk[-TAIL:])[-TAIL:]
        self._ahead += chunk
        while self._ahead and (not self._room or len(self._ahead) > _AHEAD):
            self.work()

    @property
    def waiting(self) -> bool:
        """True while :meth:`work` has something to do."""
        return bool(self._ahead)

    def work(self) -> None:
        """Clean and write the next of the bytes that were taken."""
        chunk = bytes(self._ahead[:_BLOCK])
        del self._ahead[:_BLOCK]
        self._keep_chunk(chunk)

    def add(self, chunk: bytes) -> None:
        """Take the next bytes, and clean and write them at once."""
        self.take(chunk)
        while self.waiting:
            self.work()

    def _keep_chunk(self, chunk: bytes) -> None:
        if self._room:
            self._line += chunk
            self._write_first(self._secrets.settled(self._line))
            return
        self._last.add(chunk)
        if self.total >= self._stamped + _BLOCK:
            self._stamp()

    def close(self) -> None:
        """Write the last half, with a line before it that says how much was left out."""
        while self.waiting:
            self.work()
        self._write_first(len(self._line))
        last, left_out = self._last.end(), self._last.left_out
        clean = Last(self._keep)  # what is put in place of a secret may be longer than it
        for piece in self._cleaned(last):
            clean.add(piece)
        if left_out:
            self._write(b"\n[... %d bytes left out ...]\n" % left_out)
        for block in clean.end():
            self._write(block)
        os.close(self.file)

    def _cleaned(self, blocks: deque[bytes]) -> Iterator[bytes]:
        """The blocks without secrets, each released before the next is read."""
        rest = bytearray()
        while blocks:
            while blocks and len(rest) < _PIECE:
                rest += blocks.popleft()
            count = self._secrets.settled(rest) if blocks else len(rest)
            yield self._secrets.clean(rest[:count])
            del rest[:count]

    def _write_first(self, count: int) -> None:
        """Write the first ``count`` bytes of the line, as far as there is room; what is beyond it comes last."""
        if not count:
            return
        clean = self._secrets.clean(self._line[:count])
        del self._line[:count]
        self._write(clean[: self._room])
        self._last.add(clean[self._room :])
        self._room = max(0, self._room - len(clean))
        if not self._room:
            self._last.add(bytes(self._line))
            self._line.clear()

    def _stamp(self) -> None:
        """Set the file's time, which shows that output still arrives although the file no longer grows."""
        self._stamped = self.total
        with suppress(OSError):
            os.utime(self.file)

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


class Last:
    """The last ``keep`` bytes of a stream, held in blocks: the oldest go, none is ever moved or copied again.

    One long buffer that is cut in front and grows behind takes its size twice. ``left_out`` counts what has gone.
    """

    def __init__(self, keep: int) -> None:
        self.left_out = 0
        self._blocks: deque[bytes] = deque()
        self._small = bytearray()
        self._keep, self._size = keep, 0

    def add(self, piece: bytes) -> None:
        """Take the next bytes; small pieces are put together, for each block costs memory of its own."""
        self._size += len(piece)
        if len(piece) >= _BLOCK // 2 and not self._small:
            self._blocks.append(piece)
        else:
            self._small += piece
            if len(self._small) >= _BLOCK:
                self._close_block()
        while self._blocks and self._size - len(self._blocks[0]) >= self._keep:
            self._drop(self._blocks.popleft())

    def end(self) -> deque[bytes]:
        """The blocks, to be used up; they begin with a whole line where one begins soon enough."""
        self._close_block()
        if (excess := self._size - self._keep) > 0:
            first = self._blocks.popleft()
            while self._blocks and len(first) < excess + TAIL:
                first += self._blocks.popleft()
            # Half a line may hold half a secret, which nothing can recognise.
            end = first.find(b"\n", excess, excess + TAIL)
            excess = end + 1 if end >= 0 else excess
            self._drop(first[:excess])
            self._blocks.appendleft(first[excess:])
        return self._blocks

    def _close_block(self) -> None:
        if self._small:
            self._blocks.append(bytes(self._small))
            self._small = bytearray()

    def _drop(self, block: bytes) -> None:
        self._size -= len(block)
        self.left_out += len(block)


class Marked:
    """Finds the lines in which the agent speaks to its supervisor: they begin with ``MARK`` and are short.

    With ``objects`` it speaks in JSON, and every line that begins as an object is one, up to a larger limit. The cost
    for other output is one search per chunk, and at most one line of that limit is kept between two chunks.
    """

    def __init__(self, *, objects: bool = False) -> None:
        self._begin = (b"{", MARK) if objects else (MARK,)
        self._limit = OBJECT_LIMIT if objects else MARKED_LIMIT
        self._rest = b""
        self._passing = False  # in the middle of a line that is too long

    def add(self, chunk: bytes) -> list[str]:
        """The marked lines that end in this chunk."""
        if self._passing:
            end = chunk.find(b"\n") + 1
            if not end:
                return []
            chunk, self._passing = chunk[end:], False
        data = self._rest + chunk if self._rest else chunk
        end = data.rfind(b"\n") + 1
        self._rest = data[end:]
        if len(self._rest) > self._limit:
            self._rest, self._passing = b"", True
        return self._lines(data[:end])

    def end(self) -> list[str]:
        """The last line, where nothing ended it."""
        rest, self._rest = self._rest, b""
        return self._lines(rest)

    def _lines(self, data: bytes) -> list[str]:
        if not any(begin in data for begin in self._begin):
            return []
        lines = (line for line in data.splitlines() if line.startswith(self._begin) and len(line) <= self._limit)
        return [line.decode(errors="replace") for line in lines]
