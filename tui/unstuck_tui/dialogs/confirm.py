"""Dialogs whose choice may be followed by a typed line, such as a yes; a dangerous yes is typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from unstuck.clock import Clock
from unstuck.runs.answers.question import Option
from unstuck_tui.dialogs.dialog import Dialog, Result, choices_of
from unstuck_tui.keys.actions import bindings_of, spoken
from unstuck_tui.widgets.inputs import LineField


class LineDialog(Dialog[Result, Option], Generic[Result]):
    """Shows the lines ``said``; its field for one line begins with ``text``."""

    DEFAULT_CSS = """
    LineDialog #line { display: none; border: tall $border-blurred; }
    LineDialog.-typing #line { display: block; }
    LineDialog.-typing #choices { display: none; }
    """

    def __init__(
        self, title: str, said: Sequence[str], choices: Sequence[Option], *, clock: Clock, text: str = "", shape: str
    ) -> None:
        self._said, self._text, self._shape = said, text, shape
        super().__init__(title, choices, clock=clock, hint=_leaves())

    def compose_reading(self) -> ComposeResult:
        yield Static(Content("\n".join(self._said)), classes="text", markup=False)

    def compose_fields(self) -> ComposeResult:
        yield LineField(self._text, placeholder=self._shape, id="line")

    def type_line(self, hint: str) -> None:
        """Show the field in place of the choices."""
        self.add_class("-typing")
        self.set_focus(self.query_one("#line", Input))
        self.show_hint(f"{hint} and press enter · {_leaves()}")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.typed(event.value)

    def typed(self, text: str) -> None:
        """A line was typed."""
        raise NotImplementedError


class ConfirmDialog(LineDialog[bool]):
    """True for a yes. Where ``typed`` is given the yes is that text, letter by letter."""

    BINDINGS = bindings_of("confirm")

    def __init__(
        self, title: str, said: Sequence[str], yes: str, *, clock: Clock, typed: str = "", hint: str = ""
    ) -> None:
        self._typed = typed
        choices = choices_of("confirm", {"yes": (yes, hint), "no": ("Cancel", "")})
        super().__init__(title, said, choices, clock=clock, shape=f"type {typed}")

    def chosen(self, choice: Option) -> None:
        if choice.name == "yes" and self._typed:
            self.type_line(f"Type {self._typed}")
        else:
            self.finish(choice.name == "yes")

    def typed(self, text: str) -> None:
        if text.strip() == self._typed:
            self.finish(True)
        else:
            self.complain(f"That is not {self._typed}: nothing is done.")


def _leaves() -> str:
    return f"{spoken('dialog.back')} cancels"
