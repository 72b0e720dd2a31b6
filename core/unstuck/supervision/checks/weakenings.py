"""Weakened checks in a diff: tests deleted, skipped or loosened, and what decides about them changed. Pure.

A finding is a place to look at, with file and line. It says what was changed and never why: a test may be obsolete.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from unstuck.words.labels import counted

TEXT_LIMIT = 160
MOST_FINDINGS = 50

_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing|e2e)/|(?:^|/)(?:test_[^/]*|conftest)\.py$|(?:^|"
    r"/)[^/]*_test\.(?:py|go|rb|exs?|c|cc|cpp|dart)$"
    r"|\.(?:test|spec)\.[cm]?[jt]sx?$|_spec\.rb$|(?:^|/)[A-Z]\w*(?:Tests?|Spec|IT)\.(?:java|kt|scala|cs|php|"
    r"swift)$|\.(?:bats|t)$"
)
_CODE = re.compile(
    r"\.(?:py|[cm]?[jt]sx?|go|rs|rb|java|kt|scala|cs|php|swift|exs?|c|cc|cpp|h|hpp|dart|bats|t|sh|lua|pl)$"
)
_CONFIGURATION = re.compile(
    r"(?:^|/)(?:pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|noxfile\.py|\.coveragerc|mypy\.ini|ruff\.toml|"
    r"\.flake8|\.pylintrc"
    r"|package\.json|(?:jest|vitest|vite|karma|playwright|cypress)\.config\.[cm]?[jt]s|\.mocharc\.\w+|"
    r"\.nycrc[\w.]*|tsconfig[\w.]*\.json"
    r"|\.eslintrc[\w.]*|eslint\.config\.[cm]?js|Cargo\.toml|\.?golangci\.ya?ml|phpunit\.xml[\w.]*|\.rspec|"
    r"pom\.xml|build\.gradle(?:\.kts)?"
    r"|Makefile|makefile|GNUmakefile|justfile|Taskfile\.ya?ml|Rakefile|CMakeLists\.txt)$"
)
_CI = re.compile(
    r"(?:^|/)(?:\.github/workflows/|\.circleci/|\.buildkite/|\.ci/)|(?:^|/)(?:\.gitlab-ci\.yml|Jenkinsfile|"
    r"azure-pipelines\.yml|\.travis\.yml)$"
)
_SNAPSHOT = re.compile(r"\.(?:snap|ambr|approved\.\w+|golden)$|(?:^|/)(?:__snapshots__|snapshots|golden|goldens)/")
_SHADOWING = re.compile(
    r"(?:^|/)(?:sitecustomize|usercustomize|pytest|_pytest|unittest|doctest|nose2?)(?:\.py|/__init__\.py)$|\.pth$"
)

_TEST_NAME = re.compile(
    r"^\s*(?:async )?def (test\w*)\(|^\s*(?:it|test|describe|specify|scenario)(?:\.\w+)*\(\s*(['\"`].+?['\"`])|"
    r"^func (Test\w+)\("
    r"|^\s*(?:pub )?(?:async )?fn (test\w*)\(\)|^\s*(?:it|test|describe|context) ['\"](.+?)['\"] do|"
    r"^@test ['\"](.+?)['\"]"
    r"|^\s*(?:public )?(?:void|function|func|fun) (test\w*)\("
)
_ASSERTION = re.compile(
    r"\bassert\b|\bassert\w*!?\(|\bself\.(?:assert|fail)\w*\(|\bexpect\s*\(|\.should\b|\bt\.(?:Error|Fatal|"
    r"Fail)\w*\(|\brequire\.\w+\("
    r"|\bpytest\.(?:raises|warns|fail)\b|\bEXPECT_\w+\(|\bASSERT_\w+\(|\bcheck\.\w+\(|\bexpect\(?.*\)?\.to\b"
)
_HOLLOW = re.compile(
    r"^\s*assert\s+(?:True|1|not False)\s*(?:,|#|$)|^\s*assert\b.*\bor True\b|\bassertTrue\(\s*True\s*[,)]|"
    r"\bexpect\(\s*(?:true|1)\s*\)\.to"
    r"|\bassert!?\(\s*true\s*\)|\bassert\.ok\(\s*true\s*\)|\bassert\.(?:True|Equal)\(t, true(?:, true)?\)|"
    r"^\s*assert\s+\(.+,\s*['\"].*['\"]\s*\)\s*$"
)
_STRONG = re.compile(
    r"==|\bis (?!not)|\bassert(?:Equal|Equals|_eq|DictEqual|ListEqual|AlmostEqual)\b|\.(?:toBe|toEqual|"
    r"toStrictEqual|eq|equal|eql)\(|\bassert_eq!|DeepEqual|\bEqual\("
)
_SKIP = re.compile(
    r"@(?:pytest\.mark\.|unittest\.)?(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure)\b|"
    r"\bpytest\.(?:skip|xfail|importorskip)\("
    r"|\bpytestmark\s*=.*(?:skip|xfail)|\bself\.skipTest\(|\braise (?:unittest\.)?SkipTest|\b(?:it|test|"
    r"describe|context|suite)\.(?:skip|todo|failing|fixme)\b"
    r"|^\s*(?:xit|xdescribe|xtest|xcontext|xspecify)\b|\bt\.Skip(?:Now|f)?\(|#\[ignore|@(?:Disabled|Ignore)\b|"
    r"\b(?:skip|pending)(?: ['\"]|$|\()|@tag :skip"
    r"|\bthis\.skip\(\)|\bmarkTest(?:Skipped|Incomplete)\(|\bGTEST_SKIP\b|\bDISABLED_\w+"
)
_ONLY = re.compile(r"\b(?:it|test|describe|context|suite)\.only\b|^\s*(?:fit|fdescribe)\(")
_EXIT = re.compile(
    r"\bos\._exit\(|\bsys\.exit\(\s*0?\s*\)|\bprocess\.exit\(\s*0?\s*\)|\bpytest\.exit\(|\bexitstatus\s*=|"
    r"\bos\.Exit\(0\)|\batexit\.register\("
    r"|\bSystemExit\(\s*0?\s*\)|\bos\.kill\(\s*os\.getp?pid|\bstd::process::exit\(0\)|\bSystem\.exit\(0\)|^\s*exit 0\b"
)
_HARD_EXIT = re.compile(r"\bos\._exit\(\s*0\s*\)")
_RUNNER = re.compile(
    r"\bdef pytest_(?:runtest_\w+|sessionfinish|sessionstart|collection_modifyitems|ignore_collect|"
    r"collect_file|pyfunc_call|cmdline_main"
    r"|terminal_summary|unconfigure|report_teststatus|exception_interact)\b|\bcollect_ignore(?:_glob)?\s*=|"
    r"\bunittest\.(?:TestCase|TextTestRunner|main)\.?\w*\s*="
    r"|\bTestCase\.\w+\s*=|\b_?pytest(?:\.\w+)+\s*=(?!=)|\breport\.outcome\s*=|\bglobals\(\)\[['\"]assert|"
    r"\bbuiltins\.\w+\s*=|\bjest\.setTimeout\(0\)"
    r"|\bexpect\.extend\(|\bglobal\.(?:expect|it|test)\s*="
)
_SYS_MODULES = re.compile(
    r"\bsys\.modules\[[^\]]+\]\s*=|\bsys\.meta_path\.|\bimportlib\.reload\(|\brequire\.cache\[|"
    r"\bModule\._load\s*=|\bjest\.mock\(\s*['\"]\."
)
_ALWAYS_EQUAL = re.compile(
    r"def __(?:eq|ne|lt|le|gt|ge|bool|contains|instancecheck)__\(.*\).*:\s*(?:\n\s*)?return (?:True|False|0|1)\b"
)
_DETECTS = re.compile(
    r"PYTEST_CURRENT_TEST|['\"](?:_?pytest|unittest)['\"] in sys\.modules|NODE_ENV\s*===?\s*['\"]test|"
    r"JEST_WORKER_ID|\btesting\.Testing\(\)|\bcfg!\(test\)"
)
_SUPPRESSED = re.compile(
    r"#\s*type:\s*ignore|#\s*noqa|eslint-disable|@ts-(?:ignore|nocheck|expect-error)|//\s*nolint|"
    r"@SuppressWarnings|#\s*pylint:\s*disable|pragma:\s*no cover|#!?\[allow\(|rubocop:disable|c8 ignore|"
    r"istanbul ignore"
)
_LOOSER_SETTING = re.compile(
    r"--(?:deselect|ignore(?:-glob)?|no-cov|continue-on-collection-errors|co|collect-only|exclude|"
    r"passWithNoTests|testPathIgnorePatterns|no-verify|exit-zero"
    r"|suppress-tests-failed-exit-code|maxfail)\b|\b(?:norecursedirs|collect_ignore|testPathIgnorePatterns|"
    r"modulePathIgnorePatterns|passWithNoTests|coverageThreshold"
    r"|fail_under|cov-fail-under|xfail_strict|ignore_errors|ignore_missing_imports|disable_error_code|"
    r"per-file-ignores|skipTests|testFailureIgnore|ignoreFailures"
    r"|continue-on-error|allow_failure|testpaths|python_files|python_functions|addopts|testMatch|testRegex|"
    r"skipLibCheck)\b|\|\|\s*(?:true|:)(?:\s|\"|$)|^\s*[\"']?test[\"']?\s*[:=]"
    r"|[\"'][\w@/-]+[\"']\s*:\s*(?:[\"']off[\"']|0\b)|-k ['\"]?not\b|-m ['\"]?not\b|"
    r"\bstrict\"?\s*[:=]\s*(?:false|False)"
)
_IGNORED_RECIPE = re.compile(r"^\t(?:@?-|-@?)\s*\S")
_COMMENT = re.compile(r"^\s*(?:#|//|--|/\*|\*)\s?")
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_FILE = re.compile(r"^diff --git (?:\"?a/(.*?)\"?) (?:\"?b/(.*?)\"?)$")


@dataclass(frozen=True, slots=True)
class Weakening:
    """One finding: ``kind`` in words, at ``line`` of ``path`` as it is now (0: the whole file)."""

    path: str
    line: int
    kind: str
    text: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.kind}" + (f": {self.text}" if self.text else "")


@dataclass(slots=True)
class _Change:
    """Changes of one file in a diff; ``added`` and ``removed`` are (line in the new file, text)."""

    path: str
    old: str
    deleted: bool = False
    created: bool = False
    added: list[tuple[int, str]] = field(default_factory=list)
    removed: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Added in any file: ``names`` of tests, and all ``lines``, so that what only moved is no finding."""

    names: Counter[str]
    lines: Counter[str]


def is_test_file(path: str) -> bool:
    """Return True for a path that looks like a file of tests, by the names that test runners look for."""
    return _TEST_FILE.search(path) is not None


def weakenings(diff: str, *, check: str = "") -> tuple[Weakening, ...]:
    """The findings in a unified ``diff`` of git, at most 50, those in tests first.

    ``check`` is the command that decides: files that it names are its own sources.
    """
    changes = list(_changes(diff))
    kept = _Kept(
        _names(line for change in changes for _, line in change.added),
        Counter(text.strip() for change in changes for _, text in change.added),
    )
    found = [finding for change in changes for finding in _in_file(change, kept, check)]
    found.sort(key=lambda finding: not is_test_file(finding.path))
    return tuple(dict.fromkeys(found))[:MOST_FINDINGS]


def _in_file(change: _Change, kept: _Kept, check: str) -> Iterator[Weakening]:
    path = change.path
    named = re.search(rf"(?:^|[\s'\"=]|\./){re.escape(path)}(?:$|[\s'\";:|&])", check)
    if named and not change.created and _is_script(path, check) and not is_test_file(path):
        yield Weakening(path, 0, "source of the check changed")
    if _CI.search(path):
        yield Weakening(path, 0, "CI configuration changed")
    if _SNAPSHOT.search(path) and not change.created:
        yield Weakening(path, 0, "expected output deleted" if change.deleted else "expected output rewritten")
        return
    if _SHADOWING.search(path) and not change.deleted:
        yield Weakening(path, 0, "module that replaces the test runner or runs before it")
    if is_test_file(path) and _CODE.search(change.old):
        yield from _in_tests(change, kept)
    elif _CONFIGURATION.search(path) or _CI.search(path):
        yield from _in_configuration(change)
    if _CODE.search(path) and not change.deleted:
        yield from _in_code(change)


def _is_script(path: str, check: str) -> bool:
    """Return True if the check runs ``path``, and does not only read it."""
    return _CODE.search(path) is not None or re.search(rf"(?:^|[;&|]\s*)(?:\./)?{re.escape(path)}\b", check) is not None


def _in_tests(change: _Change, kept: _Kept) -> Iterator[Weakening]:
    gone = [(line, name) for line, text in change.removed for name in _names([text]) if not kept.names[name]]
    if change.deleted:
        if gone or any(_ASSERTION.search(text) for _, text in change.removed):
            yield Weakening(change.path, 0, "test file deleted")
        return
    for line, name in gone:
        yield Weakening(change.path, line, "test deleted", name[:TEXT_LIMIT])
    yield from _matching(change, _SKIP, "test skipped or expected to fail", after=_SKIP)
    yield from _matching(change, _ONLY, "other tests left out", after=_ONLY)
    yield from _matching(change, _HOLLOW, "assertion that always holds")
    yield from _matching(change, _EXIT, "exit code decided by a test file")
    yield from _matching(change, _RUNNER, "test runner changed by a test file")
    if not gone:
        yield from _assertions(change, kept)


def _assertions(change: _Change, kept: _Kept) -> Iterator[Weakening]:
    """Assertions that went without another one in their place, or came back as a comment or in a weaker form."""
    here = {text.strip() for _, text in change.added}

    def is_assertion(text: str) -> bool:
        return _ASSERTION.search(text) is not None and _COMMENT.match(text) is None

    removed = [(line, text.strip()) for line, text in change.removed if is_assertion(text)]
    removed = [(line, text) for line, text in removed if text in here or not kept.lines[text]]
    added = [text.strip() for _, text in change.added if is_assertion(text)]
    comments = {_COMMENT.sub("", text).strip() for _, text in change.added if _COMMENT.match(text)}
    for line, text in removed:
        if text in comments:
            yield Weakening(change.path, line, "assertion commented out", text[:TEXT_LIMIT])
    fewer = len(removed) - len(added)
    if fewer > 0:
        yield Weakening(
            change.path, removed[0][0], f"{counted(fewer, 'assertion')} removed", removed[0][1][:TEXT_LIMIT]
        )
    weaker = sum(map(_is_strong, (text for _, text in removed))) - sum(map(_is_strong, added))
    if weaker > 0 and fewer <= 0:
        yield Weakening(change.path, removed[0][0], "assertion loosened", removed[0][1][:TEXT_LIMIT])


def _is_strong(text: str) -> bool:
    return _STRONG.search(text) is not None


def _in_configuration(change: _Change) -> Iterator[Weakening]:
    before = Counter(text.strip() for _, text in change.removed)
    for line, text in change.added:
        if before[text.strip()]:
            continue
        if _LOOSER_SETTING.search(text) or (change.path.lower().endswith("makefile") and _IGNORED_RECIPE.match(text)):
            yield Weakening(change.path, line, "setting of the checks changed", text.strip()[:TEXT_LIMIT])
    if not change.added:
        for line, text in change.removed:
            if _LOOSER_SETTING.search(text):
                yield Weakening(change.path, line, "setting of the checks removed", text.strip()[:TEXT_LIMIT])


def _in_code(change: _Change) -> Iterator[Weakening]:
    is_test = is_test_file(change.path)
    if is_test or _SHADOWING.search(change.path):
        yield from _matching(change, _SYS_MODULES, "module replaced under its name")
    if not is_test:
        yield from _matching(change, _HARD_EXIT, "exit code decided by the code under test")
        yield from _matching(change, _DETECTS, "code that behaves differently under test")
    yield from _matching(change, _SUPPRESSED, "finding of a checker suppressed", after=_SUPPRESSED)
    text = "\n".join(text for _, text in change.added)
    if (found := _ALWAYS_EQUAL.search(text)) and not is_test:
        line = change.added[text.count("\n", 0, found.start())][0]
        first = found[0].split("\n")[0].strip()
        yield Weakening(change.path, line, "comparison that always gives the same answer", first[:TEXT_LIMIT])


def _matching(
    change: _Change, pattern: re.Pattern[str], kind: str, *, after: re.Pattern[str] | None = None
) -> Iterator[Weakening]:
    """Added lines that match; with ``after`` only as many more as were removed, so that a moved line is none."""
    hits = [(line, text) for line, text in change.added if pattern.search(text)]
    spare = sum(1 for _, text in change.removed if after is not None and after.search(text))
    for line, text in hits[spare:]:
        yield Weakening(change.path, line, kind, text.strip()[:TEXT_LIMIT])


def _names(lines: Iterator[str] | list[str]) -> Counter[str]:
    found = (match for line in lines if (match := _TEST_NAME.search(line)))
    return Counter(next(filter(None, match.groups())) for match in found)


def _changes(diff: str) -> Iterator[_Change]:
    change: _Change | None = None
    at = 0
    in_hunk = False
    for line in diff.split("\n"):
        if header := _FILE.match(line):
            if change is not None:
                yield change
            change, in_hunk = _Change(header[2], header[1]), False
        elif change is None:
            continue
        elif hunk := _HUNK.match(line):
            at, in_hunk = int(hunk[1]), True
        elif not in_hunk:
            change.deleted |= line.startswith("deleted file")
            change.created |= line.startswith("new file")
        elif line.startswith("+"):
            change.added.append((at, line[1:]))
            at += 1
        elif line.startswith("-"):
            change.removed.append((at, line[1:]))
        elif not line.startswith("\\"):
            at += 1
    if change is not None:
        yield change
