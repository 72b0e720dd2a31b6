"""`unstuck diagnose` on input of any length: what is read, what is said of the rest, and that it can be stopped."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from unstuck.diagnosis.parsing.output_parser import parse_output
from unstuck.diagnosis.parsing.truncation import HEAD_LIMIT, TAIL_LIMIT
from unstuck_tui.cli.diagnose import command, ends_of

LAST = b"KeyError: 'the_end'\n"


class Endless(io.RawIOBase):
    """A stream that never ends, and counts what was read of it."""

    count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        assert size >= 0
        self.count += size
        return b"x" * size


def test_what_fits_is_read_whole() -> None:
    """Up to head and tail together nothing is cut, wherever they meet."""
    for size in (0, 1, 10, 29, 30):
        data = bytes(range(size))
        assert ends_of(io.BytesIO(data), 10, 20).data == data
    assert ends_of(io.BytesIO(bytes(31)), 10, 20).left_out == 1


def test_a_pipe_keeps_its_two_ends() -> None:
    """Of a long pipe the head and the very last bytes are kept, however it was written."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as stream:
            for number in range(30_000):
                stream.write(b"line %d\n" % number)

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(reading, "rb") as stream:
        ends = ends_of(stream, 100, 1_000)
    writer.join()
    head, tail = ends.data[:100], ends.data[-1_000:]
    assert head[:7] == b"line 0\n"
    assert tail[-11:] == b"line 29999\n"
    assert len(ends.data) == 1_101
    assert ends.left_out == ends.total - 1_100
    assert ends.ended


def test_a_file_is_not_read_in_between(tmp_path: Path) -> None:
    """A file of a terabyte costs no more than its two ends."""
    file = tmp_path / "huge.log"
    with file.open("wb") as stream:
        stream.write(b"begun\n")
        stream.truncate(2**40)
        stream.seek(2**40)
        stream.write(LAST)
    with file.open("rb") as stream:
        ends = ends_of(stream, 100, 1_000)
    assert ends.data.startswith(b"begun\n")
    assert ends.data.endswith(LAST)
    assert ends.total == 2**40 + len(LAST)
    assert ends.ended is True


def test_a_line_is_read_up_to_its_limit() -> None:
    """The rule's name at the end of a line is read, and no more so where thousands of characters stand before it."""
    for length, code in ((100, "no-undef"), (2_100, "")):
        assert parse_output(f"/home/dev/a.js\n  1:1  error  {'x' * length}  no-undef\n").code == code


def test_what_has_no_end_is_given_up() -> None:
    """Of a device without an end a bounded part is read, and it is said that reading stopped."""
    stream = Endless()
    ends = ends_of(stream, 100, 1_000, most=50_000)  # type: ignore[arg-type]
    assert not ends.ended
    assert len(ends.data) == 1_101
    assert stream.count <= 51_000


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    """The diagnosis is of the end, and one line on standard error says how much was not looked at."""
    file = tmp_path / "output.txt"
    file.write_bytes(b"all is well\n" * 100_000 + LAST)
    said = CliRunner().invoke(command, [str(file)])
    assert said.stdout.startswith("headline   KeyError: 'the_end'\n")
    assert said.stderr == "unstuck: looked at the first 16 KB and the last 64 KB of 1.1 MB\n"
    piped = CliRunner().invoke(command, [], input=file.read_bytes())
    assert piped.stdout == said.stdout
    assert piped.stderr == said.stderr
    assert CliRunner().invoke(command, [], input=LAST * (HEAD_LIMIT // len(LAST))).stderr == ""
    assert TAIL_LIMIT == 64 * 1024


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
def test_an_endless_device() -> None:
    """`unstuck diagnose /dev/zero` ends by itself."""
    said = CliRunner().invoke(command, ["/dev/zero"])
    assert said.exit_code == 7
    assert said.stderr.startswith("unstuck: stopped reading: ")


def test_an_interrupt_stops_the_reading() -> None:
    """Waiting for a pipe whose other end says no more can be stopped with ctrl+c."""
    start = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from unstuck_tui.cli import main; "
    )
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.argv[1:] = ['diagnose']; {start}main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    # More than a pipe holds: when it is written, somebody reads.
    process.stdin.write(b"x" * 2**20)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    with process:
        assert process.wait(30) == 130
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
