"""The demo as a moving picture: a real terminal is watched, and its screens become one SVG that needs no script."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby
from pathlib import Path

import ptyprocess
import pyte
from rich.color import Color, ColorType
from rich.terminal_theme import MONOKAI

COLUMNS, LINES = 110, 32
_SECONDS, _EVERY = 150.0, 1.0
_CELL, _LINE, _FONT = 8.4, 18, 14
_GROUND, _TEXT = "#121212", "#dadada"
_ASKED = "Show me how"
_LEFT_OPEN_S, _AFTER_S = 6.0, 5.0

Run = tuple[str, str, str, bool]
"""Text, its colour, its background, and whether it is bold."""
Row = tuple[Run, ...]


def film(folder: Path, environ: Mapping[str, str]) -> str:
    """Play the demo in a terminal, leave its first question open after a while, and return the picture."""
    command = [str(Path(sys.executable).parent / "unstuck"), "demo"]
    terminal = ptyprocess.PtyProcess.spawn(
        command, cwd=str(folder), env={**environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
        dimensions=(LINES, COLUMNS),
    )  # fmt: skip
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    frames: list[tuple[float, tuple[Row, ...]]] = []
    start = last = time.monotonic()
    asked, end = 0.0, start + _SECONDS
    try:
        while (now := time.monotonic()) < end and terminal.isalive():
            if select.select([terminal.fd], [], [], 0.1)[0]:
                try:
                    stream.feed(os.read(terminal.fd, 65_536))
                except OSError:
                    break
            if now - last >= _EVERY:
                last = now
                rows = tuple(_row(screen, line) for line in range(LINES))
                if any(run[0].strip() for row in rows for run in row) and (not frames or frames[-1][1] != rows):
                    frames.append((now - start, rows))
            shown = "\n".join(screen.display)
            asked = asked or (now if _ASKED in shown else 0.0)
            if asked and now - asked > _LEFT_OPEN_S:
                asked = now + 3_600
                end = now + _AFTER_S
                terminal.write(b"\x1b")
    finally:
        terminal.terminate(force=True)
    return picture([(at - frames[0][0], rows) for at, rows in frames])


def _row(screen: pyte.Screen, line: int) -> Row:
    cells = screen.buffer[line]
    looks = []
    for column in range(COLUMNS):
        cell = cells[column]
        text, ground = _colour(cell.fg, _TEXT), _colour(cell.bg, _GROUND)
        if cell.reverse:
            text, ground = ground, text
        looks.append((cell.data, text, ground, cell.bold))
    return tuple(
        ("".join(look[0] for look in group), *key)
        for key, group in ((key, list(same)) for key, same in groupby(looks, key=lambda look: look[1:]))
    )


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    if len(name) == 6 and all(sign in "0123456789abcdef" for sign in name.lower()):
        return f"#{name}"
    colour = Color.parse({"brown": "yellow"}.get(name, name))
    triplet = colour.triplet if colour.type is ColorType.TRUECOLOR else colour.get_truecolor(MONOKAI)
    return (triplet or MONOKAI.foreground_color).hex


def picture(frames: list[tuple[float, tuple[Row, ...]]]) -> str:
    """The SVG: every different row once, a frame of rows beside the other, and a window that jumps along them."""
    width, height = COLUMNS * _CELL, LINES * _LINE
    rows: dict[Row, str] = {}
    placed = []
    for number, (_, lines) in enumerate(frames):
        uses = "".join(
            f'<use href="#{rows.setdefault(row, f"r{len(rows)}")}" y="{line * _LINE}"/>'
            for line, row in enumerate(lines)
        )
        placed.append(f'<g transform="translate({number * width:.1f})">{uses}</g>')
    total = frames[-1][0] + 4.0
    steps = "".join(
        f"{100 * at / total:.2f}%{{transform:translateX({-number * width:.1f}px)}}"
        for number, (at, _) in enumerate(frames)
    )
    drawn = "".join(f'<g id="{name}">{"".join(_drawn(row))}</g>' for row, name in rows.items())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">'
        "<title>The demo of unstuck</title>"
        f"<style>text{{font:{_FONT}px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}}"
        f"@keyframes play{{{steps}}}#film{{animation:play {total:.1f}s steps(1,end) infinite}}</style>"
        f'<defs>{drawn}</defs><rect width="100%" height="100%" fill="{_GROUND}"/>'
        f'<g id="film">{"".join(placed)}</g></svg>'
    )


def _drawn(row: Row) -> Iterator[str]:
    column = 0
    for text, colour, ground, bold in row:
        x, width = column * _CELL, len(text) * _CELL
        if ground != _GROUND:
            yield f'<rect x="{x:.1f}" width="{width + 0.2:.1f}" height="{_LINE}" fill="{ground}"/>'
        if text.strip():
            weight = ' font-weight="bold"' if bold else ""
            yield (
                f'<text x="{x:.1f}" y="{_FONT}" fill="{colour}" textLength="{width:.1f}"{weight}>{escape(text)}</text>'
            )
        column += len(text)
