"""`unstuck diagnose` on what Python, pytest, git, make and sh print here and now; other tools are recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unstuck_tui.cli.diagnose import command

Diagnosed = Callable[..., dict[str, Any]]


def environment() -> dict[str, str]:
    """Nothing of the outer run reaches the inner one, and English is what the rules know."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PY_COLORS"))}
    environ |= {"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return environ


@pytest.fixture
def told(tmp_path: Path) -> Diagnosed:
    """Write ``files``, run the tool on them, and give its output to the command: what its ``--json`` says."""

    def run(argv: list[str], **files: str) -> dict[str, Any]:
        for name, text in files.items():
            (tmp_path / name.replace("__", ".")).write_text(text, encoding="utf-8")
        done = subprocess.run(
            argv,
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=100,
            check=False,
        )
        said = CliRunner().invoke(command, ["--exit-code", str(done.returncode % 256), "--json"], input=done.stdout)
        assert said.exit_code == 0, said.output
        read: dict[str, Any] = json.loads(said.stdout)
        assert read["failure"], done.stdout.decode()
        return read

    return run


def kinds(read: dict[str, Any]) -> tuple[str, str, str]:
    """Error type, failure type and the place's file name and line."""
    place = (read["signature"]["location"] or "").rpartition("/")[2]
    return read["signature"]["error_type"], read["failure_type"], place


def test_python_raises(told: Diagnosed) -> None:
    """A chained exception is told as the last one, at the user's line and not the library's."""
    text = (
        "import json\ntry:\n    json.loads('{')\nexcept ValueError as error:\n    raise KeyError('port') from error\n"
    )
    assert kinds(told([sys.executable, "app.py"], app__py=text)) == ("KEY_ERROR", "UNKNOWN", "app.py:5")


def test_python_cannot_read(told: Diagnosed) -> None:
    """A syntax error is a broken build at the line the interpreter names."""
    assert kinds(told([sys.executable, "app.py"], app__py="x = 1\nif x\n")) == (
        "SYNTAX_ERROR",
        "BROKEN_BUILD",
        "app.py:2",
    )


def test_python_misses_a_package(told: Diagnosed) -> None:
    """A package that is not installed is for somebody to install."""
    read = told([sys.executable, "app.py"], app__py="import nosuchpackage\n")
    assert kinds(read) == ("IMPORT_ERROR", "BROKEN_BUILD", "app.py:1")
    assert read["category"] == "configuration"
    assert read["cause"] == "dependency_issue"


@pytest.mark.parametrize("style", ["auto", "line", "native"])
def test_pytest_fails(told: Diagnosed, style: str) -> None:
    """A failing test is a failed check at the line of the assertion, in every style that pytest prints."""
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--tb={style}", "test_app.py"]
    read = told(argv, test_app__py="def test_sum():\n    total = 1 + 1\n    assert total == 3\n")
    assert kinds(read) == ("ASSERTION_ERROR", "VERIFICATION_FAILED", "test_app.py:3")
    assert read["cause"] == "test_assertion"
    assert "test_sum" in read["signature"]["subject"]


def test_python_raises_in_another_process(told: Diagnosed) -> None:
    """An exception in a pool's process is placed where it was raised, not where its result was asked for."""
    text = (
        "import multiprocessing\n\n\ndef price(item):\n    return int(item)\n\n\n"
        "if __name__ == '__main__':\n    with multiprocessing.Pool(1) as pool:\n        pool.map(price, ['pear'])\n"
    )
    assert kinds(told([sys.executable, "app.py"], app__py=text)) == ("VALUE_ERROR", "UNKNOWN", "app.py:5")


def test_python_raises_a_group(told: Diagnosed) -> None:
    """A leaf of a group is told, also one that was never raised and has no traceback of its own."""
    read = told(
        [sys.executable, "app.py"], app__py="raise ExceptionGroup('all', [ValueError('a'), KeyError('till')])\n"
    )
    assert kinds(read) == ("KEY_ERROR", "UNKNOWN", "app.py:1")


def test_git_has_no_such_branch(told: Diagnosed) -> None:
    """git's refusal is its own line, without a place; it is about the state of the repository."""
    read = told(["sh", "-c", "git init -q . && git checkout nowhere"])
    assert kinds(read) == ("RUNTIME_ERROR", "UNKNOWN", "")
    assert "nowhere" in read["headline"]


def test_make_stops_for_a_program(told: Diagnosed) -> None:
    """The program's error is told, not make's own line about it."""
    makefile = f"app:\n\t'{sys.executable}' app.py\n"
    read = told(["make"], Makefile=makefile, app__py="sizes = {}\n\nprint(sizes['port'])\n")
    assert kinds(read) == ("KEY_ERROR", "UNKNOWN", "app.py:3")


def test_python_crashes(told: Diagnosed) -> None:
    """A crash of the interpreter is found at the user's line that it was at."""
    text = "import ctypes\n\n\ndef read():\n    ctypes.string_at(0)\n\n\nread()\n"
    read = told([sys.executable, "-X", "faulthandler", "app.py"], app__py=text)
    assert kinds(read) == ("RUNTIME_ERROR", "UNKNOWN", "app.py:5")


def test_a_program_that_waits_too_long(told: Diagnosed) -> None:
    """An exit code of 124 says what an empty output cannot."""
    assert kinds(told(["sh", "-c", "exit 124"])) == ("TIMEOUT_ERROR", "UNKNOWN", "")


def test_what_a_person_is_shown() -> None:
    """Without --json each thing that is known has a row of its own: what, where, about what, and what would be done."""
    output = "Traceback (most recent call last):\n  File \"shop.py\", line 4, in total\nKeyError: 'apple'\n"
    said = CliRunner().invoke(command, ["--exit-code", "1"], input=output).stdout
    rows = dict(line.split(maxsplit=1) for line in said.splitlines())
    assert rows["headline"] == "KeyError: 'apple'"
    assert rows["type"] == "KEY_ERROR"
    assert rows["where"] == "shop.py:4"
    assert rows["in"] == "total"
    assert rows["about"] == "apple"
    assert rows["then"] == "retry with the hint"
    assert "test" not in rows


@pytest.mark.parametrize(
    ("line", "wait"),
    [
        ("API Error: 429 Too many requests. Please retry after 41 s", "41 s, says the service"),
        ("5-hour limit reached, resets 8:30pm (UTC)", "until 20:30 UTC, says the service"),
        ("Claude AI usage limit reached|1800000000", "until 2027-01-15 08:00 UTC, says the service"),
        ("HTTP 503 Service Unavailable", ""),
    ],
)
def test_how_long_a_service_wants_to_be_left_alone(line: str, wait: str) -> None:
    """A wait that the service names is shown and is what would be done; without one it is a few seconds."""
    said = CliRunner().invoke(command, [], input=f"{line}\n").stdout
    rows = dict(line.split(maxsplit=1) for line in said.splitlines())
    assert rows.get("wait", "") == wait
    assert rows["then"].startswith("wait as long as it says" if wait else "wait 1, 2, 4 seconds")
