"""From an output to a diagnosis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from unstuck.diagnosis.categories import category_of
from unstuck.diagnosis.causes import cause_of
from unstuck.diagnosis.failure_types import failure_type_of
from unstuck.diagnosis.hints import hint_for
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.reading import read
from unstuck.diagnosis.signature import FailureSignature
from unstuck.text import Clean

__all__ = ["diagnose"]


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
    reading = read(output or "", root=root, exit_code=exit_code)
    signature = _signature(FailureSignature.from_reading(reading), exit_code, tool, agent_id, task_id, at)
    error_type = signature.error_type
    retries, same_location = _repeats(signature, history or ())
    return Diagnosis(
        signature=signature,
        failure_type=failure_type_of(reading, error_type),
        category=category_of(reading, error_type, pre_existing=bool(pre_existing)),
        cause=cause_of(reading, error_type, phase=phase, retries=retries, same_location=same_location),
        headline=reading.headline or Clean("no output" if exit_code is None else f"exit code {exit_code}, no output"),
        fix_hint=hint_for(reading, error_type),
    )


def _signature(
    signature: FailureSignature, exit_code: int | None, tool: str | None, agent_id: str, task_id: str, at: float
) -> FailureSignature:
    said = {"exit_code": "" if exit_code is None else str(exit_code), "tool": tool or ""}
    metadata = {**signature.metadata, **{key: value for key, value in said.items() if value}}
    return replace(signature, agent_id=agent_id, task_id=task_id, timestamp=at, metadata=MappingProxyType(metadata))


def _repeats(signature: FailureSignature, history: Iterable[Diagnosis | FailureSignature | str]) -> tuple[int, int]:
    """How many earlier failures are this one, and how many were at the same place."""
    retries = same_location = 0
    for earlier in history:
        if isinstance(earlier, str):
            retries += earlier == signature.identity
            same_location += earlier == signature.identity
            continue
        retries += earlier.identity == signature.identity
        same_location += bool(signature.location) and earlier.location == signature.location
    return retries, same_location
