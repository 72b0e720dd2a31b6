"""Commands on the memory of a project: list, find, and turn an answer into a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from unstuck.clock import iso
from unstuck.errors import RecordError, UsageError
from unstuck.eventlog.memory.entry import Kind, Remembered, learnt, rule_words
from unstuck.eventlog.memory.offers import TOLD, Offer, offers
from unstuck.eventlog.memory.store import Memory, memory_file
from unstuck.text import one_line
from unstuck.workspace.project import Project


def memory_of(place: Project) -> Memory:
    """Return the memory of the project from disk. Raises RecordError."""
    memory = Memory(memory_file(place.home))
    memory.load()
    return memory


def memory_damage(place: Project) -> str:
    """Return one line about the part of the memory that cannot be read and is left out; empty without any."""
    try:
        memory = memory_of(place)
    except RecordError as error:
        return str(error)
    lines = "1 line is" if memory.skipped == 1 else f"{memory.skipped} lines are"
    return f"{memory.path}: {lines} damaged and left out" if memory.skipped else ""


def memory_rows(memory: Memory, kind: Kind | None = None) -> Iterator[dict[str, Any]]:
    """Yield a row for each entry, oldest first. ``holds`` is true for a rule that agents get.

    ``given``, ``worked`` and ``runs`` are the evidence of an answer that is offered as a rule.
    """
    offered = offers(memory.entries())
    newest: dict[str, Remembered] = {entry.signature: entry for entry in reversed(memory.entries("rule"))}
    for entry in reversed(memory.entries(kind)):
        row = {"memory": entry.id} | asdict(entry)
        if entry.kind == "rule":
            row["holds"] = newest[entry.signature] is entry and entry.outcome != "failed"
        if (offer := offered.get(entry.id)) is not None:
            row |= {"given": offer.times, "worked": offer.worked, "runs": list(offer.runs)}
        yield row


def offer_in(memory: Memory) -> list[Offer]:
    """Return the answers that are offered as rules, oldest first."""
    found = {offer.id: offer for offer in offers(memory.entries()).values()}
    return list(found.values())[::-1]


def found(memory: Memory, wanted: Iterable[str]) -> tuple[Remembered, ...]:
    """Return the entries with these ids, or unique starts of ids. Raises UsageError for an unknown one."""
    known = {entry.id: entry for entry in memory.entries()}
    return tuple(_found(known, one) for one in wanted)


def _found(known: dict[str, Remembered], wanted: str) -> Remembered:
    matching = [id for id in known if wanted and id.startswith(wanted)]
    if len(matching) == 1:
        return known[matching[0]]
    if matching:
        raise UsageError(f"{one_line(wanted, 80)} could be any of: {', '.join(matching[:5])}")
    raise UsageError(f"nothing is remembered as {one_line(wanted, 80)}; `unstuck memory list` says what is")


def made_rule(memory: Memory, answer: Remembered, now: float) -> Remembered:
    """Turn an answer into a rule that agents get for every match. It is synced when this returns.

    ``now`` is in seconds since 1970. Raises UsageError for an answer without text for an agent, and RecordError.
    """
    if answer.kind != "answer" or answer.approach not in TOLD or not answer.note.strip():
        raise UsageError(f"{answer.id} cannot be made a rule: only a show-me or a retry with words can")
    words = rule_words(answer.approach, answer.note)
    holding = memory.rule(answer.signature)
    if holding is not None and holding.note == words:
        return holding
    rule = learnt("rule", signature=answer.signature, note=words, task=answer.task, run=answer.run, when=iso(now))
    memory.remember(rule)
    memory.sync()
    return rule
