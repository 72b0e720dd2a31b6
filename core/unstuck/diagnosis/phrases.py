"""What tools say in words where they give neither a class nor a code."""

from __future__ import annotations

import re
from functools import cache

from unstuck.diagnosis.kinds import ErrorType

__all__ = ["STRONG", "SYNTAX", "WEAK", "Phrases", "spoken"]

Phrases = tuple[tuple[ErrorType, tuple[str, ...]], ...]


@cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Compiled at first use: an import has no need of them, and they are many."""
    return re.compile("|".join(patterns), re.IGNORECASE)


def spoken(phrases: Phrases, headline: str) -> ErrorType | None:
    """The error type of the first row that is in ``headline``, or None."""
    return next((kind for kind, patterns in phrases if _compiled(patterns).search(headline)), None)


# These say more than the class that carries them.
STRONG: Phrases = (
    (
        ErrorType.IMPORT_ERROR,
        (
            r"does not provide an export named",
            r"cannot find module",
            r"cannot use import statement",
        ),
    ),
    (
        ErrorType.IMPORT_ERROR,
        (r"cannot find (?:implementation or library stub for )?(?:module|package)\b",),
    ),
    (
        ErrorType.TIMEOUT_ERROR,
        (
            r"\bread timed out",
            r"\bconnect(?:ion)? timed out",
            r"statement timeout",
            r"\bexceeded timeout of",
        ),
    ),
    (
        ErrorType.CONNECTION_ERROR,
        (r"^\S*Error: .*\b(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|EADDRINUSE)\b",),
    ),
    (
        ErrorType.TIMEOUT_ERROR,
        (r"^\S*Error: .*\bETIMEDOUT\b",),
    ),
    (
        ErrorType.CONNECTION_ERROR,
        (r"^(?:URLError|\S*\.URLError): .*(?:refused|unreachable|not known|name resolution)",),
    ),
    (
        ErrorType.INDEX_ERROR,
        (
            r"^panic: runtime error: index out of range",
            r"^index out of bounds",
        ),
    ),
    (
        ErrorType.VALUE_ERROR,
        (
            r"^SyntaxError: .*\bJSON\b",
            r"\bin JSON at position\b",
        ),
    ),
    (
        ErrorType.TYPE_ERROR,
        (r"interface conversion:",),
    ),
)
# Headlines without a class or a code that is known.
WEAK: Phrases = (
    (
        ErrorType.SYNTAX_ERROR,
        (
            r"\bsyntax ?error",
            r"\bunexpected (?:token|end|newline|eof|indent|identifier)",
            r"\bparse ?error",
            r"parsing error",
            r"\bunclosed\b",
            r"mismatched closing",
            r"missing separator",
            r"unterminated",
            r"invalid syntax",
            r"cannot parse",
            r"couldn't (?:parse|find '[a-z]+' for)",
            r"\bexpected\b.{0,40}\b(?:before|found|but got)\b",
            r"^expected ",
            r"(?:';'|'\)'|',') expected",
            r"reached end of file while parsing",
        ),
    ),
    (
        ErrorType.IMPORT_ERROR,
        (
            r"no module named",
            r"module not found",
            r"cannot import",
            r"unresolved import",
            r"undefined reference",
            r"no matching distribution",
            r"no matching package",
            r"package .{1,80} does not exist",
            r"could not (?:find|resolve|locate) .{0,40}(?:package|module|main class|dependenc)",
            r"cannot find .{0,20}package",
            r"command not found",
            r"no such file or directory.*#include",
            r"could not find a package",
            r'by not providing "find',
            r"\.h: no such file",
            r"no required module",
            r"is not in std",
            r"can't find crate",
            r"failed to resolve import",
        ),
    ),
    (
        ErrorType.DATABASE_ERROR,
        (
            r"relation .{1,80} does not exist",
            r"no such (?:table|column)",
            r"duplicate key",
            r"unique constraint",
            r"foreign key",
            r"deadlock detected",
            r"database is locked",
            r"not a database",
            r"(?:role|database) .{1,80} does not exist",
            r"password authentication failed",
            r'near ".*": syntax',
        ),
    ),
    (
        ErrorType.ATTRIBUTE_ERROR,
        (
            r"has no (?:member|attribute|field|method)",
            r"no (?:method|field|member) named",
            r"undefined method",
            r"undefined \(type .* has no",
        ),
    ),
    (
        ErrorType.TYPE_ERROR,
        (
            r"incompatible type",
            r"cannot be converted",
            r"mismatched types",
            r"is not assignable",
            r"cannot use .{1,120} as ",
            r"invalid conversion",
            r"type mismatch",
            r"undeclared",
            r"^undefined: ",
            r"cannot find symbol",
            r"was not declared",
            r"not callable",
            r"too (?:many|few) arguments",
            r"implicit declaration",
        ),
    ),
    (
        ErrorType.VALIDATION_ERROR,
        (
            r"unused (?:variable|import|parameter)",
            r"declared and not used",
            r"imported and not used",
            r"never used",
        ),
    ),
    (
        ErrorType.TIMEOUT_ERROR,
        (
            r"timed? ?out\b",
            r"deadline exceeded",
        ),
    ),
    (
        ErrorType.CONNECTION_ERROR,
        (
            r"connection (?:refused|reset|closed|aborted)",
            r"could not resolve host",
            r"name resolution",
            r"network is unreachable",
            r"no route to host",
            r"address already in use",
            r"ssl certificate",
            r"failed to establish a new connection",
            r"failed to connect",
            r"connection to server",
        ),
    ),
    (
        ErrorType.HTTP_ERROR,
        (
            r"\bAPI Error: ?\d{3}",
            r"\bHTTP(?:/\d(?:\.\d)?)? ?(?:error )?[45]\d\d",
            r"status code:? [45]\d\d",
            r"rate.?limit",
            r"too many requests",
            r"bad gateway",
            r"service unavailable",
            r'"code": ?[45]\d\d',
            r"unauthorized",
            r"overloaded_error",
        ),
    ),
    (
        ErrorType.ASSERTION_ERROR,
        (
            r"^assert",
            r"assertion",
            r"expect\(",
            r"expected .{1,200}(?:received|got|to (?:be|equal|have))",
            r"\bwant\b",
            r"not equal",
        ),
    ),
    (
        ErrorType.KEY_ERROR,
        (
            r"\bKeyError\b",
            r"key .{1,60} not found",
        ),
    ),
    (
        ErrorType.INDEX_ERROR,
        (r"index out of (?:range|bounds)",),
    ),
    (
        ErrorType.VALUE_ERROR,
        (
            r"invalid (?:value|literal|argument)",
            r"not a valid",
        ),
    ),
    (
        ErrorType.VALIDATION_ERROR,
        (
            r"validation (?:error|failed)",
            r"is (?:a )?required\b",
            r"is not valid under",
        ),
    ),
    (
        ErrorType.RUNTIME_ERROR,
        (
            r"no such file",
            r"permission denied",
            r"no space left",
            r"out of memory",
            r"segmentation fault",
            r"\bkilled\b",
            r"\baborted\b",
            r"unbound variable",
            r"stack overflow",
            r"is not defined",
            r"null pointer",
            r"nil pointer",
            r"division by zero",
            r"divide by zero",
        ),
    ),
    (
        ErrorType.TYPE_ERROR,
        (r"\bTypeError\b",),
    ),
)
SYNTAX = WEAK[:1]
