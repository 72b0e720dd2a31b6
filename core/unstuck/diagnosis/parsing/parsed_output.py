"""Parsed output of a failed command."""

from __future__ import annotations

from dataclasses import dataclass

from unstuck.diagnosis.matching.prefilter import IndexedText
from unstuck.text import Clean


@dataclass(slots=True)
class ParsedOutput:
    """Parsed output. ``seen`` is its bounded text without escapes, ``headline`` the line that describes the failure.

    ``lowered`` is the headline in lower case. ``location`` is ``file:line`` or None. ``kind`` is ``run``, ``build``,
    ``lint`` or ``test``. ``weight`` is the certainty, 0 to 100. ``environment`` means that a lookup in the process's
    environment failed, ``installing`` that a package was being installed.
    """

    seen: IndexedText
    headline: Clean
    lowered: IndexedText
    name: str = ""
    code: str = ""
    location: str | None = None
    function: str = ""
    test: str = ""
    detail: str = ""
    kind: str = "run"
    files: tuple[str, ...] = ()
    weight: int = 0
    context_exhausted: bool = False
    environment: bool = False
    installing: bool = False
    exit_code: int | None = None
