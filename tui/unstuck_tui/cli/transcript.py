"""``unstuck show --transcript``: what an agent said and did, for people and for programs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from unstuck.errors import UsageError
from unstuck.eventlog.state import State, TaskRow
from unstuck.eventlog.storage.durable_files import open_for_reading
from unstuck.history.entries import Entry, lines_of
from unstuck.history.locations import kept_session
from unstuck.history.output_reader import OutputReader
from unstuck.runs.queries.run_list import is_live, state_of
from unstuck.runs.view.outputs import name_of, session_of, workdir_of
from unstuck.text import admit
from unstuck.words.did_you_mean import near
from unstuck.workspace.project import Project
from unstuck_tui.cli.common import complain, echo, print_json

_PIECE = 2**16
_PAUSE_S = 0.5


def show_transcript(
    place: Project, run: str, task: str, *, attempt: int, full: bool, raw: bool, as_json: bool, follow: bool = False
) -> None:
    """Print what the agent of ``task`` said and did; ``raw``: as it was printed. Raises UsageError.

    With ``follow`` it prints on until the attempt has ended.
    """
    state, _ = state_of(place, run)
    row = state.tasks.get(task)
    if row is None:
        raise UsageError(f"run {run} has no task {task}{near(task, state.tasks)}: {', '.join(state.tasks) or 'none'}")
    path = _file(place, run, state, row, attempt)
    reader, name = OutputReader(path, root=workdir_of(state, row)), f"{task}.{attempt or row.attempts}"

    def is_working() -> bool:
        found = state_of(place, run)[0].attempts.get(name)
        return follow and found is not None and found.is_live and is_live(place, run)

    try:
        if not raw and is_working():
            for entry in _followed(reader, is_working):
                print_entries((entry,), full=full, as_json=as_json)
            if reader.read(is_ended=True) is not None:
                return
        is_empty = path.stat().st_size == 0 and not is_working()
        entries = None if raw else reader.read(is_ended=True)
    except OSError as error:
        raise UsageError(f"{path.name} cannot be read: {error.strerror or error}") from None
    if is_empty:
        complain(f"the agent of {task} printed nothing in attempt {attempt or row.attempts}")
    elif entries is None and as_json:
        print_json({"kind": "output", "text": line} for line in _printed(path, is_working))
    elif entries is None:
        _print(_printed(path, is_working))
    else:
        print_entries(entries, full=full, as_json=as_json)


def print_entries(entries: Iterable[Entry], *, full: bool, as_json: bool) -> None:
    """Print the entries; long parts are cut to some lines unless ``full``."""
    if as_json:
        print_json(_row(entry) for entry in entries)
        return
    lines = (line for entry in entries for line in lines_of(entry, unfold=full))
    _print(f"{line.sign} {line.text}".rstrip() for line in lines)


def _file(place: Project, run: str, state: State, row: TaskRow, attempt: int) -> Path:
    number = attempt or row.attempts
    if not 0 < number <= row.attempts:
        had = f"it had {row.attempts}" if row.attempts else "it has not started yet"
        raise UsageError(f"task {row.id} has no attempt {number}: {had}" if attempt else f"task {row.id}: {had}")
    if state.run.kind == "watch":
        found = kept_session(row.task.agent, session_of(state, row), os.environ)
        if found is None:
            raise UsageError(f"the session of {row.id} keeps no transcript here")
        return found
    path = place.runs / run / "output" / f"{name_of(state, f'{row.id}.{number}')}.log"
    if not path.is_file():
        raise UsageError(f"attempt {number} of {row.id} has left no output")
    return path


def _followed(reader: OutputReader, is_working: Callable[[], bool]) -> Iterator[Entry]:
    """Yield each entry once it is whole, a call with its result, until the agent has ended. Raises OSError."""
    seen, works = 0, True
    while works:
        works = is_working()
        entries = reader.read(is_ended=not works) or ()
        first = reader.total - min(len(entries), reader.kept)
        for number, entry in enumerate(entries, first):
            is_open = (entry.kind == "call" and entry.result is None) or number >= reader.total - (entry.kind == "note")
            if works and number >= seen and is_open:
                break
            if number >= seen:
                yield entry
                seen = number + 1
        time.sleep(_PAUSE_S if works else 0)


def _printed(path: Path, is_working: Callable[[], bool]) -> Iterator[str]:
    """Yield the lines as the agent printed them, without what acts on a terminal. Raises OSError."""
    with open_for_reading(path) as file:
        rest, works = b"", True
        while works:
            works = is_working()
            while piece := file.readlines(_PIECE):
                for line in piece:
                    rest += line
                    if line.endswith(b"\n"):
                        yield admit(rest.rstrip(b"\r\n"), limit=max(20_000, len(rest)))
                        rest = b""
            time.sleep(_PAUSE_S if works else 0)
        if rest:
            yield admit(rest.rstrip(b"\r"), limit=max(20_000, len(rest)))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        echo(line, painted=False)


def _row(entry: Entry) -> dict[str, Any]:
    """Return the JSON object of an entry; a call without a result has ended nowhere."""
    row: dict[str, Any] = {"kind": entry.kind, "text": entry.text}
    row |= {name: value for name in ("at", "agent_id", "tool", "diff") if (value := getattr(entry, name))}
    if entry.result is not None:
        row |= {"step": entry.step, "failed": entry.failed, "exit_code": entry.exit_code, "result": entry.result}
    return row
