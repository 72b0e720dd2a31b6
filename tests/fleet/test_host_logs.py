"""The logs of a host are read on from where somebody has them, byte for byte, and only as they are on disk."""

from __future__ import annotations

import os
from collections.abc import Callable

from tests.fleet.conftest import Host, lines_of, relined

from unstuck.eventlog.log.log_format import START, Position
from unstuck.fleet.host_logs import Broken, Ended, HostLogs, Lines, Opened


def test_every_line_is_yielded_once_and_unchanged(host: Callable[..., Host]) -> None:
    """Lines that are written meanwhile come with the next look; a half-written one waits for its end."""
    one = host()
    one.write(1, 3)
    logs = HostLogs(os.environ)
    opened, lines = logs.news()
    assert opened == Opened(logs.log(one.log), START)  # type: ignore[arg-type]
    assert isinstance(lines, Lines)
    assert lines.raw == b"".join(one.lines[:3])
    assert list(logs.news()) == []
    with one.path.open("ab") as file:
        file.write(one.lines[3] + one.lines[4][:9])
        file.flush()
        (four,) = logs.news()
        file.write(one.lines[4][9:])
    (five,) = logs.news()
    assert isinstance(four, Lines)
    assert isinstance(five, Lines)
    assert four.raw + five.raw == b"".join(one.lines[3:5])
    assert five.end.seq == 5


def test_another_reader_goes_on_at_its_cursor(host: Callable[..., Host]) -> None:
    """A cursor is all that has to be kept: nothing is read twice and nothing is missed after a restart."""
    one = host()
    one.write(1, 4)
    first = [item for item in HostLogs(os.environ).news() if isinstance(item, Lines)]
    one.write(5, 6)
    logs = HostLogs(os.environ, {one.log: first[-1].end})
    rest = [item.raw for item in logs.news() if isinstance(item, Lines)]
    assert b"".join(rest) == b"".join(one.lines[4:6])


def test_the_logs_of_all_projects_are_followed_until_their_runs_end(host: Callable[..., Host]) -> None:
    """A run that has ended is followed to its end for those who have a part of it, and by nobody else."""
    lines = [line for line in lines_of() if b'"run_ended"' not in line]
    one, two = host("a", lines), host("b")
    one.write(1, len(one.lines))
    two.write(1, len(two.lines))
    assert {item.log.name for item in HostLogs(os.environ).news()} == {one.log}
    again = list(HostLogs(os.environ, {two.log: START}).news())
    assert any(isinstance(item, Lines) and item.log.name == two.log for item in again)
    assert any(isinstance(item, Ended) and item.log.name == two.log for item in again)


def test_a_log_that_is_another_one_than_before_is_named(host: Callable[..., Host]) -> None:
    """A cursor that the log does not have, as after a rewind, is a problem in words, and no line is sent."""
    one = host()
    one.write(1, 4)
    found = [item.end for item in HostLogs(os.environ).news() if isinstance(item, Lines)]
    one.path.write_bytes(b"".join(relined(one.lines, b"20", b"21")[:3]))
    logs = HostLogs(os.environ, {one.log: found[-1]})
    news = [*logs.news(), *logs.news(), *logs.news()]
    assert not any(isinstance(item, Lines) for item in news)
    (broken,) = [item for item in news if isinstance(item, Broken)]
    assert "record 4 does not end here" in broken.problem
    assert Position(*found[-1]).seq == 4
