"""Signal lines of an agent.

A signal is a line that begins with ``UNSTUCK`` (an optional colon, optional Markdown) and holds one JSON object::

    UNSTUCK {"signal": "complete", "task": "web", "approach": "raw body"}
    UNSTUCK {"signal": "needs_guidance", "question": "Which port?", "options": ["80", "8080"], "context": "Both free"}
    UNSTUCK {"signal": "blocked", "question": "There is no database here", "phase": "integration tests"}

The last one in the output counts. ``task`` is optional; another task's id makes the signal foreign. ``phase`` is the
agent's current phase, ``alternatives`` are other approaches, ``session`` is its own session's id, ``tokens`` and
``cost`` are the attempt's usage. A missing, malformed or foreign signal is a failure if the agent's settings require
signals; otherwise it is ignored.

An agent may also name its approach in a line of text; the last such line counts::

    Approach: raw body

A line of the prompt does not count. An agent that names no approach may state the ``cause`` of its failure in the
signal all the same: ``pattern_mismatch`` or ``complex_logic``, which no output shows.

An agent may also report its steps while it works, so that a loop inside an attempt is noticed::

    UNSTUCK {"step": "action", "id": "7", "tool": "bash", "text": "pytest -q"}
    UNSTUCK {"step": "failure", "id": "7", "tool": "bash", "text": "1 failed", "exit_code": 1}
    UNSTUCK {"step": "success", "id": "8", "tool": "edit", "text": "3 lines changed"}
    UNSTUCK {"step": "message", "text": "The port must be wrong"}
    UNSTUCK {"step": "usage", "tokens": 1200, "cost": 0.02}

A step begins at the start of its line and is at most 20 KB long.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal, cast

from unstuck.contract import Observation
from unstuck.text import Clean, admit, end_of, one_line

# Every pattern begins at a line and bounds its repetitions, so parsing is linear in the output.
_OBJECT = re.compile(r"^[ \t>*`-]{0,8}UNSTUCK[*`]{0,2}:?[*`]{0,2}[ \t]{0,8}(\{.{0,20000})", re.MULTILINE)
_WORD = re.compile(r"^[ \t>*`-]{0,8}UNSTUCK:?[ \t].{0,200}", re.MULTILINE)
_APPROACH = re.compile(
    r"^[ \t>*`-]{0,8}approach[*`]{0,2}:[*`]{0,2}[ \t]{1,8}(\S.{0,2000})", re.MULTILINE | re.IGNORECASE
)
# Approaches are compared, stored and part of every later decision, so they stay short.
_APPROACH_LIMIT = 500
_PHASE_LIMIT = 200
_TEXT_LIMIT = 4_000
_MOST_USED = 1e12
_KINDS = ("complete", "blocked", "needs_guidance")
# Causes that no text of a failure shows.
_CAUSES = ("pattern_mismatch", "complex_logic")
_SENTENCE = re.compile(r"(?:\.|[!?:])(?:\s|$)|\n")
_SENTENCE_LIMIT = 300
_NAME_LIMIT = 128
# It must not look like an option, because it replaces `{session}` in the user's command.
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_STEPS = ("action", "success", "failure", "message", "usage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A signal, or the ``problem`` with it and a ``sample`` of the text found instead."""

    kind: Literal["complete", "blocked", "needs_guidance"] | None = None
    approach: Clean | None = None
    question: Clean | None = None
    options: tuple[Clean, ...] = ()
    context: Clean | None = None
    phase: Clean | None = None
    alternatives: tuple[Clean, ...] = ()
    cause: str = ""
    session: str | None = None
    tokens: int = 0
    cost: float | None = None
    problem: Literal["", "missing", "malformed", "foreign"] = ""
    sample: Clean | None = None


def read_approach(output: str, told: str) -> Clean | None:
    """Return the approach in the last ``Approach: …`` line that is no line of ``told``; None without one."""
    given = {_words(found) for found in _APPROACH.findall(told)}
    named = [found for found in _APPROACH.findall(output) if _words(found) not in given]
    return _text(_words(named[-1]), _APPROACH_LIMIT) if named else None


def first_sentence(message: str) -> Clean | None:
    """Return the first sentence of an agent's message, None if it has none."""
    start = message[: 4 * _SENTENCE_LIMIT].strip(" \t\r\n#>*`-")
    end = _SENTENCE.search(start)
    sentence = start[: end.start()] if end else start
    return admit(sentence, limit=_SENTENCE_LIMIT) if len(sentence.split()) > 1 else None


def _words(line: str) -> str:
    return line.strip(" \t\r*`")


def read_signal(output: str, task: str) -> Signal:
    """Return the last signal in an attempt's output."""
    objects = [found for found in _OBJECT.finditer(output) if not _is_step(found.group(1))]
    words = None if objects else _WORD.findall(output)
    if not objects and not words:
        return Signal(problem="missing", sample=admit(end_of(output, 300).strip(), limit=300))
    sample = one_line(objects[-1].group() if objects else (words or [""])[-1], 300)
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
        cause=data["cause"] if data.get("cause") in _CAUSES else "",
        session=session if isinstance(session, str) and _SESSION.fullmatch(session) else None,
        tokens=int(_number(data.get("tokens")) or 0),
        cost=_number(data.get("cost")),
        sample=sample,
    )


def read_step(line: str) -> Observation | None:
    """Return the step that ``line`` reports; None for any other line."""
    data = _parsed(line.removeprefix("UNSTUCK"))
    if not isinstance(data, dict) or data.get("step") not in _STEPS:
        return None
    code = data.get("exit_code")
    return Observation(
        kind=cast(Literal["action", "success", "failure", "message", "usage"], data["step"]),
        text=_text(data.get("text")) or Clean(""),
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
    """Return a count that can be added up; None for anything else."""
    counts = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST_USED
    return value if counts else None


def _text(value: Any, limit: int = _TEXT_LIMIT) -> Clean | None:
    return admit(value, limit=limit) or None if isinstance(value, str) and value.strip() else None


def _texts(value: Any, limit: int = _TEXT_LIMIT) -> tuple[Clean, ...]:
    items = value if isinstance(value, list) else []
    return tuple(text for item in items[:20] if (text := _text(item, limit)) is not None)
