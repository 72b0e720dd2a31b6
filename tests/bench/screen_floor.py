"""The least that a screen costs: a Textual app of one widget whose forty lines change once a second.

``screen_floor.py FILE``: FILE takes what each second has used, as JSON, in the shape of ``screen_load.py``.
"""

from __future__ import annotations

import sys
import time

from meter import Spent, write
from rich.text import Text
from textual.app import App, ComposeResult
from textual.widgets import Static

LINES, CELLS, SECONDS = 40, 110, 7


class Floor(App[None]):
    """Counts the seconds in every line."""

    def __init__(self) -> None:
        super().__init__()
        self.used: list[float] = []

    def compose(self) -> ComposeResult:
        yield Static(id="lines")

    def on_mount(self) -> None:
        self.set_interval(1.0, self._change)

    def _change(self) -> None:
        self.used.append(time.process_time())
        if len(self.used) > SECONDS:
            self.exit()
        words = f"task {len(self.used):05} is at work "
        lines = (Text((words * 9)[line : line + CELLS], style="green" if line % 2 else "red") for line in range(LINES))
        self.query_one(Static).update(Text("\n").join(lines))


def main(file: str) -> None:
    app = Floor()
    app.run()
    each = [later - earlier for earlier, later in zip(app.used[1:], app.used[2:], strict=False)]
    write(file, {"1 Hz": [Spent(used, used, 0.0) for used in each]})


if __name__ == "__main__":
    main(*sys.argv[1:])
