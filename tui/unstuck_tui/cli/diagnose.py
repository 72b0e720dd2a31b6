"""``unstuck diagnose``: what is this failure?"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import click

from unstuck.diagnosis.enums import ErrorCategory, FailureType
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.parsing.truncation import HEAD_LIMIT, TAIL_LIMIT
from unstuck.diagnosis.pipeline import diagnose
from unstuck.errors import NOTHING_RECOGNISED, UsageError
from unstuck.escalation.alternatives import alternatives
from unstuck.escalation.ladder import entry_rung
from unstuck.text import one_line
from unstuck_tui.cli.common import complain, echo, json_option, print_json

# Of what has no end, as /dev/zero, this much is read: a second's work.
MOST_READ = 2**30

ROW = 200


@dataclass(frozen=True, slots=True)
class Ends:
    """``data`` is everything, or the head and the tail with a line feed between them.

    ``total`` and ``left_out`` count bytes; ``ended`` is False where reading stopped before the end of the input.
    """

    data: bytes
    total: int
    left_out: int = 0
    ended: bool = True


def ends_of(stream: BinaryIO, head: int, tail: int, most: int = MOST_READ) -> Ends:
    """The first ``head`` and the last ``tail`` bytes of ``stream``. A file is not read in between, a pipe is.

    Waits for as long as the other end of a pipe does, and raises OSError as reading does.
    """
    # A read that goes on until it has all of it would not see a signal that comes in between, and then wait for ever.
    read = getattr(stream, "read1", stream.read)
    first, last = b"", bytearray()
    while len(first) < head and (chunk := read(head - len(first))):
        first += chunk
    total = len(first)
    skipped = max(0, _rest(stream) - tail)
    if skipped:
        stream.seek(skipped, os.SEEK_CUR)
        total, most = total + skipped, most + skipped
    # After an end of input a terminal would begin to wait again.
    is_over = len(first) < head
    while not is_over and total < most and (chunk := read(tail)):
        total += len(chunk)
        last += chunk
        if len(last) > 2 * tail:
            del last[:-tail]
    del last[:-tail]
    left_out = total - len(first) - len(last)
    return Ends(b"\n".join((first, last)) if left_out else first + last, total, left_out, total < most)


def _rest(stream: BinaryIO) -> int:
    """The bytes of a plain file that are still to come; 0 where that is unknown."""
    try:
        status = os.fstat(stream.fileno())
        return max(0, status.st_size - stream.tell()) if stat.S_ISREG(status.st_mode) else 0
    except OSError:
        return 0


@click.command(name="diagnose")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--exit-code", type=int, help="Exit code of the program; 0 is no failure.")
@json_option("One JSON object.")
@click.pass_context
def command(ctx: click.Context, file: Path | None, exit_code: int | None, as_json: bool) -> None:
    """Diagnose the failure in FILE, or on standard input, and show the recovery step.

    Exits with 7 if no failure is recognised.
    """
    found = diagnose(_read(file), exit_code=exit_code)
    if as_json:
        print_json([{"failure": found is not None, **(found.as_dict() if found else {})}])
    elif found is None:
        echo("no failure recognised")
    else:
        for name, value in _rows(found):
            echo(f"{name:<10} {value}", painted=False)
    ctx.exit(NOTHING_RECOGNISED if found is None else 0)


def _rows(found: Diagnosis) -> list[tuple[str, str]]:
    """The diagnosis as rows of a label and a text; empty ones are left out, but for the place."""
    signature, fields = found.signature, found.signature.metadata
    kinds = f"{found.failure_type.value}   category {found.category.value}   cause {found.cause.value}"
    about = [one_line(part, ROW) for part in signature.subject.split("\n") if part and part != fields.get("test")]
    rows = [
        ("headline", str(found.headline)),
        ("type", signature.error_type.value),
        ("where", signature.location or "not said"),
        ("in", fields.get("function", "")),
        ("test", one_line(fields.get("test", ""), ROW)),
        ("about", one_line(", ".join(about), ROW)),
        ("signature", found.identity),
        ("failure", kinds),
        ("wait", _wait(fields)),
        ("hint", str(found.fix_hint)),
        ("then", _then(found)),
    ]
    return [(name, value) for name, value in rows if value]


def _wait(fields: Mapping[str, str]) -> str:
    """The wait that the service asks for; empty where it names none."""
    if "retry_after" in fields:
        return f"{fields['retry_after']} s, says the service"
    until = fields.get("resets_at", "")
    if until.isdigit():
        until = f"{datetime.fromtimestamp(int(until), UTC):%Y-%m-%d %H:%M UTC}"
    return f"until {until}, says the service" if until else ""


def _read(file: Path | None) -> bytes:
    """The part of the input that is read; a line counts what is skipped."""
    ends = _ends(file)
    if ends.left_out:
        read = f"the first {_size(HEAD_LIMIT)} and the last {_size(TAIL_LIMIT)} of {_size(ends.total)}"
        complain(f"looked at {read}" if ends.ended else f"stopped reading: looked at {read}")
    return ends.data


def _ends(file: Path | None) -> Ends:
    if file is None or str(file) == "-":
        if sys.stdin is None:
            raise UsageError("standard input is closed: name a file with the failure's output")
        if sys.stdin.isatty():
            complain("reading from standard input: paste the output and press ctrl+d, or name a file")
        return ends_of(sys.stdin.buffer, HEAD_LIMIT, TAIL_LIMIT)
    try:
        with file.open("rb") as stream:
            return ends_of(stream, HEAD_LIMIT, TAIL_LIMIT)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from error


def _size(count: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 2**10:.0f} KB"


def _then(found: Diagnosis) -> str:
    if found.category is ErrorCategory.TRANSIENT:
        time = "as long as it says" if _wait(found.signature.metadata) else "1, 2, 4 seconds"
        return f"wait {time} and try the same again; after that, treat it like any other failure"
    if found.failure_type is FailureType.CONTEXT_EXHAUSTED:
        return "save the progress and continue in a new session with a summary"
    rung = entry_rung(found.cause)
    if rung == "pivot":
        return f"new approach, for example: {alternatives(found.cause)[0].name}"
    if rung == "retry" and found.failure_type is FailureType.BROKEN_BUILD:
        return "restore the last passing checkpoint, then retry with the hint"
    return {"retry": "retry with the hint", "research": "read the code around it, then try a new approach"}[rung]
