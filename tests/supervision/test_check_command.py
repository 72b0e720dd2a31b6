"""A check's command, looked at before it runs: what hides its exit code, and a program that does not exist."""

from __future__ import annotations

import pytest

from unstuck.supervision.checks.check_command import check_warnings, is_direct, missing_program, repaired

HIDES = {
    "pytest -q | tail -3": ("last command of the pipe", "bash -o pipefail -c 'pytest -q | tail -3'"),
    "cd app && pytest | tee log": ("last command of the pipe", "bash -o pipefail -c 'cd app && pytest | tee log'"),
    "make test 2>&1 | tee log": ("last command of the pipe", "bash -o pipefail -c 'make test 2>&1 | tee log'"),
    "pytest -q || true": ("`|| true` turns every failure", "pytest -q"),
    "pytest -q || :": ("`|| :` turns every failure", "pytest -q"),
    "pytest || echo failed": ("`|| echo failed` turns", "pytest"),
    "pytest || exit 0": ("`|| exit 0` turns", "pytest"),
    "pytest -q; echo done": ("only the last command decides", "pytest -q"),
    "pytest; mypy .": ("only the last command decides", "pytest && mypy ."),
    "pytest\nmypy .\n": ("only the last command decides", "pytest && mypy ."),
    "timeout 60 pytest -q | tail -3": (
        "not of `timeout 60 pytest -q`",
        "bash -o pipefail -c 'timeout 60 pytest -q | tail -3'",
    ),
    "timeout 5m make test || true": ("`|| true` turns", "timeout 5m make test"),
    "pytest -q | wc -l": ("last command of the pipe", "bash -o pipefail -c 'pytest -q | wc -l'"),
    "pytest | tail -3 || true": ("last command of the pipe", "bash -o pipefail -c 'pytest | tail -3'"),
    "pytest &": ("runs in the background", ""),
    "pytest -q | head -50": ("last command of the pipe", "bash -o pipefail -c 'pytest -q | head -50'"),
    "pytest | grep -v warning": ("last command of the pipe", "bash -o pipefail -c 'pytest | grep -v warning'"),
    "pytest -q | xargs echo": ("last command of the pipe", "bash -o pipefail -c 'pytest -q | xargs echo'"),
    "pytest || cat log": ("`|| cat log` turns", "pytest"),
    "(pytest || true)": ("`|| true` turns every failure", ""),
    "cd app && { pytest; echo done; }": ("only the last command decides", ""),
    "sh -c 'pytest -q || true'": ("`|| true` turns every failure", ""),
    "bash -c 'pytest -q | tail -3'": ("last command of the pipe", ""),
    "pytest; git stash pop": ("only the last command decides", ""),
    "pytest; mypy . || npm test": ("only the last command decides", ""),
}
PLAIN = (
    "pytest -q",
    "cd x && pytest -q 2>&1",
    "pytest > log 2>&1",
    "grep -q 'a|b;c' f",
    'grep -q "x || true" f',
    "echo a\\|b",
    "test -f a || { echo none; exit 1; }",
    "pytest || pytest --lf",
    "if ! grep -q right made.txt; then echo none; exit 1; fi",
    "for f in *.py; do python $f || exit 1; done",
    "set -e; pytest; mypy .",
    "set -eu\npytest\nmypy .",
    "test $(ls | wc -l) -gt 3",
    "test `ls | wc -l` -gt 3",
    "bash -o pipefail -c 'pytest | tail -3'",
    "( cd a; pytest )",
    "pytest  # quick; or so | maybe",
    "# don't hurry\npytest -q",
    "pytest;",
    "",
    "echo 'never closed | x",
    "pytest; [ $? -eq 0 -o $? -eq 5 ]",
    "pytest; rc=$?; cat log; exit $rc",
    "python - <<'EOF'\nprint(1)\nEOF",
    'test -z "$(grep -rn "a; b" src)"',
    "rm -rf build || true && make test",
    "mkdir -p b || true; make test",
    "export FOO=1; pytest",
    "date; pytest",
    "yes | head -1",
    "pytest -q | grep '3 passed'",
    "timeout 60 pytest -q",
    "grep -c TODO src | wc -l",
    "grep -rn foo src | wc -l",
    "./prog | diff - expected",
    "gofmt -l . | grep . && exit 1 || exit 0",
    "pytest & wait $!",
    "! git grep -n '<<<<<<<'",
    'python -c "print([[ 1 ]])"',
    "bash -c 'set -o pipefail; pytest | tail'",
)
BASH = ("[[ -f a ]] && pytest", "source .venv/bin/activate && pytest", "diff <(ls a) <(ls b)", "pytest &> log")


@pytest.mark.parametrize("command", HIDES)
def test_what_hides_an_exit_code_is_said_with_its_cure(command: str) -> None:
    """A pipe, `|| true`, a semicolon or a background job: one sentence, and the command that shows a failure."""
    warning, cure = HIDES[command]
    warnings = check_warnings(command, is_bash=lambda: True)
    assert any(warning in said for said in warnings)
    assert repaired(command) == cure
    assert all(cure in said for said in warnings)


@pytest.mark.parametrize("command", PLAIN)
def test_a_plain_command_is_not_warned_about(command: str) -> None:
    """Quotes, escapes, conditions, groups, comments and `set -e` hide nothing."""
    assert check_warnings(command, is_bash=lambda: False) == []


@pytest.mark.parametrize("command", BASH)
def test_bash_syntax_is_named_where_sh_is_not_bash(command: str) -> None:
    """Checks run in sh: what only bash knows is said beforehand, and not where sh is bash."""
    (warning,) = check_warnings(command, is_bash=lambda: False)
    assert "bash -c" in warning
    assert check_warnings(command, is_bash=lambda: True) == []


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("pyest -q", "pyest"),
        ("cd app && pyest", "pyest"),
        ("CI=1 pyest", "pyest"),
        ("! pyest", "pyest"),
        ("pyest | tail -3", "pyest"),
        ("here && pyest", ""),
        ("here -q", ""),
        ("./check.sh", ""),
        (".venv/bin/pytest", ""),
        ("$RUNNER -q", ""),
        ("test -f a || exit 1", ""),
        ("[ -x /usr/bin/zz ] && zz", ""),
        ("if pyest; then :; fi", ""),
        ("PATH=bin:$PATH pyest", ""),
        (". venv/bin/activate && pyest", ""),
        ("run() { here; }; run", ""),
        ("{ here; }", ""),
        ("n=$(grep -c x f); [ $n -eq 0 ]", ""),
        ("V=$(git describe --tags) make test", ""),
        ("i=$((1 + 2)); here", ""),
        ("command -v zz >/dev/null && zz || here", ""),
        ("pip install coverage && coverage run", ""),
        ("zz || here", ""),
        ("[[ -f a && -d b ]] && here", ""),
        ("getopts x y; here", ""),
        ("# zz\nhere", ""),
    ],
)
def test_a_program_that_is_nowhere_is_found_out(command: str, missing: str) -> None:
    """A bare name that is not on the path is missing; a path may still be made, a shell's own word is none."""
    assert missing_program(command, lambda name: name == "here") == missing


@pytest.mark.parametrize(
    ("command", "direct"),
    [
        ("pytest -q", True),
        ("python3 -m pytest", True),
        ("cd app && CI=1 uv run pytest -q", True),
        ("npx jest", True),
        (".venv/bin/pytest", True),
        ("pytest | tail", False),
        ("make test", False),
        ("npm test", False),
        ("sh run.sh", False),
        ("pytest; pytest b", False),
        ("cargo test", True),
        ("cargo xtask ci", False),
        ("go test ./...", True),
        ("go run ./cmd/test", False),
        ("node --test", True),
        ("node run-all.js", False),
        ("mvn -Dmaven.test.failure.ignore=true verify", False),
    ],
)
def test_only_a_runner_itself_is_trusted_with_its_exit_code(command: str, direct: bool) -> None:
    """make, npm or a script may hide an exit code that a runner of its own would not."""
    assert is_direct(command) is direct
