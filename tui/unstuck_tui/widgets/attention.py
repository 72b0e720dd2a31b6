"""The attention list: what waits for a person or will soon act without one, above everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.message import Message

from unstuck_tui.keys.actions import bindings_of, spoken
from unstuck_tui.render.attention import Attention, attention_cells, attentions, guide_lines, lines_for
from unstuck_tui.render.format import Cell, fit, flat
from unstuck_tui.runs.tracker import Tracker, seconds_of
from unstuck_tui.widgets.frame import entitle, place_of
from unstuck_tui.widgets.lines import Lines

_NAME_LIMIT = 100


class AttentionList(Lines, can_focus=True):
    """As high as the screen has room for, however many lines there are: what is below it never moves.

    One that ``guides`` names the key that answers, and tells what the signs mean as long as nothing has been asked.
    """

    AREA = "attention"
    BINDINGS = bindings_of("attention")
    DEFAULT_CSS = "AttentionList { height: 2; }"

    @dataclass
    class Chosen(Message):
        """A question is to be answered."""

        gate: str

    @dataclass
    class Pointed(Message):
        """A task is to be selected in the table."""

        task_id: str

    def __init__(
        self, tracker: Tracker, *, guides: bool = True, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._tracker, self._guides = tracker, guides
        self._items: list[Attention] = []
        self._guide: Sequence[str] = ()
        self._hooks: Mapping[str, bool] = {}
        self._cursor = self._name_width = self._asking = 0

    def tell_hooks(self, hooks: Mapping[str, bool]) -> None:
        """Say which agents can be watched."""
        self._hooks = hooks
        self.show()

    @property
    def gate(self) -> str:
        """The gate under the cursor; empty where nothing can be answered."""
        return self._items[self._cursor].gate if self._items else ""

    def on_mount(self) -> None:
        self.show()

    def line_total(self) -> int:
        return len(self._items) or len(self._guide)

    def line_cells(self, index: int, width: int) -> Sequence[Cell]:
        if not self._items:
            return (Cell(fit(self._guide[index], width), "quiet"),)
        return attention_cells(self._items[index], width, self._name_width)

    def nothing_here(self) -> str:
        return "" if self.styles.border_top[0] else " nothing needs you"

    def is_cursor(self, index: int) -> bool:
        return self.has_focus and index == self._cursor

    def show(self) -> None:
        """Look again at what needs attention."""
        tracker = self._tracker
        now = tracker.clock.now()
        ages = {row.id: max(0.0, now - seconds_of(row.opened)) for row in tracker.gates}
        monotonic = tracker.clock.monotonic()
        held, unrecorded = tracker.held(), tracker.unrecorded()
        asked = unrecorded.id if unrecorded is not None else ""
        items = attentions(
            tracker.state, tracker.gates, tracker.soon(), now=monotonic, ages=ages, held=held, asked=asked
        )
        items = [self._as_known(item) for item in items]
        asking = sum(bool(item.gate) or item.tone == "ask" for item in items)
        self.set_class(bool(asking), "-asks")
        self._asking = asking
        guide = guide_lines(tracker.state, self._hooks)[: lines_for(self.screen.size.height)] if self._guides else ()
        if items == self._items and guide == self._guide:
            self._entitle()
            return
        gate = self.gate
        many = len(items) != len(self._items) or guide != self._guide
        self._items, self._guide = items, guide
        self.can_focus = bool(items)
        self._name_width = max((cell_len(flat(item.task[:_NAME_LIMIT])) for item in items), default=0)
        kept = next((place for place, item in enumerate(items) if gate and item.gate == gate), self._cursor)
        self._cursor = max(0, min(kept, len(items) - 1))
        if many:
            self.resized()
        self._entitle()
        self.refresh()

    def _entitle(self) -> None:
        """Say how many ask, the key that answers, and the place where not all lines are in view."""
        last = min(len(self._items), self.scroll_offset.y + self.size.height)
        place = place_of(last, len(self._items), self.size.height)
        keys = " · ".join(filter(None, (place, self._keys())))
        entitle(self, f"! needs you · {self._asking}" if self._asking else "nothing needs you", keys)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._entitle()

    def on_resize(self) -> None:
        self._entitle()

    def _as_known(self, item: Attention) -> Attention:
        """The line of ``item``, without a countdown where nothing is heard of its task."""
        word, age = self._tracker.absent(item.task)
        return item._replace(glyph="?", then=f"{word} for {age}" if age else word, tone="wait") if word else item

    def _keys(self) -> str:
        """The key that answers, which none does in a replay, nor where nothing can be answered."""
        return f"{spoken('gate.answer')} answer" if self._guides and any(item.gate for item in self._items) else ""

    def mentions(self, tasks: Set[str]) -> bool:
        """True where one of these tasks is in the list."""
        return any(item.task in tasks for item in self._items)

    def fit_to(self, height: int, *, frame: int) -> None:
        """Take the share of a screen of ``height`` lines, and ``frame`` lines more."""
        self.styles.height = lines_for(height) + frame

    def action_cursor(self, by: int) -> None:
        self._cursor = max(0, min(len(self._items) - 1, self._cursor + by))
        self.scroll_to_line(self._cursor)
        self.refresh()
        if self._items:
            self.post_message(self.Pointed(self._items[self._cursor].task))

    def action_open(self) -> None:
        if self.gate:
            self.post_message(self.Chosen(self.gate))

    def on_click(self, event: events.Click) -> None:
        place = self.scroll_offset.y + event.y
        if place < len(self._items):
            self._cursor = place
            self.action_cursor(0)
            if event.chain > 1:
                self.action_open()
