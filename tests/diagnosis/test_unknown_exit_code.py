"""An output without an exit code is a failure only where it says so by a count, a report or its last words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unstuck.diagnosis.pipeline import diagnose

DATA = Path(__file__).parent.parent / "data"
CLEAN = [case["output"] for case in map(json.loads, (DATA / "clean.jsonl").read_text("utf-8").splitlines())]
TRACE = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'port'\n"
FILLED = "".join(f"line {number}\n" for number in range(9))


@pytest.mark.parametrize("output", CLEAN)
def test_no_clean_output_is_a_failure(output: str) -> None:
    """The output of real commands that end with 0 is no failure, however many words of errors it has."""
    assert diagnose(output) is None


@pytest.mark.parametrize(
    "output",
    [
        "",
        "\n\n",
        f"{TRACE}handled\n",
        f"{TRACE}handled\nserving on port 8080\n",
        f"{TRACE}Done.\n",
        "3 passed in 0.1s\n",
        f"{TRACE}3 passed in 0.1s\n",
        "error rate: 0.0\n",
        "fatal: none\n",
        "error: x\n",
        "Killed processes: 0\nAborted uploads: none\n",
        "ERROR 1064 occurs 3 times in docs/errors.md\nERROR 2002 occurs once\n",
        'TOO_MANY = "HTTP 429: Too Many Requests"\n',
        "tests/test_a.py::test_b[Enter password: \\n\\n3 tests failed\\nWrong password:]\n\n9 tests collected\n",
        "<Function test_b[Enter password: \\n\\n3 tests failed\\nWrong password:]>\n",
        'core/errors.py:131:    errno.EMFILE: "raise the limit of open files (`ulimit -n`)",\n',
        "error rate: 12%\n",
        "Error: none\n",
        "name: not set\n",
        "lint: no problems\n",
        "cache: missing (created)\n",
        "unknown: 2, known: 40\n",
        "Aborted: 0, Committed: 5\n",
        "Killed 3 idle sessions\n",
        "1b8bb88 Handle error: timed out\n",
        '[main 6c8c404] Revert "Retry where the connection is refused: connection refused"\n 1 file changed\n',
        "skipped: [Errno 2] No such file or directory: 'a.csv'\n3 files read\n",
        f"{FILLED}cp: cannot stat 'a'\n{FILLED}",
        "commit 1a2b3c4\nAuthor: A <a@b.example>\n\n    Fix the crash when a file is not found\n",
        "commit 1a2b3c4\n\n    cannot find package x\n",
        f"{FILLED}a.py:3:1: unused variable x (unused)\n",
        "warning: unused variable\n",
        "## Error: connection refused\n\nStart the server.\n",
        "> Error: connection refused\n",
        "{'ENODEV': 19, 'EHOSTUNREACH': 113}\n",
        "#define ENOENT 2\n",
        "No broken requirements found.\n",
        "gzip: /dev/null is not a regular file - ignored\n",
        "the oven is cold\n",
        "There is no error\n",
        "On branch main\nnothing to commit, working tree clean\n",
        # Code that is shown: quoted, called, compared, filled, or in a document.
        '    "Error: prompt is too long\\n",\n    "Error: connection refused",\n',
        "src/load.js:161:      if (err.code === 'ENOENT') return\n",
        "bash: %s: command not found\n%s: not found\n",
        "# Reading\n\n```\nE   assert 2 == 3\n1 failed in 0.1s\n```\n",
        "# Reading\n\n```\nerror: the oven is cold\n```\n",
        # A program that goes on below what it tells.
        "TypeError: x is not a function\nlogged\n",
        "rm: cannot remove 'a.o': No such file or directory\nlinked\n",
        "HTTP 404 for /favicon.ico\nHTTP 200 for /\n",
        (
            "2026-01-01 10:00:01 ERROR pool: connection reset\n2026-01-01 10:00:02 INFO pool: reconnected\n"
            "2026-01-01 10:00:09 ERROR pool: connection reset\n"
        ),
        "a.sh:2:6: note: Double quote to prevent globbing. [SC2086]\nchecked, going on\n",
        # The reader of a pipe that has seen enough.
        "page 1\nBrokenPipeError: [Errno 32] Broken pipe\n",
        # Tables, names, settings, counts and sentences.
        "ENOENT No such file or directory\nECONNREFUSED Connection refused\n",
        "error: bad.txt\n",
        "config: no proxy\n",
        "invalid rows: 0\n",
        "Invalid rows: 3 (see report.csv)\n",
        "Error: 0.0031  Validation error: 0.0042\n",
        "no log files\n",
        "No local changes to save\n",
        "No results found\n",
        "Cannot reproduce: works here.\n",
        "Could not be better\n",
        "1\nbad\n",
        "RangeError: bad was caught\n",
        "Segmentation fault is handled\n",
        "troff: <standard input>:62: warning [p 1, 8.2i]: can't break line\n",
        "cannot open file\n",
        'import json\nfrom shop import till\n\ndef test_a():\n    """\nTypeError: it is not a function\n"""\n',
        '["error TS#1", "a.ts(1,1): error TS2304: Cannot find name \'foo\'."]\n',
    ],
)
def test_words_of_errors_are_no_failure(output: str) -> None:
    """A trace that the program went on from, a rate, a commit's message and a line far from the end are no failure."""
    assert diagnose(output) is None


@pytest.mark.parametrize(
    "output",
    [
        TRACE,
        f"{FILLED}{TRACE}",
        f"{TRACE}make: *** [Makefile:2: all] Error 1\n",
        f"{TRACE}The job has failed\n",
        f"{TRACE}  note below\n",
        "1 failed in 0.1s\n",
        "cp: cannot stat 'a': No such file or directory\n",
        f"cp: cannot stat 'a': No such file or directory\n{FILLED}",
        f"{FILLED}cp: cannot stat 'a': No such file or directory\n",
        "passwd: user 'nobody2' does not exist\n",
        "sleep: invalid time interval '1x2'\nTry 'sleep --help' for more information.\n",
        "id: 'nobody2': no such user\n",
        "No stash entries found.\n",
        "cat: src: Is a directory\n",
        "error: the oven is cold\n",
        "kill: usage: kill [-s sigspec] pid\n",
        "bash: -c: line 1: syntax error near unexpected token `do'\nbash: -c: line 1: `for do; done'\n",
        "Error: connect ECONNREFUSED 127.0.0.1:9\n",
        "a.c:3:4: error: expected ';'\n",
        "Error: prompt is too long\n",
        "[INFO] building\n[ERROR] cannot open pom.xml: it is not there\n",
        "usage: deploy [-h] {a,b}\ndeploy: error: argument target: invalid choice: 'c' (choose from 'a', 'b')\n",
        "Traceback (most recent call last):\nImportError: cannot import name 'a' from 'b' (/w/b.py)\n",
        'ERROR:  relation "a" does not exist\nLINE 1: select * from a\n                      ^\n',
        (
            "fatal: 'origin' does not appear to be a git repository\nPlease make sure you have the correct rights\n"
            "and the repository exists.\n"
        ),
        "[eval]:1\nfoo()\n^\nReferenceError: foo is not defined\n    at [eval]:1:1\n\nNode.js v20.20.2\n",
        "cat: access.log: No such file or directory\n0\n",
        "a.py:1:1: F401 'os' imported but unused\nb.py:2:5: F821 undefined name 'x'\n",
    ],
)
def test_a_report_of_a_tool_is_a_failure(output: str) -> None:
    """A tool's own report, a count of failures, and a complaint at the beginning or the end are a failure."""
    assert diagnose(output) is not None


def test_the_caller_may_know_that_it_failed() -> None:
    """An output that says nothing is a failure where the caller says so, and none where it ended with 0."""
    assert diagnose("the oven is cold\n", failed=True) is not None
    assert diagnose(TRACE, exit_code=0) is None
