"""The installed program in a real pseudo-terminal, as the person at it sees it and types."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import ptyprocess
import pyte
import pytest

MODE = re.compile(rb"\x1b\[\?([\d;]+)([hl])")
# The emulator does not know the keyboard protocol, what is asked of the terminal, or the notice of a resize; colours,
# at which it looks character by character, change no text.
UNSEEN = re.compile(rb"\x1b\[[<>=][\d;]*[a-z]|\x1b\[\?\d+\$p|\x1b\[[\d;]*m")
UNFINISHED = re.compile(rb"\x1b(?:\[[<>=?]?[\d;]*\$?)?\Z")
# Letters, lines and bars, each one column wide; what they look like is not kept.
_CELL = {sign: pyte.screens.Char(sign) for sign in map(chr, (*range(0x20, 0x7F), *range(0x2500, 0x25A0)))}
_NARROW = frozenset(_CELL)
# What the terminal of the tests themselves says of itself.
MISLEADING = ("COLUMNS", "LINES", "COLORTERM", "NO_COLOR", "TERM_PROGRAM")
# Escape as terminals with the keyboard protocol send it: alone it would make one key with what follows.
SPECIAL = {
    "enter": b"\r", "escape": b"\x1b[27u", "tab": b"\t", "backspace": b"\x7f", "ctrl+c": b"\x03", "ctrl+s": b"\x13",
    "ctrl+z": b"\x1a", "ctrl+j": b"\n", "up": b"\x1b[A", "down": b"\x1b[B", "slash": b"/", "question_mark": b"?",
    "space": b" ", "ctrl+o": b"\x0f", "ctrl+g": b"\x07",
}  # fmt: skip


class Emulator(pyte.Screen):
    """The emulator, which draws text that simply stands there as one piece: it is most of what is drawn."""

    def draw(self, data: str) -> None:
        start, end = self.cursor.x, self.cursor.x + len(data)
        if end > self.columns or not _NARROW.issuperset(data):
            return super().draw(data)
        self.buffer[self.cursor.y].update(zip(range(start, end), map(_CELL.__getitem__, data), strict=True))
        self.cursor.x = end
        self.dirty.add(self.cursor.y)
        return None


@dataclass
class Terminal:
    """A program at a pseudo-terminal: ``raw`` is all it wrote, ``text`` what stands on the screen now."""

    process: Any
    raw: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        rows, columns = self.process.getwinsize()
        self.before = termios.tcgetattr(self.process.fd)
        self._screen = Emulator(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._held = b""
        self._lines: dict[int, str] = {}

    @property
    def text(self) -> str:
        rows, columns = self._screen.lines, range(self._screen.columns)
        for row in self._screen.dirty:
            line = self._screen.buffer[row]
            self._lines[row] = "".join(line[column].data for column in columns).rstrip()
        self._screen.dirty.clear()
        return "\n".join(self._lines[row] for row in range(rows))

    def read(self) -> bool:
        """Take what has come, waiting for it; False when the program has closed the terminal."""
        try:
            data = self.process.read(65_536)
        except EOFError:
            return False
        except BaseException as error:
            # The test's time is over: say what stood there.
            error.add_note(f"on the screen:\n{self.text}")
            raise
        self.raw += data
        data = self._held + data
        # An escape sequence may have been cut in two.
        if unfinished := UNFINISHED.search(data):
            data, self._held = data[: unfinished.start()], unfinished[0]
        else:
            self._held = b""
        self._stream.feed(UNSEEN.sub(b"", data))
        return True

    def drain(self) -> None:
        """Take what has come already."""
        while select.select([self.process.fd], [], [], 0)[0] and self.read():
            pass

    def clear(self) -> None:
        """Forget what stands on the screen: what is seen from now on was drawn anew."""
        self._screen.reset()

    def until(self, *words: str) -> str:
        """Read until all ``words`` stand on the screen; returns what stands there."""
        while not all(word in self.text for word in words):
            assert self.read(), f"the program ended before it showed {words}:\n{self.text}"
        return self.text

    def gone(self, *words: str) -> str:
        """Read until none of ``words`` stands on the screen any more."""
        while any(word in self.text for word in words):
            assert self.read(), f"the program ended:\n{self.text}"
        return self.text

    def press(self, *keys: str) -> None:
        """Press keys by their names, as in the registry."""
        for key in keys:
            self.process.write(SPECIAL.get(key, key.encode()))

    def write(self, text: str) -> None:
        """Type a text."""
        self.process.write(text.encode())

    def resize(self, columns: int, rows: int) -> None:
        """The window has another size."""
        self._screen.resize(rows, columns)
        self.process.setwinsize(rows, columns)

    def ended(self) -> int:
        """Read to the end; the program's exit code, or minus the signal that ended it."""
        while self.read():
            pass
        self.process.wait()
        return self.process.exitstatus if self.process.signalstatus is None else -self.process.signalstatus

    def kill(self, number: signal.Signals) -> None:
        """Send a signal to the program alone."""
        os.kill(self.process.pid, number)

    def hang_up(self) -> None:
        """The window is closed: the terminal is gone."""
        self.process.fileobj.close()

    @property
    def modes(self) -> set[int]:
        """The private modes that are on, and -1 for each keyboard protocol that was left on."""
        on = {7, 25}
        for match in MODE.finditer(self.raw):
            for number in map(int, match[1].split(b";")):
                (on.add if match[2] == b"h" else on.discard)(number)
        return on | ({-1} if len(re.findall(rb"\x1b\[>\d+u", self.raw)) > self.raw.count(b"\x1b[<u") else set())

    def is_clean(self) -> bool:
        """Return whether the terminal is as before: title, cursor, wrapping, no reports, lines edited and echoed."""
        raw = bytes(self.raw)
        has_its_title = raw.count(b"\x1b[22;2t") == raw.count(b"\x1b[23;2t")
        return has_its_title and self.modes == {7, 25} and termios.tcgetattr(self.process.fd)[:4] == self.before[:4]

    @property
    def after(self) -> str:
        """Return the output after the alternate screen was left."""
        left = bytes(self.raw).rpartition(b"\x1b[?1049l")[2]
        return re.sub(r"\x1b\[[<>?]?[\d;]*[a-zA-Z]", "", left.decode("utf-8", "replace")).replace("\r\n", "\n")


@dataclass
class Desk:
    """A project, and terminals in it. Agents are shell scripts that leave their prompts in ``seen``."""

    root: Path
    seen: Path
    start: Callable[..., subprocess.Popen[str]]
    environment: dict[str, str] = field(default_factory=dict)
    open: list[Terminal] = field(default_factory=list)

    def terminal(self, *arguments: str, size: tuple[int, int] = (80, 24), **options: Any) -> Terminal:
        """Start ``unstuck`` (or another ``program``) at a terminal of ``size`` (columns, rows)."""
        environment = {name: value for name, value in os.environ.items() if name not in MISLEADING}
        environment |= {"SEEN": str(self.seen), "TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none"}
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (size[1], size[0]))
        options |= dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        begun = self.start(*arguments, cwd=self.root, env=environment | self.environment, terminal=True, **options)
        os.close(theirs)
        begun.returncode = 0  # it is the terminal that waits for it
        terminal = Terminal(ptyprocess.PtyProcess(begun.pid, ours))
        self.open.append(terminal)
        return terminal

    def unstuck(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``unstuck`` without a terminal."""
        process = self.begin(*arguments, stderr=subprocess.PIPE)
        out, errors = process.communicate()
        return subprocess.CompletedProcess(arguments, process.returncode, out, errors)

    def begin(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Start ``unstuck`` without a terminal, its output to be read."""
        environment = os.environ | {"SEEN": str(self.seen)} | self.environment
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE} | options
        return self.start(*arguments, cwd=self.root, env=environment, text=True, **streams)

    def rows(self) -> list[dict[str, Any]]:
        """Return the output of ``unstuck show`` for the last run."""
        return [json.loads(line) for line in self.unstuck("show", "--json").stdout.splitlines()]

    def agent(self, text: str, name: str = "agent.sh") -> str:
        """A shell script beside the project; it saves its prompt before it does anything else. Returns its path."""
        path = self.seen.parent / name
        path.write_text(f'cp "$UNSTUCK_PROMPT_FILE" "$SEEN/$UNSTUCK_ATTEMPT"\n{text}\n', encoding="utf-8")
        return str(path)

    def prompts(self, task: str = "task") -> list[str]:
        """Return the prompts of a task's agent, attempt by attempt."""
        files = sorted(self.seen.glob(f"{task}.*"), key=lambda path: int(path.suffix[1:]))
        return [path.read_text(encoding="utf-8") for path in files]

    def ways(self) -> list[str]:
        """Return the ways in which the answers of the only run came in, by its event log."""
        records = map(json.loads, (self.folder() / "events.jsonl").read_text(encoding="utf-8").splitlines())
        return [record["data"]["via"] for record in records if record["event"] == "gate_answered"]

    def pipe(self, name: str) -> Path:
        """A named pipe: an agent that reads it waits until the test opens it for writing."""
        path = self.seen.parent / name
        os.mkfifo(path)
        return path

    def folder(self) -> Path:
        """The folder of the only run."""
        (folder,) = (self.root / ".git" / "unstuck" / "runs").glob("*")
        return folder


@pytest.fixture
def desk(repo: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]) -> Iterator[Desk]:
    """A real project with a check that fails until the file ``done`` is there; one failure is enough to ask."""
    seen = tmp_path / "seen"
    seen.mkdir()
    lines = ("test -f done && exit 0", "echo 'E   AssertionError: assert 1 == 2'", "echo 'app.py:3: AssertionError'")
    (repo / "check.sh").write_text("\n".join((*lines, "exit 1\n")), encoding="utf-8")
    rungs = {"MAX_RETRIES": "0", "MAX_PIVOTS": "0", "MAX_RESEARCH": "0"}
    desk = Desk(repo, seen, start, {f"UNSTUCK_FAILURE_HANDLER__{name}": value for name, value in rungs.items()})
    yield desk
    for terminal in desk.open:
        family = []
        with suppress(psutil.NoSuchProcess):
            family = psutil.Process(terminal.process.pid).children(recursive=True)
        terminal.process.close(force=True)
        for process in family:
            if process.is_running():
                process.kill()
