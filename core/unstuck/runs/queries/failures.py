"""Failures of all runs of a project, each once, with count, escalation level and resolution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from unstuck.diagnosis.signatures.signature import FailureSignature
from unstuck.errors import RecordError
from unstuck.eventlog.memory.store import Memory, memory_file
from unstuck.eventlog.summary_rows import RUNGS, SignatureRow
from unstuck.runs.queries.run_list import states_of
from unstuck.workspace.project import Project

GROUPED = 300
"""Each of so many is compared with the first of every group; those after them stand alone."""


@dataclass(slots=True)
class _Failure:
    """One failure over several runs. ``tasks`` are pairs of run and task."""

    row: SignatureRow
    count: int = 0
    first: str = ""
    last: str = ""
    rung: str = "first"
    worked: str = ""
    tasks: dict[tuple[str, str], None] = field(default_factory=dict)

    def add(self, run: str, row: SignatureRow) -> None:
        self.count += row.count
        self.first = min(self.first or row.first, row.first)
        if row.last >= self.last:
            self.row, self.last = row, row.last
        self.rung = max(self.rung, row.rung, key=RUNGS.index)
        self.worked = row.worked or self.worked
        self.tasks |= dict.fromkeys((run, task) for task in row.tasks)


def failure_rows(
    place: Project,
    runs: Iterable[str],
    complain: Callable[[str], None] = lambda said: None,
    *,
    remembered: bool = True,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each failure in ``runs`` (oldest first), the most frequent first.

    ``complain`` gets a line for each log that cannot be read. Records before a damage count. ``remembered``: with the
    resolutions that the project's memory knows from other runs.
    """
    seen = ((run, state.signatures.values()) for run, state in states_of(place, runs, complain))
    yield from rows_of(seen, learnt_in(place) if remembered else {})


def rows_of(seen: Iterable[tuple[str, Iterable[SignatureRow]]], worked: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield these rows for the signatures of each run (oldest first). ``worked`` maps failures to known resolutions.

    ``runs`` and ``tasks`` of a row are sorted; times are ISO 8601.
    """
    found: dict[str, _Failure] = {}
    for run, rows in seen:
        for row in rows:
            found.setdefault(row.identity, _Failure(row)).add(run, row)
    ordered = sorted(found.values(), key=lambda failure: failure.last, reverse=True)
    for failure in sorted(ordered, key=lambda failure: failure.count, reverse=True):
        yield _row(failure, worked.get(failure.row.identity, ""))


def learnt_in(place: Project) -> dict[str, str]:
    """Return the resolution of each failure in the memory of the project; empty if it cannot be read."""
    memory = Memory(memory_file(place.home))
    with suppress(RecordError):
        memory.load()
    return _learnt(memory)


def _learnt(memory: Memory) -> dict[str, str]:
    """Return the newest resolution of each failure in the memory."""
    worked: dict[str, str] = {}
    for entry in memory.entries():
        if entry.outcome == "worked" and entry.kind in ("approach", "answer"):
            said = entry.note if entry.kind == "answer" and entry.note else entry.approach
            worked.setdefault(entry.signature, f"your answer: {said}" if entry.kind == "answer" else said)
    return worked


def _row(failure: _Failure, learnt: str) -> dict[str, Any]:
    row = failure.row
    return {
        "signature": row.identity,
        "count": failure.count,
        "first": failure.first,
        "last": failure.last,
        "error_type": row.error_type,
        "failure_type": row.failure_type,
        "category": row.category,
        "location": row.location,
        "headline": row.headline,
        "tasks": sorted({task for _, task in failure.tasks}),
        "runs": sorted({run for run, _ in failure.tasks}),
        "rung": failure.rung,
        "worked": failure.worked or learnt,
    }


def groups_of(identities: Sequence[str], signatures: Mapping[str, FailureSignature]) -> dict[str, str]:
    """For each of ``identities`` the one that speaks for its group; itself where it is like none before it.

    Two are alike as :meth:`FailureSignature.is_similar_to` says (0.7). What has no signature stands alone.
    """
    speakers: list[FailureSignature] = []
    names: list[str] = []
    found: dict[str, str] = {}
    for place, identity in enumerate(identities):
        found[identity] = identity
        signature = signatures.get(identity)
        if signature is None or place >= GROUPED:
            continue
        speaker = next((name for name, one in zip(names, speakers, strict=True) if one.is_similar_to(signature)), "")
        if speaker:
            found[identity] = speaker
        else:
            speakers.append(signature)
            names.append(identity)
    return found
