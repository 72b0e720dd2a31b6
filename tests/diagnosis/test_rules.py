"""The table of rules and parsers, and the cost of parsing an output."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from unstuck.diagnosis.classification.categories import BUSY, FOREIGN, LOST, RATE_LIMIT, SETTINGS
from unstuck.diagnosis.classification.complaints import GIVEN
from unstuck.diagnosis.classification.failure_types import VERIFICATION_FAILED
from unstuck.diagnosis.classification.phrases import STRONG, WEAK
from unstuck.diagnosis.enums import ErrorType, FailureType
from unstuck.diagnosis.matching.lazy_regex import lines_with
from unstuck.diagnosis.matching.phrase_table import Phrase
from unstuck.diagnosis.matching.prefilter import IndexedText, Literals, Prefilter
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.parsers import PARSERS, RULES, SUREST
from unstuck.diagnosis.pipeline import diagnose
from unstuck.escalation.prompts import Brief, compose

# A rule is shown by one line that it must read, and what it must read in it.
READ = [
    ("src/app.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.", "TYPE_ERROR", "src/app.ts:3"),
    ("src/app.ts:3:7 - error TS1005: ';' expected.", "SYNTAX_ERROR", "src/app.ts:3"),
    ('  /w/app.py:3:12 - error: Type "int" is not assignable to "str" (reportReturnType)', "TYPE_ERROR", "/w/app.py:3"),
    ("app.py:4:0: E0602: Undefined variable 'x' (undefined-variable)", "VALIDATION_ERROR", "app.py:4"),
    ("app.py:4:1: F401 'os' imported but unused", "VALIDATION_ERROR", "app.py:4"),
    ("app.c:9:3: error: expected ';' before 'return'", "SYNTAX_ERROR", "app.c:9"),
    ("app: app.c:9: main: Assertion `n > 0' failed.", "ASSERTION_ERROR", "app.c:9"),
    ("/usr/bin/ld: app.c:9: undefined reference to `f'", "IMPORT_ERROR", "app.c:9"),
    ("./main.go:4:2: undefined: foo", "TYPE_ERROR", "main.go:4"),
    ("e: /w/src/Main.kt: (9, 17): Unresolved reference: dive", "TYPE_ERROR", "/w/src/Main.kt:9"),
    ("App.cs(7,17): error CS0029: Cannot implicitly convert type", "TYPE_ERROR", "App.cs:7"),
    ("deploy.sh: line 3: HOST: unbound variable", "RUNTIME_ERROR", "deploy.sh:3"),
    ("deploy.sh: 3: nosuch: not found", "IMPORT_ERROR", "deploy.sh:3"),
    ("Makefile:2: *** missing separator.  Stop.", "SYNTAX_ERROR", "Makefile:2"),
    ('syntax error at app.pl line 2, near "= ;"', "SYNTAX_ERROR", "app.pl:2"),
    ("curl: (7) Failed to connect to localhost port 1", "CONNECTION_ERROR", None),
    ("curl: (22) The requested URL returned error: 503", "HTTP_ERROR", None),
    ('psql:init.sql:3: ERROR:  relation "a" does not exist', "DATABASE_ERROR", "init.sql:3"),
    ("npm error code ERESOLVE", "IMPORT_ERROR", None),
    ("cp: error writing 'x': No space left on device", "RUNTIME_ERROR", None),
    ("Runtime error near line 3: UNIQUE constraint failed: a.b (19)", "DATABASE_ERROR", None),
    ('Global symbol "$x" requires explicit package name at app.pl line 2.', "TYPE_ERROR", "app.pl:2"),
    ("E: Unable to locate package libnone-dev", "IMPORT_ERROR", None),
    ("Expecting value: line 1 column 1 (char 0)", "VALUE_ERROR", None),
    ("Error: ParseIntError { kind: InvalidDigit }", "VALUE_ERROR", None),
    ("env: 'nosuch': No such file or directory", "RUNTIME_ERROR", None),
    ("deploy.sh: 2: HOST: parameter not set", "RUNTIME_ERROR", "deploy.sh:2"),
    ("awk: line 1: syntax error at or near *", "SYNTAX_ERROR", None),
    ("bash: -c: line 1: syntax error near unexpected token `then'", "SYNTAX_ERROR", None),
    ("Can't locate Nope.pm in @INC (you may need to install it) at -e line 1.", "IMPORT_ERROR", None),
    ("/dev/fd/3: line 77: tsc: command not found", "IMPORT_ERROR", None),
    ("PHP Fatal error:  Uncaught Error: undefined function foo() in Command line code:1", "RUNTIME_ERROR", None),
    ("app.py: error: argument --count: invalid int value: 'z'", "VALUE_ERROR", None),
    ("Error: Invalid value for '--count': 'x' is not a valid integer.", "VALUE_ERROR", None),
    ("error: could not find `Cargo.toml` in `/w/shop` or any parent directory", "RUNTIME_ERROR", None),
    ("cc1: fatal error: app.c: No such file or directory", "RUNTIME_ERROR", None),
    ("deploy.sh: line 1: STAGE: must be given", "RUNTIME_ERROR", "deploy.sh:1"),
    ("awk: line 1: missing ) near }", "SYNTAX_ERROR", None),
    ("[FATAL] Non-readable POM /w/pom.xml: no more data available - expected end tag", "SYNTAX_ERROR", None),
    ("error obtaining VCS status: exit status 128", "UNKNOWN", None),
    ("bash: line 1: cd: too many arguments", "VALUE_ERROR", None),
    ("bash: line 1: hash: nosuch: not found", "IMPORT_ERROR", None),
    ("mv: missing destination file operand after 'a'", "VALUE_ERROR", None),
    ("find: missing argument to `-exec'", "VALUE_ERROR", None),
    ("tar (child): a.tgz: Cannot open: No such file or directory", "RUNTIME_ERROR", None),
    ("dpkg-query: package 'nosuch' is not installed", "IMPORT_ERROR", None),
    ("ERROR:  Could not find a valid gem 'nosuch' (>= 0)", "RUNTIME_ERROR", None),
    ("E: Command line option --nope is not understood", "VALUE_ERROR", None),
    ("timeout: invalid time interval 'abc'", "VALUE_ERROR", None),
    ("fatal: not a valid object name: HEAD", "RUNTIME_ERROR", None),
    ("a.asm:3: error: parser: instruction expected", "SYNTAX_ERROR", "a.asm:3"),
    ('[!] RollupError: Could not resolve "./nope.js" from "a.js"', "IMPORT_ERROR", None),
    ("[PARSE_ERROR] Unexpected token\n   ╭─[ a.js:1:11 ]", "SYNTAX_ERROR", "a.js:1"),
    ('[MISSING_EXPORT] "x" is not there\n   ╭─[ a.js:1:11 ]', "IMPORT_ERROR", "a.js:1"),
    ("[UNKNOWN_OPTION] x\n   ╭─[ a.js:1:11 ]", "TYPE_ERROR", "a.js:1"),
    ("--- FAIL: TestTotal (0.00s)\nFAIL", "ASSERTION_ERROR", None),
]
# And by lines that look alike and are no place: clocks, notes, warnings, addresses.
NO_PLACE = [
    "Compilation started at Sat Jul  8 15:19:25",
    "12:33:44 all workers are up",
    "app.c:9:3: note: declared here",
    "app.c:9:3: warning: unused variable 'x'",
    "listening on 127.0.0.1:8080: ready",
    "2026-01-02 03:04:05,678: still waiting",
    "/w/lib/plugin.py:306: PytestDeprecationWarning: The option is unset.",
]


def found(output: str | bytes, exit_code: int = 1) -> Diagnosis:
    diagnosis = diagnose(output, exit_code=exit_code)
    assert diagnosis is not None
    return diagnosis


@pytest.mark.parametrize(("line", "kind", "place"), READ)
def test_one_line_is_enough(line: str, kind: str, place: str | None) -> None:
    """Each tool's one line gives the type and the place."""
    assert found(line).error_type.value == kind
    assert found(line).location == place


@pytest.mark.parametrize(
    "report",
    [
        "Cart.java:4: error: cannot find symbol\n  return {};\n         ^\n  symbol:   variable {}\n",
        "[ERROR] /w/Cart.java:[4,9] cannot find symbol\n[ERROR]   symbol:   variable {}\n",
    ],
)
def test_what_javac_cannot_find_is_named(report: str) -> None:
    """Another name that is missing at the same place is another failure, for javac itself and through maven."""
    total, count = (found(report.replace("{}", name)) for name in ("total", "count"))
    assert total.headline == "cannot find symbol: variable total"
    assert (total.location or "").endswith("Cart.java:4")
    assert not total.signature.is_identical_to(count.signature)


@pytest.mark.parametrize("line", NO_PLACE)
def test_what_is_no_place(line: str) -> None:
    """Clocks, notes, warnings and addresses are not taken for a place in the code."""
    assert found(line).location is None


def test_the_table_is_in_order() -> None:
    """A newcomer's entry need not be in any particular line: the surest comes first, and every pattern compiles."""
    assert all(one.weight >= two.weight for one, two in pairwise(RULES.entries))
    assert all(one.most >= two.most for one, two in pairwise((SUREST, *PARSERS.entries)))
    for rule in RULES.entries:
        assert re.compile(rule.pattern.pattern)
        part = rule.literals.part
        assert part == part.strip("\n")
        assert all(other == part for other, _ in rule.literals.pairs), "lines are found by one part"


def test_no_phrase_is_hidden_by_its_literal() -> None:
    """The literal before a pattern is a part of the pattern itself, so that it can hide nothing."""
    tables = (STRONG, WEAK, GIVEN, LOST, SETTINGS, FOREIGN, BUSY, RATE_LIMIT, VERIFICATION_FAILED)
    literals = [(one.literals.part, one.pattern) for table in tables for one in table.prefilter.entries if one.pattern]
    assert literals
    assert [part for part, pattern in literals if part not in pattern.pattern.replace("\\", "")] == []


@pytest.mark.parametrize(
    ("said", "opened", "closed"),
    [
        ("status code", ["status code 404", "got status codes"], ["mystatus code", "status", "code status"]),
        ("quota", ["the quota.", "insufficient_quota", "quota2"], ["quotas", "aquota"]),
        ("throttl…", ["throttled", "throttling"], ["throat"]),
        ("…Error", ["KeyError", "Error"], ["error"]),
        ("[Ff]ailed", ["failed", "Failed:"], ["FAILED", "unfailed"]),
        ("error TS", ["error TS2322"], ["error TSC", "errors TS"]),
        ("--> ", ["  --> a.py"], ["-->a.py"]),
        ("❯ ", ["❯ a.ts"], ["> a.ts"]),
    ],
)
def test_a_literal_matches_whole_words(said: str, opened: list[str], closed: list[str]) -> None:
    """A literal matches where its words stand whole, and with an ellipsis also where they go on."""
    rules = Prefilter([Phrase(Literals(said), None)])

    def is_open(text: str) -> bool:
        seen = IndexedText(text)
        return any(seen.has(phrase.literals) for phrase in rules.candidates(seen))

    assert [text for text in opened if not is_open(text)] == []
    assert [text for text in closed if is_open(text)] == []


def test_a_folder_called_internal_is_the_users_own() -> None:
    """Go keeps a project's own packages in internal/; only node's files of that name are a library's."""
    frames = "panic: boom\n\ngoroutine 1 [running]:\nshop.Save(...)\n\t/home/me/shop/internal/store/db.go:12 +0x1d\n"
    assert found(frames).location == "/home/me/shop/internal/store/db.go:12"
    assert found("internal/store/db.go:12:3: undefined: tx").location == "internal/store/db.go:12"
    node = (
        "TypeError: x is not a function\n    at Module._load (internal/modules/cjs/loader.js:883:3)\n"
        "    at run (/w/a.js:4:1)\n"
    )
    assert found(node).location == "/w/a.js:4"


def test_errors_beat_notes_and_make() -> None:
    """Of gcc's and make's lines the error is told."""
    output = (
        "gcc -c app.c\napp.c: In function 'main':\napp.c:3:3: warning: unused variable 'x' [-Wunused-variable]\n"
        "app.c:4:10: error: 'missing' undeclared (first use in this function)\n"
        "app.c:4:10: note: each undeclared identifier is reported only once\nmake: *** [Makefile:2: app.o] Error 1\n"
    )
    assert found(output).location == "app.c:4"
    assert found("make: *** [Makefile:2: app.o] Error 1\n").location == "Makefile:2"


def test_its_own_words_are_no_failure() -> None:
    """Words of unstuck about the last failure are not read as a failure again."""
    last = found("Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'old'\n")
    told = compose(
        Brief(
            prompt="Fix the cart.",
            level="retry",
            hint=last.fix_hint,
            diagnosis=last,
            evidence="Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 'old'",
            repeats=3,
            check="pytest -q",
            signals=True,
        )
    )
    now = "a.c:1:2: error: expected ';' before 'return'\n"
    assert found(f"{told}\n{now}").identity == found(now).identity
    assert found(told).error_type is ErrorType.UNKNOWN


@pytest.mark.parametrize(
    "piece",
    [
        "KeyError: 'a'\n",
        "tests/test_a.py::test_b PASSED\n",
        "    at f (/app/a.js:1:2)\n",
        "a.c:1:2: note: here\n",
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n',
        "E   assert 1 == 2\nFAILED a.py::b - x\n",
        "[" * 200 + "\n",
        "thread 'x' panicked at a.rs:1:2:\n",
        "thread 'x' panicked at 'no\n",
        "thread 'x' panicked at 'no\n left\n right', a.rs:1:2\n",
        "Error: x Error: x ERROR error: failed\n",
    ],
)
def test_the_work_grows_with_the_lines_and_then_no_more(piece: str) -> None:
    """Twice the lines are at most twice the steps, and beyond the head and tail there are no more at all."""

    def steps(count: int) -> int:
        return calls(lambda: found(piece * count))

    steps(50)
    small, double = steps(200), steps(400)
    assert double <= 2.2 * small
    bounded = 200_000 // len(piece)
    assert steps(4 * bounded) <= 1.05 * steps(bounded) + 50


def calls(action: Callable[[], object]) -> int:
    """Return the number of calls of functions, of Python and of C."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "line",
    [
        "(" * 1_000_000,
        "[{" * 500_000,
        "a" * 1_000_000,
        " " * 1_000_000 + "x",
        "a:1:" * 250_000,
        "at " * 333_333,
        "/a" * 500_000 + ":1",
        "Error: " * 142_857,
        "\x00" * 1_000_000,
        "'" * 1_000_000,
        "0x" * 500_000,
        "a.b" * 333_333 + "Error: x",
        "1" * 1_000_000 + "-",
        "expected " * 111_111,
        'File "' * 166_666,
    ],
)
@pytest.mark.parametrize(
    "wrap", ["{}", "{}\nKeyError: 'a'", "Traceback (most recent call last):\n{}", "E   {}\nFAILED a::b - {}"]
)
def test_a_megabyte_in_one_line(line: str, wrap: str) -> None:
    """No single line, however odd, keeps the diagnosis from ending."""
    assert found(wrap.replace("{}", line)).fix_hint


@pytest.mark.parametrize("raw", [b"\xff\xfe" * 1000 + b"\nKeyError: 'a'\n", b"\x00KeyError: 'a'\x00\n"])
def test_bytes_that_are_no_text(raw: bytes) -> None:
    """Invalid UTF-8 and NULs do not hide an error, or at least break nothing."""
    assert found(raw).failure_type in FailureType


def test_jumping_finds_the_same_lines() -> None:
    """Lines are found by jumping exactly as by looking at each."""
    text = "no\nan error\nerror: two error\n\nend error"
    assert list(lines_with(text, "error")) == [line for line in text.split("\n") if "error" in line]
    assert list(lines_with("", "error")) == []


TEST_RUN = """\
    def test_rate():
>       assert read(address) == 1.17

tests/test_rates.py:14:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
shop/rates.py:6: in read
    with urllib.request.urlopen(address) as answer:
E       urllib.error.HTTPError: HTTP Error {status}

/usr/lib/python3.11/urllib/request.py:643: HTTPError
=========================== short test summary info ============================
FAILED tests/test_rates.py::test_rate - urllib.error.HTTPError: HTTP Error 4...
1 failed in 0.28s
"""


@pytest.mark.parametrize(
    ("status", "category"),
    [
        ("429: Too Many Requests", "transient"),
        ("503: Service Unavailable", "transient"),
        ("404: Not Found", "agent_failure"),
    ],
)
def test_a_test_that_a_busy_service_stopped_has_judged_nothing(status: str, category: str) -> None:
    """A service that is busy is waited for, also where a test says so; a wrong address is the work's own fault."""
    found = diagnose(TEST_RUN.replace("{status}", status), exit_code=1)
    assert found is not None
    assert found.category.value == category
    assert found.failure_type == FailureType.VERIFICATION_FAILED


@pytest.mark.parametrize(
    "line",
    [
        "Error: No such option: --nope",
        "Error: Missing argument 'NAME'.",
        "Error: Option '--count' requires an argument.",
        "Error: Got unexpected extra argument (x)",
        "app.py: error: unrecognized arguments: --nope",
        "node: bad option: --nope",
        "ls: unrecognized option '--nope'",
        "cut: invalid option -- 'z'",
        "error: unknown option '--nope'",
        "curl: option --nope: is unknown",
        "flag provided but not defined: -nope",
        "unknown shorthand flag: 'z' in -z",
        "error: unexpected argument '--nope' found",
        'Error: unknown command "nope" for "tool"',
    ],
)
def test_a_command_that_was_called_wrongly(line: str) -> None:
    """A complaint about arguments is neither a broken build nor a bug in the program."""
    told = found(f"Usage: app.py [OPTIONS] NAME\n\n{line}\n", 2)
    assert told.category.value == "configuration"
    assert told.failure_type == FailureType.UNKNOWN
    assert told.headline in line
    assert "help" in told.fix_hint


@pytest.mark.parametrize(
    "line",
    [
        "2 options are unknown to us, and no flag is set",
        "KeyError: 'unknown option'",
        "the command is unknown",
        "unknown: no option was given",
    ],
)
def test_a_program_that_only_speaks_of_options(line: str) -> None:
    """Words about options and commands are no refusal of an argument."""
    assert found(line).category.value == "agent_failure"


@pytest.mark.parametrize(
    ("line", "exit_code", "advice"),
    [
        ("FileNotFoundError: [Errno 2] No such file or directory: 'a.csv'", 1, "path"),
        ("cat: a.csv: Permission denied", 1, "path"),
        ("deploy.sh: line 3: frobnicate: command not found", 127, "PATH"),
        ("", 137, "memory"),
        ("", 139, "pointer"),
        ("RecursionError: maximum recursion depth exceeded", 1, "recursion"),
        ("NameError: name 'total' is not defined", 1, "Define the name"),
        ("ZeroDivisionError: division by zero", 1, "zero"),
        ("RuntimeError: no basket", 1, "values"),
    ],
)
def test_the_hint_is_for_what_happened(line: str, exit_code: int, advice: str) -> None:
    """A failure at run time has many causes, and the advice fits the one that is named."""
    assert advice in found(line, exit_code).fix_hint


@pytest.mark.parametrize(
    "line",
    [
        "5-hour limit reached ∙ resets 3pm",
        "  ⎿  Weekly limit reached ∙ resets Oct 6 at 1pm\n     /upgrade for more",
        "Session limit reached · resets 10:30am (UTC)",
        "You've hit your limit · resets 3pm (UTC)",
        "Your quota will reset after 15h8m22s.",
    ],
)
def test_a_limit_that_comes_back_is_waited_for(line: str) -> None:
    """A usage limit that a model's command line reports passes with time."""
    told = found(line)
    assert told.category.value == "transient"
    assert told.error_type == ErrorType.HTTP_ERROR
    assert told.signature.metadata["used_up"] == "yes"


@pytest.mark.parametrize(
    "line",
    ["error: recursion limit reached while expanding `sum!`", "file size limit reached", "open files: limit 1024"],
)
def test_a_limit_that_stays_is_not(line: str) -> None:
    """No waiting lifts a limit that is in the code or the machine."""
    assert found(line).category.value == "agent_failure"


def test_the_interpreter_itself_ends() -> None:
    """A crash inside Python is told at the user's own innermost frame of the thread that it was in."""
    output = (
        "Fatal Python error: Segmentation fault\n\nThread 0x00007fd0 (most recent call first):\n"
        '  File "/w/shop/waits.py", line 7 in wait\n\nCurrent thread 0x00007fd1 (most recent call first):\n'
        '  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at\n'
        '  File "/w/shop/image.py", line 4 in read\n  File "/w/shop/main.py", line 9 in <module>\n\n'
        "Extension modules: _x (total: 1)\n"
    )
    told = found(output, 139)
    assert told.headline == "Fatal Python error: Segmentation fault"
    assert told.location == "/w/shop/image.py:4"
    assert told.error_type == ErrorType.RUNTIME_ERROR
    assert told.signature.metadata["function"] == "read"
    late = "Timeout (0:00:02)!\nThread 0x00007fd1 (most recent call first):\n" + '  File "/w/a.py", line 6 in poll\n'
    assert found(late).error_type == ErrorType.TIMEOUT_ERROR
    assert found(late).location == "/w/a.py:6"


def test_a_template_of_a_library_fails_where_it_was_asked_for() -> None:
    """The compiler stops in the library's header: the place is the user's line that needed it."""
    output = (
        "/usr/include/c++/13/bits/stl_algo.h:4861:18:   required from 'void std::sort(_RAIter, _RAIter)'\n"
        "lake/sort.cpp:6:14:   required from here\n"
        "/usr/include/c++/13/bits/stl_algo.h:1948:50: error: no match for 'operator-'\n"
    )
    assert found(output).location == "lake/sort.cpp:6"


def test_a_frame_that_closes_says_nothing() -> None:
    """The headline of an output that ends with a box is the last line with a word in it."""
    assert found('│ An argument named "cidr" is not expected here.\n╵\n').headline.endswith("expected here.")
    assert found("╵\n").headline == "╵"


def test_a_command_that_was_not_found_is_known_by_the_exit_code() -> None:
    """127 says that the command is missing where the words alone say that any file is; a script is a file."""
    line = "env: 'nosuch': No such file or directory"
    assert found(line, 127).error_type == ErrorType.IMPORT_ERROR
    assert found(line, 127).category.value == "configuration"
    assert found("bash: nope.sh: No such file or directory", 127).error_type is ErrorType.RUNTIME_ERROR


def test_a_failed_assertion_is_not_in_the_helper_below_it() -> None:
    """Minitest names the test's own line; a frame below it is no function of the failure."""
    report = "  1) Failure:\nT#test_a [a.rb:4]:\nExpected: 1\n  Actual: 2\n    a.rb:9:in `helper'\n"
    assert found(report).location == "a.rb:4"
    assert "function" not in found(report).signature.metadata


def test_a_failed_test_without_a_message_names_no_file() -> None:
    """Go may say only the name of a test that failed."""
    assert found("--- FAIL: TestTotal (0.00s)\nFAIL").files == ()
