"""The project's local socket: one JSON object per line over a Unix stream socket, standard library only.

A client says ``{"v": 1, "do": "...", ...}`` and gets ``{"ok": true, ...}`` or ``{"error": "one line"}``. A reply that
carries ``"ack": "<id>"`` wants to hear ``{"v": 1, "ack": "<id>"}`` once the client has done with it what was asked
(printed it, for one). A client that hangs up while its request is being worked on cancels that work.

Only this user may speak: the directory is private, the socket is 0600, and both ends look at the other's credentials.
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
