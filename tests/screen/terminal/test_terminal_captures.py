"""The screens as three real terminals show them, character by character: 80 by 24 dark in tmux, 120 by 40 light, and
200 by 60 without colours. A capture that is missing is written, to be looked at: delete those that are to be anew.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.screen.terminal.conftest import Desk

from unstuck_tui.keys.actions import key_of

GOLDENS = Path(__file__).parents[2] / "data" / "screens"
PROGRAM = str(Path(__file__).parent / "still_run.py")
PATIENCE_S = 20.0
SETTLED_S = 4.0
COLOUR = re.compile(rb"[;\[](?:38|48);2;(\d+);(\d+);(\d+)(?=[;m])")
ANY_COLOUR = re.compile(rb"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[\d;]*)?m")
GREYS = re.compile(r"[;\[]48;5;(2[345]\d)m")


class Seen(Protocol):
    """A terminal as the captures need it."""

    def press(self, *keys: str) -> None:
        """Press keys by their names."""

    def leave(self, *words: str) -> None:
        """Press escape, and see ``words`` go."""

    def see(self, *words: str) -> None:
        """Wait for ``words`` to stand there."""

    def show(self, name: str, *words: str) -> None:
        """Compare what stands there, once all ``words`` do, with the capture of this name."""


written: list[str] = []


def compared_by(text: str) -> str:
    """All but the palette's hint and the word before it, which Textual puts two cells further left at times.

    The sign of an agent at work turns with the clock.
    """
    return re.sub(r"(?<=working )[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "⠋", re.sub(r" *\S{0,4} *│ ?\^p palette", "", text))


def compared(name: str, said: Callable[[], str], more: Callable[[], bool]) -> None:
    """Assert that ``said()`` is, or becomes, the kept text; ``more()`` waits and returns whether anything came."""
    path = GOLDENS / f"{name}.txt"
    kept = compared_by(path.read_text(encoding="utf-8")) if path.exists() else ""

    def now() -> str:
        return compared_by(said())

    end = time.monotonic() + (PATIENCE_S if kept else SETTLED_S)
    while now() != kept and time.monotonic() < end and more():
        pass
    if kept:
        assert now() == kept
    else:
        path.write_text(said(), encoding="utf-8")
        written.append(path.name)


@dataclass
class Emulated:
    """A pseudo-terminal whose screen is emulated."""

    terminal: Any
    label: str

    def press(self, *keys: str) -> None:
        self.terminal.press(*keys)

    def leave(self, *words: str) -> None:
        self.press("escape")
        self.terminal.gone(*words)

    def see(self, *words: str) -> None:
        self.terminal.until(*words)

    def show(self, name: str, *words: str) -> None:
        self.see(*words)
        compared(f"{self.label}-{name}", lambda: self.terminal.text + "\n", self._more)

    def _more(self) -> bool:
        ready, _, _ = select.select([self.terminal.process.fd], [], [], PATIENCE_S)
        return bool(ready) and bool(self.terminal.read())


@dataclass
class Tmux:
    """A window of a real tmux; ``news`` can be read whenever its program has written something."""

    server: tuple[str, ...]
    news: int
    window: str
    label: str = "tmux-80x24-dark"

    def tmux(self, *words: str) -> str:
        done = subprocess.run([*self.server, *words], capture_output=True, text=True, check=True)
        return done.stdout

    def press(self, *keys: str) -> None:
        self.tmux(
            "send-keys", "-t", self.window, *({"escape": "Escape", "enter": "Enter"}.get(key, key) for key in keys)
        )

    @property
    def text(self) -> str:
        return "".join(f"{line.rstrip()}\n" for line in self.tmux("capture-pane", "-p", "-t", self.window).splitlines())

    def leave(self, *words: str) -> None:
        self.press("escape")
        while any(word in self.text for word in words):
            assert self._more(), f"{words} stay:\n{self.text}"

    def see(self, *words: str) -> None:
        while not all(word in self.text for word in words):
            assert self._more(), f"{words} never stood there:\n{self.text}"

    def show(self, name: str, *words: str) -> None:
        self.see(*words)
        compared(f"{self.label}-{name}", lambda: self.text, self._more)

    def _more(self) -> bool:
        ready, _, _ = select.select([self.news], [], [], PATIENCE_S)
        return bool(ready) and bool(os.read(self.news, 1 << 16))


@pytest.fixture
def still(desk: Desk) -> Desk:
    """A desk on which it is always the same time."""
    desk.environment = {"TZ": "UTC", "UNSTUCK_NOTIFY": "off"}
    return desk


@pytest.fixture
def in_tmux(still: Desk, tmp_path: Path) -> Iterator[Callable[[], Tmux]]:
    """A window of a tmux of the test's own, 80 by 24."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    server = ("tmux", "-S", f"{os.environ['UNSTUCK_RUNTIME_DIR']}/tmux", "-f", str(tmp_path / "tmux.conf"))
    (tmp_path / "tmux.conf").write_text("set -g status off\nset -g escape-time 0\n", encoding="utf-8")
    opened: list[int] = []

    def window() -> Tmux:
        go, news = still.pipe("go"), still.pipe("news")
        opened.append(os.open(news, os.O_RDWR))
        made = Tmux(server, opened[-1], "still")
        environment = [f"{name}={value}" for name, value in still.environment.items()]
        command = f"read go < {go}; exec env -u NO_COLOR {' '.join(environment)} {sys.executable} {PROGRAM}"
        size = ("-x", "80", "-y", "24")
        made.tmux("new-session", "-d", *size, "-s", made.window, "-c", str(still.root), command)
        made.tmux("pipe-pane", "-t", made.window, f"exec cat > {news}")
        go.write_text("go\n", encoding="utf-8")
        return made

    yield window
    subprocess.run([*server, "kill-server"], capture_output=True, check=False)
    for end in opened:
        os.close(end)


def tour(window: Seen) -> None:
    """The main screen with a question, the failures, the log, and the run again up to its first failure."""
    written.clear()
    window.show("main", "webhook is stuck", "leaves it open")
    window.leave("leaves it open")
    window.press(key_of("view.browse"))
    window.show("browse", "TIMES", "4 times")
    window.leave("TIMES")
    window.press(key_of("view.log"))
    window.show("log", "automatic")
    window.leave("automatic")
    window.press(key_of("app.quit"))
    window.see("Leave the screen?", "esc stays")
    window.press(key_of("quit.leave"))
    window.show("replay", "REPLAY", "n next failure")
    window.press(key_of("replay.failure"))
    window.show("failure", "✗ ")
    assert not written, "these were not there and have been written: look at them"


def emulated(still: Desk, size: tuple[int, int], label: str) -> Emulated:
    """A window of that size whose screen is emulated."""
    return Emulated(still.terminal(PROGRAM, program=sys.executable, size=size), label)


def lightness(raw: bytes) -> list[int]:
    """Return the lightness of each requested background, from 0 to 255."""
    return [sum(map(int, found)) // 3 for found in re.findall(rb"[;\[]48;2;(\d+);(\d+);(\d+)", raw)]


def test_80_by_24_dark_in_tmux(in_tmux: Callable[[], Tmux]) -> None:
    """In a real tmux at 80 by 24 every screen is whole, and light on dark."""
    window = in_tmux()
    tour(window)
    greys = GREYS.findall(window.tmux("capture-pane", "-e", "-p", "-t", window.window))
    assert greys
    assert max(map(int, greys)) < 244, "the 24 greys of a terminal begin with 232, which is nearly black"


def test_120_by_40_light(still: Desk) -> None:
    """At 120 by 40 in the light theme every screen is whole, and dark on light."""
    still.environment |= {"UNSTUCK_THEME": "light", "COLORTERM": "truecolor"}
    tour(emulated(still, (120, 40), "120x40-light"))
    for terminal in still.open:
        shades = lightness(bytes(terminal.raw))
        assert sum(shade > 160 for shade in shades) > 0.8 * len(shades) > 0


def test_200_by_60_without_colours(still: Desk) -> None:
    """At 200 by 60 with NO_COLOR every screen is whole, and all has the terminal's own text and background colour."""
    still.environment |= {"NO_COLOR": "1", "COLORTERM": "truecolor"}
    tour(emulated(still, (200, 60), "200x60-no-color"))
    for terminal in still.open:
        assert not ANY_COLOUR.findall(bytes(terminal.raw))
