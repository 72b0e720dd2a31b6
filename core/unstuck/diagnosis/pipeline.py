"""Diagnosis of an output, alone and after earlier failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from unstuck.diagnosis.classification.categories import category_of
from unstuck.diagnosis.classification.causes import cause_after, cause_of
from unstuck.diagnosis.classification.error_type import error_type_of, type_around
from unstuck.diagnosis.classification.failure_types import failure_type_of
from unstuck.diagnosis.classification.hints import hint_for
from unstuck.diagnosis.classification.recognition import is_recognised
from unstuck.diagnosis.enums import ErrorCategory, ErrorType
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput
from unstuck.diagnosis.signatures.signature import FailureSignature
from unstuck.errors import ArgumentError
from unstuck.text import Clean

# Before Python 3.12 a member costs a hundred times as much through its class.
TRANSIENT = ErrorCategory.TRANSIENT
UNKNOWN = ErrorType.UNKNOWN


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
    failed: bool = False,
) -> Diagnosis | None:
    """Return the diagnosis of an output, or None for no failure. Parses a bounded head and tail of
    anything. Raises ArgumentError for an exit code of another type.

    There is no failure when ``exit_code`` is 0, nor when it is not known and no rule recognises one in the output.
    Locations become relative to the directory ``root``. ``phase`` is ``parse`` or ``test`` where the caller knows.
    ``failed`` means that it has failed with an exit code that is not known.
    ``history`` is that of :func:`with_history`. ``pre_existing`` means that the baseline fails in the same way. ``at``
    is seconds since 1970.
    """
    if not (exit_code is None or isinstance(exit_code, int)):
        raise ArgumentError(f"diagnose: exit_code must be a whole number or None, not {type(exit_code).__name__}")
    if exit_code == 0:
        return None
    parse_output, signature_of = _parsers()
    parsed = parse_output(output or "", root=root, exit_code=_shell_exit_code(exit_code))
    error_type = error_type_of(parsed)
    if exit_code is None and not failed and not is_recognised(parsed, error_type):
        return None
    if error_type is UNKNOWN:
        error_type = type_around(parsed)
    category = category_of(parsed, error_type, pre_existing=bool(pre_existing))
    signature = signature_of(
        parsed,
        error_type,
        passes=category is TRANSIENT,
        agent_id=agent_id,
        task_id=task_id,
        timestamp=at,
        exit_code=exit_code,
        tool=tool,
    )
    failure_type = failure_type_of(parsed, error_type, phase=phase)
    cause = cause_of(parsed, error_type, phase=phase)
    headline = parsed.headline or Clean("no output" if exit_code is None else f"exit code {exit_code}, no output")
    hint = hint_for(parsed, error_type)
    found = Diagnosis(signature, failure_type, category, cause, headline, hint, parsed.files)
    return with_history(found, history) if history else found


def with_history(diagnosis: Diagnosis, history: Iterable[Diagnosis | FailureSignature | str]) -> Diagnosis:
    """Return ``diagnosis`` with its cause after the failures in ``history``, of which a string is an identity."""
    known = list(history)
    earlier = [one.signature if isinstance(one, Diagnosis) else one for one in known if not isinstance(one, str)]
    identities = [one if isinstance(one, str) else one.identity for one in known]
    here = sum(bool(diagnosis.location) and one.location == diagnosis.location for one in earlier)
    cause = cause_after(
        diagnosis.cause,
        diagnosis.error_type,
        retries=identities.count(diagnosis.identity),
        same_location=here + known.count(diagnosis.identity),
        files=len({*diagnosis.files, *(one.file for one in earlier if one.file)}),
        external_api=any(one.error_type is ErrorType.HTTP_ERROR for one in earlier),
    )
    return replace(diagnosis, cause=cause)


@cache
def _parsers() -> tuple[Callable[..., ParsedOutput], Callable[..., FailureSignature]]:
    """Return the functions that need the patterns of all tools, imported at the first diagnosis."""
    from unstuck.diagnosis.parsing.output_parser import parse_output
    from unstuck.diagnosis.signatures.signature import signature_of

    return parse_output, signature_of


def _shell_exit_code(exit_code: int | None) -> int | None:
    """Return the exit code as a shell reports it: 137 for a program that signal 9 ended (-9)."""
    return 128 - exit_code if exit_code is not None and -64 <= exit_code < 0 else exit_code
