"""One-line and two-line reports: compilers, type checkers, linters, interpreters and build tools."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

from unstuck.diagnosis.shapes.finding import Finding, is_library, place

__all__ = ["CompilerShape"]


@dataclass(frozen=True, slots=True)
class Rule:
    """``gate`` must be in the line before ``pattern`` is tried; groups: file, line, msg, code, function."""

    gate: str
    pattern: re.Pattern[str]
    weight: int = 80
    kind: str = "build"
    name: str = ""


def _rule(gate: str, pattern: str, weight: int = 80, kind: str = "build", name: str = "") -> Rule:
    spelled = (
        pattern.replace("FILE", r"(?P<file>[^\s:(][^:(\n]{0,400}?)")
        .replace("LINE", r"(?P<line>\d{1,7})")
        .replace("MSG", r"(?P<msg>.*?)")
        .replace("CODE", r"(?P<code>[A-Za-z]{1,10}\d{1,5})")
    )
    return Rule(gate, re.compile(spelled), weight, kind, name)


@cache
def _rules() -> tuple[Rule, ...]:
    """The first rule that fits a line wins, so the particular ones come before the general ones."""
    return (
        _rule("error TS", r"FILE\(LINE,\d+\): error CODE: MSG$"),
        _rule("error TS", r"FILE:LINE:\d+ - error CODE: MSG$"),
        _rule("error TS", r"error CODE: MSG$"),
        _rule("error: cannot ", r"error: (?P<msg>cannot (?:parse|format)[^:]{0,20}): FILE:LINE:\d+", kind="lint"),
        _rule("patch failed", r"error: (?P<msg>patch failed): FILE:LINE$", kind="run"),
        _rule("[SC", r"FILE:LINE:\d+: error: MSG \[CODE\]$", kind="lint"),
        _rule("error:", r"FILE:LINE(?::\d+)?: (?:fatal )?error: MSG(?:\s+\[(?P<code>[\w=+-]{1,60})\])?$"),
        _rule("ERROR]", r"\[ERROR\] FILE:\[LINE,\d+\] (?:error: )?MSG$"),
        _rule("undefined reference", r"(?:[^:\n]{0,400}: )?FILE:(?:\(|\d+:).*?(?P<msg>undefined reference to .*)$"),
        _rule(".go:", r"(?:vet: )?(?P<file>[^\s:]{1,300}\.go):LINE:\d+: MSG$"),
        _rule(".go:", r"\d{4}/\d\d/\d\d [\d:.]{8,15} (?P<file>[^\s:]{1,300}\.go):LINE: MSG$", 50, "run"),
        _rule("psql:", r"psql:FILE:LINE: (?:ERROR|FATAL): +MSG$", kind="run", name="DatabaseError"),
        _rule(": line ", r"FILE: line LINE: MSG$", 65, "run"),
        _rule("*** ", r"FILE:LINE: \*\*\* MSG$"),
        _rule(":in ", r"FILE:LINE:in [`'](?P<function>.{1,200}?)': MSG \((?P<name>[\w:]{1,80})\)$", 85, "run"),
        _rule(" at ", r"(?P<msg>.{1,300}) at (?P<file>\S{1,300}\.(?:pl|pm|t)) line LINE\.$", 70, "run"),
        _rule(" on line ", r"(?:PHP )?(?:Fatal|Parse) error: +MSG in (?P<file>\S{1,300}) on line LINE$", 85, "run"),
        _rule("near line", r"(?P<msg>(?:Parse|Runtime|Error:).{0,60}) near line \d+: .*$", 60, "run", "DatabaseError"),
        _rule(":", r"(?P<file>[^\s:]{1,300}\.\w{1,6}):LINE:\d+: CODE MSG$", 78, "lint"),
        _rule(": error", r"FILE:LINE:\d+: error[ :]+MSG$", 78),
    )


LOOSE = re.compile(r"(?P<file>[^\s:]{1,300}\.[A-Za-z]\w{0,5}):(?P<line>\d{1,7})(?::\d{1,5})?:? (?P<msg>\S.*)$")
NOT_ERRORS = re.compile(r"(?:note|warning|info|help|hint|remark)\b|in (?:function|file)\b|\d\d:\d\d", re.IGNORECASE)

CODED = re.compile(
    r"(?:error(?:\[(?P<code>[A-Z]\d{1,5})\])?: |(?P<lint>[A-Z]{1,5}\d{3,4}|invalid-syntax)(?: \[\*\])?:? )"
    r"(?P<msg>\S.*)$"
)
POINTER = re.compile(r"\s*--> (?P<file>[^\s:][^:\n]{0,400}):(?P<line>\d{1,7}):\d{1,7}$")
ESLINT_FILE = re.compile(r"(?:/|\.{0,2}/|[A-Za-z]:\\|\w)\S{0,400}\.(?:[cm]?[jt]sx?|vue|svelte|json|css)$")
ESLINT = re.compile(r"\s+(?P<line>\d{1,7}):\d{1,7}\s+error\s+(?P<msg>.*?)(?:\s{2,}(?P<code>[@\w/-]{1,80}))?$")
CMAKE = re.compile(r"CMake Error at (?P<file>[^:\n]{1,400}):(?P<line>\d{1,7})(?: \((?P<function>\w+)\))?:$")
DOCKER = re.compile(r"((?:\S*/)?(?:Docker|Container)file\S{0,40}):(\d{1,7})$")
RUST_SUMMARY = ("error: could not compile", "error: test failed", "error: aborting", "error: process didn't exit")
FILES_KEPT = 50


class CompilerShape:
    """The first error of the surest rule."""

    gates: ClassVar[tuple[str, ...]] = ()

    def __init__(self, text: str) -> None:
        self._rules_here = tuple(rule for rule in _rules() if rule.gate in text)
        self._lints_here = "error  " in text
        self._best: Finding | None = None
        self._files: dict[str, None] = {}
        self._headline: re.Match[str] | None = None
        self._eslint = ""
        self._cmake: re.Match[str] | None = None
        self._cmake_said: list[str] = []
        self._docker: str | None = None

    def feed(self, line: str) -> None:
        if self._cmake is not None:
            self._cmake_line(line)
        first = line[:1]
        if first in (" ", "\t", ""):
            self._indented(line)
        else:
            self._flush_left(line)

    def _indented(self, line: str) -> None:
        if "-->" in line and self._headline and (spot := POINTER.match(line)):
            lint = self._headline["lint"]
            self._offer(
                80,
                self._headline["msg"],
                spot["file"],
                spot["line"],
                code=lint or self._headline["code"] or "",
                kind="lint" if lint else "build",
            )
            self._headline = None
        elif self._eslint and "error" in line and (said := ESLINT.match(line)):
            self._offer(80, said["msg"], self._eslint, said["line"], code=said["code"] or "", kind="lint")

    def _flush_left(self, line: str) -> None:
        if line.startswith("CMake Error at ") and (cmake := CMAKE.match(line)):
            self._cmake, self._cmake_said = cmake, []
        elif (coded := CODED.match(line)) and not line.startswith(RUST_SUMMARY):
            self._headline = coded
        elif self._lints_here and ESLINT_FILE.match(line):
            self._eslint = line
        elif line.startswith(("Docker", "Container")) and (docker := DOCKER.match(line)):
            self._docker = place(docker[1], docker[2])
        self._rules(line)

    def _rules(self, line: str) -> None:
        for rule in self._rules_here:
            if rule.gate in line and (found := rule.pattern.match(line)):
                parts = found.groupdict()
                name = parts.get("name") or rule.name
                self._offer(
                    rule.weight,
                    parts["msg"],
                    parts.get("file") or "",
                    parts.get("line") or "",
                    code=parts.get("code") or "",
                    kind=rule.kind,
                    name=name,
                    function=parts.get("function") or "",
                )
                return
        if ":" in line and (loose := LOOSE.match(line)) and not NOT_ERRORS.match(loose["msg"]):
            self._offer(40, loose["msg"], loose["file"], loose["line"])

    def _cmake_line(self, line: str) -> None:
        assert self._cmake is not None
        if line.strip() and line[:1] == " ":
            self._cmake_said.append(line.strip())
        if self._cmake_said and (not line.strip() or len(self._cmake_said) == 3):
            cmake, self._cmake = self._cmake, None
            said = " ".join(self._cmake_said)
            self._offer(82, said, cmake["file"], cmake["line"], function=cmake["function"] or "")

    def _offer(
        self,
        weight: int,
        headline: str,
        file: str,
        line: str,
        *,
        code: str = "",
        kind: str = "build",
        name: str = "",
        function: str = "",
    ) -> None:
        if file and len(self._files) < FILES_KEPT and not is_library(file):
            self._files[file] = None
        if self._best is not None and self._best.weight >= weight:
            return
        # A shell that ran one command for somebody is not a script with lines.
        located = bool(file and line) and file not in ("bash", "sh", "/bin/sh")
        self._best = Finding(
            weight=weight,
            headline=headline.strip() or code,
            name=name,
            code=code,
            location=place(file, line) if located else None,
            function=function,
            kind=kind,
        )

    def finding(self) -> Finding | None:
        if self._best is None:
            return Finding(30, "", location=self._docker, kind="build") if self._docker else None
        return replace(self._best, files=tuple(self._files))
