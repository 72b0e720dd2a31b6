"""Masking of volatile parts, so that the texts of two runs of one call can be compared.

Clock times, durations, addresses, process and message ids and paths below a temporary directory are masked. Asserted
values, file names, test ids, counts and exit codes stay. Words are masked one by one with a cache.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

from unstuck.detection.steps.likely import search_for

HEAD = 500
TAIL = 1_500
WORD_LIMIT = 400
DIGEST_BYTES = 8

_COUNTERS = ("pid", "tid", "pgid", "attempt", "try", "retry")
_NAMED = frozenset({"id", "id:", "ID", "ID:", "session", "Session", "session:", "Session:"})
_KEYED = re.compile(
    r'\W*\w*?(?:([_-]id|[a-z]Id|\bid)|(?:elapsed|took|waited|duration|uptime|timestamp)(?:_?(?:ms|s|sec|seconds))?)":'
)
_JOB = re.compile(r"\[\d+\] \d+")
_GIVEN_NAME = re.compile(r"(?=[A-Za-z_-]*\d)(?=\d*[A-Za-z])[\w-]{5,}\.?")
_COUNTED = frozenset(
    f"{before}{name}{after}"
    for counter in _COUNTERS
    for name in (counter, counter.capitalize(), counter.upper())
    for before in ("", "(", "[")
    for after in ("", ":", "=", "#")
)
# The last ones are figures of the work of another agent, below its answer.
_COUNTED |= {"Process:", "kill", "uses:", "tool_uses:", "total_tokens:", "duration_ms:"}
_SIGNALLED = frozenset({"Segmentation", "Aborted", "Killed", "Terminated", "Bus", "Floating", "Illegal", "Done"})
_UNITS = frozenset(
    f"{unit}{after}"
    for unit in [
        "s",
        "ms",
        "us",
        "µs",
        "ns",
        "sec",
        "secs",
        "second",
        "seconds",
        "min",
        "mins",
        "minute",
        "minutes",
        "millisecond",
        "milliseconds",
    ]
    for after in ("", ")", "]", ",", ".", ";", "),", ").", "):")
)
# A word beside one of these may be masked for what stands there.
_BESIDE = _COUNTED | _NAMED | _SIGNALLED | _UNITS | {"process"}
_AROUND = "()[]{}<>,;:.'\"#`"
_VOLATILE = re.compile(
    r"(?P<id>\b(?:(?i:message|msg|session|request|req|trace|span|correlation|event|job|run|call|thread|turn|invocation"
    r"|conversation|transaction|delivery|execution|container|process)[_-]?(?i:id)|(?i:pid|tid|ts|timestamp|etag|nonce|seq))"
    r"['\"]?[=:]['\"]?[\w.:+-]+"
    r"|\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|\b0x[0-9a-fA-F]{2,}\b"
    r"|\b(?:req|msg|run|job|call|toolu|sess|session|chatcmpl|trace|thread)[_-](?=[\w-]*\d)[\w-]{3,}"
    r"|\b(?:In|Out) ?\[\d+\]|(?<!\w)\[\d{4,7}\](?!\w)|\bref['\"]?[=:]['\"]?[a-z]{0,3}\d+\b"
    r"|(?<=:)(?:3[2-9]|[4-6]\d)\d{3}\b)"
    r"|(?P<time>\b\d{4}[-/]\d\d[-/]\d\d(?:T\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?Z?|\b1[5-9]\d{8}(?:\d{3}|\.\d+)?\b)"
    r"|(?P<duration>(?<![\w.])\d+(?:\.\d+)?(?:ms|µs|us|ns|secs?|s|mins?|m(?=\d))(?:\d+(?:\.\d+)?s)?\b)"
    r"|(?P<sha>(?<=[a-z\d]-)(?=[a-z]*\d)[a-z\d]{8,10}-[a-z\d]{5}(?![\w-])"
    r"|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}\b)"
    r"|(?P<temporary>/(?:private/)?(?:var/)?(?:tmp|folders)/(?:[^/\s'\":]+/)*(?:tmp[\w-]{4,}|[\w-]+(?=\.output\b))?)"
)
# Shapes that each of the patterns above needs. Most texts have none of them, which this tells in one pass.
_shapes_in = search_for(
    r"\p{Nd}[mµuns]|[0-9a-fA-F]{7}|\p{Nd}{4}[-/]\p{Nd}|\p{Nd}:\p{Nd}{2}:\p{Nd}|\.\p{Nd}{1,3}\.\p{Nd}|1[5-9]\p{Nd}{8}"
    r"|[a-z\p{Nd}]{8}-[a-z\p{Nd}]{5}|0x[0-9a-fA-F]{2}|\[\p{Nd}|:[3-6]\p{Nd}{4}|/tmp|/folders|ref['\"]?[=:]"
    r"|(?:req|msg|run|job|call|toolu|sess|session|chatcmpl|trace|thread)[_-][\pL\pN_-]*\p{Nd}"
    r"|(?i:id|\bts|timestamp|etag|nonce|seq)['\"]?[=:]['\"]?[\pL\pN_.:+-]"
)
_STAND_IN = {"id": "ID", "sha": "ID", "time": "TIME", "duration": "TIME", "temporary": "/tmp/"}
_HOURS = re.compile(r"\d{1,4}[hm]")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*")
_MEASURES = "mean median average avg min max score loss accuracy throughput latency stddev fps benchmark bench cycles"
_MEASURED = frozenset(
    f"{form}{after}"
    for name in _MEASURES.split()
    for form in (name, name.capitalize(), f"({name}")
    for after in ("", ":", "=", ",")
) | {"p50", "p75", "p90", "p95", "p99", "p999", "ns/op", "µs/op", "us/op", "ms/op", "s/op", "ops/s", "req/s", "/op"}


def comparable(text: str, *, arguments: bool = False) -> str:
    """Return ``text`` without volatile parts, blanks folded, at most ``HEAD + TAIL`` characters of it.

    With ``arguments`` it is a call, whose durations and commits are arguments and stay. Measured durations stay, too.
    """
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]} … {text[-TAIL:]}"
    words = text.split()
    if len(words) == 2 and _JOB.fullmatch(text.strip()):
        return "[N] N"
    beside = '":' in text or "sh:" in text or not _BESIDE.isdisjoint(words)
    masked, timed = _masked(text, words, not arguments, beside)
    if timed and not _MEASURED.isdisjoint(words):
        masked, _ = _masked(text, words, False, beside)
    return " ".join(masked)


def without_digits(text: str) -> str:
    """Return ``text`` without the digits 0 to 9."""
    # As bytes, because str.translate looks up each character: about ten times the cost.
    return text.encode("utf-8", "surrogatepass").translate(None, b"0123456789").decode("utf-8", "surrogatepass")


def digest(*parts: str) -> str:
    """Return 16 hexadecimal characters of the hash of ``parts``."""
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=DIGEST_BYTES).hexdigest()


def _masked(text: str, words: list[str], durations: bool, beside: bool) -> tuple[list[str], bool]:
    """Return the masked words, and whether a duration was masked. ``beside``: the words around some of them count."""
    masked = list(words)
    times: set[str] = set()
    if _shapes_in(text) or (len(text) > WORD_LIMIT and max(map(len, words), default=0) > WORD_LIMIT):
        masks: dict[str, str] = {}
        # Each word is looked at once.
        for word in set(words):
            if not word.isalpha():
                masks[word], is_time = _word(word, durations)
                if is_time:
                    times.add(word)
        masked = [masks.get(word, word) for word in words]
    timed = (beside and _mask_beside(words, masked, durations)) or bool(times)
    for place, word in enumerate(words if times else (), -1):
        if place >= 0 and word in times and _HOURS.fullmatch(words[place]):
            masked[place] = "TIME"
    return masked, timed


def _mask_beside(words: list[str], masked: list[str], durations: bool) -> bool:
    """Mask the words that others beside them make volatile. Return whether one of them was a duration."""
    timed = False
    for near, beside in enumerate(words):
        if not (beside in _BESIDE or beside[-2:] == '":' or beside == "line"):
            continue
        for place in (near - 1, near + 1):
            if 0 <= place < len(words) and not words[place].isalpha():
                timed = _mask_at(place, words, masked, durations) or timed
    return timed


def _mask_at(place: int, words: list[str], masked: list[str], durations: bool) -> bool:
    word, before = words[place], words[place - 1] if place else ""
    # A shell counts the lines of the script that it was given; a long number of a process is its id.
    counted = before in _COUNTED or (before == "process" and len(word) > 2)
    counted = counted or (before == "line" and place > 1 and words[place - 2][-3:] == "sh:")
    if counted and word.strip(_AROUND).isdigit():
        masked[place] = "N"
    if not durations:
        return False
    after = words[place + 1] if place + 1 < len(words) else ""
    if before[-2:] == '":' or before in _NAMED or after in _SIGNALLED:
        masked[place] = _named_by(before, word, after) or masked[place]
    if after in _UNITS and _NUMBER.fullmatch(word.lstrip("([")):
        masked[place] = "TIME"
        return True
    return False


def _named_by(before: str, word: str, after: str) -> str:
    """Return what stands for a word that is a process or a session by the words around it; empty for others."""
    if key := _KEYED.fullmatch(before):
        return "ID" if key[1] else "TIME"
    if after in _SIGNALLED and word.isdigit():
        return "N"
    return "ID" if before in _NAMED and _GIVEN_NAME.fullmatch(word.rstrip(";,")) else ""


@lru_cache(maxsize=8_192)
def _word(word: str, durations: bool) -> tuple[str, bool]:
    """Return the masked word, and whether it was a duration."""
    if (word[0] in "'\"" and word[-1] in "'\"" and "://" not in word) or not _shapes_in(word):
        return word[:WORD_LIMIT], False
    timed = False

    def stand_in(match: re.Match[str]) -> str:
        nonlocal timed
        kind = str(match.lastgroup)
        if kind in ("duration", "sha") and not durations:
            return match[0]
        timed = timed or kind == "duration"
        return _STAND_IN[kind]

    return _VOLATILE.sub(stand_in, word[:WORD_LIMIT]), timed
