"""A reopened run keeps every answer and identity, refuses a second supervisor, and bounds what agents print."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import os
from pathlib import Path

import pytest

from unstuck.agents.command.command_agent import CommandAgent, CommandSpec
from unstuck.contract import Answer, Capabilities, Guidance, Report, Task
from unstuck.errors import ProjectLocked, RecordError
from unstuck.eventlog import events as e
from unstuck.eventlog.log import log_format, snapshot
from unstuck.eventlog.log.journal import LOG_NAME
from unstuck.eventlog.log.records import read_records
from unstuck.eventlog.log.verify import check
from unstuck.eventlog.storage.durable_files import open_for_reading
from unstuck.rows.saved_rows import ROWS_NAME
from unstuck.settings.models import Settings
from unstuck.supervision.attempt.runner import CallableAgent
from unstuck.supervision.run.coordinator import Coordinator
from unstuck.supervision.run.supervisor import Supervisor
from unstuck.text import Clean

NAMES = ("red", "green", "blue")


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def lasting(folder: Path) -> dict[str, bytes]:
    """The files but the rows of a run, which its supervisor saves when it comes to it."""
    return {path: content for path, content in files(folder).items() if ROWS_NAME not in path}


@pytest.mark.parametrize("order", list(itertools.permutations(NAMES))[::2])
async def test_three_answers_in_any_order_reach_their_own_tasks_once(tmp_path: Path, order: tuple[str, ...]) -> None:
    """Three questions wait, each is answered with a restart after it: every task hears its own answer, once."""
    heard: list[tuple[str, str]] = []

    def agent(name: str) -> CallableAgent:
        async def attempt(guidance: Guidance) -> Report:
            told = [other for other in NAMES if f"paint it {other}" in guidance.text]
            heard.extend((name, other) for other in told)
            if not told:
                return Report(signal="needs_guidance", question=Clean(f"Which colour for {name}?"))
            (guidance.workdir / f"{name}.txt").touch()
            return Report()

        return CallableAgent(attempt)

    run = None
    for answering in (None, *order):
        async with Supervisor.open(tmp_path, Settings(max_parallel=3), resume=run) as supervisor:
            run = supervisor.run
            for name in NAMES:
                supervisor.add(Task(id=name, prompt=Clean("Paint."), verify=f"test -e {name}.txt"))
            if answering is not None:
                (gate,) = [row.id for row in supervisor.core.head.open_gates() if row.gate.task == answering]
                await supervisor.answer(gate, Answer(choice="show_me", text=Clean(f"paint it {answering}")))
            if answering in (None, order[-1]):
                result = await Coordinator(supervisor, lambda task: agent(task.id)).run()
                assert result.exit_code == (3 if answering is None else 0)
    assert sorted(heard) == sorted((name, name) for name in NAMES)


async def test_a_failed_reopening_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fails while the run is opened again: it is refused, and the next time everything is still known."""

    async def attempt(guidance: Guidance) -> Report:
        return Report(signal="needs_guidance", question=Clean("Which port?"), session="s-4711")

    async with Supervisor.open(tmp_path) as supervisor:
        task = Task(id="t", prompt=Clean("Work."), verify="false")
        supervisor.add(task)
        assert (await Coordinator(supervisor, lambda row: CallableAgent(attempt)).run()).exit_code == 3
    run, folder = supervisor.run, supervisor.core.folder
    before = files(folder)
    failing = [LOG_NAME, "state.json"]

    def once(path: Path) -> object:
        if path.name in failing:
            failing.remove(path.name)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return open_for_reading(path)

    for module in (log_format, snapshot):
        monkeypatch.setattr(module, "open_for_reading", once)
    with pytest.raises(RecordError, match="Input/output error"):
        async with Supervisor.open(tmp_path, resume=run):
            raise AssertionError
    while failing:
        failing.pop()
    assert files(folder) == before
    async with Supervisor.open(tmp_path, resume=run) as again:
        row = again.core.head.tasks["t"]
        assert row.session == "s-4711"
        assert row.state == "waiting"
        assert len(again.core.head.open_gates()) == 1


async def test_a_late_message_is_logged_and_ignored(tmp_path: Path) -> None:
    """*Done* from the first attempt while the second works under the same name: nothing but a line in the record."""
    async with Supervisor.open(tmp_path) as supervisor:
        session = supervisor.session(Task(id="t", prompt=Clean("Work."), verify="false"), Capabilities(fresh=True))
        await session.begin()
        directive = await session.end("t.1", Report(exit_code=1, error=Clean("AssertionError: no")))
        assert directive.guidance is not None
        assert directive.guidance.attempt == "t.2"
        late = asyncio.ensure_future(session.end("t.1", Report(signal="complete")))
        await asyncio.sleep(0)
        head = supervisor.core.head
        assert head.tasks["t"].state == "running"
        assert head.tasks["t"].attempt == "t.2"
        assert head.attempts["t.2"].is_live is True
        late.cancel()
        await asyncio.wait([late])
        await supervisor.core.journal.committed()
        said = [record.event for record in read_records(supervisor.core.journal.path)]
    assert [event.attempt_id for event in said if isinstance(event, e.StaleReport)] == ["t.1"]


async def test_a_second_supervisor_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    """It ends at once with a line that names the first, and no file has changed."""
    async with Supervisor.open(tmp_path) as first:
        await first.core.journal.committed()
        before = lasting(tmp_path)
        with pytest.raises(ProjectLocked, match=str(os.getpid())) as refused:
            async with Supervisor.open(tmp_path):
                raise AssertionError
        assert lasting(tmp_path) == before
    assert refused.value.exit_code == 2


HOSTILE = r"""
printf 'a\0b \033]52;c;ZXZpbA==\007 \033[2J \302\205 \342\200\250 \355\240\200 \377\n'
head -c 50000000 /dev/zero | tr '\0' x
printf '\nAssertionError: \033[31mno\033[0m\342\200\250second\n'
exit 1
"""


async def test_hostile_output_is_one_harmless_line_a_record(tmp_path: Path) -> None:
    """Fifty megabytes without a line end, NULs, lone surrogates, separators, escapes: bounded, escaped, readable."""
    async with Supervisor.open(tmp_path, Settings(output_limit=100_000, ask="never")) as supervisor:
        core = supervisor.core
        agent = CommandAgent(
            CommandSpec(command=("sh", "-c", HOSTILE)), folder=core.folder, environ=os.environ, limit=100_000,
            prompt_limit=10_000,
        )  # fmt: skip
        supervisor.add(Task(id="t", prompt=Clean("Work."), verify="false"), mode="direct")
        await Coordinator(supervisor, lambda task: agent).run()
    raw = core.journal.path.read_bytes()
    assert raw.isascii()
    assert not set(raw) & (set(range(32)) - {10})
    assert len(raw.splitlines()) == raw.count(b"\n") == check(core.folder).records
    assert max(map(len, raw.splitlines())) < 200_000
    assert all(json.loads(line)["seq"] for line in raw.splitlines())
    outputs = list((core.folder / "output").glob("t.*.log"))
    assert outputs
    assert all(path.stat().st_size < 101_000 for path in outputs)
    reports = [record.event.report for record in read_records(core.journal.path) if record.name == "attempt_ended"]
    first = core.folder / reports[0].output
    assert reports[0].output_at == (0, first.stat().st_size)
    shown = "".join(str(record.as_dict()) for record in read_records(core.journal.path))
    assert not any(character in shown for character in "\x1b\x9b\x00\u2028\x85")
