"""Runs on other machines in one list: seen, answered and steered as if they were here, over the host's own log."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fleet.conftest import FAILING, Machine, Viewer

from unstuck.contract import Answer
from unstuck.errors import AnswerRefused, GateClosed, UnstuckError
from unstuck.eventlog.log.verify import check
from unstuck.fleet.link import ProcessLink

Machines = Callable[[str], Machine]
ASKING = ("run", "--headless", "--check", FAILING, "--", "true")


def links(*machines: Machine) -> Callable[[str], object]:
    by_name = {machine.name: machine for machine in machines}
    return lambda host: by_name[host].link()


async def test_paused_runs_of_two_machines_are_one_list(machine: Machines) -> None:
    """Both questions stand in one list with their hosts' names; an answer is in the log of its own host only."""
    a, b = machine("a"), machine("b")
    assert a.unstuck(*ASKING).returncode == b.unstuck(*ASKING).returncode == 3
    viewer = Viewer(links(a, b), "a", "b")  # type: ignore[arg-type]
    async with viewer.following() as view:
        await viewer.until(lambda: len(view.state.open_gates()) == 2)
        assert set(view.state.tasks) == {"a/shop/task", "b/shop/task"}
        gate = next(row for row in view.state.open_gates() if row.gate.task == "b/shop/task")
        await view.answer(gate.id, Answer(choice="skip"))
        await viewer.until(lambda: view.state.gates[gate.id].status == "answered")
        assert "AssertionError" in (await view.output("a/shop/task", "check")).text
    (log,) = b.logs
    answered = [json.loads(line) for line in log.read_bytes().splitlines() if b"gate_answered" in line]
    assert [one["data"]["choice"] for one in answered] == ["skip"]
    assert answered[0]["data"]["via"].startswith("fleet:")
    assert b"gate_answered" not in a.logs[0].read_bytes()
    for host in view.hosts:
        for run in host.runs.values():
            assert check(run.log.parent).records == run.state.seq
            assert run.log.read_bytes() in (a.logs[0].read_bytes(), b.logs[0].read_bytes())


async def test_a_live_run_is_held_and_decided_from_elsewhere(machine: Machines) -> None:
    """An agent at work is stopped for good by a decision at another machine, through the socket of its run."""
    a = machine("a")
    a.start("run", "--headless", "--check", "true", "--", "sleep", "600")
    viewer = Viewer(links(a), "a")  # type: ignore[arg-type]
    async with viewer.following() as view:
        await viewer.until(lambda: [row for row in view.state.attempts.values() if row.state == "live"])
        assert view.absent("a/shop/task") == ("", "")
        with pytest.raises(AnswerRefused, match="no screen is open"):
            await view.hold("a/shop/task")
        with pytest.raises(UnstuckError, match=r"ssh -t a .*shop"):
            await view.start_takeover("a/shop/task")
        await view.step_in("a/shop/task", Answer(choice="abandon"))
        await viewer.until(lambda: view.state.tasks["a/shop/task"].status == "abandoned")


async def test_of_two_people_one_wins_and_the_other_is_told(machine: Machines) -> None:
    """Two screens answer one question at once: one answer counts, and the loser learns who gave which."""
    a = machine("a")
    assert a.unstuck(*ASKING).returncode == 3
    one, two = Viewer(links(a), "a"), Viewer(links(a), "a", environ=a.environ)  # type: ignore[arg-type]
    async with one.following() as first, two.following() as second:
        await one.until(lambda: first.state.open_gates())
        await two.until(lambda: second.state.open_gates())
        (gate,) = first.state.open_gates()
        given = (first.answer(gate.id, Answer(choice="skip")), second.answer(gate.id, Answer(choice="abandon")))
        outcomes = await asyncio.gather(*given, return_exceptions=True)
    (lost,) = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert isinstance(lost, GateClosed)
    won = "abandon" if isinstance(outcomes[0], BaseException) else "skip"
    assert lost.what.startswith(f"{won}, from another machine, by ")
    assert a.logs[0].read_bytes().count(b'"gate_answered"') == 1


async def test_a_host_that_is_cut_off_is_unknown_until_it_is_back(machine: Machines) -> None:
    """Its state is UNKNOWN with an age, its questions stay and refuse answers; what happened meanwhile follows."""
    a = machine("a")
    assert a.unstuck(*ASKING).returncode == 3
    opened: list[ProcessLink] = []
    reachable = asyncio.Event()
    reachable.set()

    async def open_link(host: str) -> ProcessLink:
        await reachable.wait()
        opened.append(await a.link(host))
        return opened[-1]

    viewer = Viewer(open_link, "a")
    async with viewer.following() as view:
        await viewer.until(lambda: view.state.open_gates())
        (gate,) = view.state.open_gates()
        reachable.clear()
        opened[0]._process.kill()
        await viewer.until(lambda: view.hosts[0].standing == "cut off")
        assert view.absent("a/shop/task")[0] == "UNKNOWN"
        assert "UNKNOWN for" in view.hosts[0].words
        with pytest.raises(UnstuckError, match="a is cut off, and its state UNKNOWN for"):
            await view.answer(gate.id, Answer(choice="skip"))
        assert [row.id for row in view.state.open_gates()] == [gate.id]
        assert a.unstuck("answer", gate.id.rpartition("/")[2], "skip").returncode == 0
        reachable.set()
        await viewer.until(lambda: view.state.gates[gate.id].status == "answered")
        assert view.absent("a/shop/task") == ("", "")
    (run,) = view.hosts[0].runs.values()
    assert run.log.read_bytes() == a.logs[0].read_bytes()


async def test_another_screen_begins_with_what_was_known(machine: Machines) -> None:
    """Without a connection the list shows the copies, as UNKNOWN; nothing is fetched twice once there is one."""
    a = machine("a")
    assert a.unstuck(*ASKING).returncode == 3
    first = Viewer(links(a), "a")  # type: ignore[arg-type]
    async with first.following() as view:
        await first.until(lambda: view.state.open_gates())

    async def nobody(host: str) -> ProcessLink:
        return await ProcessLink.open(["/does/not/exist"], os.environ)

    second = Viewer(nobody, "a")
    async with second.following() as view:
        await second.until(lambda: view.hosts[0].standing == "cut off")
        assert view.absent("a/shop/task")[0] == "UNKNOWN"
        assert len(view.state.open_gates()) == 1
        assert "cannot be started" in view.hosts[0].words


async def test_an_agent_watches_no_other_machine(machine: Machines) -> None:
    """An agent that starts the list, to answer in the name of its person, is refused in words."""
    a = machine("a")
    (a.repo / "agent.sh").write_text(
        "timeout 20 unstuck watch --headless --host b > said.txt 2>&1; true\n", encoding="utf-8"
    )
    a.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    a.unstuck("run", "--headless", "--check", "true", "--", "sh", "agent.sh")
    assert "an agent may not watch other machines" in (a.repo / "said.txt").read_text("utf-8")


async def test_a_run_that_begins_later_is_in_both_of_two_open_lists(machine: Machines) -> None:
    """Two lists of one person keep one copy: what one of them has copied first is not refused by the other."""
    a = machine("a")
    first, second = (Viewer(links(a), "a") for _ in range(2))  # type: ignore[arg-type]
    async with first.following() as one, second.following() as other:
        for viewer, view in ((first, one), (second, other)):
            await viewer.until(lambda view=view: view.hosts[0].standing == "connected")
        asked = await asyncio.to_thread(a.unstuck, *ASKING)
        assert asked.returncode == 3
        for viewer, view in ((first, one), (second, other)):
            await viewer.until(lambda view=view: list(view.state.open_gates()))
            assert view.hosts[0].words == "a ✓"
