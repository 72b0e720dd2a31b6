"""Output: every byte kept as it came, within a limit, without a cost per line."""

from __future__ import annotations

import json
import os
import stat
import tracemalloc
from pathlib import Path

import pytest
from tests.processes.conftest import Lab

from unstuck.processes.shim.output import Output
from unstuck.processes.shim.pipe_loop import Loop, Reports


async def test_binary_output_is_kept_byte_for_byte(lab: Lab) -> None:
    """Bytes that are no text in any encoding arrive unchanged, and nobody else may read them."""
    source = lab.directory / "source"
    source.write_bytes(bytes(range(256)) * 4096 + b"\xff\xfe\x00no newline")
    end = await (await lab.start(lab.launch("cat", "source"))).wait()
    assert lab.output.read_bytes() == source.read_bytes()
    assert end.bytes == source.stat().st_size
    assert stat.S_IMODE(lab.output.stat().st_mode) == 0o600


async def test_one_line_of_ten_megabytes(lab: Lab) -> None:
    """A line without end neither stops the reader nor is lost."""
    end = await (await lab.shell("head -c 10485760 /dev/zero")).wait()
    assert end.code == 0
    assert end.bytes == 10 * 2**20
    assert lab.output.stat().st_size == 10 * 2**20


async def test_a_flood_keeps_its_first_and_its_last_half(lab: Lab) -> None:
    """Beyond the limit the middle is left out, with a line that says how much; what comes last begins with a line."""
    source = lab.directory / "source"
    source.write_bytes(b"".join(b"%07d\n" % number for number in range(400_000)))
    whole = source.read_bytes()
    end = await (await lab.start(lab.launch("cat", "source", limit=1001))).wait()
    marker = b"\n[... %d bytes left out ...]\n" % (len(whole) - 501 - 496)
    assert lab.output.read_bytes() == whole[:501] + marker + whole[-496:]
    assert end.bytes == len(whole)


@pytest.mark.parametrize("size", [500, 1 << 16], ids=["small", "large"])
def test_a_flood_takes_no_more_memory_than_is_kept_of_it(tmp_path: Path, size: int) -> None:
    """The newest half of an endless output is kept, in small pieces or large ones."""
    line, keep = b"x" * (size - 1) + b"\n", 1 << 21
    output = Output(str(tmp_path / "output"), 2 * keep)
    output.add(line * (2 * keep // size))  # the rules about secrets are loaded with the first bytes
    tracemalloc.start()
    try:
        for _ in range(4 * keep // size):
            output.add(bytes(bytearray(line)))
        output.close()
        assert tracemalloc.get_traced_memory()[1] < 2 * keep
    finally:
        tracemalloc.stop()
    assert (tmp_path / "output").stat().st_size < 2 * keep + 100


def test_output_beyond_the_limit_is_still_seen_to_come(tmp_path: Path) -> None:
    """The file does not grow any more; its time does, so that whoever looks at it sees that the agent is alive."""
    path = tmp_path / "flood.log"
    output = Output(str(path), 1_000)
    output.add(b"line\n" * 1_000)
    os.utime(path, ns=(0, 0))
    size = path.stat().st_size
    output.add(b"line\n" * 20_000)
    assert path.stat().st_size == size
    assert path.stat().st_mtime_ns > 0
    output.close()


async def test_output_at_the_limit_is_whole(lab: Lab) -> None:
    """Exactly as many bytes as are allowed are kept without a marker."""
    await (await lab.start(lab.launch("printf", "0123456789", limit=10))).wait()
    assert lab.output.read_bytes() == b"0123456789"


async def test_errors_and_output_share_one_stream_in_order(lab: Lab) -> None:
    """A line of standard error stands where it was printed."""
    await (await lab.shell("echo one; echo two >&2; echo three")).wait()
    assert lab.output.read_text() == "one\ntwo\nthree\n"


async def test_progress_shows_the_end_of_what_was_printed(lab: Lab) -> None:
    """The preview counts all bytes and holds at most the last 4 KB, whatever they are."""
    await (await lab.shell("head -c 100000 /dev/zero; printf '\\377last'")).wait()
    assert await lab.hears("last") == "\0" * 4091 + "\ufffdlast"
    assert lab.total == 100_005


async def test_a_full_disk_is_told_and_ends_nothing(lab: Lab) -> None:
    """An agent runs to its end even if its output cannot be written, and the exit says what was lost."""
    lab.output = Path("/dev/full")
    end = await (await lab.shell("echo lost; exit 4")).wait()
    assert end.code == 4
    assert end.bytes == 5
    assert end.lost == "No space left on device"


async def test_last_words_after_a_stop_are_kept(lab: Lab) -> None:
    """Output of an agent that obeys a stop is kept."""
    process = await lab.shell("trap 'echo goodbye; exit 0' INT; echo ready; while :; do sleep 0.05; done")
    await lab.hears("ready")
    await process.stop()
    assert lab.output.read_text().endswith("goodbye\n")
    assert (await process.wait()).code == 0


def test_a_supervisor_that_stands_still_does_not_stop_the_reports() -> None:
    """A full pipe makes a report wait in memory, not the agent; nothing of it is torn or lost, and the rest goes on as
    soon as there is room again."""
    reading, writing = os.pipe()
    loop = Loop()
    reports = Reports(writing, loop)
    for number in range(3):
        reports.send({"number": number, "tail": "x" * 50_000})
    assert reports.behind
    received = b""
    while received.count(b"\n") < 3:
        received += os.read(reading, 1 << 16)
        loop.turn(0)
    assert [json.loads(line)["number"] for line in received.splitlines()] == [0, 1, 2]
    assert not reports.behind
    os.close(reading)
    reports.send({"to": "nobody"})
    assert not reports.behind
    os.close(writing)


async def test_a_child_may_finish_its_sentence_after_the_agent_has_exited(lab: Lab) -> None:
    """Output of a background child just after its parent's end is kept before the child is ended."""
    await (await lab.shell("me=$$; (while kill -0 $me 2>&-; do :; done; echo last words) & exit 0")).wait()
    assert lab.output.read_text() == "last words\n"
