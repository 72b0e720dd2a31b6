"""Diagnosis of one failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unstuck.arguments import checked
from unstuck.diagnosis.enums import Cause, ErrorCategory, ErrorType, FailureType
from unstuck.diagnosis.signatures.signature import FailureSignature
from unstuck.text import Clean, admit

LINE_LIMIT = 400
NOTHING = Clean("")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One diagnosed failure: ``headline`` is its line of the output, ``fix_hint`` one sentence of advice.

    ``files`` are the user's files that the output names. They are not part of the JSON.

    Example::

        found = diagnose(output, exit_code=1)
        print(found.signature.location, found.failure_type)
    """

    signature: FailureSignature
    failure_type: FailureType = FailureType.UNKNOWN
    category: ErrorCategory = ErrorCategory.AGENT_FAILURE
    cause: Cause = Cause.SIMPLE_LOGIC
    headline: Clean = NOTHING
    fix_hint: Clean = NOTHING
    files: tuple[str, ...] = field(default=(), compare=False)

    @property
    def identity(self) -> str:
        """A key that every occurrence of this failure has, for loop detection."""
        return self.signature.identity

    @property
    def error_type(self) -> ErrorType:
        return self.signature.error_type

    @property
    def location(self) -> str | None:
        """``file:line``, or None."""
        return self.signature.location

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-able data for :meth:`from_dict`."""
        return {
            "signature": self.signature.as_dict(),
            "failure_type": self.failure_type.value,
            "category": self.category.value,
            "cause": self.cause.value,
            "headline": str(self.headline),
            "fix_hint": str(self.fix_hint),
        }

    @classmethod
    @checked
    def from_dict(cls, data: Mapping[str, Any]) -> Diagnosis:
        """Return the diagnosis of :meth:`as_dict`; a value of a later version becomes the most general one."""
        return cls(
            signature=FailureSignature.from_dict(data.get("signature") or {}),
            failure_type=FailureType.read(data.get("failure_type"), FailureType.UNKNOWN),
            category=ErrorCategory.read(data.get("category"), ErrorCategory.AGENT_FAILURE),
            cause=Cause.read(data.get("cause"), Cause.SIMPLE_LOGIC),
            headline=admit(str(data.get("headline", "")), limit=LINE_LIMIT),
            fix_hint=admit(str(data.get("fix_hint", "")), limit=LINE_LIMIT),
        )
