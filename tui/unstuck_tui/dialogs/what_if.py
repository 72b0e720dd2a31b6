"""The dialog that asks for other settings, and for the runs that are compared under them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from unstuck.clock import Clock
from unstuck.errors import SettingsError, UsageError
from unstuck.runs.answers.question import Option
from unstuck.runs.queries.what_if_settings import changes_in, judged_values
from unstuck.settings.models import Settings
from unstuck_tui.dialogs.dialog import Dialog, choices_of
from unstuck_tui.keys.actions import bindings_of, spoken
from unstuck_tui.widgets.inputs import LineField


class Asked(NamedTuple):
    """Settings that a person wants to try: as ``text``, and by their full names."""

    text: str
    changes: Mapping[str, Any]
    all_runs: bool


class WhatIfDialog(Dialog[Asked, Option]):
    """Shows the settings ``own`` that a replay can judge; begins with the ``text`` of last time."""

    BINDINGS = bindings_of("compare")
    DEFAULT_CSS = """
    WhatIfDialog #line { display: none; border: tall $border-blurred; }
    WhatIfDialog.-typing #line { display: block; }
    WhatIfDialog.-typing #choices { display: none; }
    """

    def __init__(self, own: Settings, text: str, *, clock: Clock) -> None:
        self._own, self._text, self._all_runs = own, text, False
        super().__init__("Compare under other settings", choices_of("compare"), clock=clock, hint=_leaves())

    def compose_reading(self) -> ComposeResult:
        said = "A replay can judge these settings. They are as in this run:\n" + "  ".join(judged_values(self._own))
        yield Static(Content(said), classes="text", markup=False)

    def compose_fields(self) -> ComposeResult:
        yield LineField(self._text, placeholder="max_retries=2 window_size=4", id="line")

    def chosen(self, choice: Option) -> None:
        self._all_runs = choice.name == "all"
        self.add_class("-typing")
        self.set_focus(self.query_one("#line", Input))
        self.show_hint(f"Type NAME=VALUE, several with blanks between, and press enter · {_leaves()}")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            changes = changes_in(shlex.split(event.value))
        except (UsageError, SettingsError, ValueError) as error:
            self.complain(str(error).removeprefix("--set: "))
        else:
            self.finish(Asked(event.value, changes, self._all_runs))


def _leaves() -> str:
    return f"{spoken('dialog.back')} cancels"
