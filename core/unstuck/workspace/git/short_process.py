"""Short-lived program such as git, run from the event loop.

It does not use asyncio's subprocess, which starts a thread for each program in Python 3.11.
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

Take = Callable[[bytes], bool]
"""Takes a piece of output, and returns whether it wants more."""

_CHUNK = 1 << 16
_GRACE_S = 5.0
_PAUSE = 0.005  # seconds between looks without a pidfd: a program ends right after its output


class ShortProcess:
    """Running program in a session of its own. Always await :meth:`wait` or :meth:`end`."""

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
        """Start the program; ``stdin`` is its whole input, ``inherit`` its extra descriptors. Raises OSError."""
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
        self.is_stopped = False
        """On once the program was stopped because no more of its output is wanted."""
        self._is_code_lost = False
        self._loop = asyncio.get_running_loop()
        self._output_ended = asyncio.Event()
        self._unwritten = memoryview(stdin or b"")
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._open: set[IO[bytes]] = {self._process.stdout, self._process.stderr}
        for stream, take in ((self._process.stdout, out), (self._process.stderr, err)):
            os.set_blocking(stream.fileno(), False)
            self._loop.add_reader(stream.fileno(), partial(self._read, stream, take))
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
            self._loop.add_writer(self._process.stdin.fileno(), self._write)
            self._write()

    @property
    def pid(self) -> int:
        """Id of the process, which is also that of its group."""
        return self._process.pid

    async def wait(self) -> int:
        """Return the exit code, negative for a signal, after the end of the program and of its output.

        Raises ChildProcessError where the code is unknown: other code took it, or SIGCHLD is ignored.
        """
        await self._output_ended.wait()
        await until_over(self._process.pid, self._is_over, pause=_PAUSE)
        if self._is_code_lost:
            raise ChildProcessError
        return int(self._process.returncode)

    async def end(self) -> None:
        """Terminate the program and its children; return when the program has ended, or cannot be ended."""
        self.is_stopped = True  # the output up to its end is dropped
        for rung in (signal.SIGTERM, signal.SIGKILL):
            if not self._is_over():
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, rung)
            with suppress(ChildProcessError, TimeoutError):
                async with asyncio.timeout(_GRACE_S):
                    await self.wait()
                return

    def close(self) -> None:
        """Close the pipes. A thread waits for a program that is still running."""
        self._close_stdin()
        for stream in tuple(self._open):
            self._close(stream)
        if self._process.poll() is None:
            threading.Thread(target=self._process.wait, daemon=True).start()

    def _is_over(self) -> bool:
        if self._process.returncode is None:
            try:
                ended, status = os.waitpid(self._process.pid, os.WNOHANG)
            except ChildProcessError:  # which Popen would take for a success
                self._is_code_lost, self._process.returncode = True, 255
            else:
                self._process.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self._process.returncode is not None

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            self._unwritten = self._unwritten[os.write(self._process.stdin.fileno(), self._unwritten) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it has ended; its exit code says why
            self._unwritten = self._unwritten[:0]
        if not self._unwritten:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._loop.remove_writer(self._process.stdin.fileno())
            self._process.stdin.close()

    def _read(self, stream: IO[bytes], take: Take) -> None:
        try:
            chunk = os.read(stream.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if not chunk:
            self._close(stream)
        elif not self.is_stopped and not take(chunk):  # reading goes on to the end of the output
            self.is_stopped = True
            self._process.kill()

    def _close(self, stream: IO[bytes]) -> None:
        self._loop.remove_reader(stream.fileno())
        stream.close()
        self._open.discard(stream)
        if not self._open:
            self._output_ended.set()
