"""Detection of network file systems, where another machine may write to the same run.

On most of them Linux passes a lock to the server, so that it holds on all machines. Some mount options keep locks local
to this machine. See flock(2), nfs(5) (``nolock``, ``local_lock``) and mount.cifs(8) (``nobrl``).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

TABLE = Path("/proc/self/mountinfo")
"""Mount table as in proc(5). It exists only on Linux."""

_NETWORK = frozenset(
    {"9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fhgfs", "glusterfs", "gpfs", "lustre"}
    | {"ncpfs", "nfs", "nfs4", "orangefs", "panfs", "smb2", "smb3", "smbfs", "virtiofs"}
)
_FUSE = ("ceph", "gcs", "gluster", "goofys", "juicefs", "rclone", "s3", "smb", "sshfs", "davfs")
_LOCAL_LOCKS = frozenset(("nolock", "local_lock=all", "local_lock=flock", "nobrl", "cache=loose", "localflocks"))
_ESCAPE = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """A mounted file system: mount point, type, source and options."""

    place: str
    kind: str
    source: str
    options: frozenset[str]

    @property
    def is_network(self) -> bool:
        """True if other machines may have the same files."""
        kind, _, fuse = self.kind.partition(".")
        return kind in _NETWORK or (kind == "fuse" and fuse.startswith(_FUSE))


def mount_of(path: Path, table: str) -> Mount | None:
    """Return the file system of the absolute ``path`` in a mount ``table``, or None."""
    best: Mount | None = None
    for mount in filter(None, map(_read, table.splitlines())):
        inside = path.is_relative_to(mount.place)
        # Of two at one mount point the later one covers the earlier one.
        if inside and (best is None or len(mount.place) >= len(best.place)):
            best = mount
    return best


def shared_risk(path: Path) -> str:
    """Return a one-line warning if ``path`` is on a network file system; empty for a local one."""
    try:
        table = TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    mount = mount_of(Path(os.path.realpath(path)), table)
    if mount is None or not mount.is_network:
        return ""
    where = f"{path} is on a network file system ({mount.kind}, from {mount.source})"
    if local := sorted(mount.options & _LOCAL_LOCKS):
        return f"{where} whose locks hold on this machine only ({', '.join(local)}): start runs here from no other one"
    return f"{where}: nothing but its server's locks keeps a second run on another machine out"


def _read(line: str) -> Mount | None:
    """Parse a line of the table: ``ID PARENT DEVICE ROOT PLACE OPTIONS [TAG…] - KIND SOURCE OPTIONS``."""
    before, dash, after = line.partition(" - ")
    fields, rest = before.split(), after.split()
    if not dash or len(fields) < 6 or len(rest) < 2:
        return None
    options = frozenset(",".join((fields[5], *rest[2:3])).split(","))
    return Mount(_unescaped(fields[4]), rest[0], _unescaped(rest[1]), options)


def _unescaped(name: str) -> str:
    """Return a name without the octal escapes of blanks, tabs, line ends and backslashes."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), name)
