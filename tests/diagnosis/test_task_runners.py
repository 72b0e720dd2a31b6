"""Task runners: what they say of a program that failed never stands in the way of what that program said."""

from __future__ import annotations

import pytest

from unstuck.diagnosis.enums import FailureType
from unstuck.diagnosis.pipeline import diagnose

# What each prints round the output of the program that it ran, which stands for {said}.
WRAPPED = {
    "make": "{said}make: *** [Makefile:2: test] Error 3\n",
    "make-3": "{said}make: *** [test] Error 1\n",
    "gmake": "{said}gmake: *** [Makefile:2: test] Error 3\n",
    "make-below": "make test\nmake[1]: Entering directory '/home/me/cakes'\n{said}"
    "make[1]: *** [Makefile:2: test] Error 3\nmake[1]: Leaving directory '/home/me/cakes'\n"
    "make: *** [Makefile:4: sub] Error 2\n",
    "make-parallel": "{said}make: *** [Makefile:2: test] Error 3\nmake: *** Waiting for unfinished jobs....\n",
    "ninja": "[1/1] sh said.sh\nFAILED: [code=3] out \nsh said.sh\n{said}ninja: build stopped: subcommand failed.\n",
    "ninja-1.10": "[1/1] sh said.sh\nFAILED: out \nsh said.sh\n{said}ninja: build stopped: subcommand failed.\n",
    "npm-6": "\n> cakes@1.0.0 test /home/me/cakes\n> sh said.sh\n\n{said}"
    "npm ERR! Test failed.  See above for more details.\n",
    "npm-8": "\n> cakes@1.0.0 build\n> sh said.sh\n\n{said}npm ERR! code ELIFECYCLE\nnpm ERR! errno 3\n"
    "npm ERR! cakes@1.0.0 build: `sh said.sh`\nnpm ERR! Exit status 3\nnpm ERR! \n"
    "npm ERR! Failed at the cakes@1.0.0 build script.\n"
    "npm ERR! This is probably not a problem with npm. There is likely additional logging output above.\n\n"
    "npm ERR! A complete log of this run can be found in:\n"
    "npm ERR!     /home/me/.npm/_logs/2024-01-01T00_00_00_000Z-debug.log\n",
    "npm-workspace": "{said}npm error Lifecycle script `build` failed with error:\nnpm error code 3\n"
    "npm error path /home/me/cakes/web\nnpm error workspace web@1.0.0\nnpm error location /home/me/cakes/web\n"
    "npm error command failed\nnpm error command sh -c sh said.sh\n",
    "yarn": "$ sh said.sh\n{said}error Command failed with exit code 3.\n"
    "info Visit https://yarnpkg.com/en/docs/cli/run for documentation about this command.\n",
    "pnpm": "$ sh said.sh\n{said}[ELIFECYCLE] Test failed. See above for more details.\n",
    "pnpm-8": "$ sh said.sh\n{said}\u2009ELIFECYCLE\u2009 Command failed with exit code 3.\n",
    "pnpm-recursive": "$ sh said.sh\n{said}[ELIFECYCLE] Test failed. See above for more details.\n"
    'Error: ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL\n\n  × "pnpm recursive run" failed in /home/me/cakes\n\n',
    "bun": '$ sh said.sh\n{said}error: script "test" exited with code 3\n',
    "just": "sh said.sh\n{said}error: recipe `test` failed on line 2 with exit code 3\n",
    "tox": "py: commands[0]> sh said.sh\n{said}py: exit 3 (0.01 seconds) /home/me/cakes> sh said.sh pid=18424\n"
    "  py: FAIL code 3 (0.09=setup[0.08]+cmd[0.01] seconds)\n  evaluation failed :( (0.14 seconds)\n",
    "tox-3": "py39 run-test: commands[0] | sh said.sh\n{said}"
    "ERROR: InvocationError for command /bin/sh said.sh (exited with code 3)\n"
    "___________________________________ summary ___________________________________\n"
    "ERROR:   py39: commands failed\n",
    "nox": "nox > Running session tests\nnox > sh said.sh\n{said}nox > Command sh said.sh failed with exit code 3\n"
    "nox > Session tests failed.\n",
    "gradle": "> Task :check FAILED\n{said}\nFAILURE: Build failed with an exception.\n\n* What went wrong:\n"
    "Execution failed for task ':check'.\n> Process 'command 'sh'' finished with non-zero exit value 3\n\n* Try:\n"
    "> Run with --stacktrace option to get the stack trace.\n> Run with --info option to get more.\n"
    "\nBUILD FAILED in 1s\n1 actionable task: 1 executed\n",
    "task": '{said}task: Failed to run task "test": exit status 3\n',
    "actions": "{said}Error: Process completed with exit code 3.\n",
}
# What a tool says, with the place and the type that have to be read in it.
TOLD = {
    "a compiler": ("parts.c:3:5: error: 'x' undeclared\n", "parts.c:3", FailureType.BROKEN_BUILD),
    "a type checker": ("app.py:7: error: Missing return statement  [return]\n", "app.py:7", FailureType.BROKEN_BUILD),
    "a test runner": (
        "FAILED (failures=1)\nAssertionError: 1 != 2\n",
        None,
        FailureType.VERIFICATION_FAILED,
    ),
    "a program of one's own": ("warming up\nthe oven is cold\n", None, FailureType.UNKNOWN),
}  # fmt: skip


@pytest.mark.parametrize("wrapper", WRAPPED)
@pytest.mark.parametrize("tool", TOLD)
def test_a_task_runner_hides_nothing(wrapper: str, tool: str) -> None:
    """Headline, place and type are the tool's own, whatever ran it; where nobody knows the tool, its last words."""
    said, place, kind = TOLD[tool]
    alone = diagnose(said, exit_code=1)
    found = diagnose(WRAPPED[wrapper].format(said=said), exit_code=2)
    assert alone is not None
    assert found is not None
    assert (found.headline, found.location, found.failure_type) == (alone.headline, place, kind)


@pytest.mark.parametrize("wrapper", WRAPPED)
def test_a_task_runner_alone_is_no_broken_build(wrapper: str) -> None:
    """The words of a task runner are no broken build if the program printed nothing."""
    found = diagnose(WRAPPED[wrapper].format(said=""), exit_code=2)
    assert found is not None
    assert found.headline
    assert found.failure_type is not FailureType.BROKEN_BUILD


@pytest.mark.parametrize(
    ("said", "headline"),
    [
        ("make: *** No rule to make target 'parts.o'.  Stop.\n", "No rule to make target 'parts.o'.  Stop."),
        ("npm ERR! Missing script: \"tests\"\n", "Missing script: \"tests\""),
        ("Makefile:3: *** missing separator.  Stop.\n", "missing separator.  Stop."),
        ("ninja: error: loading 'build.ninja': No such file or directory\n", None),
        ("make: *** [Makefile:2: test] Segmentation fault (core dumped)\n", None),
    ],
)  # fmt: skip
def test_a_task_runners_own_errors_are_told(said: str, headline: str | None) -> None:
    """Errors in the build's own files, and signals that ended the program, are reported."""
    found = diagnose(said, exit_code=2)
    assert found is not None
    assert found.headline == (headline or said.strip())


@pytest.mark.parametrize(
    "said",
    [
        "FAIL add",
        "test failed: add(2,3) = -1, want 5",
        "1 of 3 tests failed",
        "add: expected 5, got 3",
        "expected 5 but got 3",
        "add: expected 5, found 3",
        "expected: 5, found: 3",
        "not ok 1 add",
        "assertion failed: add(2, 3) == 5",
    ],
)
def test_a_runner_of_ones_own_is_no_broken_build(said: str) -> None:
    """A home-made test program under make is no broken build."""
    found = diagnose(f"ok sub\n{said}\nmake: *** [Makefile:2: test] Error 1\n", exit_code=2)
    assert found is not None
    assert (found.headline, found.location) == (said, None)
    assert found.failure_type is not FailureType.BROKEN_BUILD
