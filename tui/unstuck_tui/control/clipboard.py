"""Takes things along: into the terminal's clipboard, and into a file, because many terminals drop the former."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from textual.app import App

from unstuck.diagnosis.model import Diagnosis
from unstuck.record.envelope import Record
from unstuck.text import one_line
from unstuck_tui.dialogs.questions import Question
from unstuck_tui.render.printed.events import event_line

__all__ = ["COPIED_NAME", "copy", "failure_text", "question_text", "record_text", "take_along"]

COPIED_NAME = "copied.txt"


def failure_text(diagnosis: Diagnosis) -> str:
    """Where it failed and what was said there, a line each."""
    return "\n".join(filter(None, (diagnosis.signature.location, diagnosis.headline)))


def question_text(question: Question) -> str:
    """All that is there to decide by, and the choices."""
    place = f"  {question.where}" if question.where else ""
    lines = [question.title, f"{question.problem}{place}"]
    lines += [f"{label}: {text}" for label, text in question.facts]
    lines += [f"{option.key or '-'} {option.label}" for option in question.options if not option.refused]
    return "\n".join(line for line in lines if line.strip())


def record_text(record: Record) -> str:
    """One record in a line for people, and whole."""
    return f"{event_line(record)}\n{json.dumps(record.as_dict(), indent=2, ensure_ascii=False)}"


def copy(app: App[None], text: str, folder: Path) -> None:
    """Copy ``text``, and say where it is for those whose terminal does not take it."""
    file = take_along(app, text, folder)
    where = f"also in {file}" if file else f"no file could be written in {folder}"
    app.notify(f"Copied: {one_line(text, 60)} ({where})", timeout=10, markup=False)


def take_along(app: App[Any], text: str, folder: Path) -> str:
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
