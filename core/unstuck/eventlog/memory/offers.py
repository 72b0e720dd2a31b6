"""Answers that a person has given repeatedly to the same failure, offered as rules. Pure; nothing applies them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from unstuck.eventlog.memory.entry import Remembered, rule_words

TOLD = ("show_me", "retry")
"""Answers with words for an agent, which alone can be a rule."""
OFFERED_AT = 3
"""Number of equal answers to the same failure at which they are offered as a rule."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An answer that was given ``times``. It ``worked`` in so many of the ``judged`` whose outcome is known.

    ``id`` is its newest entry, which can be promoted. ``runs`` are those of the answers, oldest first.
    """

    id: str
    signature: str
    choice: str
    text: str
    times: int
    worked: int
    judged: int
    runs: tuple[str, ...]

    @property
    def words(self) -> str:
        """Return the evidence in words: ``given 3 times to this failure, worked 2 of 2``."""
        worked = f", worked {self.worked} of {self.judged}" if self.judged else ""
        return f"given {self.times} times to this failure{worked}"


def offers(entries: Iterable[Remembered], last: Remembered | None = None) -> dict[str, Offer]:
    """Return what is offered among ``entries`` (newest first), by the ids of its answers.

    With ``last``, an answer just given that ``entries`` may not hold yet, only the offer of answers equal to it.
    """
    every = list(entries)
    groups: dict[tuple[str, str, str], list[Remembered]] = {}
    for entry in every:
        if entry.kind == "answer" and entry.approach in TOLD and entry.note.strip():
            groups.setdefault(_meaning(entry), []).append(entry)
    last_rule: dict[str, Remembered] = {entry.signature: entry for entry in reversed(every) if entry.kind == "rule"}
    found: dict[str, Offer] = {}
    for meaning, group in groups.items():
        if (last is not None and meaning != _meaning(last)) or _is_known(last_rule.get(group[0].signature), group[0]):
            continue
        if (offer := _offer(group, last)) is not None:
            found |= dict.fromkeys((entry.id for entry in group), offer)
    return found


def _offer(group: Sequence[Remembered], last: Remembered | None) -> Offer | None:
    """Return the offer of equal answers, newest first, and of the ``last`` one where they do not hold it yet."""
    given = {(entry.run, entry.task, entry.when): entry for entry in reversed(group)}
    places = dict.fromkeys((*given, *([(last.run, last.task, last.when)] if last else ())))
    if len(places) < OFFERED_AT:
        return None
    newest, judged = group[0], [entry for entry in given.values() if entry.outcome]
    return Offer(
        id=newest.id,
        signature=newest.signature,
        choice=newest.approach,
        text=newest.note,
        times=len(places),
        worked=sum(entry.outcome == "worked" for entry in judged),
        judged=len(judged),
        runs=tuple(dict.fromkeys(run for run, _, _ in places)),
    )


def _meaning(answer: Remembered) -> tuple[str, str, str]:
    return answer.signature, answer.approach, _plain(answer.note)


def _is_known(rule: Remembered | None, answer: Remembered) -> bool:
    """Return whether the answer is a rule already, or was one that did not help."""
    return rule is not None and _plain(rule.note) == _plain(rule_words(answer.approach, answer.note))


def _plain(text: str) -> str:
    """Return ``text`` as it is compared: without differences in case and blanks."""
    return " ".join(text.split()).casefold()
