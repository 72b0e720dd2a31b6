"""The rules for reports that name a file and a line: compilers, type checkers, linters, interpreters, build tools."""

from __future__ import annotations

from unstuck.diagnosis.parsers.line_rules import ANY_PLACE, Rule, rule

# A file name with an extension, where nothing else in the line is sure.
PHP = r"(?:PHP )?"
SOURCE = r"(?P<file>[^\s:]{1,300}\.[A-Za-z]\w{0,7})"
OTHER = r"(?!(?:note|warning|info|help|hint|remark)\b|\w{0,60}Warning\b|in (?:function|file)\b|\d\d:\d\d|[A-Z]+\s*$)"

LOCATED: tuple[Rule, ...] = (
    # TypeScript, plain and pretty, with and without a place
    rule(84, "error TS", r"FILE\(LINE,\d+\): error CODE: MSG$"),
    rule(84, "error TS", r"\s*FILE:LINE:\d+ - error CODE: MSG$"),
    rule(83, "error TS", r"error CODE: MSG$"),
    # Linters and formatters
    rule(83, "::error ", r"::error title=[^,\n]{1,60}\((?P<code>\S+)\),file=FILE,line=LINE,.*?::(?:.*: )?MSG$", "lint"),
    rule(83, "[SC", r"FILE:LINE:\d+: (?:error|warning|note): MSG \[CODE\]$", "lint"),
    rule(83, " lint/", r"FILE:LINE:\d+ (?P<code>lint/\S+).*", "lint"),
    rule(83, "[error] ", r"\[error\] FILE: (?P<msg>SyntaxError: .*?) \(LINE:\d+\)$", "lint", "SyntaxError"),
    rule(81, "error: cannot ", r"error: (?P<msg>cannot (?:parse|format)[^:]{0,20}): FILE:LINE:\d+", "lint"),
    rule(79, ANY_PLACE, r"(?P<file>[^\s:]{1,300}\.\w{1,6}):LINE:\d+: (?P<code>[CREFW]\d{4}): MSG$", "lint"),
    rule(78, ANY_PLACE, r"(?P<file>[^\s:]{1,300}\.\w{1,6}):LINE:\d+: CODE MSG$", "lint"),
    # Compilers that write file:line:column: error: message
    rule(
        83,
        'assertion "',
        r"assertion \".*\" failed: file \"(?P<file>[^\"]{1,300})\", line LINE.*",
        "run",
        "AssertionError",
    ),
    rule(
        83,
        ": Assertion `",
        r"\S+: (?P<file>[^\s:]{1,300}):LINE: .{0,200}?(?P<msg>Assertion `.*' failed\.)",
        "run",
        "AssertionError",
    ),
    rule(82, "runtime error: ", r"FILE:LINE:\d+: (?P<msg>runtime error: .*)$", "run", "UndefinedBehavior"),
    rule(81, "[Ee]rror: ", r"FILE:LINE(?::\d+)?: (?:fatal )?error: MSG(?:\s+\[(?P<code>[\w=+-]{1,60})\])?$"),
    rule(81, "[Ee]rror: ", r"FILE:LINE:(?:\d+:)? (?:Parse|Syntax|Compile) ?[Ee]rror: MSG$", name="SyntaxError"),
    rule(80, "ERROR]", r"\[ERROR\] FILE:\[LINE,\d+\] (?:error: )?MSG$"),
    rule(80, ": error CS", r"FILE\(LINE,\d+\): error CODE: MSG(?: \[.*\])?$"),
    rule(80, "): error ", r"FILE\(LINE(?:,\d+)?\): (?:fatal )?error CODE: MSG$"),
    rule(80, "e: ", r"e: (?:file://)?FILE:LINE:\d+:? MSG$"),
    rule(80, "e: ", r"e: FILE: \(LINE, \d+\): MSG$"),
    rule(80, ".go:", r"(?:vet: )?(?P<file>[^\s:]{1,300}\.go):LINE:\d+: MSG$"),
    rule(
        79,
        "undefined reference",
        r"\s*(?:[^\n]{0,400}?: )?(?P<file>[^\s:]{1,300}\.\w{1,4}):(?:\(|LINE:).*?(?P<msg>undefined reference to .*)$",
    ),
    rule(78, "undefined symbol…", r".*(?P<msg>undefined symbols?: .*)$"),
    rule(78, ": error", r"FILE:LINE:\d+: error[ :]+MSG$"),
    # Interpreters
    rule(
        86,
        " error: ",
        PHP + r"(?:Fatal|Parse) error: +(?:Uncaught )?(?:(?P<name>[\w\\]{1,80}): )?MSG in "
        r"(?:(?P<file>/\S{1,300})|Command line code):LINE$",
        "run",
    ),
    rule(85, " on line ", PHP + r"Parse error: +MSG in (?P<file>\S{1,300}) on line LINE$", "run", "SyntaxError"),
    rule(84, " on line ", PHP + r"Fatal error: +MSG in (?P<file>\S{1,300}) on line LINE$", "run"),
    rule(80, "syntax error", r"FILE:LINE: (?P<msg>syntax error.*)$", "run", "SyntaxError"),
    rule(78, "Global symbol", r"(?P<msg>Global symbol .{1,300}) at (?P<file>\S{1,300}) line LINE\."),
    rule(72, " line ", r"(?P<msg>syntax error) at (?P<file>\S{1,300}) line LINE, .*$", "run", "SyntaxError"),
    rule(
        72,
        " line ",
        r"(?P<msg>Can't locate (?:.{1,80}? in @INC|object method .{1,200}?))(?: \(.*\))?"
        r" at (?P<file>\S{1,300}) line LINE\.$",
        "run",
    ),
    rule(71, " line ", r"(?P<msg>.{1,300}) at (?P<file>\S{1,300}\.(?:pl|pm|t)) line LINE(?:\.|, .*)$", "run", "die"),
    rule(86, "lua…", r"lua\S*: (?P<file>[^\s:]{1,300}):LINE: MSG$", "run", "error"),
    # Databases, patches, logs
    rule(80, "psql:", r"psql:FILE:LINE: (?:ERROR|FATAL): +MSG$", "run", "DatabaseError"),
    rule(80, "patch failed", r"error: (?P<msg>patch failed): FILE:LINE$", "run"),
    rule(60, "near line", r"(?:(?:Parse|Runtime) )?[Ee]rror:? near line \d+: MSG$", "run", "DatabaseError"),
    rule(50, ".go:", r"\d{4}/\d\d/\d\d [\d:.]{8,15} (?P<file>[^\s:]{1,300}\.go):LINE: MSG$", "run"),
    # Shells, make and what writes like them
    rule(
        66,
        ": line ",
        r"(?:(?:\S{0,200}/)?\w{0,2}sh: )?FILE: line LINE: (?!\s*\d+ (?:Killed|Segmentation|Aborted|Terminated))MSG$",
        "run",
        "shell",
    ),
    rule(65, "not found", r"(?P<file>[^\s:]{1,300}): LINE: (?P<msg>\S.*: not found)$", "run", code="exit 127"),
    rule(65, ".sh: ", r"(?P<file>[^\s:]{1,300}\.sh): LINE: MSG$", "run"),
    rule(65, "*** ", r"FILE:LINE: \*\*\* MSG$"),
    rule(35, "*** [", r"make(?:\[\d+\])?: \*\*\* \[(?P<file>[^\s:]{1,300}):LINE: .*", "run"),
    # Anything with a source file, a line and words, when no tool is known
    rule(40, ANY_PLACE, SOURCE + r":LINE(?::\d{1,5})?:? " + OTHER + "MSG$"),
)
