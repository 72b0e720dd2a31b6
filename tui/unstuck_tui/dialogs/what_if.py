"""The dialog that asks for other settings, and for the runs that are compared under them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from unstuck.clock import Clock
from unstuck.errors import SettingsError, UsageError
from unstuck.runs.answers.question import Option
from unstuck.runs.queries.what_if_settings import changes_in, judged_values
from unstuck.settings.models import Settings
from unstuck_tui.dialogs.confirm import LineDialog
from unstuck_tui.dialogs.dialog import choices_of
from unstuck_tui.keys.actions import bindings_of


class Asked(NamedTuple):
    """Settings that a person wants to try: as ``text``, and by their full names."""

    text: str
    changes: Mapping[str, Any]
    all_runs: bool


class WhatIfDialog(LineDialog[Asked]):
    """Shows the settings ``own`` that a replay can judge; begins with the ``text`` of last time."""

    BINDINGS = bindings_of("compare")

    def __init__(self, own: Settings, text: str, *, clock: Clock) -> None:
        self._all_runs = False
        said = ("A replay can judge these settings. They are as in this run:", "  ".join(judged_values(own)))
        title, shape = "Compare under other settings", "max_retries=2 window_size=4"
        super().__init__(title, said, choices_of("compare"), clock=clock, text=text, shape=shape)

    def chosen(self, choice: Option) -> None:
        self._all_runs = choice.name == "all"
        self.type_line("Type NAME=VALUE, several with blanks between,")

    def typed(self, text: str) -> None:
        try:
            changes = changes_in(shlex.split(text))
        except (UsageError, SettingsError, ValueError) as error:
            self.complain(str(error).removeprefix("--set: "))
        else:
            self.finish(Asked(text, changes, self._all_runs))
