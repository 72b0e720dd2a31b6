"""One pass over an output: which failure it tells of, and where."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from unstuck.diagnosis.shapes import CONTEXT_EXHAUSTED, SHAPES, Finding
from unstuck.text import Clean, admit

__all__ = ["Reading", "read"]

HEAD_LIMIT = 16 * 1024
TAIL_LIMIT = 64 * 1024
LINE_LIMIT = 2_000
HEADLINE_LIMIT = 400

ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?|[@-Z\\^_])")
TEST_RUN = re.compile(
    r"^(?:FAILED \((?:failures|errors)=\d|Tests?:? .{0,60}\b\d+ failed|=+ .{0,200}\b\d+ failed|\s*\d+ failing$"
    r"|# fail [1-9]|ℹ fail [1-9]|--- FAIL: |test result: FAILED|Tests run: .*(?:Failures|Errors): [1-9]"
    r"|npm (?:error|ERR!) Test failed|> \S+ test$)",
    re.MULTILINE,
)
TEST_GATES = ("fail", "FAIL", "Tests run", " test")
RETRY_AFTER = re.compile(
    r"(?:retry[-_ ]?after|retryDelay|retry in|try again in)\W{1,6}(\d{1,6}(?:\.\d{1,6})?)"
    r" ?(m?s|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?)?\b",
    re.IGNORECASE,
)
LIVELY_EXITS = {124: "timed out", 137: "killed", 139: "segmentation fault", 143: "terminated", 127: "command not found"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What one output says. ``text`` is the bounded text without escapes; ``headline`` the line that says it best.

    ``location`` is ``file:line`` or None; ``retry_after`` seconds as text, empty where none is said; ``exit_code`` as
    given; ``kind`` is ``run``, ``build``, ``lint`` or ``test``; ``weight`` 0 to 100 says how sure the shape was.
    """

    text: str
    headline: Clean
    name: str = ""
    code: str = ""
    location: str | None = None
    function: str = ""
    test: str = ""
    detail: str = ""
    kind: str = "run"
    files: tuple[str, ...] = ()
    weight: int = 0
    test_run: bool = False
    context_exhausted: bool = False
    retry_after: str = ""
    exit_code: int | None = None


def read(output: str | bytes, *, root: str | None = None, exit_code: int | None = None) -> Reading:
    """Read an output once. ``root`` is cut off the paths it says. Linear in a bounded part; never raises."""
    text = _bounded(output)
    marked = f"\n{text}"
    shapes = [shape(text) for shape in SHAPES if not shape.gates or any(gate in marked for gate in shape.gates)]
    feeds = [shape.feed for shape in shapes]
    for whole in text.split("\n"):
        line = whole[:LINE_LIMIT].rstrip()
        for feed in feeds:
            feed(line)
    test_run = any(gate in text for gate in TEST_GATES) and TEST_RUN.search(text) is not None
    best = _best([found for shape in shapes if (found := shape.finding()) is not None], exit_code)
    return _reading(text, best, test_run or best.kind == "test", root, exit_code)


def _best(found: list[Finding], exit_code: int | None) -> Finding:
    """The surest; where it says no place, a weaker one that does may lend its own."""
    borrowed = next((finding.location for finding in found if finding.location and not finding.headline), None)
    installer = any(finding.kind == "build" and finding.weight in (61, 62) for finding in found)
    spoken = [finding for finding in found if finding.headline]
    best = max(spoken, key=lambda finding: finding.weight, default=Finding(0, ""))
    if best.weight == 0 and exit_code in LIVELY_EXITS:
        return Finding(
            weight=20, headline=f"exit code {exit_code}: {LIVELY_EXITS[exit_code]}", code=f"exit {exit_code}"
        )
    if best.location is None and borrowed:
        return replace(best, location=borrowed, kind="build")
    return replace(best, kind="build") if installer and best.kind == "run" else best


def _reading(text: str, best: Finding, test_run: bool, root: str | None, exit_code: int | None) -> Reading:
    headline = Clean(admit(best.headline[:LINE_LIMIT])[:HEADLINE_LIMIT])
    kind = "test" if test_run and best.kind == "run" else best.kind
    said = f"{headline} {best.detail}" if best.weight < 95 else ""
    wait = RETRY_AFTER.search(text) if "retry" in text.lower() or "try again in" in text else None
    return Reading(
        text=text,
        headline=headline,
        name=best.name,
        code=best.code,
        location=_relative(best.location, root),
        function=_clean(best.function),
        test=_clean(best.test),
        detail=_clean(best.detail),
        kind=kind,
        files=best.files,
        weight=best.weight,
        test_run=test_run,
        context_exhausted=bool(CONTEXT_EXHAUSTED.search(said)),
        retry_after=_seconds(wait) if wait else "",
        exit_code=exit_code,
    )


def _clean(text: str) -> str:
    return str(admit(text, limit=LINE_LIMIT)) if text else ""


def _bounded(output: str | bytes) -> str:
    """Head and tail, as text with plain line ends and no terminal escapes; half lines at the cut are dropped."""
    if len(output) > HEAD_LIMIT + TAIL_LIMIT:
        head, tail = _text(output[:HEAD_LIMIT]), _text(output[-TAIL_LIMIT:])
        text = "\n".join((head.rpartition("\n")[0] or head, tail.partition("\n")[2] or tail))
    else:
        text = _text(output)
    if "\x1b" in text:
        text = ESCAPE.sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _text(raw: str | bytes) -> str:
    return raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "replace")


def _relative(location: str | None, root: str | None) -> str | None:
    if location and root:
        location = location.removeprefix(root.rstrip("/") + "/")
    return _clean(location) if location else None


def _seconds(wait: re.Match[str]) -> str:
    unit = (wait[2] or "s").lower()
    factor = 0.001 if unit == "ms" else 60.0 if unit.startswith("m") else 1.0
    return f"{float(wait[1]) * factor:g}"
