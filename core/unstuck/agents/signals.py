"""The agent's signal line: what it says about itself, in one documented format.

A line that begins with ``UNSTUCK`` (a colon may follow, Markdown may stand round it) and holds one JSON object::

    UNSTUCK {"signal": "complete", "task": "web", "approach": "raw body"}
    UNSTUCK {"signal": "needs_guidance", "question": "Which port?", "options": ["80", "8080"]}
    UNSTUCK {"signal": "blocked", "question": "There is no database here"}

The last one in the output counts. ``task`` is optional; another task's id makes the signal foreign. ``alternatives``
are other approaches the agent sees, ``session`` its own session's id.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal, cast

from unstuck.text import Clean, admit

__all__ = ["Signal", "read_signal"]

# Every pattern begins at a line and repeats nothing without a bound, so reading takes time linear in the output.
_OBJECT = re.compile(r"^[ \t>*`-]{0,8}UNSTUCK[*`]{0,2}:?[*`]{0,2}[ \t]{0,8}(\{.{0,20000})", re.MULTILINE)
_WORD = re.compile(r"^[ \t>*`-]{0,8}UNSTUCK:?[ \t].{0,200}", re.MULTILINE)
# Approaches are compared, remembered and carried in every later decision, so they stay short.
_APPROACH_LIMIT = 500
_TEXT_LIMIT = 4_000
_KINDS = ("complete", "blocked", "needs_guidance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A signal, or with ``problem`` why there is none that can be used (``sample`` is what was there)."""

    kind: Literal["complete", "blocked", "needs_guidance"] | None = None
    approach: Clean | None = None
    question: Clean | None = None
    options: tuple[Clean, ...] = ()
    alternatives: tuple[Clean, ...] = ()
    session: str | None = None
    problem: Literal["", "missing", "malformed", "foreign"] = ""
    sample: Clean | None = None


def read_signal(output: str, task: str) -> Signal:
    """The last signal in an attempt's output."""
    objects = list(_OBJECT.finditer(output))
    words = None if objects else _WORD.findall(output)
    if not objects and not words:
        return Signal(problem="missing", sample=admit(output[-300:].strip(), limit=300))
    sample = admit(objects[-1].group()[:300] if objects else (words or [""])[-1], limit=300)
    try:
        data = json.loads(objects[-1].group(1).rstrip(" \t\r`*")) if objects else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.get("signal") not in _KINDS:
        return Signal(problem="malformed", sample=sample)
    if data.get("task") not in (None, task):
        return Signal(problem="foreign", sample=sample)
    session = data.get("session")
    return Signal(
        kind=cast(Literal["complete", "blocked", "needs_guidance"], data["signal"]),
        approach=_text(data.get("approach"), _APPROACH_LIMIT),
        question=_text(data.get("question")),
        options=_texts(data.get("options")),
        alternatives=_texts(data.get("alternatives"), _APPROACH_LIMIT),
        session=session if isinstance(session, str) and re.fullmatch(r"[A-Za-z0-9._-]{1,128}", session) else None,
        sample=sample,
    )


def _text(value: Any, limit: int = _TEXT_LIMIT) -> Clean | None:
    return admit(value, limit=limit) or None if isinstance(value, str) and value.strip() else None


def _texts(value: Any, limit: int = _TEXT_LIMIT) -> tuple[Clean, ...]:
    items = value if isinstance(value, list) else []
    return tuple(text for item in items[:20] if (text := _text(item, limit)) is not None)
