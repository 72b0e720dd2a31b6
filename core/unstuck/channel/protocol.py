"""Protocol of the socket for both ends: its path, the format of a line, and the credentials."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from unstuck.errors import ChannelError

Message = dict[str, Any]

VERSION = 1
MAX_LINE = 2**20
MAX_PATH = 107


class Peer(NamedTuple):
    """Credentials of the peer; ``pid`` is 0 if the system does not report it."""

    pid: int
    uid: int


class Refused(Exception):
    """Invalid message of a client; the text is the reply's error."""


def socket_path(runtime_dir: Path, project_home: Path, *, watch: bool = False) -> Path:
    """Return the socket of the live run of the project with its event logs in ``project_home``, or of its ``watch``.

    Raises :class:`ChannelError` for a path longer than the 107 bytes of a Unix socket.
    """
    name = sha256(os.fsencode(project_home.resolve())).hexdigest()[:16]
    path = runtime_dir / f"{name}{'w' if watch else ''}.sock"
    length = len(os.fsencode(path))
    if length > MAX_PATH:
        raise ChannelError(
            f"the socket path {path} has {length} bytes, {MAX_PATH} are possible: set UNSTUCK_RUNTIME_DIR"
        )
    return path


def encode(message: Message) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def parse(line: bytes) -> Message:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise Refused("not a line of JSON") from None
    if not isinstance(message, dict):
        raise Refused("not a JSON object")
    if message.get("v") != VERSION:
        raise Refused(f"this side speaks version {VERSION} of the protocol: use the same unstuck on both")
    if not isinstance(message.get("do"), str) and not isinstance(message.get("ack"), str):
        raise Refused('a message needs "do" or "ack"')
    return message


def credentials(connection: socket.socket) -> Peer:
    if sys.platform != "linux":
        # The file's mode admits only this user.
        return Peer(0, os.getuid())
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", raw)
    return Peer(pid, uid)
