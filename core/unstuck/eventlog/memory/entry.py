"""An entry of the project memory, as a value and as a line of its file. Pure."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from unstuck.contract import ANSWER_LIMIT
from unstuck.text import Clean, admit

Kind = Literal["approach", "insight", "answer", "rule", "flaky"]
Result = Literal["worked", "used", "failed", "stopped", ""]

ENTRIES_LIMIT = 5_000
RULES_LIMIT = 1_000
AGE_LIMIT_DAYS = 365.0
_TEXT_LIMIT = 2_000
_NOTE_LIMIT = ANSWER_LIMIT + 100
"""Fits every answer together with the words before it in a rule."""
LINE_LIMIT = 512 * 1024
"""Bytes in which an entry fits even if every character is escaped."""
_TEXTS = ("signature", "approach", "cause", "note", "task", "run", "when")
_FIELDS = frozenset({"kind", "outcome", *_TEXTS})
_SEAL = b', "crc": "%08x"}'
_SEAL_SIZE = len(_SEAL % 0)
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One entry of the memory. ``signature`` is the identity of a failure, ``when`` a time in ISO 8601.

    An approach that was ``stopped`` lost to one that was worked at the same time. An answer has its choice as
    ``approach`` and its text as ``note``. A ``rule`` is an answer that agents get for every match; a rule that
    ``failed`` is off. A research finding (``insight``) has the headline of its failure as ``approach`` and is saved
    again once the check passed with it: as ``worked``, or as ``used`` beside others of which one may have helped. A
    ``flaky`` entry has the name of a test as ``approach``; there is one entry for each time.
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
    def finding(self) -> tuple[str, ...]:
        """Identity of a research finding of one task, whether or not it has helped since."""
        return self.signature, self.note, self.task, self.run

    @property
    def id(self) -> str:
        """Id for commands: a hash of the whole entry."""
        return hashlib.sha256(_body(self) + b"\n").hexdigest()[:10]


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
    """Return an entry with admitted and bounded texts."""
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
    """Return the text that agents get for an answer that was made a rule."""
    return text if choice == "show_me" else f"Follow this approach: {text}"


def rule_of(entries: Iterable[Remembered]) -> Remembered | None:
    """Return the active rule among entries about one failure, newest first; None without one."""
    last = next((entry for entry in entries if entry.kind == "rule"), None)
    return last if last is not None and last.outcome != "failed" else None


def line_of(entry: Remembered) -> bytes:
    """Return the entry as a line of the file, with the checksum of its bytes before ``, "crc":``."""
    body = _body(entry)[:-1]
    return body + _SEAL % zlib.crc32(body) + b"\n"


def _body(entry: Remembered) -> bytes:
    return json.dumps(asdict(entry)).encode()


def read_entry(raw: bytes) -> Remembered | None:
    """Return the entry in a line of the file, None for any other or damaged line.

    Lines of earlier versions have no checksum. None of them has a field that is unknown here.
    """
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict) or values.get("kind") not in get_args(Kind):
        return None
    if not _is_sealed(raw) and not values.keys() <= _FIELDS:
        return None
    texts = {name: values.get(name, "") for name in _TEXTS}
    outcome = values.get("outcome", "")
    if outcome not in get_args(Result) or not all(isinstance(text, str) for text in texts.values()):
        return None
    limits = {"note": _NOTE_LIMIT}
    admitted = {name: _readmitted(text, limits.get(name, _TEXT_LIMIT)) for name, text in texts.items()}
    return Remembered(kind=values["kind"], outcome=outcome, **admitted)


def _is_sealed(raw: bytes) -> bool:
    line = raw.rstrip(b"\n")
    body, seal = line[:-_SEAL_SIZE], line[-_SEAL_SIZE:]
    return seal == _SEAL % zlib.crc32(body)


def bounded(entries: Sequence[Remembered]) -> list[Remembered]:
    """Return the newest of ``entries`` (oldest first) in their order. Rules have a limit of their own."""
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
    """Return the entries that stay in a compacted file, oldest first; ``now`` is in seconds since 1970.

    Repeated entries are reduced to the newest, and entries of more than a year are dropped. A rule stays until it
    fails, is replaced or is removed.
    """
    newest: dict[tuple[str, ...], Remembered] = {}
    for entry in entries:
        key = _key(entry)
        newest.pop(key, None)  # so that the order is that of the newest
        newest[key] = entry
    kept = [entry for entry in newest.values() if not _is_outdated(entry, now)]
    return bounded(kept)


def _key(entry: Remembered) -> tuple[str, ...]:
    match entry.kind:
        case "rule":
            return (entry.kind, entry.signature)
        case "approach":
            # Each task counts once in how often an approach worked.
            return (entry.kind, entry.signature, entry.approach, entry.run, entry.task)
        case "answer":
            return (entry.kind, entry.signature, entry.approach, entry.note, entry.outcome, entry.run, entry.task)
        case _:
            return (entry.kind, entry.signature, entry.approach, entry.note, entry.outcome)


def _is_outdated(entry: Remembered, now: float) -> bool:
    if entry.kind == "rule":
        return entry.outcome == "failed"
    try:
        when = datetime.fromisoformat(entry.when)
    except ValueError:
        return False
    return now - when.replace(tzinfo=when.tzinfo or UTC).timestamp() > AGE_LIMIT_DAYS * _DAY_S


def clean(text: str, limit: int = _TEXT_LIMIT) -> Clean:
    """Return ``text`` as the memory stores it."""
    return admit(text, limit=limit)


def _readmitted(text: str, limit: int) -> Clean:
    """Return a text from the file, x. Short plain ASCII was redacted when written and stays as it is."""
    plain = len(text) <= min(limit, _TEXT_LIMIT) and text.isascii() and text.isprintable()
    return Clean(text) if plain else clean(text, limit)
