"""An agent is suspended while a question about it is open, and the event log says so."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from unstuck import Answer, Guidance, Observation, Report, Supervisor, Task, admit
from unstuck.contract import Capabilities, Observer, Receipt
from unstuck.errors import ProjectError
from unstuck.eventlog import events as e
from unstuck.eventlog.envelope import Record
from unstuck.eventlog.fold import fold
from unstuck.eventlog.state import State
from unstuck.runs.checkpoint_commands import nobody_at_work
from unstuck.settings.models import Settings
from unstuck.workspace.project import locate

PATIENCE = 60


class Streaming:
    """Is only seen in a stream, where it fails the same way three times; then it waits to be let go."""

    def __init__(self, **can: Any) -> None:
        self.can = Capabilities(stop=True, **can)
        self.orders: list[str] = []
        self.go = asyncio.Event()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        for number in range(3):
            observer.see(Observation(kind="action", text=admit("make test"), id=f"c{number}"))
            observer.see(Observation(kind="failure", text=admit("KeyError: 'currency'"), id=f"c{number}", exit_code=1))
        await self.go.wait()
        return Report()

    async def stop(self, attempt: str) -> Receipt:
        return Receipt()

    def freeze(self, attempt: str) -> None:
        self.orders.append(f"freeze {attempt}")

    def thaw(self, attempt: str) -> None:
        self.orders.append(f"thaw {attempt}")
        self.go.set()


@pytest.mark.parametrize(
    ("hold", "standing", "orders"),
    [
        ("freeze", "frozen", ["freeze web.1", "thaw web.1"]),
        ("step", "held", []),
        ("none", "runs_on", []),
    ],
)
async def test_a_question_says_what_its_agent_does_meanwhile(
    repo: Path, hold: str, standing: str, orders: list[str]
) -> None:
    """Any question in an attempt freezes an agent that can be frozen until it is answered; others are as they are."""
    agent, opened, saved = Streaming(hold=hold), asyncio.Event(), asyncio.Event()
    (repo / "half.py").write_text("half = True\n", encoding="utf-8")
    settings = Settings.model_validate({"unverified": "accept"})
    async with Supervisor.open(repo, settings, person=True) as supervisor, asyncio.timeout(PATIENCE):
        supervisor.core.journal.on_durable(lambda record: opened.set() if record.name == "gate_opened" else None)
        work = asyncio.ensure_future(supervisor.supervise(Task(id="web", prompt=admit("Mend it")), agent))
        supervisor.core.journal.on_durable(
            lambda record: saved.set() if getattr(record.event, "purpose", "") == "question" else None
        )
        await opened.wait()
        (row,) = supervisor.state.open_gates()
        assert row.gate.standing == standing
        assert saved.is_set() == (standing != "runs_on")
        if standing != "runs_on":
            plan = await supervisor.core.checkpoints(repo).plan(row.gate.context["checkpoint"])
            assert not plan.changes
        else:
            assert row.gate.context["not_saved"] == "the agent runs on and changes its files"
        await supervisor.answer(row.id, Answer(choice="continue"))
        if not orders:
            agent.go.set()
        await work
    assert agent.orders == orders


@pytest.mark.parametrize("hold", ["freeze", "step"])
async def test_files_may_be_set_back_beside_an_agent_only_where_it_is_frozen(repo: Path, hold: str) -> None:
    """While my answer is awaited I may restore under an agent that takes no step; under one that could, I may not."""
    agent, opened = Streaming(hold=hold), asyncio.Event()
    settings = Settings.model_validate({"unverified": "accept"})
    async with Supervisor.open(repo, settings, person=True) as supervisor, asyncio.timeout(PATIENCE):
        supervisor.core.journal.on_durable(lambda record: opened.set() if record.name == "gate_opened" else None)
        work = asyncio.ensure_future(supervisor.supervise(Task(id="web", prompt=admit("Mend it")), agent))
        await opened.wait()
        (row,) = supervisor.state.open_gates()
        store, place = supervisor.core.checkpoints(repo), await locate(repo)
        (repo / "half.py").write_text("half = True\n", encoding="utf-8")
        if hold == "freeze":
            with nobody_at_work(place, repo):
                await store.restore(row.gate.context["checkpoint"], run="manual")
        else:
            with pytest.raises(ProjectError, match=r"web of run .* works in"), nobody_at_work(place, repo):
                pass
        assert (repo / "half.py").exists() is (hold == "step")
        await supervisor.answer(row.id, Answer(choice="continue"))
        agent.go.set()
        await work


def test_an_old_log_without_the_field_is_read() -> None:
    """A gate in a log of an earlier version has no word for it."""
    event = e.GateOpened.model_validate({"gate": "g1", "type": "timeout", "choices": ["extend"]})
    record = Record(seq=1, time="", mono=0.0, run="r", actor="policy", event=event, name=event.name, task="web")
    state = State()
    fold(state, record)
    assert state.gates["g1"].gate.standing == ""
