"""Parser of Elixir: exceptions, compiler errors, and ExUnit's tests."""

from __future__ import annotations

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsers.base import Finding, all_of, is_library, place

FILE = r"(?P<file>(?:[A-Za-z]\W(?=\\))?[\w./\\-]{1,300}\.(?:exs?|l?eex|heex))"
TEST = Lazy(r"\s+\d{1,5}\) ((?:test|doctest|property|feature) .{1,300} \([\w.]{1,200}\))$")
RAISED = Lazy(r"\s*\*\* \((?P<name>[A-Z][\w.]{0,100})\) ?(?P<msg>.*)$")
REFUSED = Lazy(rf"(?:[a-z ]{{1,40}} on )?{FILE}:(?P<line>\d{{1,7}})(?::\d{{1,5}})?:? ?(?P<msg>.*)$")
FRAME = Lazy(
    rf"\s+(?:└─ )?(?:\((?P<app>\w{{1,60}}) [^)]{{1,40}}\) )?{FILE}:(?P<line>\d{{1,7}})(?::\d{{1,5}})?"
    r"(?:: (?P<function>\S.{0,200}))?$"
)
ERROR = Lazy(r"\s*error: (?P<msg>\S.*)$")
FIELD = Lazy(r"\s+(code|left|right): +(\S.*)$")
# Only the application's name tells their frames from the project's own.
LIBRARIES = frozenset(
    (
        *("elixir", "stdlib", "kernel", "compiler", "ex_unit", "mix", "iex", "logger", "eex"),
        *("ecto", "ecto_sql", "db_connection", "postgrex", "myxql", "jason", "telemetry", "absinthe", "oban"),
        *("phoenix", "phoenix_live_view", "phoenix_html", "plug", "plug_cowboy", "cowboy", "bandit", "thousand_island"),
        *("tesla", "finch", "mint", "req", "nimble_options"),
    )
)
COMPILER = ("CompileError", "SyntaxError", "TokenMissingError", "MismatchedDelimiterError")


def elixir(text: str, lines: list[str]) -> Finding | None:
    """Return the first exception, or of the failed tests, which run in any order, the first in the code."""
    reader = _Reader()
    for line in lines:
        reader.feed(line)
    return reader.finding()


class _Reader:
    """Parser that gets every line once. An error is open until it has a place."""

    def __init__(self) -> None:
        self._tests: list[tuple[str, int, Finding]] = []
        self._found: list[Finding] = []
        self._open: Finding | None = None

    def feed(self, line: str) -> None:
        if ") " in line and (test := TEST.match(line)):
            self._open = Finding(92, "", test=test[1], kind="test")
            self._tests.append(("", 0, self._open))
        elif "** (" in line and (raised := RAISED.match(line)):
            self._raise(raised["name"], raised["msg"])
        elif "rror: " in line and (error := ERROR.match(line)):
            self._refuse(error["msg"])
        elif self._open is None or not line:
            return
        elif ".ex" in line and (frame := FRAME.match(line)):
            self._place(frame["app"], frame["file"], frame["line"], frame["function"] or "")
        elif self._open.kind == "test":
            self._say(line)

    def _raise(self, name: str, message: str) -> None:
        refused = REFUSED.match(message) if name in COMPILER else None
        found = self._open
        if found is None or found.headline or found.kind != "test":
            if found is not None and name in COMPILER and not refused:
                # The compiler's errors are above its last line.
                return
            found = self._open = Finding(86, "", kind="build" if name in COMPILER else "run")
            self._found.append(found)
        found.name = "" if name == "CompileError" else name.rpartition(".")[2]
        found.headline = f"{name}: {refused['msg'] or message if refused else message}"
        if refused:
            found.location = place(refused["file"], refused["line"])

    def _refuse(self, message: str) -> None:
        if self._open is not None and self._open.name in COMPILER:
            self._open.headline = f"{self._open.name}: {message}"
        else:
            self._open = Finding(84, message, kind="build")
            self._found.append(self._open)

    def _place(self, app: str | None, file: str, line: str, function: str) -> None:
        found = self._open
        if found is None or app in LIBRARIES or is_library(file) or file.startswith("deps/"):
            return
        if found.kind == "test" and not found.headline and not self._tests[-1][0]:
            self._tests[-1] = (file, int(line), found)
        elif found.location is None:
            found.location, found.function = place(file, line), "" if function == "(test)" else function

    def _say(self, line: str) -> None:
        found = self._open
        if found is None:
            return
        if field := FIELD.match(line):
            if field[1] == "code" and not found.name:
                found.headline = f"{found.headline}: {field[2].removeprefix('assert ')}"
            elif field[1] != "code":
                found.detail = f"{found.detail} {field[1]}: {field[2]}".strip()
        elif not found.headline:
            found.headline = line.strip()

    def finding(self) -> Finding | None:
        if self._tests:
            file, line, found = min(self._tests, key=lambda test: (test[0], test[1], test[2].test))
            found.name = found.name or "AssertionError"
            found.location = found.location or (place(file, line) if file else None)
            found.headline = found.headline or f"{found.test} failed"
            found.test = all_of(test.test for _, _, test in self._tests)
            return found if file else None
        placed = [found for found in self._found if found.location]
        return next(iter(placed or [found for found in self._found if found.kind == "run"]), None)
