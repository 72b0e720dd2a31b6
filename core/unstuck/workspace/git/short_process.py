"""A program that is brief, such as git: started, heard and waited for in the loop itself.

Not with asyncio's own subprocess: that has a thread wait for each program, which costs as much as many a git does.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

from unstuck.clock.process_exit import until_over

__all__ = ["Brief", "Take"]

Take = Callable[[bytes], bool]
"""Gets what comes in pieces, and says whether it wants more."""

_CHUNK = 1 << 16
_PAUSE = 0.005  # seconds, where the system does not tell of an end: it comes right after that of the output


class Brief:
    """A program at work, in a session of its own. Whoever starts one waits for :meth:`over`, or for :meth:`end`."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[bytes, bytes],
        stdin: bytes | None,
        inherit: tuple[int, ...],
        out: Take,
        err: Take,
    ) -> None:
        """Start it; ``stdin`` is all that it can read, ``inherit`` are descriptors that it gets. Raises OSError."""
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL if stdin is None else pipe,
            stdout=pipe,
            stderr=pipe,
            bufsize=0,
            pass_fds=inherit,
            start_new_session=True,
        )
        self.was_enough = False
        """Whether it was stopped because who takes its output has enough of it."""
        self._was_taken = False
        self._loop = asyncio.get_running_loop()
        self._silent = asyncio.Event()
        self._unsaid = memoryview(stdin or b"")
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._open: set[IO[bytes]] = {self._process.stdout, self._process.stderr}
        for stream, take in ((self._process.stdout, out), (self._process.stderr, err)):
            os.set_blocking(stream.fileno(), False)
            self._loop.add_reader(stream.fileno(), partial(self._hear, stream, take))
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
            self._loop.add_writer(self._process.stdin.fileno(), self._say)
            self._say()

    async def over(self) -> int:
        """Its exit code, less than nothing where a signal ended it, once it has ended and everything was heard.

        Raises ChildProcessError where nobody can say: the code was taken by somebody else, or SIGCHLD is ignored.
        """
        await self._silent.wait()
        await until_over(self._process.pid, self._is_over, pause=_PAUSE)
        if self._was_taken:
            raise ChildProcessError
        return int(self._process.returncode)

    async def end(self) -> None:
        """Ask it and what it has started to end, and return when it has."""
        self.was_enough = True  # and whoever takes its output may call it off again with every piece
        if not self._is_over():
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)
        with suppress(ChildProcessError):
            await self.over()

    def leave(self) -> None:
        """Hear nothing more of it. Where nobody waits for its end any more, a thread does."""
        self._hush()
        for stream in tuple(self._open):
            self._close(stream)
        if self._process.poll() is None:
            threading.Thread(target=self._process.wait, daemon=True).start()

    def _is_over(self) -> bool:
        if self._process.returncode is None:
            try:
                ended, status = os.waitpid(self._process.pid, os.WNOHANG)
            except ChildProcessError:  # which Popen would take for a success
                self._was_taken, self._process.returncode = True, 255
            else:
                self._process.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self._process.returncode is not None

    def _say(self) -> None:
        assert self._process.stdin is not None
        try:
            self._unsaid = self._unsaid[os.write(self._process.stdin.fileno(), self._unsaid) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it has ended; its exit code says why
            self._unsaid = self._unsaid[:0]
        if not self._unsaid:
            self._hush()

    def _hush(self) -> None:
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._loop.remove_writer(self._process.stdin.fileno())
            self._process.stdin.close()

    def _hear(self, stream: IO[bytes], take: Take) -> None:
        try:
            chunk = os.read(stream.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._close(stream)
        elif not self.was_enough and not take(chunk):  # heard to its end all the same: nobody else has to wait
            self.was_enough = True
            self._process.kill()

    def _close(self, stream: IO[bytes]) -> None:
        self._loop.remove_reader(stream.fileno())
        stream.close()
        self._open.discard(stream)
        if not self._open:
            self._silent.set()
