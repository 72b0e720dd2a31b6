"""``unstuck watch --host``: the runs of other machines in one list."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from unstuck.clock import SystemClock
from unstuck.errors import UsageError
from unstuck.eventlog.envelope import Record
from unstuck.fleet.copies import Copies
from unstuck.fleet.fleet_view import FleetView
from unstuck.fleet.link import HostLink, ProcessLink, ssh_command
from unstuck.fleet.names import host_name
from unstuck.processes import agent_sign
from unstuck.settings.layers import default_user_file
from unstuck.settings.loading import load_settings
from unstuck.words.narration import lines_of
from unstuck_tui.cli.common import agents_here, complain, echo
from unstuck_tui.cli.streams import can_show

if TYPE_CHECKING:
    from unstuck.fleet.nats.viewer import Viewer

_ALONE = ("answers", "budget", "sessions", "as_json")


async def watch_hosts(options: Mapping[str, Any], given: Sequence[str]) -> int:
    """Show the runs of the hosts in ``options`` until the person leaves; without a terminal print their events.

    Raises UsageError for a host or an option that cannot be.
    """
    wrong = [*given, *(name.removeprefix("as_") for name in _ALONE if options[name])]
    if wrong:
        way = "--fleet" if options["fleet"] else "--host"
        raise UsageError(f"{way} shows runs of other machines: omit {', '.join(f'--{name}' for name in wrong)}")
    if options["fleet"] and (options["hosts"] or options["ssh_command"]):
        raise UsageError("--fleet and --host are two ways to other machines: omit one")
    if not options["hosts"] and not options["fleet"]:
        raise UsageError("--ssh-command goes with --host")
    if options["web"]:
        from unstuck_tui.cli.web import require_web

        require_web()
    if sign := agent_sign(os.getpid(), await asyncio.to_thread(agents_here, os.environ)):
        raise UsageError(f"an agent may not watch other machines: it is for a person ({sign})")
    environ = dict(os.environ)
    copies = Copies(environ)
    settings = load_settings(None, user_file=default_user_file(), environ=environ, overrides={})
    await asyncio.to_thread(copies.prune, settings.keep_days, SystemClock().now())
    if options["fleet"]:
        from unstuck_tui.cli.fleet import require_nats

        require_nats()
        from unstuck.fleet.nats.membership import Membership
        from unstuck.fleet.nats.nats_link import NatsLink
        from unstuck.fleet.nats.report import caught_up

        async with caught_up(Membership(environ).person(), environ) as viewer:

            async def link_to(host: str) -> HostLink:
                return NatsLink(viewer, host)

            if not viewer.hosts:
                raise UsageError("no host has joined the fleet yet: `unstuck fleet join URL --creds FILE` on it")
            view = FleetView(sorted(viewer.hosts), link_to, copies)
            adding = asyncio.create_task(_add_hosts(view, viewer))
            try:
                await _show(view, options, environ)
            finally:
                adding.cancel()
        return 0
    hosts = [host_name(host) for host in options["hosts"]]

    async def open_link(host: str) -> HostLink:
        return await ProcessLink.open(ssh_command(host, environ, options["ssh_command"]), environ)

    await _show(FleetView(hosts, open_link, copies), options, environ)
    return 0


async def _add_hosts(view: FleetView, viewer: Viewer) -> None:
    """Show each host that joins from now on."""
    while True:
        for name in sorted(viewer.hosts.keys() - {host.name for host in view.hosts}):
            view.add(name)
        await viewer.next_change()


async def _show(view: FleetView, options: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """Show the list on the screen, else as lines, and on a page as well where that is wanted."""
    async with _page(view, environ) if options["web"] else nullcontext("") as link:
        if link:
            echo(link)
        if options["headless"] or options["plain"] or not can_show(environ):
            await _print(view)
            return
        from unstuck_tui.app.fleet_app import FleetApp
        from unstuck_tui.app.host import show_alone
        from unstuck_tui.keys.preferences import preferences

        await show_alone(FleetApp(view, preferences(environ), notice=link))


@asynccontextmanager
async def _page(view: FleetView, environ: Mapping[str, str]) -> AsyncIterator[str]:
    """Serve the page of all hosts; yield a line with the link that lets one browser in."""
    from unstuck_web.hosts import HostRuns
    from unstuck_web.server import PageOptions, served

    runs = HostRuns(view, environ)
    async with served(runs.place, PageOptions(), environ, runs=runs) as page:
        yield f"the page of all hosts: open {page.link()} in a browser, once, within 15 minutes"


async def _print(view: FleetView) -> None:
    """Print a line for each event, and for each host that stands otherwise, until it is interrupted."""
    stood: dict[str, tuple[str, str]] = {}

    def see(record: Record) -> None:
        for line in lines_of(record):
            echo(line)

    def stand() -> None:
        for host in view.hosts:
            if stood.get(host.name) != (now := (host.standing, host.problem)):
                stood[host.name] = now
                complain(host.words)

    view.follow(see, stand)
    with suppress(asyncio.CancelledError):
        await view.follow_hosts()
