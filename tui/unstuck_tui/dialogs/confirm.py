"""The dialog that asks for a yes: it shows what would be done; a dangerous yes is typed."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from unstuck.clock import Clock
from unstuck.runs.answers.question import Option
from unstuck_tui.dialogs.dialog import Dialog, choices_of
from unstuck_tui.keys.actions import bindings_of, spoken
from unstuck_tui.widgets.inputs import LineField


class ConfirmDialog(Dialog[bool, Option]):
    """True for a yes. Where ``typed`` is given the yes is that text, letter by letter."""

    BINDINGS = bindings_of("confirm")
    DEFAULT_CSS = """
    ConfirmDialog #line { display: none; border: tall $border-blurred; }
    ConfirmDialog.-typing #line { display: block; }
    ConfirmDialog.-typing #choices { display: none; }
    """

    def __init__(
        self, title: str, said: Sequence[str], yes: str, *, clock: Clock, typed: str = "", hint: str = ""
    ) -> None:
        self._said, self._typed = said, typed
        choices = choices_of("confirm", {"yes": (yes, hint), "no": ("Cancel", "")})
        super().__init__(title, choices, clock=clock, hint=_leaves())

    def compose_reading(self) -> ComposeResult:
        yield Static(Content("\n".join(self._said)), classes="text", markup=False)

    def compose_fields(self) -> ComposeResult:
        yield LineField(placeholder=f"type {self._typed}", id="line")

    def chosen(self, choice: Option) -> None:
        if choice.name != "yes":
            self.finish(False)
        elif not self._typed:
            self.finish(True)
        else:
            self.add_class("-typing")
            self.set_focus(self.query_one("#line", Input))
            self.show_hint(f"Type {self._typed} and press enter · {_leaves()}")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip() == self._typed:
            self.finish(True)
        else:
            self.complain(f"That is not {self._typed}: nothing is done.")


def _leaves() -> str:
    return f"{spoken('dialog.back')} cancels"
