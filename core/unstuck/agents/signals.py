"""The agent's signal line: what it says about itself, in one documented format.

A line that begins with ``UNSTUCK`` (a colon may follow) and holds one JSON object::

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

_LINE = re.compile(r"^[ \t>*`-]{0,8}UNSTUCK:?[ \t]{1,8}(\{.{0,20000}\})[ \t`]*$", re.MULTILINE)
_ATTEMPT = re.compile(r"^[ \t>*`-]{0,8}UNSTUCK:?[ \t].{0,200}", re.MULTILINE)
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
    attempts = _ATTEMPT.findall(output)
    if not attempts:
        return Signal(problem="missing", sample=admit(output[-300:].strip(), limit=300))
    sample = admit(attempts[-1], limit=300)
    found = _LINE.findall(output)
    try:
        data = json.loads(found[-1]) if found else None
    except ValueError:
        data = None
    if not isinstance(data, dict) or data.get("signal") not in _KINDS:
        return Signal(problem="malformed", sample=sample)
    if data.get("task") not in (None, task):
        return Signal(problem="foreign", sample=sample)
    session = data.get("session")
    return Signal(
        kind=cast(Literal["complete", "blocked", "needs_guidance"], data["signal"]),
        approach=_text(data.get("approach")),
        question=_text(data.get("question")),
        options=_texts(data.get("options")),
        alternatives=_texts(data.get("alternatives")),
        session=session if isinstance(session, str) and re.fullmatch(r"[A-Za-z0-9._-]{1,128}", session) else None,
        sample=sample,
    )


def _text(value: Any) -> Clean | None:
    return admit(value, limit=4_000) if isinstance(value, str) and value.strip() else None


def _texts(value: Any) -> tuple[Clean, ...]:
    items = value if isinstance(value, list) else []
    return tuple(text for text in map(_text, items[:20]) if text is not None)
