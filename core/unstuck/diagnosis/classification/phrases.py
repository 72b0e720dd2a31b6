"""Phrases of tools that print neither a class nor a code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from unstuck.diagnosis.enums import ErrorType
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.matching.prefilter import IndexedText, Literals, Prefilter


@dataclass(frozen=True, slots=True)
class Phrase:
    """Literal in lower case, and the pattern that contains it, if any."""

    literals: Literals
    pattern: Lazy | None
    kind: Any = None

    def matches(self, lowered: IndexedText) -> bool:
        """Return whether the phrase is in ``lowered``, a headline in lower case."""
        return self.literals.part in lowered.lines and (
            self.pattern is None or self.pattern.search(lowered.text) is not None
        )


class Phrases:
    """Alternatives in a headline: plain words, or a pattern with a literal that is part of every match."""

    def __init__(self, *phrases: str | tuple[str, str]) -> None:
        pairs = ((phrase, None) if isinstance(phrase, str) else (phrase[0], Lazy(phrase[1])) for phrase in phrases)
        self.prefilter: Prefilter[Phrase] = Prefilter(Phrase(Literals(literal), pattern) for literal, pattern in pairs)

    def match(self, lowered: IndexedText) -> bool:
        """Return whether one of them is in ``lowered``, a headline in lower case."""
        return any(phrase.matches(lowered) for phrase in self.prefilter.candidates(lowered))


Kind = TypeVar("Kind")


class Table(Generic[Kind]):
    """Kinds, such as error types, with their phrases; the first row that matches decides."""

    def __init__(self, *rows: tuple[Kind, Phrases]) -> None:
        self.rows = rows
        self.prefilter = Prefilter(
            replace(phrase, kind=kind) for kind, phrases in rows for phrase in phrases.prefilter.entries
        )

    def first_in(self, lowered: IndexedText) -> Kind | None:
        """Return the kind of the first row with a phrase in ``lowered``, a headline in lower case, or None."""
        for phrase in self.prefilter.candidates(lowered):
            if phrase.matches(lowered):
                kind: Kind = phrase.kind
                return kind
        return None


# Messages about a spent quota that resets at a time.
QUOTAS = (
    ("limit reached", r"\b(?:\d{1,3}-hour|hourly|daily|weekly|monthly|session) limit reached"),
    ("limit ", r"\blimit .{0,40}\bresets?\b"),
    ("quota will reset", r"\bquota will reset\b"),
)
# Phrases that are more certain than the class or code of their headline.
STRONG = Table(
    (
        ErrorType.IMPORT_ERROR,
        Phrases(
            "does not provide an export named",
            "can't resolve '",
            "cannot use import statement",
            "failed to resolve import",
            "cannot open shared object file",
            ("cannot find ", r"cannot find (?:implementation or library stub for )?(?:module|package)\b"),
            ("import", r"\b(?:could not|couldn't|can't|unable to|failed to) import\b"),
            "could not resolve '",
            ("to import", r"\bfind .{1,40} to import\b"),
            'could not resolve "',
            "is not exported by",
            "import cycle not allowed",
            ("cannot open module file", r"^cannot open module file .*\bno such file"),
            ("module '", r"^module '.{1,200}' not found"),
        ),
    ),
    (
        ErrorType.TIMEOUT_ERROR,
        Phrases(
            "statement timeout",
            "exceeded timeout of",
            ("read timed out", r"\bread timed out"),
            ("timed out", r"\bconnect(?:ion)? (?:attempt )?timed out"),
            ("failed: timeout", r"^failed: timeout\b"),
            ("…error: timeout of ", r"^\S*error: timeout of \d+ ?ms exceeded"),
            ("panic: test timed out", r"^panic: test timed out"),
            ("etimedout", r"^\S*error: .*\betimedout\b"),
        ),
    ),
    (
        ErrorType.CONNECTION_ERROR,
        Phrases(
            *(
                (code, rf"^\S*error: .*\b{code}\b")
                for code in ("econnrefused", "econnreset", "enotfound", "eai_again", "eaddrinuse")
            ),
            ("address already in use", r"\baddress already in use\b"),
            ("can't connect to ", r"^can't connect to .{0,40}server"),
            ("fetch failed", r"^(?:typeerror: )?fetch failed"),
            ("…urlerror: ", r"^\S*urlerror: .*(?:refused|unreachable|not known|name resolution)"),
        ),
    ),
    (
        ErrorType.INDEX_ERROR,
        Phrases(
            "runtime error: index out of range",
            "runtime error: slice bounds",
            ("index out of bounds", r"^index out of bounds"),
        ),
    ),
    (
        ErrorType.VALUE_ERROR,
        Phrases(
            ("json", r"^(?:\w+: )?(?:syntaxerror|parse error): .*\bjson\b"),
            "in json at position",
            "unexpected end of json input",
            ("expected ", r"^expected (?:an? )?(?:integer|number|float|boolean)[\w -]{0,30} but got\b"),
            "is not valid json",
            ("column", r"^(?:jq: )?parse error: .{1,200} at line \d+, column \d+$"),
            ("character offset", r"\bat character offset \d"),
            ("failed to parse ", r"\bfailed to parse .{0,80}\b(?:value|argument|option|number|date|duration|size)\b"),
            # An agent's edit that does not fit the file
            ("match for", r"\bfind (?:an )?(?:exact )?match for\b"),
            ("expected ", r"\bexpected \d+ occurrences?\b"),
        ),
    ),
    (
        ErrorType.TYPE_ERROR,
        Phrases(
            "interface conversion:",
            ("jq: error", r"^jq: error \(at .{1,80}\): (?:(?:null|boolean|number|string|array|object) \(|cannot i)"),
        ),
    ),
    (
        ErrorType.VALIDATION_ERROR,
        Phrases(
            "failed to parse function arguments",
            "was called with invalid arguments",
            "input validation error",
            (
                "must ",
                r"^\S{1,80} must (?:be (?:[<>]=? |null|boolean|number|integer|string|array|object)|not have|match)\b",
            ),
            "must have required propert…",
            ("parameter", r"^(?:the )?required parameter `|^an unexpected parameter `|^invalid `\w+` parameter"),
        ),
    ),
    (
        ErrorType.RUNTIME_ERROR,
        Phrases("file or directory not found", ("[errno ", r"\[errno (?:1|2|13|17|20|21|28)\] ")),
    ),
    (
        ErrorType.SYNTAX_ERROR,
        Phrases(
            ("while ", r"\bwhile (?:parsing|scanning) an? \w"),
            "did not find expected",
            ("pars…", r"^(?:rolldown|rollup|transform|build)error: .*pars(?:e|ing)"),
        ),
    ),
)
# Phrases for headlines without a known class or code.
WEAK = Table(
    (
        ErrorType.SYNTAX_ERROR,
        Phrases(
            "syntax error",
            "…syntaxerror",
            "parse error",
            "…parseerror",
            "parsing error",
            "failed to parse",
            "non-parseable",
            "non-readable",
            "invalid multi-line string",
            "mismatched closing",
            "must be followed by",
            ("unmatched ", r"\bunmatched [\W_]"),
            ("not properly ", r"\bnot properly (?:nested|closed|terminated|balanced)\b"),
            "missing separator",
            "unterminated",
            "invalid syntax",
            "cannot parse",
            "extraneous",
            "stray '",
            ("invalid character", r"^invalid character u\+"),
            "illegal start of expression",
            "reached end of file while parsing",
            "class, interface, enum, or record expected",
            (
                "unexpected ",
                (
                    r"\bunexpected (?:token|end|newline|eof|indent|identifier|keyword(?! argument)|string"
                    r"|character|symbol"
                    r"|input|numeric|'[^\w\s]|[\"`‘“].|[^\w\s]$)"
                ),
            ),
            "illegal expression",
            "unclassifiable statement",
            "no such instruction",
            "tag mismatch",
            "premature end",
            ("invalid character", r"^invalid character in name"),
            ("unclosed", r"\bunclosed\b"),
            ("couldn't ", r"couldn't (?:parse|find '[a-z]+' for)"),
            ("missing ", r"\bmissing (?:closing|terminating|return type|close-|[)\]}])"),
        ),
    ),
    (
        ErrorType.IMPORT_ERROR,
        Phrases(
            "no module named",
            "module not found",
            "cannot import",
            "unresolved import",
            "unresolved reference to package",
            "undefined reference",
            "undefined symbol",
            "no matching distribution",
            "no matching package",
            "command not found",
            ("could not find a package", r"could not find a package\b(?!\.\w)"),
            'by not providing "find',
            "no required module",
            "is not in std",
            "is not in goroot",
            "can't find crate",
            "can't find package",
            "cannot load such file",
            "unable to locate package",
            "has no installation candidate",
            "as a dependency of package",
            "unable to select packages",
            ("can't locate ", r"can't locate \S+\.pm\b"),
            ("package ", r"package .{1,80} does not exist"),
            *(
                (
                    not_done,
                    rf"{not_done} (?:find|resolve|locate) .{{0,40}}(?:package|module|main class|dependenc)(?!\.\w)",
                )
                for not_done in ("could not", "couldn't")
            ),
            ("cannot resolve ", r"cannot resolve (?:imported |entry )?module"),
            ("could not find ", r"could not find .{1,120} in (?:the )?(?:package )?(?:registry|index)\b"),
            ("dependency ", r"\bdependency .{1,80} not found"),
            "module lookup disabled",
            "unbound module",
            "no package called",
            "does not contain main module",
            "cannot find main module",
            "go.mod file not found",
            "no such tool available",
            "ld returned",
            ("ld: cannot find", r"\bld: cannot find (?!\S+\.o\b)"),
            "linker command failed",
            ("multiple definition of", r"\bmultiple definition of\b"),
            ("duplicate symbol", r"\bduplicate symbol\b"),
            ("tool ", r"\btool [\"'`]?[\w.-]{1,60}[\"'`]? (?:is )?not found\b"),
            ("unknown tool", r"\bunknown tool\b"),
            ("unable to find ", r"unable to find (?:module|package|library|executable)\b(?!\.\w)"),
            ("cannot find ", r"cannot find .{0,20}package"),
            (".h…", r"\.h(?:pp|h|xx)?['\"’]?(?:: no such file| file not found)"),
            (" find -l", r"(?:cannot|can't) find -l\S"),
        ),
    ),
    (
        ErrorType.DATABASE_ERROR,
        Phrases(
            "duplicate key",
            "duplicate entry",
            "unique constraint",
            "foreign key",
            "deadlock detected",
            "database is locked",
            "not a database",
            "disk image is malformed",
            "password authentication failed",
            "unknown column",
            "violates",
            (" does not exist", r"(?:relation|column|function) .{1,80} does not exist"),
            "no such table",
            "unable to open database",
            "no such column",
            (" does not exist", r"(?:role|database) .{1,80} does not exist"),
            ('": syntax', r'near ".*": syntax'),
        ),
    ),
    (
        ErrorType.ATTRIBUTE_ERROR,
        Phrases(
            "undefined method",
            "can't locate object method",
            "call to undefined method",
            "undefined property",
            "call to a member function",
            "can't call method",
            ("has no ", r"has no (?:member|attribute|field|method|property)"),
            (" named", r"no (?:method|field|member)s? named"),
            "request for member",
            ("undefined (type ", r"undefined \(type .* has no"),
        ),
    ),
    (
        ErrorType.VALIDATION_ERROR,
        Phrases(
            "declared and not used",
            "declared but not used",
            "imported and not used",
            "never used",
            "unsupported argument",
            "unsupported block type",
            "missing required argument",
            ("unused ", r"unused (?:variable|import|parameter|function)"),
        ),
    ),
    (
        ErrorType.TYPE_ERROR,
        Phrases(
            "incompatible type",
            "cannot be converted",
            "mismatched types",
            "is not assignable",
            "invalid conversion",
            "type mismatch",
            "can't use non-numeric",
            "cannot find symbol",
            "was not declared",
            "not callable",
            "non-numeric argument to",
            "cannot be coerced",
            ("cannot be ", r"\bcannot be (?:added|subtracted|multiplied|divided)\b"),
            ("attempt to ", r"\battempt to \w+ .*\b(?:nil|boolean|number|string|function|table|userdata)\b"),
            "object is not subscriptable",
            "object is not iterable",
            "unsupported operand type",
            "cannot index ",
            "implicit declaration",
            "use of undeclared",
            "must be of type",
            ("undeclared", r"\bundeclared\b"),
            ("undefined: ", r"^undefined: "),
            ("undefined", r"^\w+ \S+ (?:is )?undefined$"),
            ("cannot use ", r"cannot use .{1,120} as "),
            "too many arguments",
            "too few arguments",
            ("arguments", r"\b(?:not enough|wrong number of) arguments\b"),
            "unexpected keyword argument",
        ),
    ),
    (
        ErrorType.TIMEOUT_ERROR,
        Phrases("deadline exceeded", ("time…", r"\btimed? ?out\b(?!=| -|: (?:invalid|failed|cannot))")),
    ),
    (
        ErrorType.CONNECTION_ERROR,
        Phrases(
            "could not resolve host",
            "no response",
            "no server running",
            "name resolution",
            "name or service not known",
            "network is unreachable",
            "no route to host",
            "address already in use",
            "ssl certificate",
            "certificate verify failed",
            "failed to establish a new connection",
            "failed to connect",
            "cannot connect to",
            "couldn't connect to",
            "unable to connect",
            "connection to server",
            "broken pipe",
            "socket hang up",
            "stream disconnected",
            "unable to resolve host",
            "no such host",
            "dns resolution error",
            "unable to verify if domain",
            "could not read from remote repository",
            "can't connect to",
            "unable to establish ssl connection",
            "open a connection to",
            ("connection ", r"connection (?:refused|reset|closed|aborted|error)"),
        ),
    ),
    (
        ErrorType.HTTP_ERROR,
        Phrases(
            "too many requests",
            "bad gateway",
            "service unavailable",
            "internal server error",
            "unauthorized",
            "overloaded_error",
            "overloaded",
            "usage limit",
            "request_too_large",
            "resource_exhausted",
            "throttlingexception",
            "insufficient_quota",
            "quota exceeded",
            "exceeded your current quota",
            "exceeds the maximum number of tokens",
            "context_length_exceeded",
            "maximum context length",
            ("rate…", r"rate.?limit"),
            *QUOTAS,
            ("api error:", r"\bapi error: ?\(?\d{3}"),
            ("http", r"\bhttp(?:/\d(?:\.\d)?)? ?(?:error )?[45]\d\d"),
            ("error", r"\berror:? [45]\d\d\b"),
            ("status code", r"status code:? [45]\d\d"),
            ('"code":', r'"code": ?[45]\d\d'),
            ("requested url returned error: ", r"requested url returned error: [45]\d\d"),
        ),
    ),
    (
        ErrorType.ASSERTION_ERROR,
        Phrases(
            "assertion…",
            "failed asserting",
            "expect(",
            "not equal",
            ("assert…", r"^assert"),
            ("want", r"\bwant\b"),
        ),
    ),
    (
        ErrorType.KEY_ERROR,
        Phrases(
            ("keyerror", r"\bkeyerror\b"),
            ("key ", r"key .{1,60} not found"),
            "no such key",
            "key not found",
            "key is not an element",
        ),
    ),
    (
        ErrorType.INDEX_ERROR,
        Phrases(
            "index out of range",
            "index out of bounds",
            "out_of_range",
            "range check failed",
            "subscript out of bounds",
            "empty list",
        ),
    ),
    # git, whose refusals are about the state of the repository
    (
        ErrorType.RUNTIME_ERROR,
        Phrases(
            (
                ": ",
                (
                    r"^(?:fatal|error|git): .*\b(?:pathspec|refspec|revision|branch|repository|rebase|merge"
                    r"|merging|commit|"
                    r"index|work(?: |ing )?trees?|stash|tag|remote|upstream|head|cherry-pick|revert|checkout"
                    r"|push|clone|"
                    r"submodule|detached|email|identity|references?|local changes|object|source|index\.lock)\b"
                ),
            ),
        ),
    ),
    (
        ErrorType.VALUE_ERROR,
        Phrases(
            "not a valid",
            "invalid value",
            "invalid literal",
            "invalid argument",
            "invalid choice",
            ("invalid ", r"\binvalid \w{1,20} value\b"),
            # An agent's edit that does not fit the file, and a file that is not what it is taken for
            "string to replace not found",
            "matches of the string to replace",
            "failed to find expected lines",
            "failed to find context",
            "are exactly the same",
            ("not found", r"\bold_?string\b.{0,40}\bnot found\b"),
            ("occurrences found", r"\b0 occurrences found\b"),
            "exceeds maximum allowed",
            "cannot read binary files",
            ("not in ", r"\bnot in (?:an? )?(?:\w{1,20} ){1,3}format\b"),
            ("read: no parse", r"\bread: no parse\b"),
            ("does not look like", r"\bdoes not look like an?\b"),
            ("format not recogni", r"\bformat not recogni[sz]ed\b"),
            "not a dynamic executable",
            "no input files",
            "extra operand",
            "non-conformable",
            ("bad argument #", r"\bbad argument #\d(?!.*\bno such file)"),
            ("be one of", r"\b(?:should|must) be one of\b"),
            "bad substitution",
            "bad number",
        ),
    ),
    (
        ErrorType.VALIDATION_ERROR,
        Phrases("is not valid under", "validation error", "validation failed", ("required", r"is (?:a )?required\b")),
    ),
    (
        ErrorType.RUNTIME_ERROR,
        Phrases(
            "no such file",
            "file not found",
            ("could not find ", r"could not find [`'\"‘]?[\w./-]{1,80}\.\w{1,5}[`'\"’]? in\b"),
            "permission denied",
            "no space left",
            "out of memory",
            "segmentation fault",
            "unbound variable",
            "stack overflow",
            "is not defined",
            "null pointer",
            "nil pointer",
            "division by zero",
            "division by 0",
            "parameter not set",
            "cannot find source file",
            "divide by zero",
            "too many open files",
            "read-only file system",
            "resource busy",
            "cannot allocate memory",
            "all goroutines are asleep",
            "unhandled promise rejection",
            ("killed", r"\bkilled\b"),
            ("aborted", r"\baborted\b"),
            ("conflict", r"^conflict \(|\bmerge conflict\b|\bfix conflicts\b"),
            "dubious ownership",
            "patch failed",
            "patch does not apply",
            ("hunk…", r"\bhunks? (?:#\d+ )?failed\b"),
            ("could not ", r"^(?:error: )?could not (?:apply|revert) [0-9a-f]{6,40}\b"),
            ("rejected", r"^! \[(?:remote )?rejected\]"),
            "no tracking information",
            # The system, archives and their passwords, packages that cannot be built or installed
            ("file exists", r"\bfile exists\b"),
            "already exists",
            "does not exist",
            "not empty",
            "no such process",
            "operation not permitted",
            "not permitted",
            "is a directory",
            "not a directory",
            "text file busy",
            "exec format error",
            "cross-device link",
            "name too long",
            "argument list too long",
            "bad file descriptor",
            "too many levels of symbolic links",
            "wrong password",
            "incorrect password",
            "bad password",
            "password incorrect",
            "bad decrypt",
            "authentication fail…",
            "externally-managed-environment",
            "failed building wheel",
            "failed to build",
            "metadata-generation-failed",
            "subprocess-exited-with-error",
            "no makefile found",
            "has not been read yet",
            "modified since read",
            "unit not found",
            "not authorized",
            ("permission", r"\brequested permissions?\b|\bpermission to use\b|\bhaven't granted\b|\bmanual approval\b"),
            ("not found", r"^(?:\S+: )?(?:object|user|group|process|device|unit|fixture) .{1,100} not found\b"),
            ("failure(", r"^fatal error: exception \S*failure\("),
        ),
    ),
    (ErrorType.TYPE_ERROR, Phrases(("typeerror", r"\btypeerror\b"))),
)
# Phrases of compilers and linters. In the words of other programs they are about values as well.
SYNTAX = Table(
    WEAK.rows[0],
    (
        ErrorType.SYNTAX_ERROR,
        Phrases(
            ("expected", r"\bexpected\b(?!:? -?\d).{0,40}\b(?:before|found|after)\b"),
            ("expected ", r"^expected (?!-?\d|.*\b(?:argument|type|got|to (?:be|equal|have))\b)"),
            (" expected", r"(?:['‘].{1,3}['’]|<\w+>|or ['‘].{1,3}['’]) expected"),
        ),
    ),
)
