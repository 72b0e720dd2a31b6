"""A record on a network file system: it is said where and what follows, and the lock still keeps a second run out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.eventlog.conftest import Said
from tests.manual_clock import ManualClock

from unstuck.errors import ProjectLocked
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.storage import network_fs
from unstuck.eventlog.storage.lock import ProjectLock, read_holder
from unstuck.eventlog.storage.network_fs import mount_of, shared_risk
from unstuck.supervision.run.supervisor import Supervisor

TABLE = r"""
27 1 253:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 27 0:40 / /home rw,relatime shared:2 master:1 - nfs4 files:/export/home rw,vers=4.2,local_lock=none
41 40 0:41 / /home/ann/local\040disk rw - ext4 /dev/vdb rw
42 27 0:42 / /mnt/old rw - nfs old:/x rw,vers=3,nolock,local_lock=all
43 27 0:43 / /mnt/far rw - fuse.sshfs ann@far:/srv rw,user_id=0
44 27 0:44 / /mnt/share rw - cifs //nas/share rw,nobrl
45 27 0:45 / /mnt/app rw - fuse.AppImage app ro
46 27 0:46 / /over rw - nfs4 files:/one rw
47 46 0:47 / /over rw - tmpfs none rw
not a line of it
48 27 0:48 / /short - ext4
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/srv/p", "ext4", False),
        ("/home/ann/p/.git/unstuck", "nfs4", True),
        ("/homeless/p", "ext4", False),
        ("/home/ann/local disk/p", "ext4", False),
        ("/mnt/old/p", "nfs", True),
        ("/mnt/far", "fuse.sshfs", True),
        ("/mnt/share/p", "cifs", True),
        ("/mnt/app/p", "fuse.AppImage", False),
        ("/over/p", "tmpfs", False),
    ],
)
def test_the_innermost_and_latest_mount_counts(path: str, kind: str, network: bool) -> None:
    """Names with blanks, mounts in mounts and over each other, and lines that make no sense."""
    mount = mount_of(Path(path), TABLE)
    assert mount is not None
    assert mount.kind == kind
    assert mount.is_network == network


def test_no_table_no_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No warning is made up on a system without the table."""
    monkeypatch.setattr(network_fs, "TABLE", tmp_path / "none")
    assert shared_risk(tmp_path) == ""
    assert mount_of(Path("/p"), "") is None


def on(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str) -> None:
    """From now on ``place`` lies on a network file system with these options."""
    table = tmp_path / "mountinfo"
    name = str(place.resolve()).replace(" ", "\\040")
    table.write_text(f"27 1 253:0 / / rw - ext4 /dev/vda rw\n40 27 0:40 / {name} rw - nfs4 files:/home rw,{options}\n")
    monkeypatch.setattr(network_fs, "TABLE", table)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("local_lock=none", "nothing but its server's locks keeps a second run on another machine out"),
        ("nolock,local_lock=all", "locks hold on this machine only (local_lock=all, nolock)"),
    ],
)
async def test_a_run_says_it_and_keeps_others_out(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, options: str, said: str
) -> None:
    """The warning is the run's first record's, where screen and output show it; a second run is refused as ever."""
    project = tmp_path / "project"
    project.mkdir()
    on(project, tmp_path, monkeypatch, options)
    async with Supervisor.open(project, clock=clock) as supervisor:
        with pytest.raises(ProjectLocked):
            async with Supervisor.open(project, clock=clock):
                raise AssertionError
        (record,) = [record for record in read_records(supervisor.core.journal.path) if record.name == "run_started"]
    (warning,) = record.event.warnings
    assert "network file system (nfs4, from files:/home)" in warning
    assert said in warning


def test_the_doctor_says_it(folder: Path, said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the row of the record, and with exit code 1: something is in the way."""
    rows = [json.loads(row) for row in said("doctor", "--json")[1].splitlines()]
    assert next(row["ok"] for row in rows if row["what"] == "record")
    on(tmp_path, tmp_path, monkeypatch, "nolock")
    code, out, _ = said("doctor", "--json")
    (row,) = [row for row in map(json.loads, out.splitlines()) if row["what"] == "record"]
    assert code == 1
    assert row["ok"] is False
    assert "network file system" in row["value"]


def test_a_holder_on_another_machine_is_named_with_it(tmp_path: Path) -> None:
    """Its process number means nothing here."""
    lock = ProjectLock(tmp_path / "lock", run="r")
    lock.acquire()
    here = read_holder(lock.path)
    assert here is not None
    assert here.host == ""
    lock.path.write_text(json.dumps({"pid": 7, "started": 1.0, "run": "r", "host": "far\x1b[2J"}))
    with pytest.raises(ProjectLocked, match=r"process 7 on far\)"):
        ProjectLock(lock.path).acquire()
    lock.release()
