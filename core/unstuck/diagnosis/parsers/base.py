"""Finding of a parser, and the rules for file names that parsers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.matching.prefilter import Literals

TESTS_KEPT = 50

# Frames in these are never the user's own code; a marker is matched anywhere in the path.
LIBRARY_MARKS = (
    "site-packages/",
    "dist-packages/",
    "/lib/python3",
    "/lib64/python3",
    "node_modules/",
    "/rustc/",
    "/.cargo/",
    "/.rustup/",
    "/go/pkg/mod/",
    "/usr/local/go/",
    "/usr/lib/",
    "/usr/include/",
    "/include/c++/",
    "/usr/share/",
    "/gems/",
    "/vendor/",
    "java.base/",
    "_testmain.go",
    "ice-9/",
    "venv/bin/",
    "/usr/bin/",
    "/usr/local/bin/",
    "/.local/bin/",
    "/sysdeps/",
    "/libsanitizer/",
)
# A path of a Windows drive has one more slash.
SCHEME = Lazy(r"^(?:file://(?:/(?=[A-Za-z]\W/))?)?(?:\.[\\/])?")
# The standard library on Windows is not below a lib/python3.
WINDOWS_LIBRARY = Lazy(r"\w\W?/.*Python[\d./x_-]{0,20}/Lib/|.*Microsoft Visual Studio|.*Windows Kits/")


@dataclass(slots=True)
class Finding:
    """One failure in an output. ``weight`` is its certainty, 0 to 100; ``name`` the error's class, ``code`` the tool's.

    ``kind`` is ``run`` (a program failed), ``build``, ``lint`` or ``test``. ``detail`` continues the headline.
    ``files`` are the user's own files in it. ``environment`` means that a lookup in the environment failed.
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
    environment: bool = False


@dataclass(frozen=True, slots=True)
class OutputParser:
    """Parser of one family of outputs.

    ``read`` gets the whole text and its lines, only where one of ``literals`` is in the text; these may begin with a
    line feed. ``most`` is the highest weight that it can give: after a surer finding it is not called.
    """

    most: int
    literals: Literals
    read: Callable[[str, list[str]], Finding | None]


def is_library(file: str) -> bool:
    """Return whether ``file`` belongs to an installation, not to the project."""
    file = file.replace("\\", "/")
    if file.startswith(("<", "[", "(", "libraries/", "node:", "ext:", "-", "/dev/fd/", "/dev/std", "/dev/tty")):
        # Generated code, modules of node and GHC, a command line (-e), a pipe.
        return True
    if file.startswith("internal/") and file.endswith(".js"):
        # Node's modules without their scheme; other languages have an internal/, too.
        return True
    return any(mark in file for mark in LIBRARY_MARKS) or ("i" in file and WINDOWS_LIBRARY.match(file) is not None)


def all_of(tests: Iterable[str]) -> str:
    """Return the names of the failed tests, sorted. A subset of them is another failure."""
    return " ".join(sorted(set(filter(None, tests)))[:TESTS_KEPT])


def place(file: str, line: str | int) -> str:
    """Return ``file:line`` without a scheme or ``./`` before the path."""
    return f"{SCHEME.sub('', file)}:{line}"
