"""A search in a log, from typed words: ``task:web* type:gate_opened by:human timeout``. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from unstuck.eventlog.events import EVENTS
from unstuck.eventlog.log.record_reader import Wanted

_ACTORS = {"human": "human", "you": "human", "policy": "policy", "rule": "policy", "timer": "timer", "agent": "agent"}
_PLAIN = re.compile(r"[0-9A-Za-z_.-]+")
_KEYS = ("task:", "type:", "by:", "failure:")


class QueryProblem(ValueError):
    """Words that nothing can be looked for with; its text says why."""


@dataclass(frozen=True)
class Query:
    """``words`` stand in a line, in whatever case; ``wanted`` is about its envelope."""

    wanted: Wanted = field(default_factory=Wanted)
    words: tuple[re.Pattern[bytes], ...] = ()

    @property
    def is_empty(self) -> bool:
        return self == Query()

    def finds(self, line: bytes) -> bool:
        """True for a ``line`` whose record matches; False for a line that is none."""
        if not all(word.search(line) for word in self.words):
            return False
        if self.wanted == Wanted():
            return True
        try:
            return self.wanted.finds(line)
        except (RecursionError, ValueError):
            return False

    @cached_property
    def hint(self) -> re.Pattern[bytes] | None:
        """A pattern that every matching line holds, as this program writes it; None where there is none."""
        if self.words:
            return self.words[0]
        wanted = self.wanted
        if wanted.types:
            return _one_of("event", wanted.types)
        if wanted.actors:
            return _one_of("actor", wanted.actors)
        plain = wanted.tasks and all(_PLAIN.fullmatch(task) for task in wanted.tasks)
        return _one_of("task", wanted.tasks) if plain else None

    def of_task(self, task: str) -> Query:
        """The same, of this task only."""
        return replace(self, wanted=replace(self.wanted, tasks=(task,)))

    def without_me(self) -> Query:
        """The same, and only what was decided, and not by a person."""
        return replace(self, wanted=replace(self.wanted, without_me=True))


def _one_of(key: str, values: Iterable[str]) -> re.Pattern[bytes]:
    either = "|".join(re.escape(value) for value in sorted(values))
    return re.compile(f'"{key}":"(?:{either})"'.encode())


def query_of(text: str) -> Query:
    """The query that these words make. Raises QueryProblem for an unknown event or actor."""
    tasks: list[str] = []
    types: set[str] = set()
    actors: set[str] = set()
    words: list[re.Pattern[bytes]] = []
    signature = ""
    for part in text.split():
        key = next((key for key in _KEYS if part.casefold().startswith(key)), "")
        value = part[len(key) :]
        if key and not value:
            continue
        if key == "task:":
            tasks.append(value)
        elif key == "type:":
            types.update(_types(value))
        elif key == "by:":
            actors.add(_actor(value))
        elif key == "failure:":
            signature = value
        else:
            words.append(_word(part))
    wanted = Wanted(
        tasks=tuple(tasks), types=frozenset(types), actors=frozenset(actors), signature=signature
    )  # fmt: skip
    return Query(wanted, tuple(words))


def _types(value: str) -> list[str]:
    """Every event whose name begins so: the word may not be typed to its end."""
    found = [name for name in EVENTS if name.startswith(value.casefold())]
    if not found:
        raise QueryProblem(f"there is no event {value}")
    return found


def _actor(value: str) -> str:
    found = next((actor for name, actor in _ACTORS.items() if name.startswith(value.casefold())), "")
    if not found:
        raise QueryProblem(f"there is no actor {value}: {', '.join(_ACTORS)}")
    return found


def _word(word: str) -> re.Pattern[bytes]:
    """``word`` as a line of the log spells it, in which what is not ASCII is escaped."""
    spelled = json.dumps(word)[1:-1].encode("ascii")
    return re.compile(re.escape(spelled), re.IGNORECASE)
