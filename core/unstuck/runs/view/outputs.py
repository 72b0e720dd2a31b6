"""Output of a task's check and agent, and the prompt of its agent, as a screen shows them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unstuck.contract import APART
from unstuck.eventlog.state import State, TaskRow
from unstuck.eventlog.storage.text_files import read_piece
from unstuck.history.entries import Entry
from unstuck.history.locations import kept_session
from unstuck.text import Clean, admit
from unstuck.words.labels import awaited_host, held_word, is_checking

if TYPE_CHECKING:
    from unstuck.history.output_reader import OutputReader


OutputKind = Literal["check", "agent", "prompt"]
_TAIL = 16_384


@dataclass(frozen=True, slots=True)
class OutputTail:
    """The end of what a check or an agent printed or an agent was told, and a ``note`` about it; may be empty.

    ``entries`` are what the agent said and did; None where it printed plain text.
    """

    text: str = ""
    note: str = ""
    entries: tuple[Entry, ...] | None = None


class Outputs:
    """Outputs of the tasks of one run. It remembers how far it has read the agent's that was looked at last."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._reader: OutputReader | None = None
        self._session: tuple[str, str] = ("", "")
        self._transcript: Path | None = None

    async def tail(
        self, log: Path, state: State, task: str, kind: OutputKind, *, live: bool, limit: int = 0
    ) -> OutputTail:
        """Return the end of what is of ``kind``.

        Of the agent's output ``limit`` bytes are kept while the attempt is ``live``.
        """
        row = state.tasks.get(task)
        if row is None:
            return OutputTail()
        if kind == "check":
            return await _check_output(log.parent / "output", state, row, live=live)
        if kind == "prompt":
            return await _prompt(log.parent / "prompts", state, row)
        if not row.attempt:
            return OutputTail(note="no output yet")
        at_work = live and row.state == "running"
        path = log.parent / "output" / f"{name_of(state, row.attempt)}.log"
        name = _attempt_words(state, row)
        if state.run.kind == "watch":
            return await self._of_session(state, row, at_work=at_work)
        try:
            text, size = await _tail(path)
            entries = await self._entries(path, root=workdir_of(state, row), is_ended=not at_work)
        except OSError:
            return OutputTail(note=f"{name} leaves no output")
        if at_work and size >= limit - limit // 2:
            note = f"{name} prints more than is kept: the end is shown when it ends"
        else:
            note = f"{name} {_standing(state, row)}" if at_work else f"end of {name}"
        return OutputTail(text, note, entries)

    async def _of_session(self, state: State, row: TaskRow, *, at_work: bool) -> OutputTail:
        """Return the end of the transcript that the agent of a watched session keeps."""
        wanted = row.task.agent, session_of(state, row)
        if self._transcript is None or self._session != wanted:
            self._session = wanted
            self._transcript = await asyncio.to_thread(kept_session, *wanted, self._environ)
        try:
            if self._transcript is None:
                raise FileNotFoundError
            text, _ = await _tail(self._transcript)
            entries = await self._entries(self._transcript, root=workdir_of(state, row), is_ended=not at_work)
        except OSError:
            return OutputTail(note="its session keeps no transcript that can be read")
        return OutputTail(text, "its session is at work" if at_work else "end of its session", entries)

    async def _entries(self, path: Path, *, root: str, is_ended: bool) -> tuple[Entry, ...] | None:
        """Return what was said and done according to the file at ``path``; None for plain text. Raises OSError."""
        from unstuck.history.output_reader import OutputReader

        reader = self._reader
        if reader is None or reader.path != path:
            reader = self._reader = OutputReader(path, root=root)
        return await asyncio.to_thread(reader.read, is_ended=is_ended)


def _standing(state: State, row: TaskRow) -> str:
    """Return whether the agent of ``row`` is at work, held or suspended."""
    attempt, gate = state.attempts.get(row.attempt), state.gates.get(row.gate)
    standing = gate.gate.standing if gate is not None else ""
    if awaited := awaited_host(state, row):
        return awaited
    if attempt is None or attempt.state != "held" or standing == "runs_on":
        return "is at work"
    return f"is {held_word(state, row)}"


def name_of(state: State, attempt: str) -> str:
    """Return the name of the files that hold the output and the prompt of ``attempt``."""
    row = state.attempts.get(attempt)
    return row.shown if row is not None else attempt


def _attempt_words(state: State, row: TaskRow) -> str:
    """Return the attempt whose output is shown; of several approaches, with the number of the one."""
    attempt = state.attempts.get(row.attempt)
    several = attempt is not None and attempt.guidance.ways
    slot = name_of(state, row.attempt).partition(APART)[2] or "1"
    return f"{f'approach {slot} of ' if several else ''}attempt {row.attempts}"


def session_of(state: State, row: TaskRow) -> str:
    """Return the agent's own session; empty if it has named none."""
    attempt = state.attempts.get(row.attempt)
    return row.session or (attempt.session if attempt is not None else "")


def workdir_of(state: State, row: TaskRow) -> str:
    """Return the directory in which the agent works; empty if it has none yet."""
    attempt = state.attempts.get(row.attempt)
    return str(attempt.guidance.workdir) if attempt is not None else ""


async def _check_output(folder: Path, state: State, row: TaskRow, *, live: bool) -> OutputTail:
    """The check's output; of a file that is gone, the end of it that the log kept."""
    if live and is_checking(state, row):
        with suppress(OSError):
            text, _ = await _tail(folder / f"{row.attempt or f'{row.id}.baseline'}.check.log")
            return OutputTail(text, "the check runs" if row.attempt else "the check runs before any work")
    check = row.check
    if check is None or check.result == "none":
        return OutputTail(note="its check has not run yet" if row.task.verify else "it has no check")
    note = "the check passed" if check.result == "passed" else f"the check failed with exit code {check.exit_code}"
    if check.exit_code is None and check.result != "passed":
        note = check.problem or "the check could not run"
    try:
        return OutputTail((await _tail(folder / Path(check.output).name))[0], note)
    except OSError:
        return OutputTail(check.evidence, note)


async def _prompt(folder: Path, state: State, row: TaskRow) -> OutputTail:
    """The last prompt of the agent; before the first attempt the task's own prompt."""
    if not row.attempt:
        return OutputTail(row.task.prompt, "its prompt; it has not started yet")
    try:
        text, size = await _tail(folder / f"{name_of(state, row.attempt)}.txt")
    except OSError:
        return OutputTail(row.task.prompt, "its prompt")
    note = f"{'the end of the ' * (size > _TAIL)}prompt of {_attempt_words(state, row)}"
    return OutputTail(text, note)


async def _tail(path: Path) -> tuple[Clean, int]:
    """The end of a file from the beginning of a line on, and the size of all of it. Raises OSError."""
    raw, size = await read_piece(path, -_TAIL, _TAIL)
    if size > _TAIL:
        raw = raw.partition(b"\n")[2] or raw
    return await asyncio.to_thread(admit, raw, limit=2 * _TAIL), size
