"""Failures told in one plain line: services, downloads, the system, package managers, git."""

from __future__ import annotations

import re
from functools import cache
from typing import ClassVar

from unstuck.diagnosis.shapes.finding import Finding

__all__ = ["CONTEXT_EXHAUSTED", "PlainShape"]

# Whole phrases only: "context" alone is a word of every second program.
CONTEXT_EXHAUSTED = re.compile(
    r"prompt is too long|context_length_exceeded|maximum context length"
    r"|(?:exceeds?|over) (?:the )?context (?:limit|length|window)"
    r"|input token count.{0,60}exceeds the maximum number of tokens"
    r"|context (?:window|length|limit)(?: \S+)? (?:exceeded|exhausted|reached)"
    r"|exceeds? (?:the |its |your )?(?:model's )?(?:maximum )?context window|ran out of context|context window is full"
    r"|token limit (?:exceeded|reached)|(?:exceeds?|over|reached) (?:the |its |your )?(?:maximum )?token limit"
    r"|maximum length (?:of|for) (?:the )?(?:context|prompt|input)",
    re.IGNORECASE,
)
ERRNO = (
    "ECONNREFUSED ECONNRESET ECONNABORTED EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN EPIPE EADDRINUSE ETIMEDOUT "
    "ESOCKETTIMEDOUT ENOENT EACCES EPERM ENOSPC EBUSY EMFILE EEXIST EISDIR ENOTDIR ENOTEMPTY EROFS ENOMEM ETXTBSY "
    "MODULE_NOT_FOUND"
)

CLASS = r"(?:Uncaught |Unhandled )?(?:[\w$]{1,60}\.){0,8}"

# (weight, substring that must be there, pattern with optional groups code, msg and name, kind).
# Higher weights win, then earlier lines.
_TABLE = (
    (72, "API Error", r".{0,20}?API Error:? *(?P<code>\d{3})\b.*", "run"),
    (72, "API Error", r".{0,20}?API Error:.*\w.*", "run"),
    (68, "Segmentation fault", r".*Segmentation fault.*", "run"),
    (66, "Killed", r"(?:.*: line \d+: +\d+ )?Killed\b.*", "run"),
    (66, "Aborted", r"(?:.*: line \d+: +\d+ )?Aborted\b.*", "run"),
    (70, "curl: (", r"curl: \((?P<code>\d{1,3})\).*", "run"),
    (62, "NewConnectionError", r".*NewConnectionError.*?(?P<msg>(?:Failed to establish|\[Errno).*)", "build"),
    (61, "No matching distribution", r"ERROR: (?P<msg>No matching distribution found for .*)", "build"),
    (61, "metadata-generation-failed", r".*", "build"),
    (70, "npm", r"npm (?:error|ERR!) code (?P<code>[A-Z]\w*)", "build"),
    (36, "npm", r"npm (?:error|ERR!) (?P<msg>(?!A complete log|code |errno |path |syscall |command )\S.*)", "build"),
    (60, "HTTP", r".*?\bHTTP(?:/\d(?:\.\d)?)? (?:Error |status |status code )?(?P<code>[45]\d\d)\b.*", "run"),
    (58, "status code", r".*?\bstatus code:? (?P<code>[45]\d\d)\b.*", "run"),
    (64, "CONFLICT", r"CONFLICT \(.*", "run"),
    (64, "[rejected]", r" ! \[rejected\].*", "run"),
    (58, "No rule to make target", r"make(?:\[\d+\])?: \*\*\* (?P<msg>No rule to make target .*)", "build"),
    (35, "*** [", r"make(?:\[\d+\])?: \*\*\* \[.*", "build"),
    (60, "FATAL:", r"(?:psql: error: .*)?(?P<msg>FATAL: .*)", "run"),
    (56, "ERROR:  ", r"ERROR:  (?P<msg>.*)", "run"),
    (57, "in prepare", r"Error: (?P<msg>in prepare, .*)", "run"),
    (55, "command not found", r".*command not found.*", "run"),
    *((52, code, rf".*?\b(?P<code>{code})\b.*", "run") for code in ERRNO.split()),
    (50, "panic", r"panic: .*", "run"),
    (45, "rror", r"(?:\w[\w./-]{0,40}: )?(?:fatal )?error(?: [\w-]{1,20})?: .*", "run"),
    (46, "Error", rf"{CLASS}(?P<name>[A-Z]\w{{1,60}}Error)(?: \[(?P<code>\w+)\])?(?:: .*)?", "run"),
    (45, "ERROR", r"ERROR:? .*", "run"),
    (45, "fatal", r"(?:\w[\w./-]{0,40}: )?fatal: .*", "run"),
    (46, "Exception", rf"{CLASS}(?P<name>[A-Z]\w{{1,60}}Exception)(?:: .*)?", "run"),
    (44, "Error", r"(?:\S{1,60}: )?(?:[A-Z]\w{0,60})?Error(?: \[\w+\])?: .*", "run"),
    (42, "refused", r".*[Cc]onnection refused.*", "run"),
    (42, "timed out", r".*timed out.*", "run"),
    (30, "ailed", r".*\b[Ff]ailed\b.*", "run"),
)
SUMMARIES = ("error: could not compile", "error: test failed", "npm error A complete log", "error Command failed")
MESSAGE = re.compile(r'"message": ?"((?:[^"\\]|\\.){1,1000})"')
CONTEXT_GATES = ("too long", "ontext", "token", "maximum length")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled at first use: most outputs need few of the patterns."""
    return re.compile(pattern)


class PlainShape:
    """The surest line, and any statement that the context window is full."""

    gates: ClassVar[tuple[str, ...]] = ()

    def __init__(self, text: str) -> None:
        self._rules = tuple(
            (weight, gate, _compiled(pattern), kind) for weight, gate, pattern, kind in _TABLE if gate in text
        )
        self._says_context = any(gate in text for gate in CONTEXT_GATES)
        self._best: Finding | None = None
        self._context: Finding | None = None
        self._last = ""

    def feed(self, line: str) -> None:
        if not line or line.isspace():
            return
        self._last = line
        for weight, gate, pattern, kind in self._rules:
            if gate in line and (self._best is None or weight > self._best.weight) and (found := pattern.match(line)):
                if not line.startswith(SUMMARIES):
                    self._keep(weight, line, found, kind)
                break
        if self._says_context and self._context is None and CONTEXT_EXHAUSTED.search(line):
            self._context = Finding(weight=71, headline=_message(line.strip(" ⎿\t")))

    def _keep(self, weight: int, line: str, found: re.Match[str], kind: str) -> None:
        parts = found.groupdict()
        headline = _message((parts.get("msg") or line).strip())
        self._best = Finding(
            weight=weight, headline=headline, name=parts.get("name") or "", code=parts.get("code") or "", kind=kind
        )

    def finding(self) -> Finding | None:
        """The last line stands in where no line looks like an error."""
        known = [found for found in (self._best, self._context) if found is not None]
        if known:
            return max(known, key=lambda found: found.weight)
        return Finding(weight=0, headline=self._last.strip()) if self._last else None


def _message(line: str) -> str:
    """What a service's JSON says, after what stands before the JSON."""
    said = MESSAGE.search(line) if '"message"' in line else None
    if said is None:
        return line
    before = line.partition("{")[0].strip("[( \t")
    return f"{before} {said[1]}".strip() if not before.startswith('"') else said[1]
