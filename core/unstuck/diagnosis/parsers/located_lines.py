"""The rules for reports that name a file and a line: compilers, type checkers, linters, interpreters, build tools."""

from __future__ import annotations

from unstuck.diagnosis.parsers.line_rules import ANY_PLACE, Rule, rule

# A file name with an extension, where nothing else in the line is sure.
PHP = r"(?:PHP )?"
SOURCE = r"(?P<file>[^\s:]{1,300}\.[A-Za-z]\w{0,7})"
# A program that begins a line with its own name.
SELF = r"(?!(?:warning|note|info|hint|debug)\b)[a-z][\w.+-]{0,30}"
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
    rule(83, "[Error/", r"FILE:LINE:\d+: MSG \[Error/(?P<code>\S{1,100})\]$", "lint"),
    rule(83, ": error[", r"FILE:LINE:\d+: error\[(?P<code>[a-z-]{3,60})\] MSG$"),
    rule(82, "- Unknown word", r"FILE:LINE:\d+ - MSG$", "lint", code="spelling"),
    rule(
        82,
        ".go:",
        r"(?P<file>[^\s:]{1,300}\.go):LINE:\d+: (?P<msg>\S.*) \((?P<code>(?!typecheck)[a-z]{3,30}"
        r"|[A-Z]{1,4}\d{3,4})\)$",
        "lint",
    ),
    rule(81, ", col ", r"FILE: line LINE, col \d+, (?:(?:Error|Warning) - )?MSG$", "lint"),
    rule(80, "  [", r"(?P<file>[^\s:]{1,300}):LINE:  MSG  \[(?P<code>\w{1,30}/\w{1,30})\] \[\d\]$", "lint"),
    rule(80, " at #/", r"\[\d{1,4}\] FILE:LINE:\d+ (?P<msg>at #/.*)$", "lint"),
    rule(80, "WARNING ", r"(?:WARNING|ERROR|SEVERE|INFO) (?P<file>[^\s:]{1,300}\.\w{1,6}):LINE MSG$", "lint"),
    rule(79, ANY_PLACE, r"(?P<file>[^\s:]{1,300}\.\w{1,8}):LINE:(?:\d+:)? (?P<code>[A-Z]{1,3}\d{3,4}):? MSG$", "lint"),
    rule(
        79,
        ANY_PLACE,
        r"(?P<file>[^\s:]{1,300}\.\w{1,8}):LINE(?::\d+){0,3}(?::| error) ?"
        r"(?P<code>[A-Z]{1,3}\d{3,4}(?:/[\w-]{1,60})?)[: ] ?MSG$",
        "lint",
    ),
    rule(78, "imported but unused", r"FILE:LINE:(?:\d+:?)? MSG$", "lint"),
    rule(78, "redefinition of unused", r"FILE:LINE:(?:\d+:?)? MSG$", "lint"),
    rule(78, " ==> ", r"FILE:LINE: MSG$", "lint", code="spelling"),
    rule(78, ": WARNING: ", r"FILE:LINE: WARNING: MSG$", "lint"),
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
    rule(
        81,
        "[Ee]rror: ",
        r"FILE:LINE(?:[:.]\d+)?(?:-[\d.]{1,15})?: (?:fatal )?error: MSG(?:\s+\[(?P<code>[\w=+.,-]{1,99})\])?$",
    ),
    rule(81, " - error ", r"FILE:LINE:\d+ - error (?P<code>[@a-z]\w{1,40}(?:[/-]\w{1,40})+): MSG$"),
    rule(81, "[Ee]rror: ", r"FILE:LINE:(?:\d+:)? (?:Parse|Syntax|Compile) ?[Ee]rror: MSG$", name="SyntaxError"),
    rule(80, " error : ", r"(?P<file>[^\s:]{1,300}):LINE: \w{1,30} error : MSG$", name="SyntaxError"),
    rule(79, ": ERROR: ", r"FILE:LINE:(?:\d+:)? ERROR: MSG$"),
    rule(81, ": Error: ", r"FILE:LINE:(?:\d+:)? (?:Fatal )?Error: MSG$"),
    rule(80, "ERROR]", r"\[ERROR\] FILE:\[LINE,\d+\] (?:error: )?MSG$"),
    rule(80, ": error CS", r"FILE\(LINE,\d+\): error CODE: MSG(?: \[.*\])?$"),
    rule(80, "): error ", r"FILE\(LINE(?:,\d+)?\): (?:fatal )?error CODE: MSG$"),
    rule(80, "e: ", r"e: (?:file://)?FILE:LINE:\d+:? MSG$"),
    rule(80, "e: ", r"e: FILE: \(LINE, \d+\): MSG$"),
    rule(81, ") Error: ", r"FILE\(LINE(?:, ?\d+)?\) Error: MSG$"),
    rule(80, ") Fatal: ", r"FILE\(LINE,\d+\) Fatal: MSG$"),
    rule(
        74,
        " on line ",
        r"(?P<name>\w{1,40}Error): (?P<msg>\S.*?) in (?P<file>\S{1,300}\.less) on line LINE, column \d+:$",
    ),
    rule(82, "[!] ", r"\[!\] (?:\([^)]{1,80}\) )?(?:\w{0,40}Error: )?(?P<file>[^\s:(]{1,300}) \(LINE:\d{1,7}\): MSG$"),
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
        r"(?:(?P<file>(?:[A-Za-z]\W)?[/\\]\S{1,300})|Command line code):LINE$",
        "run",
    ),
    rule(85, " on line ", PHP + r"Parse error: +MSG in (?P<file>\S{1,300}) on line LINE$", "run", "SyntaxError"),
    rule(84, " on line ", PHP + r"Fatal error: +MSG in (?P<file>\S{1,300}) on line LINE$", "run"),
    rule(80, "syntax error", r"FILE:LINE: (?P<msg>syntax error.*)$", "run", "SyntaxError"),
    rule(78, "Global symbol", r"(?P<msg>Global symbol .{1,300}) at (?P<file>\S{1,300}) line LINE\."),
    rule(72, " line ", r"(?P<msg>syntax error) at (?P<file>\S{1,300}) line LINE, .*$", "run", "SyntaxError"),
    rule(
        72,
        "Can't locate",
        r"(?P<msg>Can't locate (?:.{1,80}? in @INC|object method .{1,200}?))(?: \(.*\))?"
        r"(?: at (?P<file>\S{1,300}) line LINE)?\.$",
        "run",
    ),
    rule(
        71, " line ", r"(?P<msg>.{1,300}) at (?P<file>\S{1,300}\.(?:pl|pm|t)|-e|-) line LINE(?:\.|, .*)$", "run", "die"
    ),
    rule(
        87,
        "…near ",
        r"lua\S*: (?P<file>\(command line\)|[^\s:]{1,300}):LINE: (?P<msg>.{1,300} near .*)$",
        "run",
        "SyntaxError",
    ),
    rule(86, "lua…", r"lua\S*: (?P<file>\(command line\)|[^\s:]{1,300}):LINE: MSG$", "run", "error"),
    rule(82, "raised ", r"(?P<msg>raised (?P<name>[A-Z][\w.]{2,80}) : FILE:LINE \S.*)$", "run"),
    rule(80, "Fortran runtime error", r"(?P<msg>Fortran runtime error: .*)$", "run", "FortranError"),
    rule(
        54,
        ", line ",
        r"(?P<msg>(?P<name>[A-Z]\w{1,60}(?:Error|Exception)) in (?:.{1,80} in )?file \"(?P<file>[^\"\n]{1,300})\", line"
        r" LINE:.*)$",
        "run",
    ),
    rule(57, " line ", r"\"(?P<file>[^\"\n]{1,300})\" line LINE: (?!warning)MSG$", "run", "shell"),
    rule(57, " (line ", r"(?P<file>[^\s:]{1,300}) \(line LINE\): MSG$", "run", "shell"),
    rule(80, "syntax error…", r"(?:[Ee]rror: )?FILE: (?P<msg>syntax error in line LINE\b.*)$", "run", "SyntaxError"),
    rule(80, ": syntax error", r"(?P<file>[^\s:]{1,300}) LINE: (?P<msg>syntax error\b.*)$", "run", "SyntaxError"),
    # Databases, patches, logs
    rule(80, "psql:", r"psql:FILE:LINE: (?:ERROR|FATAL): +MSG$", "run", "DatabaseError"),
    rule(80, "patch failed", r"error: (?P<msg>patch failed): FILE:LINE$", "run"),
    rule(60, "near line", r"(?:(?:Parse|Runtime) )?[Ee]rror:? near line \d+: MSG$", "run", "DatabaseError"),
    rule(50, ".go:", r"\d{4}/\d\d/\d\d [\d:.]{8,15} (?P<file>[^\s:]{1,300}\.go):LINE: MSG$", "run"),
    # Shells, make and what writes like them
    rule(
        66,
        ": line ",
        r"(?:(?:\S{0,200}/)?\w{0,2}sh: |[gmn]?awk: (?=\S+: line))?FILE: line LINE: (?!\s*\d+ (?:Killed"
        r"|Segmentation|Aborted|Terminated))MSG$",
        "run",
        "shell",
    ),
    rule(65, "not found", r"(?P<file>[^\s:]{1,300}): LINE: (?P<msg>\S.*: not found)$", "run", code="exit 127"),
    rule(65, ".sh: ", r"(?P<file>[^\s:]{1,300}\.sh): LINE: MSG$", "run"),
    rule(65, "*** ", r"FILE:LINE: \*\*\* MSG$"),
    rule(35, "*** [", r"g?make(?:\[\d+\])?: \*\*\* \[(?P<file>[^\s:]{1,300}):LINE: .*", "run"),
    # A program that names itself, a file and a line, or the file and the line at the end
    rule(
        57,
        ANY_PLACE,
        rf"(?:{SELF}: ?)?(?:(?:fatal )?[Ee]rror: |ERROR: ){SOURCE}:LINE(?::\d{{1,5}})?: MSG$",
        "run",
    ),
    rule(57, ANY_PLACE, rf"{SELF}: ?{SOURCE}:LINE(?::\d{{1,5}})?: *(?:(?:fatal|error|ERROR|Error): |\^ )MSG$", "run"),
    rule(
        45,
        ANY_PLACE,
        rf"{SELF}: ?{SOURCE}:LINE(?::\d{{1,5}})?: (?=cannot|can't|could not|unable|invalid|unexpected)MSG$",
        "run",
    ),
    rule(
        46,
        "[emerg] ",
        r".{0,60}\[emerg\] (?:\d{1,9}#\d{1,9}: )?MSG in (?P<file>[^\s:]{1,300}):LINE$",
        "run",
    ),
    rule(
        47,
        "…Error: ",
        rf"(?:\w{{1,40}}\.){{0,8}}(?P<name>[A-Z]\w{{1,60}}Error): MSG \({SOURCE}:LINE(?::\d{{1,5}})?\)$",
        "run",
    ),
    rule(47, "…Error: ", SOURCE + r":LINE(?::\d{1,5})?: (?P<msg>(?P<name>[A-Z]\w{1,60}Error): .*)$", "run"),
    rule(
        47,
        " at line ",
        r"(?:Error: )?Invalid \w{1,20} file (?P<file>[^\s:]{1,300}\.\w{1,8}): MSG at line LINE,? col(?:umn)? \d{1,7}\b"
        r".*$",
        "run",
        "ParseError",
    ),
    # What a linter says of a line, with the name of its rule at the end
    rule(
        41,
        ANY_PLACE,
        r"\s{0,8}(?P<file>[^\s:]{1,300}\.[A-Za-z]\w{0,7}):LINE(?::\d{1,5})?:? "
        + OTHER
        + r"MSG [(\[](?P<code>[a-z][\w./@-]{2,60})[)\]]$",
        "lint",
    ),
    # Anything with a source file, a line and words, when no tool is known
    rule(40, ANY_PLACE, SOURCE + r":LINE(?:[:.]\d{1,5})?:? " + OTHER + "MSG$"),
)
