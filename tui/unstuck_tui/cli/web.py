"""``unstuck web``: runs in a browser, to read and to answer."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unstuck.errors import UsageError
from unstuck_tui.cli.common import echo, echo_table, here, project_option
from unstuck_tui.cli.names import run_ids

if TYPE_CHECKING:
    from unstuck.runs.run import Served
    from unstuck.supervision.run.supervisor import Supervisor
    from unstuck.workspace.project import Project


@click.command(name="web")
@click.argument("words", nargs=-1, metavar="[RUN... | link | sessions]", shell_complete=run_ids)
@click.option("--bind", default="127.0.0.1", metavar="ADDRESS", show_default=True, help="Address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port to listen at; without it that of the last time."
)
@click.option("--tls-cert", type=click.Path(path_type=Path), help="Certificate, for another address than this machine.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="Key of the certificate.")
@click.option("--public-url", default="", metavar="URL", help="Address of the page behind a proxy, with https.")
@click.option("--read-only", is_flag=True, help="Take no answers.")
@click.option("--qr", is_flag=True, help="Print the link as a QR code, too.")
@click.option("--revoke", metavar="SESSION", help="With sessions: end this session, or all of them.")
@project_option
def command(words: tuple[str, ...], project: Path, qr: bool, revoke: str | None, **options: Any) -> None:
    """Serve the runs of this project as a page for a browser: read them, follow them, answer their questions.

    Prints a link that lets one browser in, once. RUN restricts the page to these runs. While the page is served,
    `unstuck web link` prints another link, and `unstuck web sessions` lists the signed-in browsers.
    """
    place = here(project)
    if words == ("sessions",):
        _sessions(place, revoke)
    elif revoke is not None:
        raise UsageError("--revoke goes with sessions: unstuck web sessions --revoke SESSION")
    elif words == ("link",):
        _link(place, qr=qr)
    else:
        _serve(place, words, qr=qr, options=options)


def _serve(place: Project, words: tuple[str, ...], *, qr: bool, options: dict[str, Any]) -> None:
    import asyncio
    import signal

    require_web()
    from unstuck.runs.queries.run_list import find_run
    from unstuck_web.server import PageOptions, served

    refuse_agents(place)
    only = [find_run(place, word) for word in words]

    async def serve() -> None:
        over = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, over.set)
        async with served(place, PageOptions(**options), os.environ, only=only) as page:
            echo(f"the page is at {page.address}; press ctrl+c to stop")
            print_link(page.link(), qr=qr)
            await over.wait()

    asyncio.run(serve())


def serving(say: Callable[[str], None]) -> Served:
    """Return the context in which the page of a run is served; ``say`` gets the link that lets one browser in."""
    from unstuck.runs.view.local_run import LiveRun
    from unstuck_web.runs import VIA
    from unstuck_web.server import PageOptions, served

    @asynccontextmanager
    async def context(supervisor: Supervisor) -> AsyncIterator[None]:
        own = LiveRun(supervisor, VIA)
        async with served(own.place, PageOptions(), supervisor.core.environ, own=own) as page:
            say(f"the page of this run: open {page.link()} in a browser, once, within 15 minutes")
            yield

    return context


def _link(place: Project, *, qr: bool) -> None:
    access = _access(place)
    refuse_agents(place)
    address = access.address()
    if not address:
        raise UsageError("no page is served here: start one with `unstuck web`")
    print_link(f"{address}/enter/{access.link()}", qr=qr)


def _sessions(place: Project, revoke: str | None) -> None:
    from unstuck.clock import SystemClock, iso
    from unstuck.words.amounts import ago

    access, now = _access(place), SystemClock().now()
    if revoke is not None:
        ended = access.revoke(revoke)
        echo(f"revoked: {', '.join(ended) or 'nothing was open'}")
        return
    found = access.sessions()
    if not found:
        echo("no browser is signed in")
        return
    rows = [(one.id, ago(iso(one.seen), now), one.host, one.browser) for one in found]
    echo_table(("SESSION", "SEEN", "ADDRESS", "BROWSER"), rows)


def print_link(link: str, *, qr: bool) -> None:
    """Print a link that lets one browser in, and its QR code where that is wanted."""
    echo(f"open this link in the browser, once, within 15 minutes: {link}")
    if not qr:
        return
    import segno

    # The small one is made of half blocks, the large one of blanks alone.
    has_blocks = "utf" in (sys.stdout.encoding or "").lower()
    segno.make(link, error="l").terminal(compact=has_blocks)


def require_web() -> None:
    """Raise UsageError where the packages of the page are not installed."""
    from importlib.util import find_spec

    from unstuck.agents.optional_packages import install_words

    missing = [name for name in ("starlette", "jinja2", "uvicorn", "segno") if find_spec(name) is None]
    if missing:
        raise UsageError(f"the page needs {', '.join(missing)}: {install_words('web')}")


def _access(place: Project) -> Any:
    from unstuck.clock import SystemClock
    from unstuck_web.access import Access

    return Access(place.home, SystemClock().now)


def refuse_agents(place: Project) -> None:
    """Raise UsageError for an agent: with a link it could answer in the name of a person."""
    from unstuck.eventlog.log.load_state import live_agents
    from unstuck.processes import agent_sign

    if sign := agent_sign(os.getpid(), live_agents(place.home)):
        raise UsageError(f"an agent may not open the page: it is for a person ({sign})")
