"""Text fields with a limit, that of an answer: a megabyte would hold up the whole run."""

from __future__ import annotations

from textual.reactive import reactive
from textual.widget import Widget

from unstuck.contract import ANSWER_LIMIT
from unstuck_tui.textual_internals.fields import PasteInput, PasteTextArea


class LineField(PasteInput):
    """One line; what is pasted as several becomes one, and nothing of it is left out."""

    # A cursor that blinks would wake the screen twice a second, for as long as a person thinks about an answer.
    cursor_blink = reactive(False)

    def pasted(self, text: str) -> str:
        return _fitting(self, text.strip("\n").replace("\n", " ").replace("\t", " "), len(self.value))


class FilterField(LineField):
    """Words to look for, in a line that is there while it is used."""

    DEFAULT_CSS = """
    FilterField { display: none; height: 1; padding: 0 1; &, &:focus { border: none; } &.-open { display: block; } }
    """

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    def open(self) -> None:
        self.add_class("-open")
        self.screen.set_focus(self)  # at once: the next key is meant for it

    def close(self) -> None:
        """Forget the words, and go."""
        self.value = ""
        self.remove_class("-open")


class LinesField(PasteTextArea):
    """Several lines."""

    cursor_blink = reactive(False)

    def pasted(self, text: str) -> str:
        return _fitting(self, text, len(self.text))


def _fitting(field: Widget, text: str, held: int) -> str:
    """The beginning of ``text`` that still fits; a notice says where that is not all."""
    room = max(0, ANSWER_LIMIT - held)
    if len(text) > room:
        field.notify(
            f"Of the {len(text):,} pasted characters, {room:,} were inserted: there is room for {ANSWER_LIMIT:,}.",
            severity="warning",
            timeout=20,
            markup=False,
        )
    return text[:room]
