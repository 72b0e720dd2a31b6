"""Rules for failures in one plain line: services, downloads, the system, package managers, git."""

from __future__ import annotations

from unstuck.diagnosis.matching.context_window import CONTEXT_LITERALS, says_context_exhausted
from unstuck.diagnosis.matching.lazy_regex import Lazy, lines_with
from unstuck.diagnosis.parsers.base import Finding
from unstuck.diagnosis.parsers.line_rules import LINE_LIMIT, Rule, rule

ERRNO = (
    "ECONNREFUSED ECONNRESET ECONNABORTED EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN EPIPE EADDRINUSE ETIMEDOUT "
    "ESOCKETTIMEDOUT ENOENT EACCES EPERM ENOSPC EBUSY EMFILE EEXIST EISDIR ENOTDIR ENOTEMPTY EROFS ENOMEM ETXTBSY "
    "MODULE_NOT_FOUND"
)
CLASS = r"(?:Uncaught |Unhandled )?(?:[\w$]{1,60}(?:\.|::)){0,8}"
# What stands before the reason, and how programs call what they were given and do not know.
BEFORE = r"(?:[^\s:]{1,80}: ){0,3}"
REFUSED = r"(?:[Nn]o such|[Bb]ad|[Uu]nknown|[Uu]nrecogni[sz]ed|[Ii]nvalid|[Ii]llegal|[Uu]nsupported)"
# A rate or a count of errors is none.
NO_COUNT = r"(?!(?:none|null|\w|-?[\d.]+%?)$|-?\d+\.\d+%?[\s,;|])"
# A line that a program begins with its own name, and words by which it is a complaint.
PROGRAM = (
    r"(?!(?:warning|note|hint|info|debug|help|usage|remark|skipp\w+|ignor\w+|handled|caught)\b)"
    r"[a-z_][\w.+-]{0,30}(?: \(\w{1,20}\))?"
)
COMPLAINT = (
    r"(?=.{0,300}\b(?i:not|no|cannot|can't|couldn't|unable|fail(?:ed|ure)?|invalid|unknown|unrecogni[sz]ed|illegal|bad"
    r"|missing|must|too|denied|refused|expected|required|requires|unsupported|corrupt|only|doesn't|isn't|already|exists"
    r"|non-\w+|unexpected|unterminated|unmatched|is a directory)\b)(?!(?:warning|note|hint|info|debug)\b)"
)

PLAIN: tuple[Rule, ...] = (
    # An agent's own tools
    rule(
        76,
        "tool_use_error",
        r"<tool_use_error>(?:Error: )?(?P<msg>(?P<name>InputValidationError): .*?)(?:</tool_use_error>)?$",
        "run",
    ),
    rule(75, "tool_use_error", r"<tool_use_error>(?:Error: )?(?P<msg>\S.*?)(?:</tool_use_error>)?$", "run"),
    rule(74, "InputValidationError", r"(?:Error: )?(?P<msg>(?P<name>InputValidationError): .*)$", "run"),
    rule(72, "API Error", r".{0,20}?API Error:? *(?:\(?(?P<code>\d{3})\b)?.*\w.*", "run"),
    rule(70, "resets", r".{0,80}?\b[Ll]imit .{0,40}\bresets\b.*", "run"),
    rule(70, "curl: (", r".*?(?P<msg>curl: \((?P<code>\d{1,3})\).*)", "run"),
    rule(70, "npm", r"npm (?:error|ERR!) code (?P<code>E\w+)"),
    rule(68, "Segmentation fault", r".*Segmentation fault.*", "run", code="exit 139"),
    rule(66, "Killed", r"(?:.*: line \d+: +\d+ )?Killed\b(?!:| \d| [a-z ]{1,40}:).*", "run", code="exit 137"),
    rule(66, "Out of memory", r".*Out of memory: Killed process.*", "run", code="exit 137"),
    rule(66, "Aborted", r"(?:.*: line \d+: +\d+ )?Aborted\b(?!:| [a-z ]{1,40}:).*", "run", code="exit 134"),
    rule(66, "heap out of memory", r"(?:FATAL ERROR: )?MSG$", "run", "OutOfMemory"),
    rule(66, "npm", r"npm (?:error|ERR!) (?P<msg>Missing script: .*)"),
    rule(65, "Failure/Error: ", r"\s*Failure/Error: MSG", "run"),
    rule(66, "ASSERT FAILED: ", r"\s*(?P<msg>ASSERT FAILED: \S.*)", "test", "AssertionError"),
    rule(66, "[fail]: ", r"\s*[✘✖×] \[fail\]: MSG", "test", "AssertionError"),
    rule(64, "CONFLICT", r"CONFLICT \(.*", "run"),
    rule(64, "[rejected]", r" ! \[rejected\].*", "run"),
    rule(63, "resolve hostname", r"ssh: .*", "run"),
    rule(63, "ssh: ", r"ssh: connect to .*", "run"),
    rule(63, "Permission denied (", r".*Permission denied \(.*", "run", code="EACCES"),
    rule(
        62,
        "NewConnectionError",
        r"(?:WARNING: Retrying|ERROR: ).*?NewConnectionError.*?(?P<msg>(?:Failed to establish|\[Errno).*)",
    ),
    rule(62, "ReadTimeoutError", r"(?:WARNING: Retrying|ERROR: ).*?ReadTimeoutError.*?(?P<msg>Read timed out.*)"),
    # Erlang's and Common Lisp's
    rule(80, "init terminating", r'\{"init terminating in do_boot",\{+(?P<name>\w+).*', "run"),
    rule(80, "Unhandled ", r"Unhandled (?P<name>[A-Z][A-Z:-]{2,80})(?: in thread .*|:)$", "run"),
    rule(80, "debugger invoked on a", r"debugger invoked on an? (?P<name>[A-Z][A-Z:-]{2,80}) .*", "run"),
    rule(62, "CMake Error: ", r"CMake Error: MSG"),
    rule(62, "Could not open requirements file", r"ERROR: MSG"),
    rule(62, "Invalid requirement", r"ERROR: MSG", name="ValueError"),
    rule(74, "[!] ", r"\[!\] (?:\([^)]{1,80}\) )?MSG$"),
    rule(61, "[FATAL] ", r"\[FATAL\] MSG", "run"),
    rule(61, "No matching distribution", r"ERROR: (?P<msg>No matching distribution found for .*)"),
    rule(
        61, "E: ", r"E: (?P<msg>(?:Unable to locate|Package .{1,80} has no|Version .{1,80} was not found|Could not).*)"
    ),
    rule(62, "Could not resolve host", r"\s+\[\d{1,3}\] MSG"),
    rule(61, "dependency of package", r"error: (?P<msg>failed to \w{1,20} .{1,120} as a dependency of package .*)"),
    rule(61, "ResolutionImpossible", r"ERROR: MSG", code="ERESOLVE"),
    rule(61, "[Cc]onflicting dependencies", r"ERROR: MSG", code="ERESOLVE"),
    rule(61, "metadata-generation-failed", r".*"),
    rule(61, "Failed building wheel", r"\s*ERROR: MSG"),
    rule(60, "HTTP", r".*?\bHTTP(?:/\d(?:\.\d)?)? (?:[Ee]rror:? |status |status code )?(?P<code>[45]\d\d)\b.*", "run"),
    rule(60, "FATAL:", r"(?:psql: error: .*)?(?P<msg>FATAL: .*)", "run", "DatabaseError"),
    rule(60, "psql: error: ", r"(?P<msg>psql: error: .*)", "run"),
    rule(60, "unrecognized arguments", r"[^:\n]{1,80}: error: MSG$", "run", code="usage"),
    rule(
        60,
        ": error: ",
        r"[^:\n]{1,80}: error: (?P<msg>(?:the following arguments are required|argument ).*)$",
        "run",
        code="usage",
    ),
    rule(
        60,
        "Error: ",
        r"Error: (?P<msg>(?:No such (?:option|command)\b|Missing (?:argument|option|parameter|command)\b"
        r"|Invalid value for '[^'\n]{1,80}'|Got unexpected extra argument"
        r"|Option '[^'\n]{1,80}' (?:requires|does not take)).*)",
        "run",
        code="usage",
    ),
    rule(60, "option", rf"{BEFORE}(?P<msg>{REFUSED} (?:command[- ]line )?(?:VM )?option\b.*)$", "run", code="usage"),
    rule(
        60,
        "[Oo]ption",
        rf"{BEFORE}(?P<msg>[Oo]ption(?: \S{{1,80}}:?)? "
        r"(?:is (?:unknown|ambiguous)|requires (?:an? )?(?:argument|parameter|value)).*)$",
        "run",
        code="usage",
    ),
    rule(60, "flag", rf"{BEFORE}(?P<msg>{REFUSED} (?:shorthand )?flag\b.*)$", "run", code="usage"),
    rule(60, "is not a ", r"\w[\w-]{0,30}: (?P<msg>'.{1,80}' is not a [\w-]{1,30} command\b.*)$", "run", code="usage"),
    rule(60, ": unknown command", r"\w[\w -]{0,80}: (?P<msg>unknown command)$", "run", code="usage"),
    rule(60, "unknown predicate", r"find: (?P<msg>unknown (?:predicate|primary or operator) .*)$", "run", code="usage"),
    rule(60, "Invalid operation", r"E: (?P<msg>Invalid operation .*)$", "run", code="usage"),
    rule(60, "Unknown command: ", r"(?:npm (?:error|ERR!) )?(?P<msg>Unknown command: .*)$", "run", code="usage"),
    rule(60, "flag provided but not defined", r"MSG$", "run", code="usage"),
    rule(60, "unexpected argument", r"error: (?P<msg>unexpected argument '.{1,200}' found.*)$", "run", code="usage"),
    rule(60, "…command", rf"{BEFORE}(?P<msg>{REFUSED} (?:sub)?command\b.*)$", "run", code="usage"),
    rule(58, "status code", r".*?\bstatus code:? (?P<code>[45]\d\d)\b.*", "run"),
    rule(58, ": *** ", r"g?make(?:\[\d+\])?: \*\*\* (?P<msg>(?!Waiting for)[^\[\s].*)"),
    rule(
        58,
        "make: ",
        r"g?make(?:\[\d+\])?: (?P<msg>\S+: (?:No such file or directory|[Cc]ommand not found))$",
        code="exit 127",
    ),
    rule(57, "jq: error", r"jq: error \(at .{1,80}?\): .*", "run", "jq"),
    rule(57, "lua…", r"lua\S{0,6}: MSG", "run", "error"),
    rule(57, "in prepare", r"(?:Parse )?Error: (?P<msg>in prepare, .*)", "run", "DatabaseError"),
    rule(57, "stepping, ", r"(?:Runtime )?Error: (?P<msg>stepping, .*)", "run", "DatabaseError"),
    rule(57, "[Ee]rror near line", r"(?!.*\bof file\b).*", "run", "DatabaseError"),
    rule(56, "ERROR:  ", r"(?:\w{2,30}: error: [^:\n]{1,80}: )?ERROR:  (?=[a-z\"])MSG", "run", "DatabaseError"),
    rule(56, "ERROR ", r"ERROR \d{4} \(\w{5}\)(?: at line \d+)?: MSG", "run", "DatabaseError"),
    rule(64, "externally-managed-environment", r"(?:error: )?MSG$", "run"),
    rule(64, "dubious ownership", r"fatal: .*", "run"),
    rule(
        63,
        "…assword",
        r"(?:ERROR: )?(?P<msg>.*(?:[Ww]rong|[Ii]ncorrect|[Bb]ad) password\b.*|\S.* password incorrect\b.*)$",
        "run",
    ),
    rule(56, "ld returned", r"collect2: (?:fatal )?error: (?P<msg>ld returned .*)$"),
    rule(57, "linker command failed", r"(?:\S{1,100}: )?error: (?P<msg>linker command failed.*)$"),
    rule(79, "multiple definition of", r".*?: (?P<msg>multiple definition of .*?)(?:; .*)?$"),
    rule(46, "does not exist", r"(?:File|Path|Directory) does not exist\b.*", "run", code="ENOENT"),
    rule(55, "command not found", r".*command not found.*", "run", code="exit 127"),
    rule(44, "@parcel/", r"@parcel/[\w-]{1,40}: MSG"),
    rule(61, "fish: Unknown command", r"fish: MSG", "run", code="exit 127"),
    rule(55, "Could not resolve", r"(?:\[[A-Z_]{4,40}\] |✘ \[ERROR\] )MSG"),
    rule(55, "failed to resolve import", r"(?:\[\S+\]:? |error during build:? )?MSG"),
    rule(54, "would be ", r"(?:\d+ files?|\S+) (?:.*)would be (?:reformatted|updated|changed).*", "lint"),
    rule(54, "not formatted file…", r"error: (?P<msg>Found \d+ not formatted files?\b.*)$", "lint"),
    rule(55, "[Ww]ould reformat", r"[Ww]ould reformat:? .*", "lint"),
    rule(55, "[Ii]ncorrectly sorted", r".*[Ii]ncorrectly sorted.*", "lint"),
    rule(54, "..Failed", r"\S.{0,80}?\.{3,80}(?:\(.{1,60}\))?Failed$", "lint"),
    rule(54, "Code style issues", r"(?:\[warn\] )?MSG", "lint"),
    # A number after the name, which is no address, is that of a table of such names.
    *(
        rule(52, code, rf".*?\b(?P<code>{code})\b(?!['\"]?[\s:=]{{1,3}}-?\d{{1,5}}\b(?![.:]\d)).*", "run")
        for code in ERRNO.split()
    ),
    rule(50, "panic", r"panic: .*", "run", "panic"),
    rule(46, "…Error", rf"{CLASS}(?P<name>[A-Z]\w{{1,60}}Error)(?: \[(?P<code>\w+)\])?(?:: .*)?$", "run"),
    rule(46, "…Error", r"Error: (?P<msg>(?P<name>[A-Z]\w{0,60}Error)(?: ?[{(].*)?)$", "run"),
    rule(46, ".exceptions.", r"(?:\w{1,60}\.){1,8}exceptions\.(?P<name>[A-Z]\w{1,60}): \S.*$", "run"),
    rule(46, "(char ", r"(?P<msg>[A-Z].{1,80}: line \d+ column \d+ \(char \d+\))$", "run", "JSONDecodeError"),
    rule(46, "…Exception", rf"{CLASS}(?P<name>[A-Z]\w{{1,60}}Exception)(?:: .*)?$", "run"),
    rule(46, "error: ", r"(?:\S{0,100}/)?(?:cc1(?:plus)?|gcc|g\+\+|clang(?:\+\+)?|rustc|javac): (?:fatal )?error: MSG"),
    rule(45, "fatal", rf"(?:\w[\w./-]{{0,40}}: )?fatal: {NO_COUNT}.*", "run"),
    rule(46, "Exception: ", r"Exception: (?P<msg>(?P<name>[A-Z]\w{0,60})\b.*)$", "run"),
    rule(
        45,
        "[Ee]rror",
        rf"(?:\w[\w./-]{{0,40}}: )?(?:(?:fatal|parse|syntax) )?error(?: [\w-]{{1,20}}){{0,4}}: {NO_COUNT}.*",
        "run",
    ),
    rule(
        45,
        "[Ee]rror",
        rf"(?:[A-Z][a-z]{{0,11}} [Ee]rror(?: has)?(?: occurred)?"
        rf"|\w[\w./-]{{0,40}}: [Ee]rror(?: [\w-]{{1,20}}){{0,4}}): {NO_COUNT}.*",
        "run",
    ),
    rule(45, "E: ", r"E: [A-Z]\w+ \w.*", "run"),
    rule(45, "ERROR", r"\[?ERROR\]?:? (?!\d{3,5} [a-z]).*", "run"),
    rule(44, ": ", rf"(?:/\S{{1,100}}/)?(?P<msg>{PROGRAM}: +{COMPLAINT}\S.*)$", "run"),
    rule(44, "…Error", rf"(?:\S{{1,60}}: )?(?:[A-Z]\w{{0,60}})?Error(?: \[\w+\])?: {NO_COUNT}.*", "run"),
    rule(43, "find", r"(?:\w[\w.-]{0,40} )?(?:[Cc]ouldn't|[Cc]ould not|[Cc]an't|[Cc]annot) find (?!any\b)\S.*", "run"),
    rule(43, "There is no", r"There is no (?!error|problem|issue|need|difference)\w.*", "run"),
    rule(41, "[Cc]onnection refused", r".*[Cc]onnection refused.*", "run"),
    rule(41, "timed out", r".*timed out.*", "run"),
    rule(42, "[Nn]o such file or directory", r".*: [Nn]o such file or directory$", "run", code="ENOENT"),
    rule(42, "[Pp]ermission denied", r".*: [Pp]ermission denied$", "run", code="EACCES"),
    rule(42, "No space left", r".*No space left on device.*", "run", code="ENOSPC"),
    rule(36, "npm", r"npm (?:error|ERR!) (?P<msg>(?!A complete log|code |errno |path |syscall |command )\S.*)"),
    rule(34, "*** [", r"g?make(?:\[\d+\])?: \*\*\* \[.*", "run"),
    rule(30, "[Ff]ailed", r".*\b[Ff]ailed\b.*", "run"),
)
SYMBOL = Lazy(r"(?:\[ERROR\])?\s+symbol: {1,8}(\S.{0,200})$")
MESSAGE = Lazy(r'"message": ?"((?:[^"\\]|\\.){1,1000})"')


def context_exhausted(text: str, _: list[str]) -> Finding | None:
    """Return the line that reports a full context window."""
    for part, _words in CONTEXT_LITERALS.pairs:
        for full_line in lines_with(text, part):
            line = full_line[:LINE_LIMIT]
            if says_context_exhausted(line):
                return Finding(weight=71, headline=message_of(line.strip(" ⎿\t")))
    return None


def with_symbol(line: str, text: str) -> str:
    """Return ``line`` with the symbol that javac prints some lines below."""
    if line != "cannot find symbol":
        return line
    named = (SYMBOL.match(below[:LINE_LIMIT].rstrip()) for below in lines_with(text, "symbol: "))
    return next((f"{line}: {symbol[1]}" for symbol in named if symbol), line)


def message_of(line: str) -> str:
    """Return the message in a service's JSON, after the text before the JSON."""
    found = MESSAGE.search(line) if '"message"' in line else None
    if found is None:
        return line
    before = line.partition("{")[0].strip("[( \t")
    return f"{before} {found[1]}".strip() if not before.startswith('"') else found[1]
