"""Messages, calls with their results and changes, and notes of a session, as a person reads them. Pure.

They are made of the observations that any agent's parser yields: of its stream, its protocol, its hooks, or the
transcript that it keeps.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from unstuck.agents.streams.edits import PATHS, change_in, patch_in
from unstuck.contract import Observation
from unstuck.text import Clean, admit, one_line
from unstuck.words.labels import Tone

MOST = 2_000
"""Entries that are kept of a session."""
_CHARACTERS = 4_000_000
_MOST_OPEN = 4_096
_TEXT_LIMIT = 16_000
_VALUE_LIMIT = 80
_ABOUT = (*PATHS, "url", "pattern", "query", "command", "description", "title", "message", "root")
"""Names of the argument that says what a call is about, the clearest first."""
_CALL = re.compile(r"([^\[{\n]{1,120}) ([\[{].*)", re.DOTALL)
_LISTS = ("todos", "plan", "entries", "items")
_NOTE_LINES, _COMMAND_LINES, _DIFF_LINES, _FIRST_LINES, _FIRST_OF_FAILURE, _LAST_LINES = 2, 4, 16, 4, 3, 6


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that was said or done.

    ``text`` is a message, a command, or the tool with what it is about, empty where only the result of a call is
    known; ``diff`` is the change that the call makes.
    ``result`` is None until it is known, and ``step`` its number among the results of the session.
    """

    kind: Literal["asked", "said", "call", "note"]
    text: Clean
    at: float = 0.0
    agent_id: str = ""
    tool: str = ""
    diff: Clean = Clean("")
    result: Clean | None = None
    failed: bool = False
    exit_code: int | None = None
    step: int | None = None

    @property
    def size(self) -> int:
        """Return the number of characters."""
        return len(self.text) + len(self.diff) + len(self.result or "")


class Entries:
    """Entries of a session, made of one observation after another. The newest ``most`` are kept.

    Paths below ``root`` are shown without it. ``steps`` counts the results, ``total`` all entries.
    """

    def __init__(self, *, most: int = MOST, root: str = "") -> None:
        self._most, self._root = most, root.rstrip("/") + "/" if root else ""
        self._kept: deque[Entry] = deque()
        self._open: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._size = 0
        self.steps = self.total = 0

    @property
    def kept(self) -> tuple[Entry, ...]:
        """Return the kept entries, the oldest first."""
        return tuple(self._kept)

    def add(self, seen: Observation, *, at: float = 0.0) -> None:
        """Take the next observation; ``at`` is its time in seconds since 1970, 0 for its own."""
        seen = replace(seen, at=at) if at else seen
        if seen.kind == "message":
            kinds: Mapping[str | None, Literal["asked", "note"]] = {"user": "asked", "system": "note"}
            self._append(Entry(kinds.get(seen.role, "said"), seen.text, seen.at, seen.agent_id))
        elif seen.kind == "action":
            self._call(seen)
        elif seen.kind in ("success", "failure"):
            self._result(seen)

    def note(self, line: str, *, apart: bool = False) -> None:
        """Take a line that the agent's program printed beside its messages; folded, one ``apart`` is still seen."""
        last = self._kept[-1] if self._kept else None
        if not apart and last is not None and last.kind == "note" and len(last.text) < _TEXT_LIMIT:
            text = admit(f"{last.text}\n{line}", limit=_TEXT_LIMIT)
            self._replace(self.total - 1, replace(last, text=text))
        else:
            self._append(Entry("note", admit(line, limit=_TEXT_LIMIT)))

    def _call(self, seen: Observation) -> None:
        text, diff = call_words(seen.tool, seen.text, self._root)
        entry = Entry("call", text, seen.at, seen.agent_id, seen.tool, diff)
        key = seen.agent_id, seen.id
        if seen.id and key in self._open:
            self._replace(self._open[key], entry)  # some announce a call again once all of it is known
            return
        self._open[key] = self.total
        if len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        self._append(entry)

    def _result(self, seen: Observation) -> None:
        number = self._open.pop((seen.agent_id, seen.id), -1)
        step, self.steps = self.steps, self.steps + 1
        entry = self._at(number) or Entry("call", Clean(""), seen.at, seen.agent_id, seen.tool)
        entry = replace(
            entry,
            result=seen.text,
            failed=seen.kind == "failure",
            exit_code=seen.exit_code,
            step=step,
            at=entry.at or seen.at,
        )
        if self._at(number) is None:
            self._append(entry)
        else:
            self._replace(number, entry)

    def _at(self, number: int) -> Entry | None:
        place = number - (self.total - len(self._kept))
        return self._kept[place] if number >= 0 and place >= 0 else None

    def _replace(self, number: int, entry: Entry) -> None:
        place = number - (self.total - len(self._kept))
        if place >= 0:
            self._size += entry.size - self._kept[place].size
            self._kept[place] = entry
            self._trim()

    def _append(self, entry: Entry) -> None:
        self._kept.append(entry)
        self.total += 1
        self._size += entry.size
        self._trim()

    def _trim(self) -> None:
        while len(self._kept) > self._most or (self._size > _CHARACTERS and len(self._kept) > 1):
            self._size -= self._kept.popleft().size


def call_words(tool: str, action: str, root: str = "") -> tuple[Clean, Clean]:
    """Return what a call does in words for a person, and the change that it makes as a diff, which may be empty.

    ``action`` is the text of its observation: a command, or the tool and its arguments as JSON.
    """
    change = patch_in(action) if tool == "bash" else None
    if tool == "bash" and change is None:
        return Clean(action), Clean("")
    name, given = ("apply_patch", None) if change else _parts(action)
    change = change or change_in(given)
    if change is not None:
        kinds = dict.fromkeys(one[0] for one in given) if isinstance(given, list) and not change.diff else ()
        about = ", ".join(path.removeprefix(root) for path in change.paths)
        return _admitted(" ".join([name, *kinds, about])), admit(change.diff, limit=_TEXT_LIMIT)
    return _admitted(f"{name} {_given_words(given, root)}" if given else name), Clean("")


def _admitted(words: str) -> Clean:
    # JSON keeps control characters as escapes, so that they come to light only in its values.
    return admit(words.strip(), limit=_TEXT_LIMIT)


def _parts(action: str) -> tuple[str, Any]:
    """Return the tool and its arguments; the whole ``action`` and None where they cannot be told apart."""
    found = _CALL.fullmatch(action)
    try:
        return (found[1], json.loads(found[2])) if found else (action, None)
    except (ValueError, RecursionError):
        return action, None


def _given_words(given: Any, root: str) -> str:
    if isinstance(given, Mapping):
        listed = next((given[name] for name in _LISTS if isinstance(given.get(name), list)), None)
        if listed:
            return "".join(f"\n{_step(one)}" for one in listed)
        about = next((name for name in _ABOUT if isinstance(given.get(name), str)), "")
        first = [one_line(given[about].removeprefix(root), 4 * _VALUE_LIMIT)] if about else []
        others = (f"{name}={_value(value)}" for name, value in given.items() if name != about)
        return "  ".join([*first, *others])
    if isinstance(given, list):
        return "".join(f"\n{_step(one)}" for one in given)
    return _value(given)


def _step(one: Any) -> str:
    """Return a step of a plan with its state."""
    if not isinstance(one, Mapping):
        return _value(one)
    words = next((one[name] for name in ("content", "step", "text", "title") if isinstance(one.get(name), str)), None)
    if words is None:
        return _value(one)
    state = one.get("status")
    return f"[{state}] {words}" if isinstance(state, str) else words


def _value(value: Any) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _VALUE_LIMIT)


class EntryLine(NamedTuple):
    """Line of an entry. ``sign`` stands before it; a line of ``prose`` may be broken between its words."""

    sign: str
    text: str
    tone: Tone = "plain"
    prose: bool = False


def lines_of(entry: Entry, *, unfold: bool = False) -> list[EntryLine]:
    """Return the lines of an entry. Without ``unfold`` a long command, change or result is cut to some lines."""
    agent = f"[{entry.agent_id}] " if entry.agent_id else ""
    if entry.kind != "call":
        sign, tone = _MESSAGES[entry.kind]
        lines = f"{agent}{entry.text.strip()}".splitlines() or [""]
        if entry.kind == "note":
            return [EntryLine(" ", line, tone) for line in _folded(lines, _NOTE_LINES, 0, unfold)]
        return [EntryLine(" " if place else sign, line, tone, True) for place, line in enumerate(lines)]
    return [*_call_lines(entry, agent, unfold), *_diff_lines(entry, unfold), *_result_lines(entry, unfold)]


_MESSAGES: Mapping[str, tuple[str, Tone]] = {"asked": (">", "work"), "said": ("●", "plain"), "note": (" ", "quiet")}


def _call_lines(entry: Entry, agent: str, unfold: bool) -> Iterator[EntryLine]:
    sign = "±" if entry.diff else "$" if entry.tool == "bash" else "→"
    counts = f"  {_count(entry.diff)}" if entry.diff else ""
    lines = _folded(f"{agent}{entry.text.strip()}{counts}".splitlines(), _COMMAND_LINES, 0, unfold)
    for place, line in enumerate(lines):
        yield EntryLine(" " if place else sign, line, "work")


def _count(diff: str) -> str:
    lines = diff.splitlines()
    return f"+{sum(line.startswith('+') for line in lines)} -{sum(line.startswith('-') for line in lines)}"


def _diff_lines(entry: Entry, unfold: bool) -> Iterator[EntryLine]:
    tones: Mapping[str, Tone] = {"+": "good", "-": "bad", "@": "quiet", "…": "quiet"}
    for line in _folded(entry.diff.splitlines(), _DIFF_LINES, 0, unfold):
        yield EntryLine(" ", line, tones.get(line[:1], "plain"))


def _result_lines(entry: Entry, unfold: bool) -> Iterator[EntryLine]:
    if entry.result is None:
        return
    lines = entry.result.strip("\n").splitlines()
    if entry.failed:
        code = "" if entry.exit_code is None else f"exit {entry.exit_code}"
        shown = _folded(lines, _FIRST_OF_FAILURE, _LAST_LINES, unfold)
        yield EntryLine("✗", code or (shown[0] if shown else "failed"), "bad")
        yield from (EntryLine(" ", line, _tone_of(line)) for line in (shown if code else shown[1:]))
        return
    if not lines or (entry.diff and not unfold):
        yield EntryLine("✓", "", "quiet")
        return
    for place, line in enumerate(_folded(lines, _FIRST_LINES, 0, unfold)):
        yield EntryLine(" " if place else "✓", line, "quiet")


def _tone_of(line: str) -> Tone:
    return "quiet" if _LEFT_OUT.fullmatch(line) else "plain"


_LEFT_OUT = re.compile(r"… \d[\d,]* more lines")


def _folded(lines: Sequence[str], first: int, last: int, unfold: bool) -> list[str]:
    """Return the ``first`` and the ``last`` lines, and between them how many are left out."""
    left_out = len(lines) - first - last
    if unfold or left_out <= 1:
        return list(lines)
    return [*lines[:first], f"… {left_out:,} more lines", *(lines[-last:] if last else ())]
