"""Local socket of a project: one JSON object per line over a Unix stream socket, standard library only.

A client sends ``{"v": 1, "do": "...", ...}`` and gets ``{"ok": true, ...}`` or ``{"error": "one line"}``. The client
confirms a reply with ``"ack": "<id>"`` by ``{"v": 1, "ack": "<id>"}`` after it has used the reply, for example printed
it. A client that disconnects during its request cancels the work on it.

Only this user has access: the directory is private, the socket has mode 0600, and both ends check credentials.
"""

from __future__ import annotations

from unstuck.channel.client import Exchange, call, converse, request
from unstuck.channel.protocol import MAX_LINE, VERSION, Message, Peer, socket_path
from unstuck.channel.server import ChannelServer

__all__ = [
    "MAX_LINE",
    "VERSION",
    "ChannelServer",
    "Exchange",
    "Message",
    "Peer",
    "call",
    "converse",
    "request",
    "socket_path",
]
