"""Conversation with an agent: messages go to its standard input, its answers are passed on whole."""

from __future__ import annotations

import os

from .pipe_loop import CHUNK, Outgoing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .pipe_loop import Loop, Reports

AHEAD = 1 << 20  # bytes of reports; a supervisor that is further behind is waited for, and so the agent is, too


class Speech:
    """The agent's standard input and output. ``ends`` are the two descriptors that are the agent's own.

    ``heard`` gets each piece of what the agent says, in bytes; nothing of it is ever left out.
    """

    def __init__(self, loop: Loop, reports: Reports, heard: Callable[[bytes], None]) -> None:
        stdin, words = os.pipe()
        self._pipe, stdout = os.pipe()
        self.ends = stdin, stdout
        os.set_blocking(self._pipe, False)
        self._words: int | None = words
        self._out, self._silent = Outgoing(words, loop), False
        self._loop, self._reports, self._heard = loop, reports, heard
        self._listens = self._waits = False

    @property
    def open(self) -> bool:
        """Return whether the agent may still say something."""
        return bool(self._pipe)

    def listen(self) -> None:
        """Hear the agent from now on."""
        self._loop.watch(self._pipe, self.hear)
        self._listens, self._waits = True, False

    def say(self, words: bytes) -> None:
        """Tell the agent ``words``; one that has ended does not mind."""
        if self._words is not None and not self._silent:
            self._out.write(words)

    def hush(self) -> None:
        """Say nothing more: the agent's input ends, once it has taken what was said."""
        self._silent = True
        self.turn()

    def hear(self) -> None:
        """Pass on what the agent says, as far as it is there."""
        try:
            chunk = os.read(self._pipe, CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self._heard(chunk)
            self._reports.send({"heard": chunk.decode("latin-1")})
            if self._listens and self._reports.unread >= AHEAD:
                self._loop.forget(self._pipe)
                self._listens, self._waits = False, True
            return
        self._reports.send({"heard": ""})
        if self._listens:
            self._loop.forget(self._pipe)
        os.close(self._pipe)
        self._pipe = 0

    def turn(self) -> None:
        """Close the agent's input after the last message, and read again once the supervisor has caught up."""
        if self._silent and self._words is not None and not self._out.behind:
            os.close(self._words)
            self._words = None
        if self._waits and self._pipe and self._reports.unread < AHEAD:
            self.listen()
