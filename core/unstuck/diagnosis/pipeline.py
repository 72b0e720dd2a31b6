"""From an output to a diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from unstuck.diagnosis.classification.categories import category_of
from unstuck.diagnosis.classification.causes import NO_PAST, Past, cause_of
from unstuck.diagnosis.classification.error_type import error_type_of
from unstuck.diagnosis.classification.failure_types import failure_type_of
from unstuck.diagnosis.classification.hints import hint_for
from unstuck.diagnosis.enums import ErrorCategory, ErrorType
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.parsing.parsed_output import Reading
from unstuck.diagnosis.signatures.signature import FailureSignature
from unstuck.text import Clean

__all__ = ["diagnose"]

# Before Python 3.12 a member costs a hundred times as much through its class.
TRANSIENT = ErrorCategory.TRANSIENT


def diagnose(
    output: str | bytes | None,
    *,
    exit_code: int | None = None,
    tool: str | None = None,
    root: str | None = None,
    task_id: str = "",
    agent_id: str = "",
    phase: str | None = None,
    history: Iterable[Diagnosis | FailureSignature | str] | None = None,
    pre_existing: bool | None = None,
    at: float = 0.0,
) -> Diagnosis | None:
    """What failed, or None when ``exit_code`` is 0. Never raises on any output; looks at a bounded head and tail.

    ``root`` is the directory that locations become relative to; ``phase`` is ``parse`` or ``test`` where the caller
    knows; ``history`` are the failures before this one (a string is an identity), which make a cause worse, never a
    circle; ``pre_existing`` says that the baseline fails in the same way; ``at`` is seconds since 1970.
    """
    if exit_code == 0:
        return None
    read, signature_of, diagnosis_of = _readers()
    reading = read(output or "", root=root, exit_code=_as_shell_says(exit_code))
    error_type = error_type_of(reading)
    category = category_of(reading, error_type, pre_existing=bool(pre_existing))
    signature = signature_of(
        reading,
        error_type,
        passes=category is TRANSIENT,
        agent_id=agent_id,
        task_id=task_id,
        timestamp=at,
        exit_code=exit_code,
        tool=tool,
    )
    failure_type = failure_type_of(reading, error_type)
    cause = cause_of(reading, error_type, _past(signature, history) if history else NO_PAST, phase=phase)
    headline = reading.headline or Clean("no output" if exit_code is None else f"exit code {exit_code}, no output")
    return diagnosis_of(signature, failure_type, category, cause, headline, hint_for(reading, error_type))


@cache
def _readers() -> tuple[Callable[..., Reading], Callable[..., FailureSignature], Callable[..., Diagnosis]]:
    """What comes in at the first use, with the patterns of all tools: a command that diagnoses nothing needs none."""
    from unstuck.diagnosis.fast_frozen import maker_of
    from unstuck.diagnosis.parsing.output_parser import read
    from unstuck.diagnosis.signatures.signature import signature_of

    return read, signature_of, maker_of(Diagnosis)


def _as_shell_says(exit_code: int | None) -> int | None:
    """A program that a signal ended: -9 to the one who started it, 137 to a shell."""
    return 128 - exit_code if exit_code is not None and -64 <= exit_code < 0 else exit_code


def _past(signature: FailureSignature, history: Iterable[Diagnosis | FailureSignature | str]) -> Past:
    """What earlier failures say of this one; a bare identity says only whether it was the same."""
    known = list(history)
    told = [one.signature if isinstance(one, Diagnosis) else one for one in known if not isinstance(one, str)]
    same = sum(
        one == signature.identity if isinstance(one, str) else one.identity == signature.identity for one in known
    )
    here = sum(bool(signature.location) and one.location == signature.location for one in told)
    return Past(
        retries=same,
        same_location=here + known.count(signature.identity),
        files=frozenset(one.file for one in told if one.file),
        external_api=any(one.error_type is ErrorType.HTTP_ERROR for one in told),
    )
