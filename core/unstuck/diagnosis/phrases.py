"""What tools say in words where they give neither a class nor a code."""

from __future__ import annotations

from unstuck.diagnosis.kinds import ErrorType
from unstuck.diagnosis.patterns import Lazy

__all__ = ["STRONG", "SYNTAX", "WEAK", "Phrases", "Table", "spoken"]


class Phrases:
    """A headline says one of them: plain ones are in lower case and may stand anywhere in it, patterns are searched."""

    def __init__(self, *phrases: str | Lazy) -> None:
        self._plain = tuple(phrase for phrase in phrases if isinstance(phrase, str))
        self._patterns = tuple(phrase for phrase in phrases if isinstance(phrase, Lazy))

    def are_in(self, lowered: str) -> bool:
        """Whether one of them is in ``lowered``, a headline in lower case."""
        return any(map(lowered.__contains__, self._plain)) or any(pattern.search(lowered) for pattern in self._patterns)


Table = tuple[tuple[ErrorType, Phrases], ...]


def spoken(table: Table, headline: str) -> ErrorType | None:
    """The error type of the first row that is in ``headline``, or None."""
    lowered = headline.lower()
    return next((kind for kind, phrases in table if phrases.are_in(lowered)), None)


# These say more than the class or the code that carries them.
STRONG: Table = (
    (
        ErrorType.IMPORT_ERROR,
        Phrases(
            "does not provide an export named",
            "cannot find module",
            "can't resolve '",
            "cannot use import statement",
            "failed to resolve import",
            "cannot open shared object file",
            Lazy(r"cannot find (?:implementation or library stub for )?(?:module|package)\b"),
            Lazy(r"could not resolve ['\"]"),
        ),
    ),
    (
        ErrorType.TIMEOUT_ERROR,
        Phrases(
            "statement timeout",
            "exceeded timeout of",
            Lazy(r"\bread timed out"),
            Lazy(r"\bconnect(?:ion)? (?:attempt )?timed out"),
            Lazy(r"^failed: timeout\b"),
            Lazy(r"^\S*error: timeout of \d+ ?ms exceeded"),
            Lazy(r"^panic: test timed out"),
            Lazy(r"^\S*error: .*\betimedout\b"),
        ),
    ),
    (
        ErrorType.CONNECTION_ERROR,
        Phrases(
            Lazy(r"^\S*error: .*\b(?:econnrefused|econnreset|enotfound|eai_again|eaddrinuse)\b"),
            Lazy(r"^can't connect to .{0,40}server"),
            Lazy(r"^\S*urlerror: .*(?:refused|unreachable|not known|name resolution)"),
        ),
    ),
    (
        ErrorType.INDEX_ERROR,
        Phrases("runtime error: index out of range", "runtime error: slice bounds", Lazy(r"^index out of bounds")),
    ),
    (
        ErrorType.VALUE_ERROR,
        Phrases(
            Lazy(r"^syntaxerror: .*\bjson\b"),
            "in json at position",
            "unexpected end of json input",
            "is not valid json",
        ),
    ),
    (
        ErrorType.TYPE_ERROR,
        Phrases(
            "interface conversion:",
        ),
    ),
    (
        ErrorType.SYNTAX_ERROR,
        Phrases(
            Lazy(r"^(?:rolldown|rollup|transform|build)error: .*pars(?:e|ing)"),
        ),
    ),
)
# Headlines without a class or a code that is known.
WEAK: Table = (
    (
        ErrorType.SYNTAX_ERROR,
        Phrases(
            "syntax error",
            "syntaxerror",
            "parse error",
            "parseerror",
            "parsing error",
            "failed to parse",
            "non-parseable",
            "mismatched closing",
            "missing separator",
            "unterminated",
            "invalid syntax",
            "cannot parse",
            "extraneous",
            "stray '",
            "illegal start of expression",
            "reached end of file while parsing",
            "class, interface, enum, or record expected",
            Lazy(r"\bunexpected (?:token|end|newline|eof|indent|identifier|keyword|string|character)"),
            Lazy(r"\bunclosed\b"),
            Lazy(r"couldn't (?:parse|find '[a-z]+' for)"),
            Lazy(r"\bexpected\b.{0,40}\b(?:before|found|but got|after)\b"),
            Lazy(r"^expected (?!.*\b(?:argument|type|to (?:be|equal|have))\b)"),
            Lazy(r"(?:['‘].{1,3}['’]|<\w+>|or ['‘].{1,3}['’]) expected"),
            Lazy(r"\bmissing (?:closing|terminating|return type)"),
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
            "could not find a package",
            'by not providing "find',
            "no required module",
            "is not in std",
            "is not in goroot",
            "can't find crate",
            "cannot load such file",
            "could not open requirements file",
            Lazy(r"can't locate \S+\.pm\b"),
            Lazy(r"package .{1,80} does not exist"),
            Lazy(r"could not (?:find|resolve|locate) .{0,40}(?:package|module|main class|dependenc)"),
            Lazy(r"cannot find .{0,20}package"),
            Lazy(r"\.(?:h|hpp|hh|hxx)['\"’]?(?:: no such file| file not found)"),
            Lazy(r"(?:cannot|can't) find -l\S"),
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
            Lazy(r"(?:relation|column|function) .{1,80} does not exist"),
            Lazy(r"no such (?:table|column)"),
            Lazy(r"(?:role|database) .{1,80} does not exist"),
            Lazy(r'near ".*": syntax'),
        ),
    ),
    (
        ErrorType.ATTRIBUTE_ERROR,
        Phrases(
            "undefined method",
            "can't locate object method",
            "call to undefined method",
            "undefined property",
            Lazy(r"has no (?:member|attribute|field|method|property)"),
            Lazy(r"no (?:method|field|member)s? named"),
            Lazy(r"undefined \(type .* has no"),
        ),
    ),
    (
        ErrorType.VALIDATION_ERROR,
        Phrases(
            "declared and not used",
            "declared but not used",
            "imported and not used",
            "never used",
            Lazy(r"unused (?:variable|import|parameter|function)"),
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
            "cannot find symbol",
            "was not declared",
            "not callable",
            "implicit declaration",
            "use of undeclared",
            "must be of type",
            Lazy(r"\bundeclared\b"),
            Lazy(r"^undefined: "),
            Lazy(r"cannot use .{1,120} as "),
            Lazy(r"too (?:many|few) arguments"),
        ),
    ),
    (ErrorType.TIMEOUT_ERROR, Phrases("deadline exceeded", Lazy(r"\btimed? ?out\b"))),
    (
        ErrorType.CONNECTION_ERROR,
        Phrases(
            "could not resolve host",
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
            Lazy(r"connection (?:refused|reset|closed|aborted|error)"),
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
            Lazy(r"rate.?limit"),
            Lazy(r"\bapi error: ?\(?\d{3}"),
            Lazy(r"\bhttp(?:/\d(?:\.\d)?)? ?(?:error )?[45]\d\d"),
            Lazy(r"\berror:? [45]\d\d\b"),
            Lazy(r"status code:? [45]\d\d"),
            Lazy(r'"code": ?[45]\d\d'),
            Lazy(r"requested url returned error: [45]\d\d"),
        ),
    ),
    (
        ErrorType.ASSERTION_ERROR,
        Phrases(
            "assertion",
            "failed asserting",
            "expect(",
            "not equal",
            Lazy(r"^assert"),
            Lazy(r"expected .{1,200}(?:received|got|to (?:be|equal|have))"),
            Lazy(r"\bwant\b"),
        ),
    ),
    (ErrorType.KEY_ERROR, Phrases(Lazy(r"\bkeyerror\b"), Lazy(r"key .{1,60} not found"), "key not found")),
    (ErrorType.INDEX_ERROR, Phrases(Lazy(r"index out of (?:range|bounds)"), "out_of_range", "range check failed")),
    (ErrorType.VALUE_ERROR, Phrases("not a valid", Lazy(r"invalid (?:value|literal|argument)"))),
    (
        ErrorType.VALIDATION_ERROR,
        Phrases("is not valid under", Lazy(r"validation (?:error|failed)"), Lazy(r"is (?:a )?required\b")),
    ),
    (
        ErrorType.RUNTIME_ERROR,
        Phrases(
            "no such file",
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
            "divide by zero",
            "too many open files",
            "read-only file system",
            "resource busy",
            "cannot allocate memory",
            "all goroutines are asleep",
            "unhandled promise rejection",
            Lazy(r"\bkilled\b"),
            Lazy(r"\baborted\b"),
        ),
    ),
    (
        ErrorType.TYPE_ERROR,
        Phrases(
            Lazy(r"\btypeerror\b"),
        ),
    ),
)
SYNTAX = WEAK[:1]
