"""One failure as a tool printed it, and what every reader of a shape needs to know about files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

__all__ = ["Finding", "Shape", "is_library", "place"]

# Frames in these are never the user's own code; a leading marker is matched anywhere in the path.
LIBRARY_MARKS = (
    "site-packages/",
    "dist-packages/",
    "/lib/python",
    "/lib64/python",
    "node_modules/",
    "/rustc/",
    "/.cargo/",
    "/.rustup/",
    "/go/pkg/mod/",
    "/usr/local/go/",
    "/usr/lib/go",
    "/usr/lib/ruby",
    "/gems/",
    "/usr/include/",
    "/usr/share/",
    "node:",
    "internal/",
    "java.base/",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """``weight`` says how sure the shape is (0 to 100); ``name`` is an error's class, ``code`` a tool's own number.

    ``kind`` is ``run`` (a program failed), ``build``, ``lint`` or ``test``; ``detail`` continues the headline;
    ``files`` are the user's own files that took part.
    """

    weight: int
    headline: str
    name: str = ""
    code: str = ""
    location: str | None = None
    function: str = ""
    test: str = ""
    detail: str = ""
    kind: str = "run"
    files: tuple[str, ...] = ()


class Shape(Protocol):
    """A reader of one family of outputs: sees every line once, then says what it found.

    It is made for one ``text``, and only where one of its ``gates`` is in that text (no gates: always), because a
    search for a substring in the whole text is far cheaper than a look at each line.
    """

    gates: ClassVar[tuple[str, ...]]

    def __init__(self, text: str) -> None: ...

    def feed(self, line: str) -> None: ...

    def finding(self) -> Finding | None: ...


def is_library(file: str) -> bool:
    """True for files that belong to an installation, not to the project."""
    return file.startswith("<") or any(mark in file for mark in LIBRARY_MARKS)


def place(file: str, line: str | int) -> str:
    """``file:line``, without the noise some tools put before a path."""
    return f"{file.removeprefix('file://').removeprefix('./')}:{line}"
