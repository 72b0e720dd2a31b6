"""The copy of a host's log: what it takes, what it refuses, and that it goes on after any interruption."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.fleet.conftest import lines_of, relined, run_of

from unstuck.errors import UsageError
from unstuck.eventlog.log.log_format import START
from unstuck.eventlog.log.verify import check
from unstuck.fleet.copies import Copies, CopyRefused
from unstuck.settings.paths import state_dir

LINES = lines_of()
DAY_S = 86_400
LOG = f"{'0a' * 8}-{run_of(LINES[0])}"


def test_a_copy_is_the_log_and_passes_fsck() -> None:
    """The lines lie there as they came, `unstuck fsck` finds nothing, and the end of the copy is the cursor."""
    copies = Copies(os.environ)
    assert copies.cursor("a", LOG) == START
    records = copies.append("a", LOG, b"".join(LINES[:2])) + copies.append("a", LOG, b"".join(LINES[2:]))
    assert [record.seq for record in records] == list(range(1, len(LINES) + 1))
    path = copies.path("a", LOG)
    assert path.read_bytes() == b"".join(LINES)
    assert check(path.parent).records == len(LINES)
    again = Copies(os.environ)
    assert again.logs("a") == [LOG]
    assert again.cursor("a", LOG) == copies.cursor("a", LOG)


def test_a_copy_goes_on_after_its_writer_was_killed() -> None:
    """A half-written line is cut off, and the host is asked for what is missing from there on."""
    copies = Copies(os.environ)
    copies.append("a", LOG, b"".join(LINES[:3]))
    with copies.path("a", LOG).open("ab") as file:
        file.write(LINES[3][:20])
    again = Copies(os.environ)
    assert again.cursor("a", LOG).seq == 3
    again.append("a", LOG, b"".join(LINES[3:]))
    assert check(again.path("a", LOG).parent).records == len(LINES)


def test_old_copies_of_ended_runs_are_deleted() -> None:
    """A run that has not ended stays however old it is, and an ended one until its days are over."""
    copies = Copies(os.environ)
    copies.append("a", LOG, b"".join(LINES))
    copies.append("b", LOG, b"".join(LINES[:-1]))
    written = copies.path("a", LOG).stat().st_mtime
    copies.prune(30, written + 29 * DAY_S)
    assert (copies.logs("a"), copies.logs("b")) == ([LOG], [LOG])
    copies.prune(30, written + 31 * DAY_S)
    assert (copies.logs("a"), copies.logs("b")) == ([], [LOG])


def test_two_screens_keep_one_copy() -> None:
    """Both get the host's lines; the copy has each once, whoever is ahead."""
    one, two = Copies(os.environ), Copies(os.environ)
    assert one.cursor("a", LOG) == two.cursor("a", LOG) == START
    one.append("a", LOG, b"".join(LINES[:4]))
    two.append("a", LOG, b"".join(LINES[:2]))
    two.append("a", LOG, b"".join(LINES[2:6]))
    one.append("a", LOG, b"".join(LINES[4:]))
    assert one.path("a", LOG).read_bytes() == b"".join(LINES)


OTHER = relined(LINES, b'"mono":', b'"mono":1')


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (LINES[1], "record 1 where record"),
        (LINES[4], "record 5 where record 4 belongs"),
        (LINES[3].replace(b'"actor"', b'"axtor"'), "the checksum does not fit"),
        (OTHER[3], "the checksum does not fit"),
        (LINES[3][:-1], "line end"),
        (b"\x1b]0;owned\x07\n", "not a record"),
        (relined([*LINES[:3], b'{"v":1,"seq":4,"event":7,"safe":3,"crc":"00000000"}\n'], b"", b"")[3], "was refused"),
    ],
)
def test_what_does_not_continue_the_copy_is_refused_by_name(lines: bytes, words: str) -> None:
    """Rewound, forged or forked lines change nothing in the copy; the reason names the run and lasts."""
    if words.startswith("record 1 where"):
        lines, words = LINES[0], "record 1 where record 4 belongs"
    copies = Copies(os.environ)
    copies.append("a", LOG, b"".join(LINES[:3]))
    with pytest.raises(CopyRefused, match=words):
        copies.append("a", LOG, lines)
    path = copies.path("a", LOG)
    assert path.read_bytes() == b"".join(LINES[:3])
    assert check(path.parent).records == 3
    for later in (copies, Copies(os.environ)):
        assert run_of(LINES[0]) in later.refusal("a", LOG)
        with pytest.raises(CopyRefused, match=words):
            later.append("a", LOG, LINES[3])
    assert "\x1b" not in (path.parent / "refused.txt").read_text(encoding="utf-8")


def test_a_log_told_anew_is_refused() -> None:
    """A host that sends another history from the start on, which fits in itself, cannot replace what it said."""
    Copies(os.environ).append("a", LOG, b"".join(LINES[:3]))
    copies = Copies(os.environ)
    copies._ends["a", LOG] = START  # as a screen that had begun before the other one wrote
    with pytest.raises(CopyRefused, match="others than before"):
        copies.append("a", LOG, b"".join(OTHER))
    assert copies.path("a", LOG).read_bytes() == b"".join(LINES[:3])


def test_the_record_of_another_run_is_refused() -> None:
    """A log holds the records of its own run: a host cannot tell one run's events in another's log."""
    with pytest.raises(CopyRefused, match="a record of another log"):
        Copies(os.environ).append("a", f"{'0a' * 8}-20200101-000000", LINES[0])


def test_copies_are_bounded() -> None:
    """A host that never stops fills no disk: a copy that would be longer than the limit is refused."""
    copies = Copies(os.environ, limit=len(LINES[0]) + 10)
    copies.append("a", LOG, LINES[0])
    with pytest.raises(CopyRefused, match="longer than"):
        copies.append("a", LOG, LINES[1])


@pytest.mark.parametrize("name", ["../../x-20200101-000000", "x", "0" * 16 + "-../../../etc", "0" * 16 + "-2020", ""])
def test_no_name_of_a_log_leads_out_of_its_host(name: str) -> None:
    """Only a hash and the id of a run name a log."""
    with pytest.raises(ValueError, match="is not the name of a log"):
        Copies(os.environ).append("a", name, LINES[0])


@pytest.mark.parametrize("host", ["-oProxyCommand=x", "..", "a/b", "a b", "", "a@-b", "a\n", ".x", "a;b", "$(x)"])
def test_no_name_of_a_host_is_an_option_or_a_path(host: str) -> None:
    """A host's name can neither steer ssh nor lead to another directory."""
    with pytest.raises(UsageError, match="cannot be the name of a host"):
        Copies(os.environ).path(host, LOG)


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """A link in the place of a host's directory is refused."""
    folder = state_dir(os.environ) / "fleet"
    folder.mkdir(parents=True)
    (folder / "a").symlink_to(tmp_path)
    with pytest.raises(Exception, match="symbolic link"):
        Copies(os.environ).append("a", LOG, LINES[0])
    assert list(tmp_path.iterdir()) == []
