"""Copies text: into the terminal's clipboard, and into a file, because many terminals drop the former."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from textual.app import App

from unstuck.text import one_line

COPIED_NAME = "copied.txt"


def copy(app: App[None], text: str, folder: Path) -> None:
    """Copy ``text``, and say where it is for those whose terminal does not take it."""
    file = copy_and_save(app, text, folder)
    where = f"also in {file}" if file else f"no file could be written in {folder}"
    app.notify(f"Copied: {one_line(text, 60)} ({where})", timeout=10, markup=False)


def copy_and_save(app: App[Any], text: str, folder: Path) -> str:
    """Copy ``text``; returns the file in ``folder`` in which it stands as well, empty where it cannot be written."""
    app.copy_to_clipboard(text)
    file = folder / COPIED_NAME
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(f"{text}\n")
    except OSError:
        return ""
    return str(file)
