"""Types of what programs complain about: by the words of the line, or of the lines around it."""

from __future__ import annotations

import pytest

from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose


def found(output: str, exit_code: int = 1) -> Diagnosis:
    diagnosis = diagnose(output, exit_code=exit_code)
    assert diagnosis is not None
    return diagnosis


@pytest.mark.parametrize(
    ("line", "alike", "kind"),
    [
        ("fetch failed", "the fetch has failed us", "CONNECTION_ERROR"),
        ("OSError: [Errno 98] Address already in use", "OSError: [Errno 12] Cannot allocate", "CONNECTION_ERROR"),
        (
            "app: error: argument f: can't open 'a': [Errno 2] No such file",
            "app: error: argument f: bad",
            "RUNTIME_ERROR",
        ),
        ("No data to report.", "No problem to report.", "RUNTIME_ERROR"),
        ("error: Neither 'setup.py' nor 'pyproject.toml' found.", "error: neither is open", "RUNTIME_ERROR"),
        ("error: justfile does not contain recipe `deploy`", "error: it contains no recipe", "RUNTIME_ERROR"),
        ("Access denied - path outside allowed directories: /etc", "access is free", "RUNTIME_ERROR"),
        ("tool: access denied", "tool: access is free", "RUNTIME_ERROR"),
        ("ssh: bash: setup.sh: not found", "ssh: bash: setup.sh: found", "UNKNOWN"),
        ("jq: error (at <stdin>:1): number (1) has no keys", "jq: error (at <stdin>:1): x", "TYPE_ERROR"),
        ('jq: error (at <stdin>:1): Cannot index string with string "x"', "jq: error (at a:1): index", "TYPE_ERROR"),
        ("lua: a.lua:1: attempt to get length of a number value", "lua: a.lua:1: attempt to log in", "TYPE_ERROR"),
        ("lua: a.lua:1: bad argument #1 to 'rep' (string expected)", "lua: a.lua:1: bad luck", "VALUE_ERROR"),
        ("parse error: Expected another key at line 1, column 9", "parse error: near x", "VALUE_ERROR"),
        ("fatal: failed to parse prune expiry value xyz", "fatal: failed to parse x.c", "VALUE_ERROR"),
        ("Failed to edit, expected 1 occurrence but found 2", "expected 1 but found 2", "VALUE_ERROR"),
        ("Could not find an exact match for 'old_string' in 'a.py'", "Could not find a seat for 'a'", "VALUE_ERROR"),
        ("The 'path' parameter must be non-empty.", "the parameter is empty", "VALUE_ERROR"),
        ("Command cannot be empty.", "Command is empty.", "VALUE_ERROR"),
        ("Cannot specify both head and tail", "Cannot see both ends", "VALUE_ERROR"),
        ("error: input file is too short", "error: input file is short", "VALUE_ERROR"),
        ("go: 'go install' requires a version", "go: 'go install' requires a person", "VALUE_ERROR"),
        ("params/file_path must be string", "the last of them must be tired", "VALIDATION_ERROR"),
        ("MCP error -32602: Input validation error: Invalid", "MCP error -32602: input", "VALIDATION_ERROR"),
        ('Error loading app. Could not import module "shop".', "Error loading app. Could not pay", "IMPORT_ERROR"),
        ("error: could not find `zz` in registry `crates-io`", "error: could not find `zz` in bed", "IMPORT_ERROR"),
        ('a.build:2:0: ERROR: Dependency "zz" not found', 'a.build:2:0: ERROR: the "zz" is off', "IMPORT_ERROR"),
        ("go: nosuch.example/x: module lookup disabled by GOPROXY=off", "go: lookup disabled", "IMPORT_ERROR"),
        ("grep: Unmatched ( or \\(", "grep: Unmatched lines", "SYNTAX_ERROR"),
        ("a.sh:1:10: `then` must be followed by a list", "a.sh:1:10: `then` goes first", "SYNTAX_ERROR"),
        ("error: Flow control is not properly nested", "error: flow control is not properly done", "SYNTAX_ERROR"),
        ("Path not in workspace: it resolves outside the allowed directories", "Path in workspace", "RUNTIME_ERROR"),
        ("params/line must be >= 1", "the line must go on", "VALIDATION_ERROR"),
        ("kubectl: flag needs an argument: --context", "kubectl: it needs an engine", "VALUE_ERROR"),
        ('go: no such tool "nope"', 'go: the tool "nope"', "VALUE_ERROR"),
        ("'arg' should be one of 'a', 'b'", "'arg' should be there", "VALUE_ERROR"),
        ("127.0.0.1:54397 - no response", "127.0.0.1:54397 - a response", "CONNECTION_ERROR"),
        ("TypeError: fetch failed", "TypeError: the fetch is a failure", "CONNECTION_ERROR"),
        ("ld: cannot find -lzz: No such file or directory", "ld: cannot find zz.o: No such file", "IMPORT_ERROR"),
        ("main.erl:3:8: function g/0 undefined", "main.erl:3:8: function g/0 is undefined here", "TYPE_ERROR"),
        ("a.build:1:0: Expecting rparen got eof.", "a.build:1:0: Expecting rain today.", "SYNTAX_ERROR"),
        ("yaml.parser.ParserError: while parsing a flow sequence", "json: ParserError: while it ran", "SYNTAX_ERROR"),
        ("yq: Error running jq: ParserError: it ended", "yq: Error running jq: a parser", "VALUE_ERROR"),
        ("duckdb.CatalogException: Table with name a does not exist!", "a.CatalogException: Table", "DATABASE_ERROR"),
        ("binascii.Error: Incorrect padding", "shop.Error: Incorrect padding", "VALUE_ERROR"),
        ("[ERROR]: couldn't resolve module/action 'zz'.", "[ERROR]: couldn't sing", "IMPORT_ERROR"),
        ("ERROR: Unable to find package.json", "ERROR: Unable to find package shop", "RUNTIME_ERROR"),
        ("error: Bun could not find a package.json file", "error: could not find the package", "RUNTIME_ERROR"),
        ("x is not in a standard unambiguous format", "x is not in a good mood", "VALUE_ERROR"),
        ("Main: Prelude.read: no parse", "Main: Prelude.head: empty", "VALUE_ERROR"),
        ("error: yaml: line 1: did not find expected node content", "error: yaml: line 1: it rains", "SYNTAX_ERROR"),
        ("no server running on /tmp/tmux-0/default", "no server is needed", "CONNECTION_ERROR"),
        ("File notes.bc is unavailable.", "File notes.bc is large.", "RUNTIME_ERROR"),
        ("ERROR: Current directory is not a meson build directory: `/w`", "ERROR: it rains", "RUNTIME_ERROR"),
        ("umount: /mnt: no mount point specified.", "umount: /mnt: no problem", "RUNTIME_ERROR"),
        ("Exception: E.", "Exception: the rule", "RUNTIME_ERROR"),
        ("[ERROR]: x: EOFError (ctrl-d) on prompt", "[ERROR]: it is late", "RUNTIME_ERROR"),
        ("npm error code E404", "npm error code X404", "IMPORT_ERROR"),
        ("npm error code E503", "npm error code X503", "HTTP_ERROR"),
        ("npm error code ENOLOCK", "npm error code LOCKED", "RUNTIME_ERROR"),
        ("An error has occurred: FatalError: git is gone", "An error has occurred: git is gone", "RUNTIME_ERROR"),
        ("Unhandled TYPE-ERROR in thread 1:", "Unhandled things in thread 1:", "TYPE_ERROR"),
        ("Unhandled SB-C::INPUT-ERROR-IN-LOAD in thread 1:", "Unhandled x in thread 1:", "SYNTAX_ERROR"),
        ('{"init terminating in do_boot",{function_clause,[]}}', '{"do_boot",{function_clause,[]}}', "TYPE_ERROR"),
        ("createdb: error: creation failed: ERROR:  database is there", "createdb: error: creation", "DATABASE_ERROR"),
        ("E902 No such file or directory (os error 2)\n --> a.py:1:1", "E902 x\n --> a.py:1:1", "RUNTIME_ERROR"),
    ],
)
def test_words_and_words_that_look_alike(line: str, alike: str, kind: str) -> None:
    """A complaint has its type by the words that make it one, and not by any one of them."""
    assert found(line).error_type.value == kind
    assert kind == "UNKNOWN" or found(alike).error_type.value != kind


def test_the_lines_below_an_announcement_say_the_type() -> None:
    """A headline that ends with a colon announces what is below it; a warning announces no failure."""
    output = (
        "Error: Build failed with 1 error:\n\nCannot resolve entry module a.ts.\n\n    at f (node:internal/a:1:1)\n"
    )
    assert found(output).error_type.value == "IMPORT_ERROR"
    assert found(output.replace(" 1 error:", " 1 error")).error_type.value == "RUNTIME_ERROR"
    assert found("[WARNING]: the host does not match 'all'").error_type.value == "UNKNOWN"


def test_a_call_of_r_may_have_colons() -> None:
    """The message of an error in R is what stands behind its call, with a range in the call as well."""
    assert found("Error in f(1:3) : no good\nExecution halted\n").headline == "no good"
    assert found("Error in f(a = 1:2) : \n  no good\nExecution halted\n").headline == "no good"
    assert found("Error: no good\nExecution halted\n").headline == "no good"


def test_a_refusal_of_git_is_about_the_repository() -> None:
    """git's own exit code says what its words need not say."""
    assert found("fatal: file app.py has only 1 line", 128).error_type.value == "RUNTIME_ERROR"
    assert found("fatal: file app.py has only 1 line", 1).error_type.value == "UNKNOWN"


@pytest.mark.parametrize(
    ("output", "headline", "kind"),
    [
        # The complaint comes first, and the help below it.
        (
            "option -x not recognized\nusage: base64 [-d] [file]\n        -d: decode\n        -e: encode\n",
            "option -x not recognized",
            "VALUE_ERROR",
        ),
        ("option --n: invalid value: 'x'\nUse 'app help' for help.\nFull docs are at example\n", None, "VALUE_ERROR"),
        # The tool's own line says only that it failed.
        ("ruff failed\n  Cause: Unknown rule selector `NOPE`\n", "ruff failed", "VALUE_ERROR"),
        (
            "error: Import 'https://h.example/x.ts' failed.\n    0: error sending request: Connection refused\n",
            "error: Import 'https://h.example/x.ts' failed.",
            "CONNECTION_ERROR",
        ),
        ("Error: ERR_PNPM_NO_PKG_MANIFEST\n\n  × No package.json found in /w\n", None, "RUNTIME_ERROR"),
        # A program that prints its usage was called in the wrong way.
        ("Usage: useradd [options] LOGIN\n\nOptions:\n  -u, --uid UID   the ID\n", None, "VALUE_ERROR"),
        ("starting\nthe oven is cold\nit ends here\n", "it ends here", "UNKNOWN"),
        # Where a runner has counted, the lines around it are its tests' own.
        ("plugins: timeout-2.3\nconfig: invalid\n=== 1 error in 0.1s ===\n", None, "UNKNOWN"),
    ],
)
def test_the_lines_around_say_more(output: str, headline: str | None, kind: str) -> None:
    """A headline without a type is explained by its neighbours, and is replaced where no rule has chosen it."""
    diagnosis = found(output)
    assert diagnosis.error_type.value == kind
    assert headline is None or diagnosis.headline == headline


def test_a_neighbour_does_not_make_a_failure() -> None:
    """Lines around a failure describe it, but do not make a failure of an output."""
    output = "option -x not recognized\nthe oven is cold\nthe end\nof it\nall\nhere\nlies\n"
    assert diagnose(output) is None
    assert diagnose(output, failed=True) is not None
