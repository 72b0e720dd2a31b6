"""Tool calls and their results: pairing one with the other, and what of them is comparable."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from dataclasses import dataclass

from unstuck.contract import Observation
from unstuck.diagnosis import steady

__all__ = ["Pairing", "Step"]

TEXT_HEAD = 500
TEXT_TAIL = 1_500
SHOWN = 200
PENDING_KEPT = 64
IDS_KEPT = 256

EMPTY_RESULT = re.compile(
    r"(?:ok|done|success(?:ful(?:ly)?)?|true|null|none|\(no (?:output|content)\)|(?:edit|patch|change)s? applied"
    r"|\[image\]|updated|written|saved)?[.!]?",
    re.IGNORECASE,
)
WAITING = re.compile(r"\s*(?:$|sleep\b|wait\b|tail -f|watch\b|poll\b|.{0,80}(?:&&|;|\|\|)\s*sleep\b)", re.IGNORECASE)
OTHER_TREE = re.compile(r"\s*git (?:bisect|checkout|switch|reset|rebase|revert|stash)\b")


@dataclass(frozen=True, slots=True)
class Step:
    """One call and what came of it, volatile parts masked. ``shown`` is the call as it was, shortened."""

    action: str
    result: str
    failed: bool
    shown: str
    said: str
    approach: str = ""

    @property
    def informative(self) -> bool:
        """A failure, or a result that says more than that it went well."""
        return self.failed or EMPTY_RESULT.fullmatch(self.result) is None

    @property
    def waits(self) -> bool:
        return WAITING.match(self.shown) is not None

    @property
    def moves_tree(self) -> bool:
        """The next check runs on other code, so its failing again says nothing."""
        return OTHER_TREE.match(self.shown) is not None


class Pairing:
    """Joins results to the calls they belong to: by id where there is one, else first in, first out."""

    def __init__(self) -> None:
        self._pending: deque[Observation] = deque(maxlen=PENDING_KEPT)
        self._seen: OrderedDict[str, None] = OrderedDict()

    def feed(self, observation: Observation) -> Step | None:
        """The finished step, or None for a call, a repeated delivery and anything else."""
        kind = observation.kind
        if kind not in ("action", "success", "failure") or self._repeated(observation):
            return None
        if kind == "action":
            self._pending.append(observation)
            return None
        return _step(self._call_of(observation), observation)

    def clear(self) -> None:
        self._pending.clear()

    def _repeated(self, observation: Observation) -> bool:
        if not observation.id:
            return False
        key = f"{observation.kind == 'action'}:{observation.id}"
        if key in self._seen:
            return True
        self._seen[key] = None
        if len(self._seen) > IDS_KEPT:
            self._seen.popitem(last=False)
        return False

    def _call_of(self, result: Observation) -> Observation | None:
        if result.id:
            call = next((pending for pending in self._pending if pending.id == result.id), None)
            if call is not None:
                self._pending.remove(call)
            return call
        return self._pending.popleft() if self._pending else None


def _step(call: Observation | None, result: Observation) -> Step:
    text = str(call.text) if call else ""
    tool = call.tool if call else result.tool
    return Step(
        action=f"{tool} {_comparable(text)}",
        result=_comparable(str(result.text)),
        failed=result.kind == "failure",
        shown=text[:SHOWN],
        said=str(result.text)[:SHOWN],
        approach=str((call.approach if call else None) or result.approach or ""),
    )


def _comparable(text: str) -> str:
    if len(text) > TEXT_HEAD + TEXT_TAIL:
        text = f"{text[:TEXT_HEAD]}\n{text[-TEXT_TAIL:]}"
    return steady(text)
