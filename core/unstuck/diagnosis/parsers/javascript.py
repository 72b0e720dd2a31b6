"""Parsers of JavaScript and TypeScript: errors with a stack below, and test runners that name the test above."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsers.base import Finding, all_of, is_library, place

HEAD = Lazy(
    r"\s*(?:\S{1,30}\|\S{1,30}\s*\| )?(?:Uncaught )?(?:[✘✗⨯×] )?(?:\[cause\]: )?"
    r"(?:[A-Z][a-z]+(?: [a-z]+){1,4}: )?([A-Z]\w{0,80})(?: \[(\w+)\])?: (.*)$"
)
IN_MESSAGE = Lazy(r"\w+: (/?[^\s:]{1,300}\.\w{1,5}): .{0,200}\((\d{1,7}):\d{1,7}\)$")
# Deno and bun name no class.
PLAIN_HEAD = Lazy(r"(?:error: (?:Uncaught )?(?:\(in promise\) )?|(TS\d{4,5}) \[ERROR\]: )(\S.*)$")
BARE_HEAD = Lazy(r"\s*(?:Uncaught )?([A-Z]\w{0,80})(?: \[(\w+)\])?(?:: (.*))?$")
AT = Lazy(r"\bat (?:async )?(?:(.{1,200}?) \()?((?:file://)?[^\s()]{1,400}):(\d{1,7}):\d{1,7}\)?(?: \{)?$")
# A prefix, such as the name of the service that printed it.
BEFORE_FRAME = 60
# A line and a column at the end: every frame has them.
AT_END = Lazy(r":\d{1,7}:\d{1,7}\)?(?: \{)?[ \t]{0,20}(?:\n|$)")
ARROW = Lazy(r"\s*❯ (?:(\S{1,200}) )?([^\s:]{1,400}):(\d{1,7}):\d{1,7}$")
THROWN = Lazy(r"(?:\s?[A-Z][a-z]+(?: [a-z]+){1,4}: )?((?:file://)?(?:/|[A-Za-z]\W[\\/])[^\s:]{1,400}):(\d{1,7})$")
CARET = Lazy(r"\s*\^+$")
# The line of the code in which a bundler could not read a file.
IN_FILE = Lazy(r"At file: (\S{1,400}?):(\d{1,7}):\d{1,7}$")
TEST = Lazy(
    r"\s*(?:● (.{1,300})|FAIL\s+(\S+\s+>\s+.{1,300})|✖ (?!failing tests:)(.{1,300}?)(?: \([\d.]+ ?m?s\))?"
    r"|\d{1,4}\) (.{1,300}):?|FAIL {2}\"(.{1,300})\")$"
)
SUITE = Lazy(r"\s*FAIL\s+(\S+\.[cm]?[jt]sx?)(?: \[.*\])?$")
TEST_STARTS = " FR0123456789✖"
ERROR_WORD = Lazy(r"(?:Error|Exception|Failure|Warning|Fault|Panic)$")
CODE = Lazy(r"\s*code: '(\w+)'")
MESSAGE_LINES = 12
# An error of which all frames are a library's is mostly another program's, told once more.
PLACELESS = 72


def stack(text: str, lines: list[str]) -> Finding | None:
    """Return the first error that has frames."""
    if not AT_END.search(text):
        return None
    reader = _Reader()
    # Under TAP the output of the program has a prefix.
    for line in (line.removeprefix("# ") for line in lines) if "TAP version" in text else lines:
        if line:
            reader.feed(line)
    return reader.finding()


class _Reader:
    """Parser that gets every line once: heads, frames, and the tests and suites above them."""

    def __init__(self) -> None:
        self._test = self._suite = ""
        self._is_suite = False
        self._head: tuple[str, str, str] | None = None
        self._message: list[str] = []
        self._thrown: tuple[str, str] | None = None
        self._frames: list[tuple[str, str, str]] = []
        self._done: Finding | None = None
        self._failed: list[Finding] = []
        self._placeless: Finding | None = None
        self._in_frames = False
        self._last = ""
        self._code = ""

    def feed(self, line: str) -> None:
        complete = self._done or self._placeless
        # Node may print the code of a system error below the frames.
        if complete is not None and not complete.code and "code: '" in line and (code := CODE.match(line)):
            complete.code = code[1] if complete.location or code[1] not in complete.headline else ""
        if self._done is not None and not self._is_next_test(line):
            return
        frame = self._frame(line)
        if frame is not None:
            self._framed(frame)
        elif self._in_frames and self._head:
            self._close(line)
        else:
            self._text(line)

    def _is_next_test(self, line: str) -> bool:
        """Return whether ``line`` begins another failed test. The finding of the one before is kept."""
        if self._done is None or self._done.kind != "test" or line[0] not in TEST_STARTS or not TEST.match(line):
            return False
        self._failed.append(self._done)
        self._done = self._placeless = self._thrown = self._head = None
        self._in_frames, self._frames, self._code = False, [], ""
        return True

    @staticmethod
    def _frame(line: str) -> tuple[str, str, str] | None:
        if "at " in line:
            match = AT.search(line)
            match = match if match is not None and match.start() <= BEFORE_FRAME else None
        else:
            match = ARROW.match(line) if "❯ " in line else None
        return (match[2], match[3], match[1] or "") if match else None

    def _framed(self, frame: tuple[str, str, str]) -> None:
        if self._head is None and self._last and (bare := BARE_HEAD.match(self._last)):
            # A user's class may have any name: a line above a frame is an error.
            self._head = (bare[1], bare[2] or "", self._last.strip())
        self._in_frames = True
        self._frames.append(frame)

    def _text(self, line: str) -> None:
        self._in_frames = False
        self._last = line
        head = _head(line) if ": " in line else None
        if head:
            self._head = head
            self._message, self._frames, self._is_suite = [], [], False
        elif line[0] in TEST_STARTS and (test := TEST.match(line)) and not line.lstrip().startswith("● Console"):
            self._test = (test[1] or test[2] or test[3] or test[4] or test[5]).strip()
            # A suite may be here, with the test's own name below it.
            self._is_suite = bool(test[4]) and not self._test.endswith(":")
            self._head, self._message, self._frames = ("", "", ""), [], []
        elif line.lstrip().startswith("FAIL") and (suite := SUITE.match(line)):
            self._suite = suite[1]
        elif self._head and len(self._message) < MESSAGE_LINES:
            self._message.append(line.strip())
            if self._is_suite and line.endswith(":"):
                self._test = " ".join((self._test, *self._message)).rstrip(":")
                self._message, self._is_suite = [], False
        elif (thrown := THROWN.match(line)) and not is_library(thrown[1]):
            self._thrown = (thrown[1], thrown[2])

    def _close(self, line: str) -> None:
        """Return the first error, with the place of a later one where it has none."""
        if not self._code and (code := CODE.match(line)):
            self._code = code[1]
        found = self._current()
        if self._placeless is not None and found is not None:
            self._placeless.location, self._placeless.code = found.location, self._placeless.code or found.code
            self._placeless.weight = max(self._placeless.weight, found.weight)
            found = self._placeless
        if found is not None and found.location:
            self._done = found
        else:
            self._placeless, self._in_frames, self._frames = found, False, []
            self._last = line

    def finding(self) -> Finding | None:
        """Return the only error, or of many failed tests the first in the code."""
        last = self._done or self._placeless or self._current()
        tests = [*self._failed, last] if last is not None and last.location else self._failed
        if not self._failed:
            return last
        found = min(tests, key=_place_of)
        found.test = all_of(test.test for test in tests)
        return found

    def _read_in(self, headline: str) -> re.Match[str] | None:
        """Return the place in the message."""
        return IN_MESSAGE.match(headline) or next(filter(None, map(IN_FILE.match, self._message)), None)

    def _current(self) -> Finding | None:
        if self._head is None or not (self._frames or self._thrown):
            return None
        name, code, headline = self._head
        headline = headline or next((message for message in self._message if message), "")
        if not headline:
            return None
        own = [frame for frame in self._frames if not is_library(frame[0])]
        parsed = self._read_in(headline) if not own else None
        thrown = (parsed[1], parsed[2]) if parsed else self._thrown or ("", "")
        file, number, function = own[0] if own else (*thrown, "")
        tested = bool(self._test or self._suite)
        return Finding(
            weight=90 if tested else 85 if file else PLACELESS,
            headline=headline,
            name=name or ("AssertionError" if "expect(" in headline or "xpected" in headline else ""),
            code=code or self._code or _code_in(self._message),
            location=place(file, number) if file else None,
            function="" if function.startswith(("Object.<anonymous>", "<anonymous>")) else function,
            test=self._test or self._suite,
            detail=" ".join(self._message[:MESSAGE_LINES]),
            kind="test" if tested else "run",
            files=tuple(dict.fromkeys(frame[0] for frame in own)),
        )


def _head(line: str) -> tuple[str, str, str] | None:
    """Return class, code and headline of a line that begins an error, or None."""
    head = HEAD.match(line)
    # ts-node throws what the compiler says, which is a line of its own.
    if head and ERROR_WORD.search(head[1]) and head[1] != "TSError":
        return head[1], head[2] or "", f"{head[1]}: {head[3]}"
    plain = PLAIN_HEAD.match(line)
    return ("Error", plain[1] or "", plain[2]) if plain else None


def thrown(text: str, lines: list[str]) -> Finding | None:
    """Return a thrown value that is no error: node prints it below the source and a caret, without a stack."""
    for number, line in enumerate(lines[2:-1], 2):
        place_of = THROWN.match(lines[number - 2]) if "^" in line and CARET.match(line) else None
        message = [below for below in lines[number + 1 : number + MESSAGE_LINES] if below]
        if message and (place_of or lines[number - 2].startswith(("node:", "[eval]:"))):
            spot = place(place_of[1], place_of[2]) if place_of else None
            return Finding(62, message[0].strip(), name="throw", location=spot)
    return None


def _place_of(found: Finding) -> tuple[str, int]:
    file, _, line = (found.location or "").rpartition(":")
    return file, int(line or 0)


def _code_in(lines: list[str]) -> str:
    return next((found[1] for line in lines if (found := CODE.match(line))), "")


TAP_FAILED = Lazy(r"\s*not ok \d+ (?:- )?(?!.*# (?i:todo|skip))(.{1,300})$")
TAP_FIELD = Lazy(r"\s+(location|failureType|error|code|name|expected|message) {0,3}: '?(.*?)'?$")
TAP_FRAME = Lazy(
    r"\s+(?:at:? )?(?:(.{1,200}?) \()?(?:file://)?((?:[A-Za-z]\W)?[/\\][^\s()]{1,400}):(\d{1,7}):\d{1,7}\)?$"
)


@dataclass(slots=True)
class _Report:
    """Report below a failed test. ``frame`` is the user's first one in its stack."""

    test: str
    fields: dict[str, str] = field(default_factory=dict)
    error: list[str] = field(default_factory=list)
    frame: re.Match[str] | None = None

    def feed(self, line: str) -> None:
        if message := TAP_FIELD.match(line):
            self.fields.setdefault(message[1], message[2])
        elif "error" in self.fields and "code" not in self.fields and "name" not in self.fields and line.strip():
            self.error.append(line.strip())
        elif self.frame is None and ":" in line and (at := TAP_FRAME.match(line)) and not is_library(at[2]):
            self.frame = at


def tap(text: str, lines: list[str]) -> Finding | None:
    """Return the first test of a TAP report that failed itself, with its fields and the user's frame."""
    reports: list[_Report] = []
    inside = False
    # Only under TAP's own heading may the dash be missing.
    sign = "not ok " if "TAP version" in text else " - "
    for line in lines:
        if "not ok " in line and sign in line and (failed := TAP_FAILED.match(line)):
            # A file that failed as a whole is named by its path; its directory is irrelevant.
            reports.append(_Report(failed[1].rpartition("/")[2] if failed[1].startswith("/") else failed[1]))
            inside = True
        elif inside and line.strip() == "...":
            inside = False
        elif inside:
            reports[-1].feed(line)
    own = [report for report in reports if report.fields.get("failureType") != "subtestsFailed"] or reports[-1:]
    return _tap_finding(own[0], all_of(report.test for report in own)) if own else None


def _tap_finding(report: _Report, tests: str) -> Finding:
    fields, error = report.fields, report.error
    message = fields.get("error", "").strip('"') or fields.get("message", "")
    message = next(iter(error), "") if message in ("|-", "|", ">-") or not message else message
    name, code = fields.get("name", ""), fields.get("code", "")
    if "expected" in fields and not name:
        name, message = "AssertionError", f"{report.test}: expected {fields['expected']}"
    # The runner's own word for a failed file: the program's output is more specific.
    whole_file = code == "ERR_TEST_FAILURE" and message == "test failed"
    return Finding(
        weight=60 if whole_file else 91,
        headline=f"{name}: {message}" if name and message else message or f"{report.test} failed",
        name=name or ("Error" if fields.get("failureType") == "testCodeFailure" and not whole_file else ""),
        code="" if code == "ERR_TEST_FAILURE" else code,
        location=place(report.frame[2], report.frame[3]) if report.frame else _spot(fields.get("location", "")),
        test=tests,
        detail=" ".join(error[1:MESSAGE_LINES]),
        kind="test",
    )


def _spot(location: str) -> str | None:
    """Return ``file:line`` of ``file:line:column``."""
    file, _, line = location.rpartition(":")[0].rpartition(":")
    return place(file, line) if file and line.isdigit() else None
