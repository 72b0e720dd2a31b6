"""Remediation of a failing baseline: an agent that fails, costs or conflicts, and a baseline that fails again."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.manual_clock import ManualClock
from tests.supervision.conftest import Records

from unstuck import Answer, Guidance, Report, Supervisor, Task, admit
from unstuck.contract import Agent, Capabilities, Observation, Observer, Receipt
from unstuck.eventlog import events as e
from unstuck.eventlog.log.records import replay
from unstuck.settings.models import Settings
from unstuck.supervision.attempt.runner import CallableAgent
from unstuck.supervision.run.coordinator import Coordinator
from unstuck.supervision.run.finish import RunResult
from unstuck.supervision.run.remediation import Remediation

PATIENCE = 60
CHECK = "sh check.sh"


@pytest.fixture
def broken(repo: Path) -> Path:
    """A project whose own check fails before anybody has done anything."""
    (repo / "check.sh").write_text("echo 'ImportError: No module named config'; exit 1\n")
    (repo / "line.txt").write_text("base\n")
    subprocess.run(["git", "add", "-A"], cwd=repo, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "Break"], cwd=repo, check=True)
    return repo


def task(name: str, verify: str = CHECK) -> Task:
    return Task(id=name, prompt=admit(f"Do {name}."), verify=verify, isolation="worktree")


async def idle(guidance: Guidance) -> Report | None:
    return None


class Raising:
    """A remediation agent whose own adapter is broken."""

    can = Capabilities()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        raise RuntimeError("no connection")

    async def stop(self, attempt: str) -> Receipt:
        return Receipt()


async def run(supervisor: Supervisor, mender: Agent, agents: dict[str, Any], limit: int = 1) -> RunResult:
    core = supervisor.core
    assert core.worktrees is not None
    await core.worktrees.prepare()
    remediation = Remediation(core, CHECK, mender, limit=limit)
    made = {name: CallableAgent(agent) for name, agent in agents.items()}
    async with asyncio.timeout(PATIENCE):
        return await Coordinator(supervisor, made, remediation=remediation).run()


def failures(supervisor: Supervisor) -> list[e.RemediationFailed]:
    found: list[e.RemediationFailed] = []
    supervisor.core.journal.on_append(
        lambda record: found.append(record.event) if isinstance(record.event, e.RemediationFailed) else None
    )
    return found


async def test_a_remediation_agent_that_raises_is_a_failed_remediation(broken: Path) -> None:
    """A broken adapter does not end the whole run with a traceback: it counts, and then I am asked."""
    async with Supervisor.open(broken) as supervisor:
        failed = failures(supervisor)
        supervisor.add(task("a"), shared_verify=True)
        result = await run(supervisor, Raising(), {"a": idle}, limit=2)
        assert result.exit_reason == "needs_person"
        assert result.exit_code == 3
        assert [one.attempt for one in failed] == [1, 2]
        (gate,) = supervisor.core.head.open_gates()
        assert gate.gate.type == "remediation"


async def test_a_remediation_agent_that_is_stopped_is_a_failed_remediation(broken: Path, clock: ManualClock) -> None:
    """One that never ends is stopped when its time is up, and then I am asked."""
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def hang(guidance: Guidance) -> Report | None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return None

    async with Supervisor.open(broken, clock=clock) as supervisor:
        supervisor.add(task("a"), shared_verify=True)
        work = asyncio.ensure_future(run(supervisor, CallableAgent(hang), {"a": idle}))
        async with asyncio.timeout(PATIENCE):
            await begun.wait()
            await clock.advance(supervisor.core.settings.timeout_for("default"))
            result = await work
        assert result.exit_code == 3
        assert stopped.is_set()


async def test_a_remediation_that_conflicts_with_results_has_failed(broken: Path) -> None:
    """A task's result may conflict with the fixed baseline: I am asked, and nothing is lost."""
    mending, integrated = asyncio.Event(), asyncio.Event()

    async def other(guidance: Guidance) -> Report | None:
        await mending.wait()
        (guidance.workdir / "line.txt").write_text("other\n")
        return None

    async def mend(guidance: Guidance) -> Report | None:
        mending.set()
        await integrated.wait()
        (guidance.workdir / "line.txt").write_text("mended\n")
        (guidance.workdir / "check.sh").write_text("exit 0\n")
        return None

    async with Supervisor.open(broken) as supervisor:
        failed = failures(supervisor)
        supervisor.core.journal.on_append(
            lambda record: integrated.set() if isinstance(record.event, e.ResultIntegrated) else None
        )
        supervisor.add(task("a"), shared_verify=True)
        supervisor.add(task("other", "grep other line.txt"))
        result = await run(supervisor, CallableAgent(mend), {"a": idle, "other": other})
        assert result.exit_code == 3
        assert "line.txt" in failed[0].issue
        assert supervisor.core.row("other").status == "succeeded"


async def test_a_hostile_name_in_a_conflict_is_shown_harmless(repo: Path) -> None:
    """Two results with a file whose name is no text and holds an escape: the question shows it without either."""
    name = os.fsencode("a\x1b[31m") + b"\xe9.txt"
    first = asyncio.Event()

    def writes(text: bytes, wait: bool) -> Callable[[Guidance], Any]:
        async def agent(guidance: Guidance) -> Report | None:
            if wait:
                await first.wait()
            Path(os.fsdecode(os.fsencode(guidance.workdir) + b"/" + name)).write_bytes(text)
            return None

        return agent

    async with Supervisor.open(repo) as supervisor:
        core = supervisor.core
        assert core.worktrees is not None
        await core.worktrees.prepare()
        core.journal.on_append(lambda record: first.set() if isinstance(record.event, e.ResultIntegrated) else None)
        asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        core.journal.on_append(
            lambda record: asked.set_result(record.event.gate) if isinstance(record.event, e.GateOpened) else None
        )
        async with asyncio.timeout(PATIENCE):
            work = asyncio.gather(
                supervisor.supervise(task("one", "true"), writes(b"one\n", False)),
                supervisor.supervise(task("two", "true"), writes(b"two\n", True)),
            )
            gate = await asked
            context = core.head.gates[gate].gate.context
            await supervisor.answer(gate, Answer(choice="skip"))
            outcomes = await work
        log = core.journal.path
    assert [outcome.status for outcome in outcomes] == ["succeeded", "skipped"]
    assert context["problem"].startswith("conflict in a")
    for text in (context["problem"], *context["paths"]):
        assert text.isprintable()
        assert text.encode()
    assert dict(replay(log).gates[gate].gate.context) == context


class Spending:
    """A remediation agent that uses up tokens and mends the check, once it is not stopped before that."""

    can = Capabilities(stop=True)

    def __init__(self) -> None:
        self.begun, self.stopped = 0, asyncio.Event()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        self.begun += 1
        self.stopped.clear()
        observer.see(Observation(kind="usage", tokens=60))
        if self.begun == 1:
            await self.stopped.wait()
            return Report(how="stopped")
        (guidance.workdir / "check.sh").write_text("true\n")
        return Report(tokens=10)

    async def stop(self, attempt: str) -> Receipt:
        self.stopped.set()
        return Receipt()


async def test_a_remediation_agent_counts_towards_the_budget(broken: Path, records: type[Records]) -> None:
    """The use of the remediation agent counts; past the budget it is ended, and none is started until I give more."""
    mender, settings = Spending(), Settings.model_validate({"budget": {"tokens": 50}})
    async with Supervisor.open(broken, settings, person=True) as supervisor:
        record = records(supervisor)
        supervisor.add(task("a"), shared_verify=True)
        running = asyncio.ensure_future(run(supervisor, mender, {"a": idle}))
        gate = await record.asked()
        await asyncio.wait_for(mender.stopped.wait(), PATIENCE)
        assert gate.gate.type == "budget"
        assert mender.begun == 1
        assert record.of(e.BudgetReached)[0].while_idle is False
        await supervisor.answer(gate.id, Answer(choice="extend", number=1_000.0))
        assert (await running).exit_code == 0
        assert mender.begun == 2
        assert supervisor.core.head.run.tokens == 130
        assert [sent.attempt for sent in record.of(e.RemediationDispatched)] == [1]
        assert not record.of(e.RemediationFailed)


@pytest.mark.parametrize("mended_before", [False, True])
async def test_a_baseline_that_breaks_during_the_run_is_remediated(
    repo: Path, records: type[Records], mended_before: bool
) -> None:
    """Sound or mended before, it breaks again: a second task meets the failure, the base is looked at, and mended."""
    service, left = repo.parent / "service", [0]
    bad = "test ! -f bad || { echo 'ValueError: bad'; exit 1; }"
    gone = f"test -f {service} || {{ echo 'ImportError: No module named service'; exit 1; }}"
    (repo / "check.sh").write_text(f"{bad}\n{gone}\n")
    for words in (("add", "-A"), ("commit", "-q", "-m", "Check")):
        subprocess.run(["git", *words], cwd=repo, check=True)
    if not mended_before:
        service.touch()

    def failed() -> int:
        return sum(checked.result == "failed" for checked in record.of(e.CheckFinished))

    async def breaks(guidance: Guidance) -> None:
        """A fault of its own, unless the baseline is to blame; then that breaks, and it waits."""
        if guidance.number == 1:
            (guidance.workdir / "bad").touch() if service.exists() else None
        elif not left[0]:
            (guidance.workdir / "bad").unlink(missing_ok=True)
            service.unlink()
            left[0] = failed()
        else:
            await record.until(lambda: len(record.of(e.InfrastructureRestored)) == 1 + mended_before)

    async def meets(guidance: Guidance) -> None:
        if guidance.number == 1:
            await record.until(lambda: left[0] and failed() > left[0])

    async def mend(guidance: Guidance) -> None:
        service.touch()

    async with Supervisor.open(repo) as supervisor:
        record = records(supervisor)
        for name in ("a", "b"):
            supervisor.add(task(name), shared_verify=True)
        result = await run(supervisor, CallableAgent(mend), {"a": breaks, "b": meets}, limit=2)
        assert result.exit_code == 0
        assert [checked.result for checked in record.of(e.BaselineChecked)] == [
            "failed" if mended_before else "passed",
            "failed",
        ]
        assert len(record.of(e.InfrastructureRestored)) == 1 + mended_before
        assert not record.of(e.GateOpened)
