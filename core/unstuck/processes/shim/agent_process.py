"""One agent, attended from its first order to the last report."""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from contextlib import suppress

from .child import READY, be_deaf, become, refusal
from .output import Marked, Output
from .pipe_loop import CHUNK, Loop, Orders, Reports
from .process_table import PR_SET_CHILD_SUBREAPER, descendants, process_control, row_of, send
from .stdio_bridge import Speech
from .terminate import Ladder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PROGRESS_EVERY = 0.2
QUIET, LINGER = 0.5, 2.0  # how long the pipe may stay silent, and stay open at all, once the agent has exited
DESERTED = {"interrupt": 0.5, "terminate": 1.0}  # for an agent without a supervisor
REMAINS = 4 * CHUNK  # more than any pipe holds
ACCOUNT = ".end"
UNREAD = 1 << 20  # bytes of reports; a supervisor that is further behind hears no more marked lines until it has read


class Attendant:
    """The state of one agent, and what is done about it."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.reports = Reports(1, self.loop)
        self.launch: dict[str, Any] | None = None
        self.stop: dict[str, float] | None = None
        self.deserted = self.frozen = self.changed = self.childless = self.adopts = False
        self.child = self.gate = self.pipe = 0
        self.tag, self.start = "", 0.0
        self.status: int | None = None
        self.said, self.set_up = b"", False
        self.speech: Speech | None = None
        self.marked = Marked()
        self.held_back: list[str] = []
        self.news = False
        self.began = self.ended_at = self.heard_at = self.shown_at = time.monotonic()
        Orders(0, self.loop, self.obey, self.supervisor_died)

    def serve(self) -> None:
        self.pump(lambda: self.launch is not None or self.deserted)
        if self.launch is None or self.stop is not None or not self.open_files(self.launch):
            return
        self.spawn(self.launch)
        self.pump(lambda: self.set_up)
        refused = self.said.removeprefix(READY)
        if refused or not self.said:
            self.reports.send(json.loads(refused or refusal(errno.ECHILD, "ended before it began")))
            return
        self.listen()
        self.pump(lambda: self.status is not None or self.stop is not None)
        self.linger()
        ladder = Ladder(self)
        ladder.climb()
        self.finish(ladder)

    def pump(self, until: Callable[[], bool], seconds: float = float("inf")) -> None:
        """Serve every descriptor until ``until()`` holds, or for ``seconds``."""
        limit = time.monotonic() + seconds
        while not until() and (now := time.monotonic()) < limit:
            progress = self.shown_at + PROGRESS_EVERY if self.news and not self.reports.behind else None
            due = limit if progress is None else min(limit, progress)
            waiting = self.set_up and self.output.waiting
            if waiting:
                due = now
            # The agent first: it is blocked while its pipe is full.
            if not self.loop.turn(None if due == float("inf") else due - now) and waiting:
                self.output.work()
            if self.speech:
                self.speech.turn()
            if self.news and time.monotonic() - self.shown_at >= PROGRESS_EVERY and not self.reports.behind:
                self.show_progress()

    def show_progress(self) -> None:
        # A reader of the file has not seen yet what waits, and hears of it again.
        self.shown_at, self.news = time.monotonic(), self.output.waiting
        self.reports.send({"bytes": self.output.total, "tail": self.output.recent.decode(errors="replace")})

    def obey(self, order: dict[str, Any]) -> None:
        if "command" in order:
            self.launch = order
        elif "go" in order:
            self.tag, self.began = order["go"], time.monotonic()
            self.open_gate(self.tag.encode())
        elif "stop" in order:
            asked = order["stop"]
            self.stop = {rung: min(self.stop[rung], asked[rung]) for rung in self.stop} if self.stop else asked
            self.open_gate(b"")
        elif "say" in order:
            if self.speech:
                self.speech.say(order["say"].encode("latin-1"))
        elif "hush" in order:
            if self.speech:
                self.speech.hush()
        else:
            self.hold("freeze" in order)

    def supervisor_died(self) -> None:
        self.deserted = True
        self.obey({"stop": DESERTED})

    def open_files(self, launch: dict[str, Any]) -> bool:
        """Open what the agent reads and where its output goes. False, and a report, where that fails."""
        path = launch["output"]
        try:
            self.output = Output(path, launch["limit"], launch.get("secrets", ()))
            self.marked = Marked(objects=launch.get("objects", False))
            path = launch["stdin"] or os.devnull
            self.stdin = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            os.set_blocking(self.stdin, True)
        except OSError as error:
            number = error.errno or errno.EINVAL
            self.reports.send(json.loads(refusal(number, f"{path}: {os.strerror(number)}")))
            return False
        os.dup2(self.output.file, 2)  # a failure of the shim itself is then not lost
        return True

    def spawn(self, launch: dict[str, Any]) -> None:
        """Fork the child, which then waits at its gate."""
        self.adopts = process_control(PR_SET_CHILD_SUBREAPER, 1)
        self.watch_children()
        self.pipe, output = os.pipe()
        gate, self.gate = os.pipe()
        setup, setup_write = os.pipe()
        stdin, stdout = self.stdin, output
        if launch.get("talks"):
            self.speech = Speech(self.loop, self.reports, self.take)
            os.close(stdin)
            stdin, stdout = self.speech.ends
        self.child = os.fork()
        if not self.child:
            os.close(self.gate)  # or the gate would never end for this child
            become(launch, (stdin, stdout, output), gate, setup_write)
        for theirs in {stdin, stdout, output, gate, setup_write}:
            os.close(theirs)
        os.set_blocking(self.pipe, False)
        self.loop.watch(setup, lambda: self.hear_setup(setup))

    def open_gate(self, tag: bytes) -> None:
        """Release the child: with a tag it becomes the agent, without one it ends."""
        if self.gate:
            with suppress(OSError):  # a child that is dead already says so through its other pipe
                os.write(self.gate, tag)
            os.close(self.gate)
            self.gate = 0

    def hear_setup(self, setup: int) -> None:
        data = os.read(setup, CHUNK)
        self.said += data
        if data == READY:
            row = row_of(self.child)
            self.start = row.start if row else 0.0
            self.reports.send({"spawned": self.child, "start": self.start or None, "shim": os.getpid()})
        elif not data:
            self.loop.forget(setup)
            os.close(setup)
            self.set_up = True
            if self.said == READY:
                self.reports.send({"started": True})

    def listen(self) -> None:
        """Hear the agent; before it has started, what it says would come before the news that it has."""
        self.loop.watch(self.pipe, self.hear_output)
        if self.speech:
            self.speech.listen()

    def hear_output(self) -> None:
        try:
            chunk = os.read(self.pipe, CHUNK)
        except BlockingIOError:
            return
        if chunk:
            self.take(chunk)
            self.pass_on(self.marked.add(chunk))
        else:
            self.loop.forget(self.pipe)
            os.close(self.pipe)
            self.pipe = 0

    def take(self, chunk: bytes) -> None:
        """Keep what the agent has printed, and note that it has."""
        self.output.take(chunk)
        self.news, self.heard_at = True, time.monotonic()

    def is_open(self) -> bool:
        """Return whether anything may still be heard."""
        return bool(self.pipe) or (self.speech is not None and self.speech.open)

    def pass_on(self, lines: list[str]) -> None:
        """Tell what the agent says to its supervisor; of what that has no time for, the last words are kept."""
        if lines and self.reports.unread < UNREAD:
            self.reports.send({"lines": [*self.held_back, *lines]})
            self.held_back = []
        elif lines:
            self.held_back = lines[-1:]

    def watch_children(self) -> None:
        wake, wake_write = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.loop.watch(wake, lambda: self.reap(os.read(wake, CHUNK)))

    def reap(self, _: bytes = b"") -> None:
        """Take leave of every dead child, the agent's orphans included."""
        self.changed = True
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == self.child:
                    self.status, self.ended_at = found[1], time.monotonic()
        except ChildProcessError:
            self.childless = True

    def hold(self, freeze: bool) -> None:
        """Freeze or continue the agent's group, and those of its descendants that have left it."""
        if self.status is not None or self.stop or not self.tag:
            return
        self.frozen = freeze
        number = signal.SIGSTOP if freeze else signal.SIGCONT
        send(self.child, number, group=True)
        for _ in range(2):  # the second look finds what was forked during the first
            for pid, row in descendants(os.getpid()).items():
                if row.group != self.child:
                    send(pid, number)

    def linger(self) -> None:
        """Read the last output; a pipe that another process keeps open is not waited for."""
        while self.is_open() and self.stop is None:
            left = min(max(self.ended_at, self.heard_at) + QUIET, self.ended_at + LINGER) - time.monotonic()
            if left <= 0:
                return
            self.pump(lambda: not self.is_open() or self.stop is not None, left)

    def finish(self, ladder: Ladder) -> None:
        """Read what is still in the pipe, close the file, and give the account."""
        before, end = -1, self.output.total + REMAINS
        while self.is_open() and before < self.output.total < end:
            before = self.output.total
            if self.pipe:
                self.hear_output()
            if self.speech is not None and self.speech.open:
                self.speech.hear()
        self.output.close()
        if last := [*self.held_back, *self.marked.end()]:
            self.reports.send({"lines": last})
        if self.news:
            self.show_progress()
        code = None if self.status is None else os.waitstatus_to_exitcode(self.status)
        exited = {
            "code": code if code is not None and code >= 0 else None,
            "signal": -code if code is not None and code < 0 else None,
            "seconds": round(self.ended_at - self.began, 6),
            "bytes": self.output.total,
            "start": self.output.start,
            "end": self.output.end,
            "lost": self.output.lost,
        }
        account = {"exited": exited, "ended": ladder.ended, "alive": list(ladder.known.items()), "blind": ladder.blind}
        self.reports.send(account)
        if self.deserted:
            self.leave(account)

    def leave(self, account: dict[str, Any]) -> None:
        """Write the account beside the output, for a resumed run: no one hears it now."""
        assert self.launch is not None
        with suppress(OSError):
            file = os.open(self.launch["output"] + ACCOUNT, _OVER, 0o600)
            os.write(file, json.dumps(account).encode())
            os.close(file)


_OVER = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe would block


def main() -> None:
    be_deaf()
    attendant = Attendant()
    attendant.serve()
    attendant.reports.drain()
    os._exit(0)
