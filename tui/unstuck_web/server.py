"""The server of the page: where it listens, and who may reach it there."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from unstuck.clock import SystemClock
from unstuck.errors import UnstuckError, UsageError
from unstuck.runs.view.run_view import RunView
from unstuck.text import one_line
from unstuck.workspace.project import Project
from unstuck_web.access import Access
from unstuck_web.guard import LOOPBACK, Guard
from unstuck_web.runs import Runs
from unstuck_web.site import Site

_ADDRESS = re.compile(r"https?://([\w.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]+)?/?", re.ASCII)
_MOST_CONNECTIONS = 200
_HEADER_BYTES = 32_768
_GRACE_S = 2
_BACKLOG = 64
_REQUEST_S = 5.0
"""Seconds after which a request has to have begun, and after as many more has to be whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """Address of the page. ``port`` 0 is that of the last time, else a free one; ``public_url`` is a proxy's."""

    bind: str = "127.0.0.1"
    port: int = 0
    tls_cert: Path | None = None
    tls_key: Path | None = None
    public_url: str = ""
    read_only: bool = False

    def require_safe(self) -> None:
        """Raise UsageError where answers and sessions would cross a network in the clear."""
        if (self.tls_cert is None) != (self.tls_key is None):
            raise UsageError("--tls-cert and --tls-key go together")
        if self.public_url:
            found = _parts(self.public_url)
            if found is None:
                raise UsageError(
                    f"--public-url is an address such as https://unstuck.example.org, not {one_line(self.public_url)}"
                )
            if found.scheme == "http" and not _is_loopback(found.hostname or ""):
                raise UsageError("--public-url has to begin with https://: an answer would cross the network in clear")
        if self.bind in ("0.0.0.0", "::") and self.tls_cert is not None and not self.public_url:
            raise UsageError(f"--bind {self.bind} has no name for browsers: add --public-url https://…")
        if not _is_loopback(self.bind) and self.tls_cert is None and not self.public_url.startswith("https:"):
            raise UsageError(
                f"--bind {one_line(self.bind)} would let others read the page and its sessions on the network: "
                "add --tls-cert and --tls-key, or --public-url behind a proxy with TLS, "
                "or leave --bind out and use `ssh -L`"
            )


def _parts(address: str) -> SplitResult | None:
    """The parts of a page's address as browsers name it; None where it is none, or has more than a host and a port."""
    try:
        found = urlsplit(address)
        usual = found.port == {"http": 80, "https": 443}.get(found.scheme)
        return found if _ADDRESS.fullmatch(address) and not usual else None
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Connection(H11Protocol):
    """A connection that is closed where a request does not come whole, or its answer is not read."""

    _waited_for: object = None
    _unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(_REQUEST_S, self._look)

    def _look(self) -> None:
        """Close what has waited for the same request at the last look."""
        if self.transport.is_closing():
            return
        unread, self._unread = self._unread, self.transport.get_write_buffer_size()
        if unread and unread == self._unread:
            self.transport.abort()  # it reads nothing of what it asked for
            return
        waits = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        request = self.cycle or self
        if waits and self._waited_for is request:
            self.transport.close()
        else:
            self._waited_for = request if waits else None
            self.loop.call_later(_REQUEST_S, self._look)


class _Server(uvicorn.Server):
    """A server within a program that has its own signals. Nothing in it goes by the clock while nobody asks."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._over = asyncio.Event()

    def end(self) -> None:
        """Serve no more."""
        self.should_exit = True
        self._over.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._over.wait()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class PageServer:
    """The page of a project while it is served at ``address``."""

    def __init__(self, access: Access, address: str, port: int) -> None:
        self.access, self.address, self.port = access, address, port

    def link(self) -> str:
        """Return a link that lets one browser in."""
        return f"{self.address}/enter/{self.access.link()}"


@asynccontextmanager
async def served(
    place: Project,
    options: PageOptions,
    environ: Mapping[str, str],
    *,
    only: Sequence[str] = (),
    own: RunView | None = None,
    runs: Runs | None = None,
    now: Callable[[], float] | None = None,
) -> AsyncIterator[PageServer]:
    """Serve the page of ``place`` for as long as the context lasts. ``own`` is the run of this process.

    ``runs`` are others than those of a project.

    Raises UsageError for an address that is not safe, or cannot be taken.
    """
    options.require_safe()
    access = Access(place.home, now or SystemClock().now)
    listening = _listen(options, access)
    port = listening.getsockname()[1]
    scheme = "https" if options.tls_cert is not None else "http"
    host = f"[{options.bind}]" if ":" in options.bind else options.bind
    address = options.public_url.rstrip("/") or f"{scheme}://{host}:{port}"
    public = options.public_url or ("" if host in LOOPBACK else address)
    runs = runs or Runs(place, environ, only=only, own=own)
    site = Site(runs, access, read_only=options.read_only, secure=address.startswith("https:"))
    server = _Server(
        uvicorn.Config(
            Guard(site.app(), public=public),
            lifespan="off",
            ws="none",
            http=_Connection,
            loop="none",
            log_config=None,
            log_level="critical",  # what it says would go into the screen of a run
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS,
            h11_max_incomplete_event_size=_HEADER_BYTES,
            timeout_graceful_shutdown=_GRACE_S,
            ssl_certfile=options.tls_cert,
            ssl_keyfile=options.tls_key,
        )
    )
    try:
        server.config.load()
    except (OSError, ValueError) as problem:
        listening.close()
        raise UsageError(f"--tls-cert and --tls-key cannot be used: {problem}") from None
    try:
        access.serve(port, address, only)
    except UnstuckError:
        listening.close()
        raise
    serving = asyncio.create_task(server.serve([listening]))
    try:
        yield PageServer(access, address, port)
    finally:
        site.over.set()
        server.end()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
        await runs.close()
        with contextlib.suppress(
            UnstuckError
        ):  # a full disk, a folder that was moved: its process is gone, and tells it
            access.leave(port)


def _listen(options: PageOptions, access: Access) -> socket.socket:
    """Take the address. The port of an earlier page is kept, so that a page that was left open finds its run again."""
    wanted = (options.port,) if options.port else (*access.ports(), 0)
    problem: OSError | None = None
    for port in wanted:
        try:
            family, *_, address = socket.getaddrinfo(options.bind, port, type=socket.SOCK_STREAM)[0]
            listening = socket.socket(family)
        except OSError as error:
            raise UsageError(f"--bind {one_line(options.bind)}: {error.strerror or error}") from None
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_BACKLOG)
            listening.set_inheritable(False)
            return listening
        except OSError as error:
            listening.close()
            problem = error
    raise UsageError(f"{options.bind}:{wanted[0]} cannot be taken: {problem.strerror if problem else ''}; give --port")
