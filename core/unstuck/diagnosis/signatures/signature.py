"""The fingerprint of a failure: what makes two of them the same, and what makes them merely alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.parsing.parsed_output import Reading
from unstuck.diagnosis.signatures.fingerprint import digest, essence_of, mask, words_of
from unstuck.text import Clean, admit, shorten

__all__ = ["SIMILAR", "FailureSignature", "extract_failure_signature", "read_error", "signature_of"]

SIMILAR = 0.7
# With its other fields a signature stays near half a kilobyte.
MESSAGE_LIMIT = 320

_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FailureSignature:
    """One failure, in comparable form.

    ``location`` is ``file:line`` or None; ``context_hash`` 16 hexadecimal characters; ``timestamp`` seconds since 1970
    as the caller gives them (0.0: not said); ``subject`` what the error is about (a key, a name, a test), which the
    hash leaves out on purpose; ``metadata`` strings such as ``headline``, ``function`` and ``test``.
    """

    exact_message: Clean
    error_type: ErrorType
    location: str | None
    context_hash: str
    timestamp: float = 0.0
    agent_id: str = ""
    task_id: str = ""
    metadata: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    subject: str = ""

    @classmethod
    def from_error(
        cls,
        error_message: str | bytes,
        agent_id: str = "",
        task_id: str = "",
        stack_trace: str | bytes | None = None,
        *,
        timestamp: float = 0.0,
    ) -> FailureSignature:
        """The signature of an error's text and, where it is apart, its stack trace. Never raises on any text."""
        reading = read_error(error_message, stack_trace)
        return _signed(reading, agent_id=agent_id, task_id=task_id, timestamp=timestamp)

    @property
    def identity(self) -> str:
        """What is the same for every occurrence of this failure: the hash and the subject, no line number."""
        return f"{self.context_hash}-{digest(self.subject)[:8]}"

    @property
    def file(self) -> str:
        """The file of ``location``, empty where there is none."""
        return (self.location or "").rpartition(":")[0]

    def is_identical_to(self, other: FailureSignature) -> bool:
        """The same failure again: for loop detection."""
        return self.error_type == other.error_type and self.identity == other.identity

    def is_similar_to(self, other: FailureSignature) -> bool:
        """A related failure: at least 0.7 alike in type, file, function and words of the headline."""
        return self.similarity(other) >= SIMILAR

    def similarity(self, other: FailureSignature) -> float:
        """How alike two failures are, 0.0 to 1.0; what neither of them says is left out."""
        if self.is_identical_to(other):
            return 1.0
        pairs = (
            (3.0, self.error_type.value, other.error_type.value),
            (2.0, mask(self.file), mask(other.file)),
            (2.0, self._place, other._place),
        )
        said = [(weight, float(one == two)) for weight, one, two in pairs if one or two]
        said.append((3.0, _overlap(self._words, other._words)))
        return sum(weight * score for weight, score in said) / sum(weight for weight, _ in said)

    @property
    def _place(self) -> str:
        return self.metadata.get("test", "") or self.metadata.get("function", "")

    @property
    def _words(self) -> frozenset[str]:
        return words_of(self.metadata.get("headline", "") or self.exact_message)

    @staticmethod
    def _classify_error(error_message: str | bytes) -> ErrorType:
        return _type_of(read_error(error_message))

    @staticmethod
    def _extract_location(error_message: str | bytes, stack_trace: str | bytes | None = None) -> str | None:
        return read_error(error_message, stack_trace).location

    @staticmethod
    def _hash_context(error_message: str | bytes, stack_trace: str | bytes | None = None) -> str:
        return _signed(read_error(error_message, stack_trace)).context_hash

    def as_dict(self) -> dict[str, Any]:
        """JSON-able; :meth:`from_dict` reads it back."""
        return {
            "exact_message": str(self.exact_message),
            "error_type": self.error_type.value,
            "location": self.location,
            "context_hash": self.context_hash,
            "timestamp": self.timestamp,
            "agent_id": self.agent_id,
            "task_id": self.task_id,
            "metadata": dict(self.metadata),
            "subject": self.subject,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FailureSignature:
        """Read what :meth:`as_dict` wrote; fields that are missing or of a later version fall back."""
        location = data.get("location")
        return cls(
            exact_message=admit(str(data.get("exact_message", "")), limit=MESSAGE_LIMIT),
            error_type=ErrorType.read(data.get("error_type"), ErrorType.UNKNOWN),
            location=str(admit(str(location))) if location else None,
            context_hash=str(data.get("context_hash", "")),
            timestamp=float(data.get("timestamp") or 0.0),
            agent_id=str(data.get("agent_id", "")),
            task_id=str(data.get("task_id", "")),
            metadata=MappingProxyType(
                {str(key): str(admit(str(value))) for key, value in (data.get("metadata") or {}).items()}
            ),
            subject=str(admit(str(data.get("subject", "")))),
        )


def extract_failure_signature(
    error_output: str | bytes, agent_id: str = "", task_id: str = "", *, timestamp: float = 0.0
) -> FailureSignature:
    """The signature of raw error output. Never raises on any text."""
    return FailureSignature.from_error(error_output, agent_id, task_id, timestamp=timestamp)


def signature_of(
    reading: Reading,
    error_type: ErrorType,
    *,
    passes: bool = True,
    agent_id: str = "",
    task_id: str = "",
    timestamp: float = 0.0,
    exit_code: int | None = None,
    tool: str | None = None,
) -> FailureSignature:
    """The signature of text that was read; what the caller knows of it goes along.

    Only a failure that ``passes`` by itself is asked how long that takes.
    """
    context, subject = essence_of(reading)
    return FailureSignature(
        _exact(reading),
        error_type,
        reading.location,
        digest(context),
        timestamp,
        agent_id,
        task_id,
        MappingProxyType(_known(reading, passes, exit_code, tool)),
        subject,
    )


def _known(reading: Reading, passes: bool, exit_code: int | None, tool: str | None) -> dict[str, str]:
    """What else is known of it, as far as it is."""
    known: dict[str, str] = {}
    if reading.headline:
        known["headline"] = reading.headline
    if reading.function:
        known["function"] = reading.function
    if reading.test:
        known["test"] = reading.test
    if exit_code is not None:
        known["exit_code"] = str(exit_code)
    if tool:
        known["tool"] = tool
    if passes:
        from unstuck.diagnosis.classification.retry_after import waits

        known |= waits(reading)
    return known


def read_error(message: str | bytes, trace: str | bytes | None = None) -> Reading:
    """Read an error's text and, where it is apart, its stack trace."""
    from unstuck.diagnosis.parsing.output_parser import read

    return read(_joined(message, trace))


def _joined(message: str | bytes, trace: str | bytes | None) -> str:
    """The trace goes first, as the tools print it: the message is the last word."""
    said, where = (_as_text(message), _as_text(trace or ""))
    return said if not where or (said in where and "\n" in said) else f"{where}\n{said}"


def _as_text(raw: str | bytes) -> str:
    return raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "replace")


def _exact(reading: Reading) -> Clean:
    """The text itself where it is short; otherwise its headline, with what goes on from there."""
    text = reading.seen.text
    if len(text) <= MESSAGE_LIMIT:
        return admit(text.strip(), limit=MESSAGE_LIMIT)
    return Clean(shorten(f"{reading.headline} {reading.detail}".strip(), MESSAGE_LIMIT))


# The parsers of all tools are imported at the first use: most commands only read back what was signed before.
def _signed(reading: Reading, **known: Any) -> FailureSignature:
    return signature_of(reading, _type_of(reading), **known)


def _type_of(reading: Reading) -> ErrorType:
    from unstuck.diagnosis.classification.error_type import error_type_of

    return error_type_of(reading)


def _overlap(one: frozenset[str], two: frozenset[str]) -> float:
    return 2 * len(one & two) / (len(one) + len(two)) if one or two else 1.0
