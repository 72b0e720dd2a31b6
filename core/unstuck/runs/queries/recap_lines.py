"""A recap as at most ten lines, each with the numbers of the events behind it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from unstuck.runs.queries.recap import Needed, RecapFacts, Used
from unstuck.text import one_line
from unstuck.words.amounts import span, time_of_day, tokens_of
from unstuck.words.labels import ended_as, question_words, some

# With one line each for questions, the run, other ends, waits and usage these make ten.
_MOST_PASSED, _MOST_DECIDED, _MOST_WAITS = 2, 3, 3
_NAMED = 3
_EVENTS = 4
_LINE = 160
_SUBJECT = 60


class RecapLine(NamedTuple):
    """One line: its ``kind``, its text, and all ``events`` behind it, of which ``shown`` names some."""

    kind: str
    text: str
    events: tuple[int, ...]

    @property
    def shown(self) -> str:
        """The text with the numbers of its events."""
        return f"{self.text} ({_numbers(self.events)})"

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "text": self.text, "events": list(self.events)}


def recap_lines(facts: RecapFacts, *, live: bool = True) -> list[RecapLine]:
    """Return the lines, what needs the person first. ``live`` says whether a supervisor is at work on the run."""
    if not facts.last:
        return []
    return [RecapLine(kind, text, tuple(sorted(set(events)))) for kind, text, events in _lines(facts, live)]


def _lines(facts: RecapFacts, live: bool) -> Iterator[tuple[str, str, Iterable[int]]]:
    if facts.needed:
        yield "needs", *_needs(facts.needed)
    yield "run", f"run {facts.run}: {_state(facts, live)}", (facts.changed or facts.last, facts.last)
    for number, passed in enumerate(facts.passed[:_MOST_PASSED], start=1):
        rest = facts.passed[_MOST_PASSED:] if number == _MOST_PASSED else ()
        more = f"; {_some([task for one in rest for task in one.tasks])} by other checks" if rest else ""
        events = [*passed.events, *(seq for one in rest for seq in one.events)]
        check = _words(passed.command, _SUBJECT) or "the check"
        yield "passed", f"passed: {_some(passed.tasks)} by {check}{more}", events
    if facts.ended:
        parts = [
            ": ".join(filter(None, (one.status, _some(one.tasks), _words(one.reason, _LINE)))) for one in facts.ended
        ]
        yield "ended", "; ".join(parts), [seq for one in facts.ended for seq in one.events]
    for decided in facts.decided[:_MOST_DECIDED]:
        words = ", ".join(f"{count}× {word}" for word, count in decided.words)
        about = f" ({_some(decided.tasks)})" if decided.tasks else ""
        yield "decided", f"decided without you by {decided.actor}: {_words(words, _LINE)}{about}", decided.events
    if facts.waited:
        waits = facts.waited[:_MOST_WAITS]
        parts = [f"{_words(one.task, _SUBJECT)} {span(one.seconds)} for {one.what}" for one in waits]
        yield "waited", f"waited: {', '.join(parts)}", [seq for one in waits for seq in one.events]
    if facts.used is not None:
        yield "used", _used(facts.used), facts.used.events


def _needs(needed: Sequence[Needed]) -> tuple[str, list[int]]:
    first, *others = needed
    gate = first.gate
    asked = ": ".join(filter(None, question_words(gate.gate.type, gate.gate.context)))
    why = f"{_some(first.blocks)} {'waits' if len(first.blocks) == 1 else 'wait'} for it" if first.blocks else ""
    since = f"open since {time_of_day(gate.opened)}" if gate.opened else ""
    reason = ", ".join(filter(None, (why, since)))
    more = f"; then {_some([one.gate.id for one in others])}" if others else ""
    text = f"needs you first: {_words(gate.gate.task or 'the run', _SUBJECT)}: {_words(asked, _LINE)}"
    return f"{text}{f' ({reason})' if reason else ''}: unstuck answer {gate.id}{more}", [
        seq for one in needed for seq in one.events
    ]


def _state(facts: RecapFacts, live: bool) -> str:
    if facts.state in ("ended", "parked") and facts.exit_reason:
        state = ended_as(facts.exit_reason)
    elif live:
        state = {"running": "at work", "draining": "stopping"}.get(facts.state, facts.state)
    else:
        state = "interrupted: its supervisor is gone"
    return state if facts.happened else f"{state}; nothing has happened since then"


def _used(used: Used) -> str:
    attempts = f"{used.attempts} {'attempt' if used.attempts == 1 else 'attempts'}" if used.attempts else ""
    work = f"{span(used.seconds)} of work" if used.seconds >= 1 else ""
    cost = f"${used.cost:,.2f}" if used.cost else ""
    return (
        f"used: {', '.join(filter(None, (attempts, work, tokens_of(used.tokens), cost))) or 'nothing that is counted'}"
    )


def _some(names: Sequence[str]) -> str:
    return some([_words(name, _SUBJECT) for name in names], _NAMED)


def _words(text: str, most: int) -> str:
    """Return ``text`` in one line, cut between words: half a number would be one that no event has."""
    line = one_line(text, 4_000)
    if len(line) <= most:
        return line
    return f"{line[:most].rpartition(' ')[0]} …".lstrip()


def _numbers(events: Sequence[int]) -> str:
    if len(events) <= _EVENTS:
        return " ".join(f"#{seq}" for seq in events)
    return " ".join(f"#{seq}" for seq in events[: _EVENTS - 1]) + f" … #{events[-1]}"
