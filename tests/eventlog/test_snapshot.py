"""Saved states: whole or absent, never half."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unstuck.errors import RecordError
from unstuck.eventlog.log import snapshot as module
from unstuck.eventlog.log.snapshot import Snapshot, load, save


def keep(path: Path, seq: int) -> None:
    save(path, seq=seq, offset=seq * 100, crc=seq * 7, state=b'{"tasks":[%d]}' % seq)


def kept(seq: int) -> Snapshot:
    return Snapshot(seq, seq * 100, seq * 7, b'{"tasks":[%d]}' % seq)


def test_a_saved_state_comes_back(tmp_path: Path) -> None:
    """The newest saved state is loaded, and only its owner may read it."""
    path = tmp_path / "state.json"
    assert load(path) is None
    for seq in (1, 2, 3):
        keep(path, seq)
        assert load(path) == kept(seq)
    assert kept(3).position == (3, 300, 21)
    assert sorted(os.listdir(tmp_path)) == ["state.json", "state.json.1"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_snapshot_is_one_json_document(tmp_path: Path) -> None:
    """People can look into it with any JSON tool."""
    path = tmp_path / "state.json"
    keep(path, 5)
    said = subprocess.run([sys.executable, "-m", "json.tool", path], capture_output=True, text=True, check=True).stdout
    assert '"seq": 5' in said


def test_any_damage_falls_back_to_the_one_before(tmp_path: Path) -> None:
    """Cut or changed at any byte, the newest is skipped and the one before is used; without one there is none."""
    path = tmp_path / "state.json"
    keep(path, 1)
    keep(path, 2)
    good = path.read_bytes()
    cuts = [good[:size] for size in range(len(good))]
    flips = [good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :] for place in range(len(good))]
    for bad in [*cuts, *flips, good + b"x", b"\x00" * 4096, b"[]"]:
        path.write_bytes(bad)
        assert load(path) == kept(1)
    path.with_name("state.json.1").unlink()
    assert load(path) is None


def test_a_place_that_is_no_file_holds_no_snapshot(tmp_path: Path) -> None:
    """A directory in the snapshot's place is no reason to fail: the log is the truth."""
    (tmp_path / "state.json").mkdir()
    assert load(tmp_path / "state.json") is None


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", range(1, 8))
def test_a_save_killed_at_any_step_leaves_a_whole_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Stopped before any of its steps, a save leaves the old state or the new one, and the next save works."""
    path = tmp_path / "state.json"
    keep(path, 1)
    keep(path, 2)
    steps = 0

    def stop_before(call):  # type: ignore[no-untyped-def]
        def stepped(*arguments, **options):  # type: ignore[no-untyped-def]
            nonlocal steps
            steps += 1
            if steps == step:
                raise Killed
            return call(*arguments, **options)

        return stepped

    with monkeypatch.context() as patch:
        for name in ("write_all", "sync_directory"):
            patch.setattr(module, name, stop_before(getattr(module, name)))
        patch.setattr(Path, "replace", stop_before(Path.replace))
        try:
            keep(path, 3)
        except Killed:
            assert load(path) in (kept(2), kept(3))
        else:
            assert step > steps
            assert load(path) == kept(3)
    keep(path, 4)
    assert load(path) == kept(4)


def test_a_full_disk_keeps_the_old_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save that fails says so, leaves the old one, and leaves nothing lying about."""
    path = tmp_path / "state.json"
    keep(path, 1)

    def full(fd: int, data: bytes) -> None:
        os.write(fd, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "write_all", full)
    with pytest.raises(RecordError, match="No space left"):
        keep(path, 2)
    assert load(path) == kept(1)
    assert os.listdir(tmp_path) == ["state.json"]


SAVER = """
import os, sys
from pathlib import Path
from unstuck.eventlog.log.snapshot import save
seq = int(sys.argv[2])
while True:
    seq += 1
    save(Path(sys.argv[1]), seq=seq, offset=0, crc=0, state=b'"%b"' % (b"x" * 200_000))
    os.write(1, b"%d\\n" % seq)
"""


@pytest.mark.kills
def test_real_kills_never_leave_half_a_snapshot(tmp_path: Path) -> None:
    """A process killed while it saves, again and again, leaves one at least as new as the last it reported."""
    path = tmp_path / "state.json"
    seen = 0
    for round_ in range(int(os.environ.get("UNSTUCK_KILLS", "10")) // 3 + 1):
        saver = subprocess.Popen([sys.executable, "-c", SAVER, path, str(seen)], stdout=subprocess.PIPE)
        assert saver.stdout is not None
        rounds = round_ % 10 + 1
        for _ in range(rounds):
            saver.stdout.readline()
        saver.kill()
        said = saver.stdout.read().split()
        saver.stdout.close()
        saver.wait()
        snapshot = load(path)
        assert snapshot is not None
        assert snapshot.seq >= max([seen + rounds, *map(int, said)])
        seen = snapshot.seq
