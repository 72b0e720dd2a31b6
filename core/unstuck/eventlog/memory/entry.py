"""One thing that a project has learnt, as a value and as a line of its memory. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from unstuck.contract import ANSWER_LIMIT
from unstuck.text import Clean, admit

__all__ = [
    "AGE_LIMIT_DAYS",
    "ENTRIES_LIMIT",
    "LINE_LIMIT",
    "RULES_LIMIT",
    "Kind",
    "Remembered",
    "Result",
    "bounded",
    "clean",
    "learnt",
    "line_of",
    "read_entry",
    "rule_of",
    "rule_words",
    "worth_keeping",
]

Kind = Literal["approach", "insight", "answer", "rule", "flaky"]
Result = Literal["worked", "failed", ""]

ENTRIES_LIMIT = 5_000
RULES_LIMIT = 1_000
AGE_LIMIT_DAYS = 365.0
_TEXT_LIMIT = 2_000
_NOTE_LIMIT = ANSWER_LIMIT + 100
"""No answer is ever cut, nor what a rule says before its words."""
LINE_LIMIT = 512 * 1024
"""More bytes than the longest texts take when every character is escaped."""
_TEXTS = ("signature", "approach", "cause", "note", "task", "run", "when")
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One thing learnt. ``signature`` is the failure's identity.

    An answer's choice is its ``approach`` and its text the ``note``; ``when`` it was given is in ISO 8601. A ``rule``
    is an answer that a person wants to be told from now on; one that ``failed`` holds no more. The ``approach`` of an
    insight is the headline of the failure that it is about; once it helped it is kept again, as one that ``worked``.
    The ``approach`` of a ``flaky`` entry is the name of the test, and there is one entry for each time.
    """

    kind: Kind
    outcome: Result
    signature: Clean
    approach: Clean
    cause: Clean
    note: Clean
    task: Clean
    run: Clean
    when: Clean = Clean("")

    @property
    def id(self) -> str:
        """What it is called on a command line: it follows from all it says."""
        return hashlib.sha256(line_of(self)).hexdigest()[:10]


def learnt(
    kind: Kind,
    *,
    signature: str,
    approach: str = "",
    outcome: Result = "",
    cause: str = "",
    note: str = "",
    task: str = "",
    run: str = "",
    when: str = "",
) -> Remembered:
    """An entry whose texts are admitted and bounded."""
    return Remembered(
        kind=kind,
        outcome=outcome,
        signature=clean(signature),
        approach=clean(approach),
        cause=clean(cause),
        note=clean(note, _NOTE_LIMIT),
        task=clean(task),
        run=clean(run),
        when=clean(when),
    )


def rule_words(choice: str, text: str) -> str:
    """What an agent is told by itself from now on, where a person's answer was made a rule."""
    return text if choice == "show_me" else f"Follow this approach: {text}"


def rule_of(entries: Iterable[Remembered]) -> Remembered | None:
    """The rule that holds of those about one failure, newest first; None where none does."""
    last = next((entry for entry in entries if entry.kind == "rule"), None)
    return last if last is not None and last.outcome != "failed" else None


def line_of(entry: Remembered) -> bytes:
    """The entry as a line of the file."""
    return json.dumps(asdict(entry)).encode() + b"\n"


def read_entry(raw: bytes) -> Remembered | None:
    """The entry in one line of the file, None for anything else."""
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("kind") not in get_args(Kind):
        return None
    texts = {name: said.get(name, "") for name in _TEXTS}
    outcome = said.get("outcome", "")
    if outcome not in get_args(Result) or not all(isinstance(text, str) for text in texts.values()):
        return None
    again = {name: _again(text, _NOTE_LIMIT if name == "note" else _TEXT_LIMIT) for name, text in texts.items()}
    return Remembered(kind=said["kind"], outcome=outcome, **again)


def bounded(entries: Sequence[Remembered]) -> list[Remembered]:
    """The newest of ``entries`` (oldest first), in their order: what a person has made a rule goes last."""
    rules = sum(entry.kind == "rule" for entry in entries)
    spare = {"rule": max(0, rules - RULES_LIMIT), "": max(0, len(entries) - rules - ENTRIES_LIMIT)}
    kept = []
    for entry in entries:
        sort = "rule" if entry.kind == "rule" else ""
        if spare[sort]:
            spare[sort] -= 1
        else:
            kept.append(entry)
    return kept


def worth_keeping(entries: Iterable[Remembered], now: float) -> list[Remembered]:
    """What a file that has grown is left with, oldest first; ``now`` is in seconds since 1970.

    Of what was learnt again the newest is enough, and what nobody has met for a year is forgotten. A rule stays until
    it is taken back; one that failed or was replaced holds no more.
    """
    newest: dict[tuple[str, ...], Remembered] = {}
    for entry in entries:
        key = _sameness(entry)
        newest.pop(key, None)  # so that the order is that of the newest
        newest[key] = entry
    kept = [entry for entry in newest.values() if not _is_over(entry, now)]
    return bounded(kept)


def _sameness(entry: Remembered) -> tuple[str, ...]:
    match entry.kind:
        case "rule":
            return (entry.kind, entry.signature)
        case "approach":
            return (entry.kind, entry.signature, entry.approach)
        case _:
            return (entry.kind, entry.signature, entry.approach, entry.note, entry.outcome)


def _is_over(entry: Remembered, now: float) -> bool:
    if entry.kind == "rule":
        return entry.outcome == "failed"
    try:
        when = datetime.fromisoformat(entry.when)
    except ValueError:
        return False
    return now - when.replace(tzinfo=when.tzinfo or UTC).timestamp() > AGE_LIMIT_DAYS * _DAY_S


def clean(text: str, limit: int = _TEXT_LIMIT) -> Clean:
    """``text`` as it is remembered."""
    return admit(text, limit=limit)


def _again(text: str, limit: int) -> Clean:
    """A text read back. Short plain ASCII cannot hurt and was redacted when it was written, so it is taken as it is."""
    plain = len(text) <= min(limit, _TEXT_LIMIT) and text.isascii() and text.isprintable()
    return Clean(text) if plain else clean(text, limit)
