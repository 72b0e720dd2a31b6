"""What one output says, before it is given names."""

from __future__ import annotations

from dataclasses import dataclass

from unstuck.diagnosis.matching.prefilter import IndexedText
from unstuck.text import Clean

__all__ = ["Reading"]


@dataclass(slots=True)
class Reading:
    """What one output says. ``seen`` is the bounded text without escapes; ``headline`` the line that says it best,
    and ``said`` what is in that in lower case.

    ``location`` is ``file:line`` or None; ``exit_code`` as given; ``kind`` is ``run``, ``build``, ``lint`` or ``test``;
    ``weight`` 0 to 100 says how sure the shape was; ``environment`` says that a lookup in the process's environment
    failed, ``installing`` that a package was being installed.
    """

    seen: IndexedText
    headline: Clean
    said: IndexedText
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
