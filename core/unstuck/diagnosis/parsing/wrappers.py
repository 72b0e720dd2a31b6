"""Lines of task runners that only report a failed command: never a headline beside a tool's own line."""

from __future__ import annotations

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.matching.prefilter import IndexedText, Literals

_LITERALS = Literals(
    "make: *** [",
    "gmake: *** [",
    "…@",
    "]: *** [",
    "Entering directory",
    "ninja: build stopped",
    "npm ERR! ",
    "npm error ",
    "error Command failed",
    "ELIFECYCLE",
    "_FIRST_FAIL",
    "error: script ",
    "error: Recipe ",
    "error: recipe ",
    "task: Failed",
    "failed with exit code",
    "returned with error code",
    "evaluation failed :(",
    "FAIL code ",
    ": FAIL ✖",
    "InvocationError for command",
    ": commands failed",
    "nox > ",
    "FAILURE: Build failed",
    "run failed: command",
    "command finished with error",
    "lerna ERR! ",
    "Process completed with exit code",
    "exited with",
    "rake aborted!",
    "Command failed with status",
    "scons: building terminated",
    "Job failed: exit",
)
_NPM = r"npm (?:ERR!|error)"
_LINES = (
    # make, ninja, scons, rake
    r"\w{0,8}make(?:\[\d+\])?: \*\*\* (?:\[.*\] Error \d+.*|Waiting for unfinished jobs.*)",
    r"\w{0,8}make(?:\[\d+\])?: (?:(?:Entering|Leaving) directory .*|Target .* not remade because of errors\.)",
    r"ninja: build stopped: .*",
    r"FAILED: (?:\[code=\d+\] )?\S.{0,300} ",
    r"scons: building terminated because of errors\.",
    r"rake aborted!|Command failed with status \(\d+\): .*|Tasks: TOP => .*|\(See full trace by running task .*",
    # npm, yarn, pnpm, bun, lerna, turbo, composer
    r"> \S{1,200}@\d\S{0,40} [\w:-]{1,60}(?: /.*)?(?:\n> .*)?",
    rf"{_NPM}(?: (?:code (?:ELIFECYCLE|\d+)|errno \d+|(?:path|workspace|location|command) .*|Exit status \d+))? *",
    rf"{_NPM} (?:Failed at the .* script\.?|This is probably not a problem with npm.*|A complete log of this run .*)",
    rf"{_NPM} (?: +/.*-debug.*|\S+@\S+ [\w:-]+: `.*`|Lifecycle script .* failed with error:?|Error: command failed)",
    rf"{_NPM} (?:Test failed\. +See above .*|in workspace: .*|at location: .*)",
    r"error Command failed with exit code \d+\.|info Visit https://yarnpkg\.com/\S* .*",
    r"\s*\[?ELIFECYCLE\b.*|\s*× \"pnpm .*\" failed in .*",
    r"\s*(?:Error: )?ERR_PNPM_RECURSIVE_(?:RUN|EXEC)_FIRST_FAIL\b.*",
    r"error: script \"[^\"\n]{1,200}\" exited with code \d+.*",
    r"lerna ERR! (?!E[A-Z]+ ).*|\s*ERROR +run failed: command +exited \(\d+\)",
    r"\S+: ERROR: command finished with error: .*",
    r"Script .{1,300} returned with error code \d+",
    # just, task, mage, tox, nox
    r"error: [Rr]ecipe `[^`\n]{1,200}` (?:failed|was terminated) .*",
    r"task: Failed to run task .*: exit status \d+",
    r"Error: running \".*\" failed with exit code \d+",
    r"\s*[\w.-]{1,60}: (?:exit \d+ \(\d.*|FAIL (?:code \d|✖).*|commands failed)|\s*evaluation failed :\( .*",
    r"ERROR: (?:InvocationError for command .*| +[\w.-]{1,60}: commands failed)|_{3,80} summary _{3,80}",
    r"nox > (?:Command .* failed with exit code \d+|Session .* failed\.|\* .*: failed)",
    # gradle
    r"FAILURE: Build failed with an exception\.|BUILD FAILED in .*|\d+ actionable tasks?: .*",
    r"\* (?:What went wrong|Try|Where|Get more help at .*):?|> Task \S+ FAILED|Execution failed for task '.*'\.",
    r"> (?:Process '.*' finished with non-zero exit value \d+|There were failing tests\. .*)",
    r"> (?:Run with --|Get more help at ).*",
    # services that run a script
    r"(?:##\[error\]|Error: )Process completed with exit code \d+\.|The command \".*\" exited with \d+\.",
    r"ERROR: Job failed: exit (?:code|status) \d+|Command exited with non-zero status \d+",
)
_WRAPPER = Lazy(rf"^(?:{'|'.join(_LINES)})$", 8)
_HAS_WORD = Lazy(r"\w")
# A count of the lines above, a farewell or a time taken carries no information of its own.
SUMMED_UP = Lazy(
    r"(?:Found )?\d{1,7} (?:errors?|warnings?|problems?|diagnostics?|issues?|failures?|tests? failed)\b[^:]{0,60}$"
    r"|Found \d|(?:Finished|Completed|Done|Failed) in |Duration|Started: |Stopped: |Total |Summary\b"
    r"|Build failed\b.{0,30}$|Execution halted$|compilation terminated\.?$|Sub items Errors|Archives with Errors"
    r"|at \S.* \(\S*:\d+:\d+\)$|[Rr]un .{1,60} for (?:usage|help|more)|Try '.*' for more|See .{1,80} for"
    r" (?:details|more)"
    r"|For more information"
)


def without_wrappers(seen: IndexedText) -> str | None:
    """Return the text without lines of task runners, empty where nothing is left; None where it has no such lines."""
    if not seen.has(_LITERALS):
        return None
    rest: str = _WRAPPER.sub("", seen.text)
    if rest == seen.text:
        return None
    return rest if _HAS_WORD.search(rest) else ""


def before_wrapper(text: str) -> str:
    """Return the text before the last line of a task runner; all of ``text`` where there is no word before it."""
    last = None
    for last in _WRAPPER.finditer(text):  # noqa: B007
        pass
    before = text[: last.start()] if last is not None else text
    return before if _HAS_WORD.search(before) else text
