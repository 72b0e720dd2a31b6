"""Checks of every request before a page sees it: its host, its origin, its size and its rate."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 200_000
"""Bytes of a form. An answer's own limit is lower."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_MOST_CLIENTS, _MOST_ADDRESS = 10_000, 64
_READS, _WRITES, _TRIES = (600, 60.0), (60, 60.0), (10, 60.0)
"""Requests that read, that write, and that try a link: how many in how many seconds."""
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Without a referrer to its own origin a browser would send the origin `null` with a form.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class Guard:
    """Refuses what does not come from a page of our own; says why in a line.

    ``public`` is the page's address for its readers, where that is another one than the loopback's.
    """

    def __init__(self, app: ASGIApp, *, public: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._clock = app, clock
        self._public = urlsplit(public).netloc.lower()
        self._secure = public.startswith("https:")
        self._rates: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refused = self._refusal(scope)
        app = self._app if refused is None else PlainTextResponse(f"{refused[1]}\n", refused[0])

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if self._secure:
                    headers.setdefault("strict-transport-security", "max-age=31536000")
            await send(message)

        await app(scope, self._limited(receive), sent)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers, writes = Headers(scope=scope), scope["method"] not in ("GET", "HEAD")
        hosts = headers.getlist("host")
        host = hosts[0].lower() if len(hosts) == 1 else ""
        if not self._is_ours(host):
            return 421, f"this page is not served under the name {host[:100]!r}: open it by the address it printed"
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "")
        if origin is not None and _host_of(origin) != host:
            return 403, "this request comes from another site"
        if writes and origin is None and site != "same-origin":
            return 403, "this request does not say which site it comes from"
        if site == "cross-site" and (writes or headers.get("sec-fetch-mode", "navigate") != "navigate"):
            return 403, "this request comes from another site"
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return 413, f"a form holds at most {MOST_BYTES} bytes"
        client = (scope.get("client") or ("", 0))[0]
        if self._public and is_here(client):  # a proxy adds whom it speaks for at the end
            client = headers.get("x-forwarded-for", client).rpartition(",")[2].strip()[:_MOST_ADDRESS]
        tries = scope["path"].startswith("/enter")
        kind, limit = ("try", _TRIES) if tries and writes else ("write", _WRITES) if writes else ("read", _READS)
        if not self._may(client, kind, *limit):
            return 429, "too many requests: wait a minute"
        return None

    def _is_ours(self, host: str) -> bool:
        """True for a name that no other site can point at this machine, and for the public one."""
        if self._public:
            return host == self._public or _name_of(host) in LOOPBACK
        return _name_of(host) in LOOPBACK

    def _may(self, client: str, kind: str, most: int, seconds: float) -> bool:
        """Take one from the bucket of a client, which fills up again with time."""
        now = self._clock()
        left, at = self._rates.pop((client, kind), (float(most), now))
        left = min(float(most), left + (now - at) * most / seconds)
        self._rates[client, kind] = (max(0.0, left - 1.0), now)
        if len(self._rates) > _MOST_CLIENTS:
            self._rates.popitem(last=False)
        return left >= 1.0

    def _limited(self, receive: Receive) -> Receive:
        """``receive``, which ends what sends more than it said it would."""
        size = 0

        async def received() -> Message:
            nonlocal size
            message: dict[str, Any] = dict(await receive())
            size += len(message.get("body", b""))
            return message if size <= MOST_BYTES else {"type": "http.disconnect"}

        return received


def is_here(address: str) -> bool:
    """True for an address of this machine's loopback."""
    return address in ("::1", "::ffff:127.0.0.1") or address.startswith("127.")


def _host_of(origin: str) -> str:
    """The host in an origin; empty where there is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _name_of(host: str) -> str:
    """The name in a host, without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and (name.endswith("]") or ":" not in name) else host
