"""Kinds of results: a bare status, nothing, an image, work in progress, a cancelled call."""

from __future__ import annotations

import re

from unstuck.detection.steps.likely import search_for

SHORT = 160
_NOTHING = re.compile(
    r"(?:ok(?:ay)?|done|success(?:ful(?:ly)?)?|true|null|none|\{\}|\[\]|0|\(?no (?:output|content)\)?"
    r"|(?:the )?(?:file|edit|patch|change|todo)s?(?: list)?(?: (?:has|have) been)?(?: was| were)? ?"
    r"(?:successfully )?(?:applied|updated|written|saved|created|edited|modified)(?: successfully)?"
    r"|applied|updated|written|saved|created|edited|moved|renamed|(?:command )?(?:failed|error)"
    r"|(?:error: )?(?:process )?(?:exited|failed)? ?(?:with )?(?:exit )?(?:code|status):? \d+)?[.!]?",
    re.IGNORECASE,
)
_NOTHING_LIMIT = 60
_IMAGE_BEGINS = tuple("[<(isbdISBD ")
_IMAGE = re.compile(r"[\[<(]?\s*(?:image|screenshot|binary)\b.{0,80}|data:image/.*", re.IGNORECASE | re.DOTALL)
_IN_PROGRESS = re.compile(
    r"\b(?:pending|queued|in[ _-]progress|(?:still|is|status\W{1,4}|state\W{1,4}) ?running|running\W*$|waiting"
    r"|not (?:yet )?ready|not yet|building|starting|\w*creating|provisioning|(?:pod)?initiali[sz]ing|processing"
    r"|scheduled|pulling|installing|compiling|no (?:new|further|more) (?:output|logs?|lines|messages|events)"
    r"|\d{1,2} ?%)",
    re.IGNORECASE,
)
# Cheap first test: most results have none of these words.
_LETTERS = re.compile(r"[a-z]+")
_AT_WORK = frozenset(
    {
        *("pending", "queued", "progress", "running", "waiting", "ready", "yet", "building", "starting", "creating"),
        *("containercreating", "provisioning", "initializing", "initialising", "podinitializing", "processing"),
        *("scheduled", "pulling", "installing", "compiling", "output", "log", "logs", "lines", "messages", "events"),
    }
)
_WENT_WRONG = re.compile(
    r"fail|error|exception|denied|refused|not found|cannot|can't|could not|unable|\.\.\. ?(?:ok|done)\b", re.IGNORECASE
)
_ENDED = re.compile(r"\b(?:completed|finished|exited|killed|terminated|ended|exit[_ ](?:code|status))\b", re.IGNORECASE)
_EMPTY_LIMIT = 280
_EMPTY = re.compile(
    r"\((?:integer\) 0|empty (?:array|list|set|list or set)\)|nil\))|total 0"
    r"|\W*(?:(?:bash|command)\b.{0,20}\b)?(?:(?:completed|ran) )?(?:with(?:out)? )?(?:no )?(?:any )?output\W*"
    r"|\W*(?:found )?(?:no|0|zero) (?:matche?s?|(?:file|result|resource|hit|item|row|change)s?|entries)\b.{0,80}"
    r"|.{0,80}\b(?:nothing (?:to|found|matched|changed)|no changes to make|already up[- ]to[- ]date|unchanged since)\b"
    r".{0,120}"
    r"|.{0,160}\b(?:output|stdout): \(empty\).{0,120}",
    re.IGNORECASE | re.DOTALL,
)
_may_be_empty = search_for(
    r"(?i)output|nothing|no |0 |zero |already up|unchanged since|\(empty|\(nil\)|\(integer\) 0|total 0"
)
_ABSENT = ("no such file", "cannot access", "does not exist", "not yet")
_FINDS_NOTHING = re.compile(
    r"\b(?:could not|couldn't|cannot|can't|unable to|did not|didn't) (?:find|locate|see)\b"
    r"|\bno (?:trace|sign|such|match|result)|\bnot found\b|\bdo(?:es)? not exist\b|\bnothing (?:was )?found\b"
)
_KEY = re.compile(r'"[^"]*" *:')
_VALUE = re.compile(r"[^\s\[\]{},:\"]+")
_NO_VALUE = frozenset({"0", "null", "false", "true", "none"})
# The words of a harness around the output of a command: Codex puts them before it, Gemini CLI around it.
_AROUND_BEGINS = tuple("CEOW")
_BEFORE = re.compile(
    r"(?:Chunk ID: .*\n)?(?:Exit code: (?P<code>-?\d{1,3})\n)?(?:Wall time: .*\n)"
    r"(?:Process exited with code (?P<exited>-?\d{1,3})\n)?(?:(?:Original token count|Total output lines): \d+\n)*"
    r"Output:\n?"
)
_AFTER = re.compile(r"\n(?:Exit Code: (\S+)(?:\n[A-Z][^\n]{0,80})*|Process Group PGID: \d+)\s*$")
_AFTER_LIMIT = 400
_NO_OUTPUT = ("", "(empty)", "(none)")
_REFUSAL = re.compile(r"(?:HTTP/\S+ )?[45]\d\d(?: [A-Z][A-Za-z ]{2,40})?")
_DENIED = re.compile(
    r'"(?:pass(?:ed)?|ok|success(?:ful)?|accepted|valid)": ?false\b|\{\s*"errors?": ?(?:"[^"]|[\[{]\s*[{"])'
    r'|"(?:status|result|state)": ?"(?:error|fail(?:ed|ure)?)"'
)
_DENIAL_LIMIT = 600
# Counts of nothing bad, as of a run of tests.
_NOTHING_BAD = re.compile(
    r"\b(?:0|no|zero)\s(?:\S+\s)?(?:fail\w*|err\w*|problems?|issues|warnings?|broken|violations?|vulnerabilit\w+)"
    r"|\b(?:fail\w*|err\w*|problems?|issues|warnings?) ?[:=]? ?0(?![.\d])"
)
_WELL = re.compile(
    r"\b(?:pass(?:ed|es|ing)?|ok|succe\w+|finished|completed|compiled|built target|up[- ]to[- ]date|valid)\b"
    r"|[✓✔]|complete!|started\s*$"
    r"|\b(?:no|0|zero)\s(?:\S+\s)?(?:fail|err|issue|problem|warning|broken)"
)
_BAD_COUNT = re.compile(r"[1-9]\d* (?:err|fail)")
_ILL = re.compile(
    r"\bfail|error|mismatch|wrong|denied|not |invalid|incorrect|unsuccess|too (?:long|large|big|many|slow)"
)
# What a call prints behind its output: its exit code where it asks for it, and the time that it took.
_CODE = re.compile(r"\n[ \t]*(?:[A-Za-z][\w ]{0,30}?)?\W{0,4}(\d{1,3})\W*$")
_ASKS_CODE = re.compile(r"(?:echo|printf)[^;&|\n]*(?:\$\?|PIPESTATUS|LASTEXITCODE)[^;&|\n]*$")
_TIMED = re.compile(r"\s*\nreal\s+\d+m[\d.,]+s\s+user\s+\S+\s+sys\s+\S+\s*$")
_TAIL = 200
_CANCELLED = re.compile(
    r"\s*(?:<tool_use_error>)?\s*(?:Sibling tool call errored|Cancelled: parallel tool call)", re.IGNORECASE
)


def output_in(result: str) -> tuple[str, bool]:
    """Return the output of a command without what a harness says around it, and whether that reports a failure."""
    if result[:1] not in _AROUND_BEGINS:
        return result, False
    if before := _BEFORE.match(result):
        return result[before.end() :], (before["code"] or before["exited"] or "0") != "0"
    head, _, output = result.partition("Output: ")
    after = _AFTER.search(result[-_AFTER_LIMIT:])
    if after is None or not (not head or (head.startswith("Command: ") and "\nDirectory: " in head)):
        return result, False
    output = output[: len(output) - len(after[0])]
    printed, _, error = output.rpartition("\nError: ")
    parts = (printed, error) if printed else (output,)
    code = after[1] or ""
    return "\n".join(part for part in parts if part not in _NO_OUTPUT), code.isdigit() and code != "0"


def without_tail(call: str, result: str) -> tuple[str, bool]:
    """Return a result without the exit code and the time that ``call`` prints behind it, and whether it failed."""
    if (
        ("time " in call or "time\t" in call)
        and "real" in result[-_TAIL:]
        and (timed := _TIMED.search(result[-_TAIL:]))
    ):
        result = result[: len(result) - len(timed[0])]
    asks = "$?" in call or "PIPESTATUS" in call or "LASTEXITCODE" in call
    if asks and _ASKS_CODE.search(call) and (code := _CODE.search(result[-_TAIL:])):
        return result[: len(result) - len(code[0])], code[1] != "0"
    return result, False


def is_http_error(call: str, result: str) -> bool:
    """Return whether the result of a request begins with the status of an error, or is nothing else."""
    if "://" not in call:
        return False
    if result[:5] == "HTTP/":
        return _REFUSAL.match(result) is not None
    return len(result) < _NOTHING_LIMIT and _REFUSAL.fullmatch(result.strip()) is not None


def denies_success(result: str) -> bool:
    """Return whether an object says of itself that it is no success."""
    return result[:1] == "{" and len(result) <= _DENIAL_LIMIT and _DENIED.search(result) is not None


def is_bare_status(result: str) -> bool:
    """Return whether a result only reports success or failure."""
    return len(result) <= _NOTHING_LIMIT and _NOTHING.fullmatch(result.strip()) is not None


def shows_image(result: str) -> bool:
    """Return whether a result is an image: two of them may differ although their texts are equal."""
    alone = result[:1] in _IMAGE_BEGINS and len(result) <= SHORT and _IMAGE.fullmatch(result) is not None
    return alone or result.endswith("\n[image]")


def is_in_progress(result: str) -> bool:
    """Return whether a result reports work that is still in progress."""
    if len(result) > SHORT:
        return False
    lowered = result.lower()
    if "%" not in lowered and _AT_WORK.isdisjoint(_LETTERS.findall(lowered)):
        return False
    return _IN_PROGRESS.search(result) is not None and not _WENT_WRONG.search(result)


def says_nothing(result: str) -> bool:
    """Return whether a result says that there is nothing: no output, no match, no change."""
    if len(result) > _EMPTY_LIMIT:
        return False
    text = result.strip()
    if text[:1] in ("[", "{") and text[-1] in "]}":
        return _NO_VALUE.issuperset(_VALUE.findall(_KEY.sub("", text).lower()))
    return not text or (bool(_may_be_empty(text)) and _EMPTY.fullmatch(text) is not None)


def is_absent(result: str) -> bool:
    """Return whether a look finds that what it is about is not there."""
    if len(result) > SHORT:
        return False
    text = result.lower().strip()
    # A list of processes with its heading alone is empty.
    return any(map(text.__contains__, _ABSENT)) or (text[:4] == "pid " and "\n" not in text)


def finds_nothing(result: str) -> bool:
    """Return whether an answer in prose begins by saying that there is nothing."""
    return _FINDS_NOTHING.search(result[:SHORT].lower()) is not None


def has_ended(result: str) -> bool:
    """Return whether a result says that the work that it is about has ended."""
    return _ENDED.search(result[:SHORT]) is not None and not says_nothing(result)


def says_well(result: str) -> bool:
    """Return whether a result says that all is well, such as tests that pass or a build that is done."""
    lowered = result.lower()
    if _WELL.search(lowered) is None:
        return False
    if "warning" in lowered or "deprecat" in lowered:
        # A warning is seldom about what was just done.
        lowered = "\n".join(line for line in lowered.split("\n") if not _only_warns(line))
    return _ILL.search(_NOTHING_BAD.sub("", lowered)) is None


def _only_warns(line: str) -> bool:
    return ("warning" in line or "deprecat" in line) and _BAD_COUNT.search(line) is None


def is_cancelled(result: str) -> bool:
    """Return whether an agent cancelled the call because another one of the same turn failed."""
    return result[:40].lstrip()[:1] in ("<", "S", "C") and _CANCELLED.match(result) is not None
