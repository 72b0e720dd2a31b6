"""Steps: tool calls paired with their results, in comparable form."""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass
from functools import lru_cache

from unstuck.contract import Observation
from unstuck.detection.recent import Recent
from unstuck.detection.steps.external_blockers import is_outage
from unstuck.detection.steps.results import (
    denies_success,
    has_ended,
    is_absent,
    is_bare_status,
    is_cancelled,
    is_http_error,
    is_in_progress,
    output_in,
    says_nothing,
    shows_image,
    without_tail,
)
from unstuck.detection.steps.tool_call_kind import CallKind, check_of, done_items, file_of, kind_of, needle_of, writing
from unstuck.detection.steps.volatile_text import comparable, digest, without_digits
from unstuck.diagnosis.pipeline import diagnose
from unstuck.text import Clean, admit

_OLD_AND_NEW = re.compile(
    r"\bold(?:_?(?:str|string|text))?\s*[=:]\s*(?P<old>'[^']*'|\"[^\"]*\")"
    r".{0,40}?\bnew(?:_?(?:str|string|text))?\s*[=:]\s*(?P<new>'[^']*'|\"[^\"]*\")",
    re.DOTALL | re.IGNORECASE,
)
_OLD = ("old_string", "oldString", "old_str", "oldText", "old_text", "old")
_NEW = ("new_string", "newString", "new_str", "newText", "new_text", "new")
_WHOLE = ("content", "contents", "file_text", "text", "new_source")
_WRITERS = frozenset({"write", "write_file", "create_file"})
_PATCH = ("input", "patch", "patchText")
_HUNK = re.compile(r"\*\*\* (Add|Update) File: (.+)\n((?:(?!\*\*\* ).*\n?)*)")
_FILE = ("file_path", "path", "file", "filePath", "notebook_path")
# A file that says what is to do: to write it is no step of the work.
_PLAN = re.compile(r"(?:^|/)(?:plan|todo)\w*\.md$", re.IGNORECASE)

# A word of the harness to the agent below a result.
_REMINDS = "<system-reminder>"
_REMINDER = re.compile(rf"\s*{_REMINDS}.*?</system-reminder>\s*", re.DOTALL)

# The tag that a harness puts around its own errors.
_WRONG = "<tool_use_error>"

SHOWN = 200
CALL_LIMIT = 2_000
MASKED_CALL = 500
TEXT_HEAD = 500
TEXT_TAIL = 1_500
PENDING_KEPT = 64
IDS_KEPT = 256
TEXTS_KEPT = 64
NOISE_LIMIT = 300
_LISTS = ("ls ", "stat ")
_HEX = b"0123456789abcdefABCDEF"


def written_by(tool: str, call: str) -> tuple[str, str, str] | None:
    """Return file, old and new text of an edit, or None where the call does not have them.

    The text of a whole file has an empty old text.
    """
    if writes := writing(call):
        return writes
    start = call.find("{")
    if start >= 0:
        try:
            given = json.loads(call[start:])
        except (ValueError, RecursionError):
            given = None
        if isinstance(given, dict):
            if patched := _patched(_text(given, _PATCH)):
                return patched
            old, new, whole = _text(given, _OLD), _text(given, _NEW), _text(given, _WHOLE)
            if not ((old and new) or whole):
                return None
            return (_text(given, _FILE), old, new) if old and new else (_text(given, _FILE), "", whole)
    found = _OLD_AND_NEW.search(call[:CALL_LIMIT])
    if found:
        return call[: found.start()], found["old"], found["new"]
    file, _, whole = call.partition("\n")
    return (file, "", whole) if whole and tool.lower() in _WRITERS else None


def _patched(patch: str) -> tuple[str, str, str] | None:
    """Return file, old and new text of a patch of one file."""
    files = _HUNK.findall(patch) if patch.startswith("*** Begin Patch") else []
    if len(files) != 1:
        return None
    lines = files[0][2].splitlines()
    old, new = ("\n".join(line[1:] for line in lines if line[:1] in signs) for signs in ("- ", "+ "))
    return files[0][1], "" if files[0][0] == "Add" else old, new


def _text(given: dict[str, object], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := given.get(name), str)), "")


@dataclass(slots=True, eq=False)
class Step:
    """One tool call and its result.

    ``turn`` is the same for the calls that an agent makes together. ``action`` is the digest of the call without
    volatile parts. ``call`` and ``text``, its result, are cut; ``shown`` is the call as it is shown. An ``informative``
    result is more than a bare status, a ``new`` one was not seen lately, an ``empty`` one says that there is nothing.
    ``waits`` means that the call waits or that its subject is in progress. Equal results may differ where they are
    ``opaque``. ``written`` is file, old and new text where the call has them; a whole file has no old text. ``done``
    counts the items of a plan that are done.
    """

    number: int
    turn: int
    tool: str
    kind: CallKind
    action: str
    failed: bool
    informative: bool
    new: bool
    waits: bool
    opaque: bool
    empty: bool
    call: str
    shown: str
    text: str
    approach: str
    written: tuple[str, str, str] | None
    done: int
    _result: str = ""
    _masked: str | None = None
    _needle: tuple[frozenset[str], str] | None = None
    _check: str = ""
    _named: Clean | None = None

    @property
    def result(self) -> str:
        """Digest of the result without volatile parts, made when it is first compared."""
        if not self._result:
            self._result = digest(self._compared())
        return self._result

    @property
    def masked(self) -> str:
        """Result without volatile parts."""
        if self._masked is None:
            self._masked = comparable(self.text)
        return self._masked

    @property
    def needle(self) -> tuple[frozenset[str], str]:
        """Words that a search looks for, and where; no words for a call that is no search."""
        if self._needle is None:
            self._needle = needle_of(self.call)
        return self._needle

    @property
    def check(self) -> str:
        """Check that the call runs, without its flags and pipes."""
        if not self._check:
            self._check = check_of(self.tool, self.shown)
        return self._check

    @property
    def named(self) -> Clean:
        """Call as a verdict names it: what was cut may look like a secret."""
        if self._named is None:
            self._named = admit(self.shown)
        return self._named

    @property
    def key(self) -> str:
        """Identity of call and result."""
        return f"{self.action}{self.result}{'!' if self.failed else ''}"

    def answers_as(self, earlier: Step) -> bool:
        """Return whether an earlier step had the same result."""
        return self.failed == earlier.failed and self.result == earlier.result

    def _compared(self) -> str:
        if self.kind in ("idle", "tell") and not self.failed:
            return ""
        # At the end of a growing log another time of day is another line.
        log = self.kind == "wait" and not (self.failed or has_ended(self.text) or is_in_progress(self.text))
        return self.text if log and "sleep" not in self.shown.lower() else self.masked

    @property
    def headline(self) -> str:
        """Headline of a failure, else the first line of the result that is not blank."""
        if self.failed and (found := _headline_of(self.text)):
            return found[:SHOWN]
        return next((line.strip() for line in self.text[:SHOWN].split("\n") if line.strip()), "")


@lru_cache(maxsize=64)
def _headline_of(text: str) -> str:
    # What fails again often fails in the very same words.
    found = diagnose(text, exit_code=1)
    return found.headline if found is not None else ""


def looks_in_vain(step: Step) -> bool:
    """Return whether a list fails because what it is about is not there, which may change by itself."""
    return step.kind == "query" and step.failed and step.call.startswith(_LISTS) and is_absent(step.text)


class Pairing:
    """Pairing of results with their calls: by id where there is one, else first in, first out."""

    def __init__(self) -> None:
        self._pending: Recent[str, tuple[Observation, int]] = Recent(PENDING_KEPT)
        self._unnamed: deque[tuple[Observation, int]] = deque(maxlen=PENDING_KEPT)
        self._seen: Recent[str, None] = Recent(IDS_KEPT)
        self._texts: Recent[int, str] = Recent(TEXTS_KEPT)
        self._count = 0
        self._turn = 0
        self._answered = True
        self._waited = False

    def feed(self, observation: Observation) -> Step | None:
        """Return the finished step, or None for a call, a cancelled one, a repeated delivery and anything else."""
        kind = observation.kind
        if kind not in ("action", "success", "failure") or self._repeated(observation):
            return None
        if kind == "action":
            self._keep(observation)
            return None
        self._answered = True
        self._count += 1
        call, turn = self._call_of(observation)
        if is_cancelled(observation.text):
            return None
        step = _step(call, observation, self._count, turn, new=self._is_new(observation.text))
        # What refuses between two waits is waited for.
        step.waits = step.waits or (self._waited and step.failed and is_outage(step.text))
        self._waited = step.kind == "wait"
        return step

    def clear(self) -> None:
        """Forget the calls whose results have not come."""
        self._pending.clear()
        self._unnamed.clear()

    def _is_new(self, result: str) -> bool:
        short = len(result) <= NOISE_LIMIT
        # A short result with other ids or times is the same one; it has the same letters.
        known = hash(result.encode("utf-8", "surrogatepass").translate(None, _HEX) if short else result)
        before = self._texts.get(known)
        self._texts[known] = result if short else ""
        return before is None or (short and before != result and comparable(before) != comparable(result))

    def _repeated(self, observation: Observation) -> bool:
        if not observation.id:
            return False
        key = f"{observation.kind == 'action'}:{observation.id}"
        if key in self._seen:
            return True
        self._seen[key] = None
        return False

    def _keep(self, call: Observation) -> None:
        # Calls without a result between them are one turn.
        self._turn += self._answered
        self._answered = False
        if call.id:
            self._pending[call.id] = (call, self._turn)
        else:
            self._unnamed.append((call, self._turn))

    def _call_of(self, result: Observation) -> tuple[Observation | None, int]:
        if result.id:
            return self._pending.pop(result.id, None) or (None, -self._count)
        return self._unnamed.popleft() if self._unnamed else (None, -self._count)


def _step(call: Observation | None, result: Observation, number: int, turn: int, *, new: bool) -> Step:
    given = str(call.text) if call else ""
    shown = given[:CALL_LIMIT]
    tool = call.tool if call else result.tool
    text, wrong = output_in(str(result.text))
    text, exited = without_tail(shown, text)
    if text[: len(_WRONG)] == _WRONG:
        text = text[len(_WRONG) :].removesuffix(_WRONG.replace("<", "</"))
    text = _cut(_REMINDER.sub("", text) if _REMINDS in text else text)
    failed = wrong or exited or result.kind == "failure" or is_http_error(given, text) or denies_success(text)
    kind = kind_of(tool, shown) if call else "work"
    if kind == "edit" and failed:
        # A refusal may quote below its reason what it refuses.
        reason, _, quoted = text.partition("\n")
        text = " ".join([reason, *(word for word in quoted.split() if word not in given)])
    written = written_by(tool, given) if kind == "edit" and not failed else None
    if written is not None and _PLAN.search(written[0]):
        kind = "plan"
    empty = says_nothing(text)
    informative = failed or (kind not in ("idle", "edit", "plan") and not is_bare_status(text))
    return Step(
        number=number,
        turn=turn,
        tool=tool,
        kind=kind,
        action=_action(tool, kind, given, failed),
        failed=failed,
        informative=informative,
        new=new and informative and not empty,
        waits=(kind != "tell" and is_in_progress(text))
        or (kind == "wait" and not has_ended(text) and (not failed or is_outage(text))),
        opaque=shows_image(text) and not (kind == "query" and file_of(shown)),
        empty=empty,
        call=shown,
        shown=shown[:SHOWN],
        text=text,
        approach=str((call.approach if call else None) or result.approach or ""),
        written=written,
        done=done_items(given) if kind == "plan" else 0,
    )


def _action(tool: str, kind: CallKind, given: str, failed: bool) -> str:
    # Waiting twice as long is still waiting.
    if kind == "wait" and not failed:
        return digest(tool, without_digits(given[:CALL_LIMIT]))
    # A long call is a script or a file: one that differs in any part is another one.
    return digest(tool, comparable(given, arguments=True) if len(given) <= MASKED_CALL else given)


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_HEAD + TEXT_TAIL else f"{text[:TEXT_HEAD]}\n{text[-TEXT_TAIL:]}"
