"""Signature of a failure, by which two occurrences match or are similar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from unstuck.arguments import checked
from unstuck.clock import SystemClock
from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput
from unstuck.diagnosis.parsing.truncation import as_text
from unstuck.diagnosis.signatures.fingerprint import context_and_subject, digest, mask, words_of
from unstuck.text import Clean, admit, shorten

SIMILAR = 0.7
# With its other fields a signature stays near half a kilobyte.
MESSAGE_LIMIT = 320

_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FailureSignature:
    """One failure, in comparable form.

    ``location`` is ``file:line`` or None. ``context_hash`` has 16 hexadecimal characters. ``timestamp`` is in seconds
    since 1970, 0.0 where unknown. ``subject`` is the key, name or test that the error names, which is not in the hash.
    ``metadata`` has strings such as ``headline``, ``function`` and ``test``.

    Example::

        first = FailureSignature.from_error("KeyError: 1", "agent-1", "task-1")
        print(first.is_identical_to(second))
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
        timestamp: float | None = None,
    ) -> FailureSignature:
        """Return the signature of an error's text and its separate stack trace, if any. Never raises.

        An exception counts as what it says. ``timestamp`` is seconds since 1970, or now.
        """
        parsed = parse_error(error_message, stack_trace)
        when = SystemClock().now() if timestamp is None else timestamp
        found = _signed(parsed, agent_id=agent_id, task_id=task_id, timestamp=when)
        # The trace says where the error came from; it is no part of its message.
        message = as_text(error_message).strip() if stack_trace else ""
        return replace(found, exact_message=admit(message, limit=MESSAGE_LIMIT)) if message else found

    @property
    def identity(self) -> str:
        """Key of every occurrence of this failure: the hash and the subject, no line number."""
        return f"{self.context_hash}-{digest(self.subject)[:8]}"

    @property
    def file(self) -> str:
        """File of ``location``, or an empty string."""
        return (self.location or "").rpartition(":")[0]

    @checked
    def is_identical_to(self, other: FailureSignature) -> bool:
        """Return whether both are occurrences of one failure, for loop detection."""
        return self.error_type == other.error_type and self.identity == other.identity

    @checked
    def is_similar_to(self, other: FailureSignature) -> bool:
        """Return whether the failures are related: at least 0.7 similar in type, file, function and headline."""
        return self.similarity(other) >= SIMILAR

    @checked
    def similarity(self, other: FailureSignature) -> float:
        """Return the similarity of two failures, 0.0 to 1.0, without the fields that both lack."""
        if self.is_identical_to(other):
            return 1.0
        pairs = (
            (3.0, self.error_type.value, other.error_type.value),
            (2.0, mask(self.file), mask(other.file)),
            (2.0, self._place, other._place),
        )
        scores = [(weight, float(one == two)) for weight, one, two in pairs if one or two]
        scores.append((3.0, _overlap(self._words, other._words)))
        return sum(weight * score for weight, score in scores) / sum(weight for weight, _ in scores)

    @property
    def _place(self) -> str:
        return self.metadata.get("test", "") or self.metadata.get("function", "")

    @property
    def _words(self) -> frozenset[str]:
        return words_of(self.metadata.get("headline", "") or self.exact_message)

    @staticmethod
    def _classify_error(error_message: str | bytes) -> ErrorType:
        return _type_of(parse_error(error_message))

    @staticmethod
    def _extract_location(error_message: str | bytes, stack_trace: str | bytes | None = None) -> str | None:
        return parse_error(error_message, stack_trace).location

    @staticmethod
    def _hash_context(error_message: str | bytes, stack_trace: str | bytes | None = None) -> str:
        return _signed(parse_error(error_message, stack_trace)).context_hash

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-able data for :meth:`from_dict`."""
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
    @checked
    def from_dict(cls, data: Mapping[str, Any]) -> FailureSignature:
        """Return the signature of :meth:`as_dict`; missing fields and values of a later version fall back."""
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
    error_output: str | bytes, agent_id: str = "", task_id: str = "", *, timestamp: float | None = None
) -> FailureSignature:
    """Return the signature of raw error output. Never raises."""
    return FailureSignature.from_error(error_output, agent_id, task_id, timestamp=timestamp)


def signature_of(
    parsed: ParsedOutput,
    error_type: ErrorType,
    *,
    passes: bool = True,
    agent_id: str = "",
    task_id: str = "",
    timestamp: float = 0.0,
    exit_code: int | None = None,
    tool: str | None = None,
) -> FailureSignature:
    """Return the signature of a parsed output. Retry times are parsed only where the failure ``passes`` with time."""
    context, subject = context_and_subject(parsed)
    return FailureSignature(
        _exact(parsed),
        error_type,
        parsed.location,
        digest(context),
        timestamp,
        agent_id,
        task_id,
        MappingProxyType(_known(parsed, passes, exit_code, tool)),
        subject,
    )


def _known(parsed: ParsedOutput, passes: bool, exit_code: int | None, tool: str | None) -> dict[str, str]:
    """Return the metadata, as far as it is known."""
    known: dict[str, str] = {}
    if parsed.headline:
        known["headline"] = parsed.headline
    if parsed.function:
        known["function"] = parsed.function
    if parsed.test:
        known["test"] = parsed.test
    if exit_code is not None:
        known["exit_code"] = str(exit_code)
    if tool:
        known["tool"] = tool
    if passes:
        from unstuck.diagnosis.classification.retry_after import retry_times

        known |= retry_times(parsed.seen, f"{parsed.headline} {parsed.detail}")
    return known


def parse_error(message: str | bytes, trace: str | bytes | None = None) -> ParsedOutput:
    """Parse an error's text and its separate stack trace, if any."""
    from unstuck.diagnosis.parsers.python import innermost
    from unstuck.diagnosis.parsing.output_parser import parse_output
    from unstuck.diagnosis.parsing.truncation import ends_of

    parsed = parse_output(_joined(message, trace))
    # Frames alone (traceback.format_tb) have no heading, by which a parser would know them.
    found = innermost(ends_of(trace)) if trace and parsed.location is None else None
    if found is not None:
        parsed.location, parsed.function = map(admit, found)
    return parsed


def _joined(message: str | bytes, trace: str | bytes | None) -> str:
    """Return the trace, then the message: the order in which tools print them."""
    text, stack = as_text(message), as_text(trace)
    return text if not stack or (text in stack and "\n" in text) else f"{stack}\n{text}"


def _exact(parsed: ParsedOutput) -> Clean:
    """Return the text where it is short, otherwise its headline and detail."""
    text = parsed.seen.text
    if len(text) <= MESSAGE_LIMIT:
        return admit(text.strip(), limit=MESSAGE_LIMIT)
    return Clean(shorten(f"{parsed.headline} {parsed.detail}".strip(), MESSAGE_LIMIT))


# The parsers of all tools are imported at the first use: most commands only read recorded signatures.
def _signed(parsed: ParsedOutput, **known: Any) -> FailureSignature:
    return signature_of(parsed, _type_of(parsed), **known)


def _type_of(parsed: ParsedOutput) -> ErrorType:
    from unstuck.diagnosis.classification.error_type import error_type_of

    return error_type_of(parsed)


def _overlap(one: frozenset[str], two: frozenset[str]) -> float:
    return 2 * len(one & two) / (len(one) + len(two)) if one or two else 1.0
