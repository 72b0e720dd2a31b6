"""The agent's signal line: what it says about itself, in one documented format.

A line that begins with ``UNSTUCK`` (a colon may follow, Markdown may stand round it) and holds one JSON object::

    UNSTUCK {"signal": "complete", "task": "web", "approach": "raw body"}
    UNSTUCK {"signal": "needs_guidance", "question": "Which port?", "options": ["80", "8080"], "context": "Both free"}
    UNSTUCK {"signal": "blocked", "question": "There is no database here", "phase": "integration tests"}

The last one in the output counts. ``task`` is optional; another task's id makes the signal foreign. ``phase`` is what
the agent was at, ``alternatives`` are other approaches it sees, ``session`` its own session's id, ``tokens`` and
``cost`` what the attempt used. Where an agent's settings require signals, none, one that cannot be read and a foreign
one are the agent's failure; otherwise they are ignored.

An agent that names no approach in its signal may do so in words, the last such line counts::

    Approach: raw body

Nothing else is taken for one: sentences such as *all tests pass now* come again in every attempt and would look like
going round in circles. Nor is a line that stands in what the agent was told.

In the same way as a signal an agent may tell of its steps while it works, so that a loop inside an attempt is noticed::

    UNSTUCK {"step": "action", "id": "7", "tool": "bash", "text": "pytest -q"}
    UNSTUCK {"step": "failure", "id": "7", "tool": "bash", "text": "1 failed", "exit_code": 1}
    UNSTUCK {"step": "success", "id": "8", "tool": "edit", "text": "3 lines changed"}
    UNSTUCK {"step": "message", "text": "The port must be wrong"}
    UNSTUCK {"step": "usage", "tokens": 1200, "cost": 0.02}

Such a line begins at the line's start and is at most 20 KB long.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal, cast

from unstuck.contract import Observation
from unstuck.text import Clean, admit

__all__ = ["Signal", "read_approach", "read_signal", "read_step"]

# Every pattern begins at a line and repeats nothing without a bound, so reading takes time linear in the output.
_OBJECT = re.compile(r"^[ \t>*`-]{0,8}UNSTUCK[*`]{0,2}:?[*`]{0,2}[ \t]{0,8}(\{.{0,20000})", re.MULTILINE)
_WORD = re.compile(r"^[ \t>*`-]{0,8}UNSTUCK:?[ \t].{0,200}", re.MULTILINE)
_APPROACH = re.compile(
    r"^[ \t>*`-]{0,8}approach[*`]{0,2}:[*`]{0,2}[ \t]{1,8}(\S.{0,2000})", re.MULTILINE | re.IGNORECASE
)
# Approaches are compared, remembered and carried in every later decision, so they stay short.
_APPROACH_LIMIT = 500
_PHASE_LIMIT = 200
_TEXT_LIMIT = 4_000
_MOST_USED = 1e12
_KINDS = ("complete", "blocked", "needs_guidance")
_NAME_LIMIT = 128
# No option: it is put into a command of the user's where `{session}` stands.
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_STEPS = ("action", "success", "failure", "message", "usage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A signal, or with ``problem`` why there is none that can be used (``sample`` is what was there)."""

    kind: Literal["complete", "blocked", "needs_guidance"] | None = None
    approach: Clean | None = None
    question: Clean | None = None
    options: tuple[Clean, ...] = ()
    context: Clean | None = None
    phase: Clean | None = None
    alternatives: tuple[Clean, ...] = ()
    session: str | None = None
    tokens: int = 0
    cost: float | None = None
    problem: Literal["", "missing", "malformed", "foreign"] = ""
    sample: Clean | None = None


def read_approach(output: str, told: str) -> Clean | None:
    """The approach that the last ``Approach: …`` line names which is no line of ``told``; None where there is none."""
    given = {_words(found) for found in _APPROACH.findall(told)}
    named = [found for found in _APPROACH.findall(output) if _words(found) not in given]
    return _text(_words(named[-1]), _APPROACH_LIMIT) if named else None


def _words(line: str) -> str:
    return line.strip(" \t\r*`")


def read_signal(output: str, task: str) -> Signal:
    """The last signal in an attempt's output."""
    objects = [found for found in _OBJECT.finditer(output) if not _is_step(found.group(1))]
    words = None if objects else _WORD.findall(output)
    if not objects and not words:
        return Signal(problem="missing", sample=admit(output[-300:].strip(), limit=300))
    sample = admit(objects[-1].group()[:300] if objects else (words or [""])[-1], limit=300)
    data = _parsed(objects[-1].group(1)) if objects else None
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
        context=_text(data.get("context")),
        phase=_text(data.get("phase"), _PHASE_LIMIT),
        alternatives=_texts(data.get("alternatives"), _APPROACH_LIMIT),
        session=session if isinstance(session, str) and _SESSION.fullmatch(session) else None,
        tokens=int(_number(data.get("tokens")) or 0),
        cost=_number(data.get("cost")),
        sample=sample,
    )


def read_step(line: str, *, at: float = 0.0) -> Observation | None:
    """What ``line`` tells of a step inside the attempt; None where it is no such line. ``at``: monotonic seconds."""
    data = _parsed(line.removeprefix("UNSTUCK"))
    if not isinstance(data, dict) or data.get("step") not in _STEPS:
        return None
    code = data.get("exit_code")
    return Observation(
        kind=cast(Literal["action", "success", "failure", "message", "usage"], data["step"]),
        text=_text(data.get("text")) or Clean(""),
        at=at,
        id=admit(str(data.get("id", "")), limit=_NAME_LIMIT),
        tool=_text(data.get("tool"), _NAME_LIMIT) or "bash",
        role="agent" if data["step"] == "message" else None,
        exit_code=code if type(code) is int and 0 <= code <= 255 else None,
        tokens=int(_number(data.get("tokens")) or 0),
        cost=_number(data.get("cost")),
    )


def _is_step(text: str) -> bool:
    return '"step"' in text and isinstance(data := _parsed(text), dict) and "step" in data and "signal" not in data


def _parsed(text: str) -> Any:
    try:
        return json.loads(text.rstrip(" \t\r\n`*"))
    except (ValueError, RecursionError):
        return None


def _number(value: Any) -> float | None:
    """A count that can be added up; anything else is as if it had not been said."""
    counts = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST_USED
    return value if counts else None


def _text(value: Any, limit: int = _TEXT_LIMIT) -> Clean | None:
    return admit(value, limit=limit) or None if isinstance(value, str) and value.strip() else None


def _texts(value: Any, limit: int = _TEXT_LIMIT) -> tuple[Clean, ...]:
    items = value if isinstance(value, list) else []
    return tuple(text for item in items[:20] if (text := _text(item, limit)) is not None)
