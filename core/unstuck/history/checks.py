"""Checks among the commands of an agent: test runners, builds, type checkers and linters, and what each found. Pure."""

from __future__ import annotations

import re

from unstuck.contract import CheckResult, Observation
from unstuck.diagnosis.parsing.run_summary import contradiction

_RAN_LIMIT = 20_000
_WRAPPED = (
    r"(?:sudo|time|env|exec|npx|bunx|uvx|(?:uv|poetry|pipenv|hatch|pdm) run|bundle exec|timeout \S+|[A-Z_]\w*=\S*"
    r"|docker compose (?:run|exec)(?: -\S+)* \S+)"
)
_BEFORE = rf"(?:^|[;&|(\n])\s*(?:{_WRAPPED}\s+)*"
_PATH = r"(?:\S*/)?"
_SCRIPT = r"(?:test|tests|check|lint|build|typecheck|type-check|verify|ci)\b[\w:-]*"
_CHECK = re.compile(
    rf"{_BEFORE}(?:"
    rf"{_PATH}(?:pytest|py\.test|tox|nox|ctest|jest|vitest|mocha|ava|rspec|phpunit|pest|mypy|pyright|tsc|eslint|flake8"
    r"|pylint|rubocop|golangci-lint|shellcheck|bats|clippy)\b(?! --?(?:version|help))"
    r"|python[\d.]*(?: -\w)* -m (?:pytest|unittest|tox|nox|mypy|pyright|flake8|pylint|compileall|doctest)\b"
    rf"|python[\d.]* {_PATH}(?:manage\.py test|(?:run_?)?tests?\w*\.py|\w*test_\w+\.py|\w+_test\.py)"
    rf"|(?:npm|pnpm|yarn|bun)(?: run)?(?: -\S+)* {_SCRIPT}|npm t\b"
    r"|(?:node|deno|bun|swift|dotnet|mix|zig build) (?:--)?test\b"
    r"|cargo(?: \+\S+)? (?:test|t|check|clippy|build|nextest|fmt --check)\b|go (?:test|vet|build)\b"
    rf"|(?:just|task|rake|bazel|meson)(?: -\S+)*(?: {_SCRIPT}|\s*$)"
    r"|(?:make|gmake|ninja)\b(?! -{1,2}(?:version|help|v)\b)(?!(?: -\S+| \w+=\S*)* (?:clean|deploy|dev|docs?|down"
    r"|format|help|install|run|serve|setup|start|up)\b)"
    r"|(?:gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|rustc|javac)(?: (?!--?(?:version|help))\S+)+"
    rf"|{_PATH}(?:gradlew?|mvnw?|sbt)\b.{{0,80}}\b(?:test|check|build|verify|compile)\b"
    r"|(?:dotnet|swift|xcodebuild|cmake --)\s*build\b|ruff (?:check|format --check)\b|black --check\b|playwright test\b"
    r"|xcodebuild (?:test|build)\b|(?:(?:ba|z|da)?sh )?(?:\S*/)?(?:run[_-]?)?(?:tests?|checks?|verify|lint)[\w-]*\.sh\b"
    r"|\.{1,2}/\S*?(?:run[_-]?)?(?:tests?|checks?|verify|lint)(?=\s|$)"
    r")"
)


def is_check(command: str) -> bool:
    """Return whether a shell command runs a check of the project."""
    return _CHECK.search(command[:_RAN_LIMIT]) is not None


def result_of(result: Observation) -> CheckResult:
    """Return what a check found: its exit code decides, unless a runner's closing line says otherwise."""
    if result.kind == "failure":
        return "failed"
    return "contradicted" if contradiction(result.text) else "passed"
