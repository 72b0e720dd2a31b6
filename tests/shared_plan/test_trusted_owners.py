"""Hosts that work only what an owner has signed whom they were told to trust."""

from __future__ import annotations

import asyncio
import json
import sys

from tests.shared_plan.conftest import AGENT, Machines, task, until

from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.keys import read_credentials
from unstuck.fleet.nats.session import connected
from unstuck.fleet.shared_plan.entries import OfferEntry
from unstuck.fleet.shared_plan.placement import Placement


def test_a_host_does_nothing_for_an_owner_that_it_was_not_told_to_trust(machines: Machines) -> None:
    """Another person of the same fleet may watch it, and have it work only once it trusts their key."""
    machines.owner("ben")
    anna = machines.owner()
    plan = machines.plan(anna, [task("one")])
    host = machines.host("build1", trusts="ben")
    run = anna.start("run", str(plan), "--fleet", "--headless")
    until(lambda: "waits for a host that trusts you" in run.text(), about=run.text)
    assert f"fleet trust {machines.key('anna')} on build1" in run.text()
    until(lambda: "anna has a plan, and is not trusted here" in host.text(), about=host.text)
    _settled(machines)
    assert "claimed" not in host.text()
    build1 = machines.all["build1"]
    assert build1.work("fleet", "trust", machines.key("anna"))[0] == 0
    assert run.end() == 0, run.text()
    assert build1.work("fleet", "trust", "--remove", machines.key("anna"))[0] == 0
    lines = build1.work("fleet", "trust")[1]
    assert machines.key("ben") in lines
    assert machines.key("anna") not in lines


def test_an_altered_plan_is_passed_over(machines: Machines) -> None:
    """One who holds the server may change any message, and no host works what its owner has not signed."""
    anna = machines.owner()
    plan = machines.plan(anna, [task("one", prompt="sleep 0\nwrite one")])
    run = anna.start("run", str(plan), "--fleet", "--headless")
    until(lambda: "attempt 1" in run.text())
    asyncio.run(_alter(machines))
    run.kill()
    host = machines.host("build1")
    until(lambda: "offers" in host.text())
    _settled(machines)
    assert "claimed" not in host.text()
    assert not list(machines.all["build1"].place.rglob("*.txt"))


def test_a_plan_names_the_command_only_where_the_host_lets_it(machines: Machines) -> None:
    """The agent is the host's own, unless it was told to trust this owner's commands."""
    anna = machines.owner()
    command = [sys.executable, str(AGENT), "{prompt_file}"]
    path = machines.plan(anna, [task("one", agent="own")], agents={"own": {"command": command}})
    host = machines.host("build1")
    run = anna.start("run", str(path), "--fleet", "--headless")
    until(lambda: "attempt 1" in run.text())
    _settled(machines)
    assert "claimed" not in host.text()
    assert machines.all["build1"].work("fleet", "trust", machines.key("anna"), "--commands")[0] == 0
    assert run.end() == 0, run.text()


def test_labels_choose_the_host_and_secrets_stay(machines: Machines) -> None:
    """A task goes to a host with its labels, which has an environment of its own."""
    anna = machines.owner()
    plan = machines.plan(anna, [task("one", prompt="write one\nsecret seen", labels=["gpu"])])
    plain = machines.host("build1")
    labelled = machines.host("build2", "--label", "gpu")
    code, out, errors = anna.work("run", str(plan), "--fleet", "--headless", OWNERS_SECRET="not-for-others")
    assert (code, errors) == (0, ""), out
    assert "claimed" not in plain.text()
    assert "claimed" in labelled.text()
    assert anna.results()["seen.txt"] == "none"
    holding = machines.plan(anna, [task("two")], setup="echo not-for-others")
    code, _, errors = anna.work("run", str(holding), "--fleet", "--headless", MY_API_KEY="not-for-others")
    assert code == 2
    assert "secret of this machine" in errors


def _settled(machines: Machines) -> None:
    """Wait until every host has looked at the plans once more: it says what it offers after that."""

    async def wait() -> None:
        key = read_credentials(machines.fleet.server.add("watcher", "person"))
        await machines.fleet.server.until_known(["watcher"])
        async with Placement(key).table() as table:
            offers = {
                name: entry.revision for name, entry in table.entries.items() if isinstance(entry.value, OfferEntry)
            }
            async with asyncio.timeout(30):
                while any(table.revision(name) == revision for name, revision in offers.items()):
                    await table.until_changed()

    asyncio.run(wait())


async def _alter(machines: Machines) -> None:
    """Change the prompt in the bucket, with all its headers."""
    async with connected(machines.fleet.server.owner_credentials()) as session:
        for message in await session.batch(s.PLANS, f"{s.PLANS_PREFIX}.work.>", 1):
            changed = json.loads(message.payload) | {"prompt": "write evil"}
            headers = {
                name: value
                for name, value in message.headers.items()
                if name.startswith("Unstuck-") or name == s.EXPECTED
            }
            headers[s.EXPECTED] = str(message.seq)
            await session.publish(message.subject, json.dumps(changed).encode(), headers)
