"""The hand-over of the terminal to another program, as a shell gives it to its foreground job.

It is a process group of its own there, so what is typed goes to it, ctrl+c and all, and never to us. Where it stops
(ctrl+z) we continue it at once, as only we can. Modes that it leaves behind, such as lines without an echo, are
put right when the terminal is taken back.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

LEFT_ON = (
    "\x1b[?1l\x1b>\x1b[4l\x1b7\x1b[r\x1b8\x1b(B\x0f\x1b[0m\x1b[>4m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l"
    "\x1b[?2004l\x1b[?1004l\x1b[?7h\x1b[?1047l\x1b[?25h"
)
"""Ends what a program may have left on: keys, margins, signs, colours, mouse, paste, its own screen.

The cursor stays where it is, which neither the end of margins nor 1049 would do: later lines come below the program's.
"""
LEFT_BY_KILLED = "\x1b[<u\x1b[?1049l"
"""Ends what a program that was killed has not ended itself: the keys of its own, and its own screen with its cursor."""
_STOPPED_S = 0.05
_IF_WE_DIE = """read -r line && exit
for group in $(ps -A -o ppid= -o pgid= | awk -v of="$1" '$1 == of { print $2 }') "$1"
do kill -s HUP -- "-$group"; kill -s CONT -- "-$group"
done"""
"""Tells the group ``$1``, and what works in it as a shell's job, that the terminal is gone; a line says that it is not.
"""


class Handoff:
    """Lends the terminal to ``command`` in ``folder``. Raises OSError where that cannot be started, or it is not ours.

    It has to be ours until then, with its own modes.
    """

    def __init__(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
        self._is_back = False
        self._terminal = tty = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            self._ours = os.tcgetpgrp(tty)
            self._modes = termios.tcgetattr(tty)
            self._child = subprocess.Popen(
                command, cwd=folder, env=environ, stdin=tty, stdout=tty, stderr=tty, process_group=0
            )
        except (OSError, termios.error):
            os.close(tty)
            raise
        try:
            # Else it would go on where we are killed, and both it and the shell that we came from would read the keys.
            self._watch = _watching(self._child.pid)
            with _unstopped():
                os.tcsetpgrp(tty, self._child.pid)
        except OSError:
            self._child.kill()
            self._child.wait()
            os.close(tty)
            raise

    async def ended(self) -> int:
        """Wait for the program's end; its exit code, or minus the signal that ended it."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[int] = loop.create_future()

        def tell(code: int) -> None:
            if not done.done():
                done.set_result(code)

        def wait() -> None:
            code = self._wait()
            self._watch.communicate(b"\n")
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(tell, code)

        # A daemon: a program that ignores its hang-up must not keep this process.
        Thread(target=wait, name="terminal-lent", daemon=True).start()
        return await done

    def _wait(self) -> int:
        while True:
            try:
                _, status = os.waitpid(self._child.pid, os.WUNTRACED)
            except ChildProcessError:
                return 0
            if not os.WIFSTOPPED(status):
                self._child.returncode = os.waitstatus_to_exitcode(status)
                return self._child.returncode
            time.sleep(_STOPPED_S)  # so that one that stops again and again takes no processor
            self._continue_child()

    def _continue_child(self) -> None:
        if self._is_back:
            return
        with suppress(OSError), _unstopped():
            if os.tcgetpgrp(self._terminal) == self._ours:  # it wanted the terminal before it had it
                os.tcsetpgrp(self._terminal, self._child.pid)
            os.killpg(self._child.pid, signal.SIGCONT)

    def recall(self) -> None:
        """Take the terminal back at once; its program is hung up, as when its window is closed."""
        if self._is_back:
            return
        groups = {self._child.pid}
        with suppress(OSError):
            groups.add(os.tcgetpgrp(self._terminal))
        for group in groups - {self._ours, 0}:
            for number in (signal.SIGHUP, signal.SIGCONT):
                with suppress(OSError):
                    os.killpg(group, number)
        self.take_back()

    def take_back(self) -> None:
        """The terminal is ours again, with the modes that it had; what was typed ahead was meant for the program."""
        if self._is_back:
            return
        self._is_back = True
        with suppress(OSError, termios.error), _unstopped():
            os.tcsetpgrp(self._terminal, self._ours)
            termios.tcflow(self._terminal, termios.TCOON)
            termios.tcsetattr(self._terminal, termios.TCSANOW, self._modes)
            termios.tcflush(self._terminal, termios.TCIFLUSH)
        os.close(self._terminal)


def _watching(group: int) -> subprocess.Popen[bytes]:
    """A process that has the other end of a pipe: it sees us go, however we do."""
    nothing = subprocess.DEVNULL
    command = ("/bin/sh", "-c", _IF_WE_DIE, "unstuck-lent", str(group))
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, env={"PATH": os.defpath}, start_new_session=True
    )


@contextmanager
def _unstopped() -> Iterator[None]:
    """Block the signal that stops a background process which changes something about the terminal."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
