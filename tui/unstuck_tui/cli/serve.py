"""``unstuck serve``: this machine's end of a screen elsewhere, which starts it over ssh."""

from __future__ import annotations

import asyncio
import os

import click


@click.command(name="serve", hidden=True)
@click.option("--stdio", is_flag=True, required=True, help="Speak with the screen over the standard streams.")
def command(stdio: bool) -> None:
    """Serve a screen on another machine: `unstuck watch --host` starts this there.

    Sends the event logs of all your live and paused runs on this machine, and takes answers for them.
    """
    from unstuck.fleet.server import serve_stdio

    asyncio.run(serve_stdio(os.environ))
