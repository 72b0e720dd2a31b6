"""``unstuck fleet``: runs of machines that ssh does not reach, over a NATS server."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unstuck.errors import UsageError
from unstuck_tui.cli.common import agents_here, echo, echo_table, json_option, print_json

if TYPE_CHECKING:
    from unstuck.fleet.nats.membership import Membership
    from unstuck.fleet.nats.nats_server import NatsServer

_json_option = json_option("One JSON object a line.")
_data_option = click.option(
    "--data", type=click.Path(path_type=Path), help="Directory of the server's data; else one of unstuck's own."
)


@click.group(name="fleet")
def command() -> None:
    """Show and answer runs of machines that ssh does not reach, over a NATS server."""


@command.command(name="up")
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Make a key for a host, which publishes its logs.")
@click.option("--person", "people", multiple=True, metavar="NAME", help="Make a key for a person, who may answer.")
@click.option("--viewer", "viewers", multiple=True, metavar="NAME", help="Make a key that may only read.")
@click.option("--listen", default="", metavar="ADDRESS:PORT", help="Address to listen at; at first 0.0.0.0:4222.")
@click.option(
    "--address",
    "addresses",
    multiple=True,
    metavar="NAME",
    help="Name or address for the other machines; else the one to listen at, or this machine's name.",
)
@click.option(
    "--server", "servers", multiple=True, metavar="URL", help="Use your own server; repeat it for each of a cluster."
)
@click.option("--nats-server", "program", default="", metavar="PATH", help="The server's program; else that on PATH.")
@_data_option
def up(
    program: str,
    data: Path | None,
    listen: str,
    addresses: tuple[str, ...],
    servers: tuple[str, ...],
    **names: tuple[str, ...],
) -> None:
    """Run the server of a fleet in the foreground.

    Makes its keys and certificates, and prints the line for each machine whose key was made. While it runs, the same
    command in another terminal makes more keys.

    With --server it runs none. It makes the streams on your own server or cluster, once that has the keys.
    """
    require_nats()
    from unstuck.fleet.nats.nats_server import NatsServer, server_program

    server = NatsServer(_folder(data), listen=listen, addresses=addresses, servers=servers)
    found = "" if server.servers else server_program(program)
    server.prepare()
    for role, option in (("host", "hosts"), ("person", "people"), ("viewer", "viewers")):
        for name in names[option]:
            path = server.add(name, role)  # type: ignore[arg-type]
            echo(f"copy {path} to {name}, keep it secret, and there:", painted=False)
            echo(f"  unstuck fleet join {server.url} --creds {path.name}", painted=False)
    if server.servers:
        _make_streams(server)
        return
    if server.reload():
        asyncio.run(server.until_known(name for option in names.values() for name in option))
        echo(f"the server at {server.url} runs already and knows these keys")
        return
    _until_stopped(_serve(server, found))


def _make_streams(server: NatsServer) -> None:
    """Make the streams on the person's own servers. Raises FleetError with what these still need."""
    from unstuck.fleet.nats.session import FleetError

    keys = server.folder / "authorization.conf"
    echo(f"your servers include {keys}: copy it to each after every change, and reload them", painted=False)
    try:
        asyncio.run(server.until_streams())
    except FleetError as problem:
        raise FleetError(f"{problem} Start yours with {keys}, and type this again") from None
    echo(f"the streams are at {server.url}")


async def _serve(server: NatsServer, program: str) -> None:
    async with server.running(program):
        echo(f"the server is at {server.url}; its data is in {server.folder}; press ctrl+c to stop")
        await asyncio.Event().wait()


@command.command(name="join")
@click.argument("url", required=False)
@click.option("--creds", type=click.Path(path_type=Path), metavar="FILE", help="File that `unstuck fleet up` wrote.")
@click.option("--foreground", is_flag=True, help="Forward in this process, as for a service of your system.")
def join(url: str | None, creds: Path | None, foreground: bool) -> None:
    """Join a fleet with a key. A host then forwards its logs in the background.

    Without URL it starts the forwarder again, such as after a restart of the machine.
    """
    require_nats()
    membership = _membership()
    if (url is None) != (creds is None):
        raise UsageError("URL and --creds go together: unstuck fleet join tls://SERVER:4222 --creds FILE")
    if url is not None and creds is not None:
        key = asyncio.run(membership.join(url, creds))
        echo(f"joined {key.url} as the {key.role} {key.name}")
        if key.role != "host":
            return
        membership.stop()
    if foreground:
        _until_stopped(membership.forward())
    else:
        echo(f"process {membership.start()} forwards the logs of this user; `unstuck fleet status` tells how it is")


@command.command(name="leave")
def leave() -> None:
    """End the forwarder and delete the keys here. Logs and copies stay."""
    require_nats()
    names = _membership().leave()
    echo(f"left as {', '.join(names)}" if names else "this machine is in no fleet")


@command.command(name="status")
@_json_option
def status(as_json: bool) -> None:
    """Show what this machine has joined. It also says whether the forwarder works."""
    require_nats()
    membership = _membership()
    rows = []
    for key in membership.joined():
        process = membership.forwarder() if key.role == "host" else 0
        words = membership.words() if process else {}
        problem = str(words.get("problem", ""))
        if key.role == "host" and not process:
            problem = "no process forwards: start one with `unstuck fleet join`"
        logs = int(words.get("logs", 0))
        row = {"name": key.name, "role": key.role, "url": key.url, "pid": process, "logs": logs, "problem": problem}
        rows.append(row)
    if as_json:
        print_json(rows)
        return
    for row in rows:
        work = f", process {row['pid']}, logs: {row['logs']}" if row["pid"] else ""
        echo(f"{row['role']} {row['name']} at {row['url']}{work}")
        if row["problem"]:
            echo(f"! {row['problem']}")
    if not rows:
        echo("this machine is in no fleet: unstuck fleet join URL --creds FILE")


@command.command(name="hosts")
@_json_option
def hosts(as_json: bool) -> None:
    """List the hosts of the fleet. It says when each was heard last, its version, and its logs."""
    require_nats()
    from unstuck.fleet.nats.report import host_rows

    rows = asyncio.run(host_rows(_membership().person(), os.environ))
    if as_json:
        print_json(rows)
        return
    shown = [
        (r["host"], r["state"], r["seen"], r["version"], str(r["logs"]), str(r["live"]), r["problem"]) for r in rows
    ]
    echo_table(("HOST", "STATE", "SEEN", "VERSION", "LOGS", "LIVE", "PROBLEM"), shown)


@command.command(name="doctor")
@_json_option
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Look for gaps, lag, forged messages and other versions. Exits with 1 where something is wrong."""
    require_nats()
    from unstuck.fleet.nats.report import findings

    rows = asyncio.run(findings(_membership().person(), os.environ))
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            echo(f"{'ok' if row['ok'] else '!!'} {row['about']}: {row['text']}")
    ctx.exit(0 if all(row["ok"] for row in rows) else 1)


@command.command(name="revoke")
@click.argument("name", metavar="HOST")
@_data_option
def revoke(name: str, data: Path | None) -> None:
    """Revoke the key of a host or a person.

    This is a command for the server's machine. A connection with that key ends at once.
    """
    require_nats()
    from unstuck.fleet.nats.nats_server import NatsServer

    server = NatsServer(_folder(data))
    server.revoke(name)
    echo(f"revoked: {name}")
    if server.servers:
        echo(f"copy {server.folder / 'authorization.conf'} to each of your servers, and reload them", painted=False)


@command.command(name="answer")
@click.argument("host")
@click.argument("gate", metavar="QUESTION")
@click.argument("choice")
@click.argument("words", nargs=-1, metavar="[TEXT]")
@click.option("--scope", metavar="SCOPE", help="How long the answer holds, as for `unstuck answer`.")
def answer(host: str, gate: str, choice: str, words: tuple[str, ...], scope: str | None) -> None:
    """Answer an open question of a host. Exactly one answer wins, and you are told whose."""
    require_nats()
    from unstuck.fleet.nats.report import give
    from unstuck.processes import agent_sign
    from unstuck.runs.answers.answer_rules import parse_answer

    if sign := agent_sign(os.getpid(), agents_here(os.environ)):
        raise UsageError(f"an agent may not answer: this question needs a person ({sign})")
    key = _membership().person()
    said, won = asyncio.run(give(key, os.environ, host, gate, parse_answer(choice, words, scope=scope)))
    echo(said)
    if not won:
        raise click.exceptions.Exit(1)


@command.command(name="work")
@click.option("--slots", type=click.IntRange(1, 64), default=1, help="Number of tasks that it works at the same time.")
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="Label that tasks of a plan may ask for.")
@click.option(
    "--agent", "agents", multiple=True, metavar="NAME[=COMMAND]", help="Known agent, or an agent with its command."
)
def work(slots: int, labels: tuple[str, ...], agents: tuple[str, ...]) -> None:
    """Work tasks of plans of trusted owners.

    It works in the foreground. It needs the key of a host, and `unstuck fleet trust` for each owner.
    """
    require_nats()
    from unstuck.fleet.shared_plan.host import Offer, PlanHost, offered_agent
    from unstuck.fleet.shared_plan.trust import Trust

    pairs = [agent.partition("=") for agent in agents]
    if not pairs:
        raise UsageError("offer at least one agent: unstuck fleet work --agent claude")
    try:
        commands = {name: offered_agent(name, shlex.split(command)) for name, _, command in pairs}
    except ValueError as error:
        raise UsageError(f"--agent: {str(error).lower()}") from None
    key = _membership().host()
    host = PlanHost(key, os.environ, Offer(slots=slots, labels=labels, agents=commands), say=echo)
    echo(f"{key.name} offers {', '.join(commands)} in {slots} slot{'s' * (slots > 1)}; press ctrl+c to stop")
    if not Trust(os.environ).keys():
        echo("it trusts nobody yet, and works no plan before: unstuck fleet trust KEY")
    _until_stopped(host.run())


@command.command(name="trust")
@click.argument("key", required=False)
@click.option("--commands", is_flag=True, help="Plans of this owner may name the agents' commands.")
@click.option("--remove", is_flag=True, help="Trust this key no more.")
def trust(key: str | None, commands: bool, remove: bool) -> None:
    """Trust the key of an owner of plans.

    This machine then works plans that the key has signed. Without KEY it lists the keys that are trusted here, and
    prints this machine's own.
    """
    require_nats()
    from unstuck.fleet.shared_plan.trust import Trust

    trusted = Trust(os.environ)
    if key is None:
        if commands or remove:
            raise UsageError("name a key: unstuck fleet trust KEY")
        own = [one for one in _membership().joined() if one.role == "person"]
        for one in own:
            echo(f"{one.public} is the key of {one.name}, this machine's own", painted=False)
        for known, allowed in trusted.keys().items():
            echo(f"{known} is trusted{', and may name commands' if allowed else ''}", painted=False)
        if not own and not trusted.keys():
            echo("no key is trusted here: unstuck fleet trust KEY")
    elif remove:
        trusted.remove(key)
        echo(f"trusted no more: {key}", painted=False)
    else:
        trusted.add(key, commands=commands)
        echo(f"trusted: {key}", painted=False)


@command.command(name="drain")
@click.argument("host")
@click.option("--undo", is_flag=True, help="Let the host take tasks again.")
def drain(host: str, undo: bool) -> None:
    """Have a host take no new task.

    It finishes those that it has.
    """
    require_nats()
    from unstuck.fleet.nats.keys import made_name
    from unstuck.fleet.shared_plan.drain import drain_host

    said = asyncio.run(drain_host(_membership().person(), made_name(host), drained=not undo))
    echo(said)


def _folder(data: Path | None) -> Path:
    from unstuck.settings.paths import state_dir

    return data.absolute() if data is not None else state_dir(os.environ) / "fleet-server"


def _membership() -> Membership:
    from unstuck.fleet.nats.membership import Membership

    return Membership(os.environ)


def _until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """Run ``work`` until it ends, or a signal asks for the end."""

    async def run() -> None:
        task = asyncio.ensure_future(work)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()

    asyncio.run(run())


def require_nats() -> None:
    """Raise UsageError where the packages of the fleet are not installed."""
    from importlib.util import find_spec

    from unstuck.agents.optional_packages import install_words

    if missing := [name for name in ("nats", "nkeys", "cryptography") if find_spec(name) is None]:
        raise UsageError(f"the fleet needs {', '.join(missing)}: {install_words('fleet')}")
