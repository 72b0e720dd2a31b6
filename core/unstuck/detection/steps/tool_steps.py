"""Steps: tool calls paired with their results, in comparable form."""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass

from unstuck.contract import Observation
from unstuck.detection.recent import Recent
from unstuck.detection.steps.external_blockers import is_outage
from unstuck.detection.steps.tool_call_kind import CallKind, is_bare_status, is_in_progress, kind_of, shows_image
from unstuck.detection.steps.volatile_text import comparable, digest
from unstuck.diagnosis.pipeline import diagnose

_OLD_AND_NEW = re.compile(
    r"\bold(?:_?(?:str|string|text))?\s*[=:]\s*(?P<old>'[^']*'|\"[^\"]*\")"
    r".{0,40}?\bnew(?:_?(?:str|string|text))?\s*[=:]\s*(?P<new>'[^']*'|\"[^\"]*\")",
    re.DOTALL | re.IGNORECASE,
)
_OLD = ("old_string", "old_str", "oldText", "old_text", "old")
_NEW = ("new_string", "new_str", "newText", "new_text", "new")
_FILE = ("file_path", "path", "file", "filePath")

SHOWN = 200
CALL_LIMIT = 2_000
TEXT_HEAD = 500
TEXT_TAIL = 1_500
PENDING_KEPT = 64
IDS_KEPT = 256
_NO_DIGITS = str.maketrans("", "", "0123456789")


def replacement_in(call: str) -> tuple[str, str, str] | None:
    """Return file, old and new text of an edit, or None where the call does not have them."""
    start = call.find("{")
    if start >= 0:
        try:
            given = json.loads(call[start:])
        except (ValueError, RecursionError):
            given = None
        if isinstance(given, dict):
            old, new = _text(given, _OLD), _text(given, _NEW)
            return (_text(given, _FILE), old, new) if old and new else None
    found = _OLD_AND_NEW.search(call)
    return (call[: found.start()], found["old"], found["new"]) if found else None


def _text(given: dict[str, object], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := given.get(name), str)), "")


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One tool call and its result.

    ``action``, ``result`` and ``key`` (of both) are digests without volatile parts. ``shown`` is the call and ``text``
    the result, both cut. An ``informative`` result is more than a bare status. ``waits`` means that the call waits or
    that its subject is in progress. Equal results may differ where they are ``opaque``. ``edit`` is file, old and new
    text where the call has them.
    """

    number: int
    tool: str
    kind: CallKind
    action: str
    result: str
    key: str
    failed: bool
    informative: bool
    waits: bool
    opaque: bool
    shown: str
    text: str
    approach: str
    edit: tuple[str, str, str] | None

    @property
    def headline(self) -> str:
        """Headline of a failure, else the first line of the result that is not blank."""
        found = diagnose(self.text, exit_code=1) if self.failed else None
        if found is not None and found.headline:
            return found.headline[:SHOWN]
        return next((line.strip() for line in self.text[:SHOWN].split("\n") if line.strip()), "")


class Pairing:
    """Pairing of results with their calls: by id where there is one, else first in, first out."""

    def __init__(self) -> None:
        self._pending: Recent[str, Observation] = Recent(PENDING_KEPT)
        self._unnamed: deque[Observation] = deque(maxlen=PENDING_KEPT)
        self._seen: Recent[str, None] = Recent(IDS_KEPT)
        self._count = 0

    def feed(self, observation: Observation) -> Step | None:
        """Return the finished step, or None for a call, a repeated delivery and anything else."""
        kind = observation.kind
        if kind not in ("action", "success", "failure") or self._repeated(observation):
            return None
        if kind == "action":
            self._keep(observation)
            return None
        self._count += 1
        return _step(self._call_of(observation), observation, self._count)

    def clear(self) -> None:
        """Forget the calls whose results have not come."""
        self._pending.clear()
        self._unnamed.clear()

    def _repeated(self, observation: Observation) -> bool:
        if not observation.id:
            return False
        key = f"{observation.kind == 'action'}:{observation.id}"
        if key in self._seen:
            return True
        self._seen[key] = None
        return False

    def _keep(self, call: Observation) -> None:
        if call.id:
            self._pending[call.id] = call
        else:
            self._unnamed.append(call)

    def _call_of(self, result: Observation) -> Observation | None:
        if result.id:
            return self._pending.pop(result.id, None)
        return self._unnamed.popleft() if self._unnamed else None


def _step(call: Observation | None, result: Observation, number: int) -> Step:
    shown = str(call.text)[:CALL_LIMIT] if call else ""
    tool = call.tool if call else result.tool
    text = _cut(str(result.text))
    failed = result.kind == "failure"
    kind = kind_of(tool, shown) if call else "work"
    compared = comparable(text) if not _grows(kind, shown, failed) else text
    # Waiting twice as long is still waiting, and a command that only speaks to itself does nothing whatever it says.
    if kind in ("wait", "idle") and not failed:
        action = digest(tool, shown.translate(_NO_DIGITS) if kind == "wait" else "")
    else:
        action = digest(tool, comparable(shown, arguments=True))
    outcome = digest("" if kind == "idle" and not failed else compared)
    return Step(
        number=number,
        tool=tool,
        kind=kind,
        action=action,
        result=outcome,
        key=f"{action}{outcome}{'!' if failed else ''}",
        failed=failed,
        informative=failed or (kind not in ("idle", "edit") and not is_bare_status(compared)),
        waits=is_in_progress(text) or (kind == "wait" and (not failed or is_outage(text))),
        opaque=shows_image(text),
        shown=shown[:SHOWN],
        text=text,
        approach=str((call.approach if call else None) or result.approach or ""),
        edit=replacement_in(shown) if kind == "edit" and not failed else None,
    )


def _grows(kind: CallKind, shown: str, failed: bool) -> bool:
    """Return whether the call reads the end of a growing log, where another time of day is another line."""
    return kind == "wait" and not failed and "sleep" not in shown.lower()


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_HEAD + TEXT_TAIL else f"{text[:TEXT_HEAD]}\n{text[-TEXT_TAIL:]}"
