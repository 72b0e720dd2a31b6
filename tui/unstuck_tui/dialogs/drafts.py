"""Drafts of answers: kept while dialogs close, and saved beside the run's log when they cannot be sent."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

from unstuck.eventlog.state import State
from unstuck.eventlog.storage.durable_files import open_for_writing
from unstuck.text import admit, one_line

UNSENT_NAME = "unsent.txt"
Drafts = MutableMapping[tuple[str, str], str]
"""The unsent text of a person, by task and name of the choice."""


def drafts_of_ended(state: State, drafts: Drafts) -> Drafts:
    """Those of ``drafts`` whose task has ended."""
    ended = {task for task, row in state.tasks.items() if row.state == "ended"} if drafts else set()
    return {about: text for about, text in drafts.items() if about[0] in ended and text.strip()}


def save(file: Path, drafts: Drafts) -> None:
    """Add the texts of ``drafts`` to ``file``, each under what it was meant for. Raises OSError."""
    with open(open_for_writing(file, os.O_WRONLY | os.O_APPEND), "a", encoding="utf-8") as unsent:
        for (task, choice), text in drafts.items():
            if text.strip():
                unsent.write(
                    f"--- {one_line(task) or 'the run'}, {choice.replace('_', ' ')}\n{admit(text.strip())}\n\n"
                )
