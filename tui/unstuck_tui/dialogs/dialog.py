"""The base of all dialogs: a title, a text to read, choices with a key each, and no answer by accident."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Generic, Literal, TypeVar

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option as Line

from unstuck.clock import Clock
from unstuck.runs.answers.question import Option
from unstuck.words.questions import sentence
from unstuck_tui.keys.actions import Area, actions_of, bindings_of, spoken
from unstuck_tui.widgets.frame import entitle
from unstuck_tui.widgets.minimum_size import FittingScreen, SmallNotice
from unstuck_tui.widgets.workers import start

QUIET_S = 0.3
"""A key that was on its way when the dialog came up was meant for something else."""
UNASKED_QUIET_S = 0.9
"""Nobody expects a dialog that comes up by itself, over panes that the same digits choose."""
IGNORED = "A key was ignored: it came before you could read this. Press it again if you meant it."
_LABEL = 32
_FRAME = 2
_LEAST = 3
_TINY, _LOW, _WIDE = 20, 30, 150
_READING_SHARE = 0.34
Result = TypeVar("Result")
Choice = TypeVar("Choice", bound=Option)


class Choices(OptionList):
    """The choices, one a line: by key, by cursor and enter, or by mouse."""

    BINDINGS = bindings_of("choices")

    def __init__(self, *lines: Line, id: str | None = None) -> None:
        super().__init__(*lines, id=id)
        self._height_at: dict[int, int] = {}

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Kept for each width: Textual asks whenever anything in the dialog has another size, and the lines stay."""
        if width not in self._height_at:
            self._height_at[width] = super().get_content_height(container, viewport, width)
        return self._height_at[width]

    def on_resize(self) -> None:
        """Scroll only where lines are missing: beside a bar more lines wrap, and it would keep its own place."""
        size = self.outer_size
        self.styles.overflow_y = "auto" if self._height_at.get(size.width, 0) > size.height else "hidden"

    def say(self, lines: Sequence[tuple[str, Table]]) -> None:
        """Show the choices, by their ids, in these lines."""
        self._height_at.clear()
        for id, line in lines:
            self.replace_option_prompt(id, line)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        screen = self.screen
        return not isinstance(screen, Dialog) or screen.is_awake


class Reading(VerticalScroll):
    """The text to read; tells its dialog when it has scrolled or has another size."""

    class Moved(Message):
        """Other lines of it are in view."""

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        self.post_message(self.Moved())


class Dialog(FittingScreen[Result | None], ModalScreen[Result | None], Generic[Result, Choice]):
    """A question over the screen. It takes no key for its first ``quiet_s`` seconds; its hint appears when it does.

    A key that comes before that is ignored, lest it answers by accident, and the dialog says so then.
    """

    BINDINGS = bindings_of("dialog")
    DEFAULT_CSS = """
    Dialog {
        align: center middle; background: $background 60%;
        #dialog {
            width: 104; max-width: 100%; height: auto; max-height: 100%;
            padding: 0 1; border: round $primary; background: $surface;
            border-title-color: $text-error; border-title-style: bold; border-subtitle-color: $text-warning;
        }
        #reading { height: auto; max-height: 55vh; scrollbar-size-vertical: 1; }
        #choices { height: auto; max-height: 42vh; border: none; padding: 0; margin: 1 0 0 0; background: $surface; }
        #choices > .option-list--option-highlighted { background: $cursor; color: $foreground; }
        #choices:nocolor > .option-list--option-highlighted { background: $foreground; color: $background; }
        #choices:ansi > .option-list--option-highlighted { background: ansi_blue; color: ansi_bright_white; }
        &:ansi { background: transparent; }
        #more { height: 1; color: $text-warning; display: none; }
        #trouble { height: auto; max-height: 3; color: $text-error; display: none; }
        #hint { height: auto; color: $text-muted; }
        .part { height: auto; }
        .label { width: auto; min-width: 10; padding: 0 1 0 0; color: $text-muted; }
        .text { width: 1fr; height: auto; }
    }
    Dialog.-wide #dialog { width: 136; }
    Dialog.-short #reading { max-height: 34vh; }
    Dialog.-short #choices { max-height: 46vh; margin: 0; }
    Dialog.-short #trouble { max-height: 2; }
    Dialog.-short.-trouble #hint { display: none; }
    """

    def __init__(
        self, title: str, options: Sequence[Choice], *, clock: Clock, hint: str, quiet_s: float = QUIET_S
    ) -> None:
        super().__init__()
        self.quiet_s = quiet_s
        self.is_awake = False
        self._is_over = self._is_tiny = self._has_ignored = False
        self._title, self._options, self._clock, self._hint = title, tuple(options), clock, hint

    def compose(self) -> ComposeResult:
        # Before there is anything below it: all of it would be styled again.
        self._fit_to(self.app.size.height)
        with Vertical(id="dialog") as dialog:
            entitle(dialog, self._title)
            with Reading(id="reading", can_focus=False):
                yield from self.compose_reading()
            yield Static("", id="more", markup=False)
            yield Choices(*(Line(line, id=option.name) for option, line in self._choice_lines()), id="choices")
            yield from self.compose_fields()
            yield Static("", id="trouble", markup=False)
            yield Static("", id="hint", markup=False)
        yield SmallNotice(markup=False)

    def compose_reading(self) -> ComposeResult:
        """The widgets to read before choosing."""
        yield from ()

    def compose_fields(self) -> ComposeResult:
        """The fields for typed text."""
        yield from ()

    def on_mount(self) -> None:
        if not self.query(Choices):
            return  # the app is being left, and nothing has come onto it
        self.app.clear_notifications()  # they would cover the choices
        self.query_one(Choices).focus()
        start(self, "wake", self._wake)

    def on_resize(self, event: events.Resize) -> None:
        self._fit_to(event.size.height)

    def _choice_lines(self) -> Iterator[tuple[Choice, Table]]:
        keys = max((cell_len(option.key) for option in self._options), default=1)
        width = _widest(self._options)
        for option in self._options:
            yield option, _line(option, keys, width, cut=self._is_tiny)

    def _fit_to(self, height: int) -> None:
        was_tiny, self._is_tiny = self._is_tiny, height < _TINY
        if self._is_tiny != was_tiny and self.query(Choices):
            self.query_one(Choices).say([(option.name, line) for option, line in self._choice_lines()])
        self.set_class(height < _LOW, "-short")
        self.set_class(self.app.size.width >= _WIDE, "-wide")

    async def _wake(self) -> None:
        await self._accept_keys(self.quiet_s)
        self.show_hint(self._hint)

    def ignore_keys(self) -> None:
        """Take no key for a moment again: what lay over this has closed, and one on its way was meant for that."""
        if self.is_awake:
            self.is_awake = False
            self.query_one("#hint").visible = False
            start(self, "wake", self._accept_keys)

    async def _accept_keys(self, after: float = QUIET_S) -> None:
        await self._clock.sleep(after)
        self.is_awake = self.query_one("#hint").visible = True
        if self._has_ignored:
            self._has_ignored = False
            self.complain(IGNORED)

    def on_key(self) -> None:
        """Note a key that nothing has taken while the dialog takes none."""
        self._has_ignored = self._has_ignored or not self.is_awake

    @on(Reading.Moved)
    def fit_reading(self) -> None:
        """Give the reading the lines that nothing else needs, and say where there are more than that."""
        if self._is_over or not self.query(Reading):
            return  # it is being closed, and told so late
        reading, more = self.query_one(Reading), self.query_one("#more", Static)
        self._fit_choices(reading)
        shares = [part for part in reading.siblings if part.display and part is not more]
        others = sum(part.outer_size.height + part.styles.margin.height for part in shares)
        lines, room = reading.virtual_size.height, max(_LEAST, self.size.height - _FRAME - others)
        more.display = lines > room
        reading.styles.max_height = room - more.display
        below = lines - reading.scroll_offset.y - reading.size.height
        if below > 0:
            more.update(Content(f"▾ {below} more {'line' if below == 1 else 'lines'}: {spoken('choices.read_down')}"))
        else:
            more.update(Content(f"▴ more above: {spoken('choices.read_up')}"))

    def _fit_choices(self, reading: Reading) -> None:
        """On a low screen the choices take the lines that the reading leaves them, up to all that there are."""
        choices = self.query_one(Choices)
        if not self.has_class("-short"):
            choices.styles.clear_rule("max_height")
            return
        shares = (part for part in reading.siblings if part.display and part is not choices)
        others = sum(part.outer_size.height for part in shares)
        wanted = min(reading.virtual_size.height, max(_LEAST, int(self.size.height * _READING_SHARE)))
        choices.styles.max_height = max(_LEAST, self.size.height - _FRAME - others - wanted)

    def show_hint(self, hint: str) -> None:
        """Another line below the choices."""
        self.query_one("#hint", Static).update(Content(hint))
        self.call_after_refresh(self.fit_reading)

    def complain(self, trouble: str) -> None:
        """Say why something cannot be done; an empty text undoes it."""
        line = self.query_one("#trouble", Static)
        line.update(Content(trouble))
        line.display = bool(trouble)
        self.set_class(bool(trouble), "-trouble")
        self.call_after_refresh(self.fit_reading)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.is_awake and not self.is_small

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if self.is_awake and event.option_id is not None:
            self.action_choose(event.option_id)

    def action_choose(self, name: str) -> None:
        option = next((option for option in self._options if option.name == name), None)
        if option is None:
            return
        choices = self.query_one(Choices)
        choices.highlighted = choices.get_option_index(name)
        self.complain(sentence(option.refused))
        if not option.refused:
            self.chosen(option)

    def chosen(self, choice: Choice) -> None:
        """Something that is possible was chosen."""
        raise NotImplementedError

    def finish(self, result: Result | None) -> None:
        """Close with this result, once: a second click on its way must not close what lies below."""
        if not self._is_over:
            self._is_over = True
            for below in self.app.screen_stack[-2:-1]:
                if isinstance(below, Dialog):
                    below.ignore_keys()
            self.dismiss(result)

    def action_back(self) -> None:
        self.finish(None)

    def action_send(self) -> None:
        """Nothing to send here."""

    def action_next_question(self) -> None:
        """No other question here."""

    def action_copy(self) -> None:
        """Nothing to copy here."""

    def action_pager(self) -> None:
        """No output to show here."""

    def action_by_hand(self, program: Literal["shell", "editor"]) -> None:
        """Nothing to do by hand here."""

    def action_read(self, pages: int) -> None:
        reading = self.query_one(Reading)
        reading.scroll_relative(y=pages * max(1, reading.size.height - 1), animate=False)


def choices_of(area: Area, said: Mapping[str, tuple[str, str]] = MappingProxyType({})) -> list[Option]:
    """The choices of ``area``; ``said`` has the label and the effect of those that depend on the question."""
    named = ((action.id.partition(".")[2], action) for action in actions_of(area))
    told = ((name, action, said.get(name, (action.label, action.help))) for name, action in named)
    return [Option(name=name, key=spoken(action.id), label=label, touches=more) for name, action, (label, more) in told]


def _line(choice: Option, keys: int, width: int, *, cut: bool) -> Table:
    """Key, name and effect, each in a column of its own; a name without an effect takes all the room.

    ``cut``: the effect keeps to one line, so that all choices are in view.
    """
    row = Table.grid(padding=(0, 2, 0, 0), expand=True)
    row.add_column(width=max(1, keys))
    label = Text(choice.label, style="" if choice.refused else "bold")
    more = sentence(choice.refused) or choice.touches
    if more:
        row.add_column(width=width)
        row.add_column(ratio=1, no_wrap=cut, overflow="ellipsis")
        row.add_row(Text(choice.key or "·"), label, Text(more))
    else:
        row.add_column(ratio=1)
        row.add_row(Text(choice.key or "·"), label)
    return row


def _widest(choices: Sequence[Option]) -> int:
    return min(
        _LABEL, max((cell_len(choice.label) for choice in choices if choice.touches or choice.refused), default=0)
    )
