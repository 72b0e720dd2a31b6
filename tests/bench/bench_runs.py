"""Cost of whole runs: many small tasks, one attempt, a resume, and readers of a very long log.

Processor time counts, not time: other programs on a busy machine do not change it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bench_kit import Bench, processor_time

from unstuck import Guidance, Supervisor, Task, admit
from unstuck.clock import SystemClock
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import LOG_NAME, SNAPSHOT_BYTES, SNAPSHOT_NAME, STATE_PREFIX, Journal
from unstuck.eventlog.log.load_state import checked_state
from unstuck.eventlog.log.log_format import framed
from unstuck.eventlog.log.snapshot import save
from unstuck.eventlog.state import dump
from unstuck.supervision.attempt.runner import CallableAgent
from unstuck.supervision.run.coordinator import Coordinator

UNSTUCK = str(Path(sys.executable).parent / "unstuck")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("UNSTUCK_")}
RECORDS = 100_000
MEGABYTES = int(os.environ.get("UNSTUCK_BENCH_MEGABYTES", "1024"))
ATTEMPTS = 20
TASKS = int(os.environ.get("UNSTUCK_BENCH_TASKS", "2000"))


def used(action: Callable[[], object]) -> float:
    """Milliseconds of processor time that ``action`` uses, its processes included."""
    begun = processor_time()
    action()
    return 1e3 * (processor_time() - begun)


def unstuck(project: Path, *arguments: str, code: int = 0) -> None:
    """Run a command to its end."""
    done = subprocess.run([UNSTUCK, *arguments], cwd=project, env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode != code:
        raise RuntimeError(done.stderr)


def first_line(project: Path, *arguments: str) -> None:
    """Run a command until it has printed a line, and end it."""
    with subprocess.Popen([UNSTUCK, *arguments], cwd=project, env=ENVIRONMENT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()


def paused_run(project: Path) -> Path:
    """A project with a run that waits for an answer; the folder of the run."""
    project.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    unstuck(project, "run", "--headless", "--direct", "--check", "false", "--", "true", code=3)
    (run,) = (project / ".git" / "unstuck" / "runs").iterdir()
    return run


async def lengthen(run: Path, records: int) -> None:
    """Append what an agent did, and leave the run as a kill leaves it."""
    journal = await Journal.open(run, run=run.name, clock=SystemClock())
    (row,) = journal.head.tasks.values()
    for number in range(records):
        text = admit(f"python -m pytest -x tests/unit/test_{number}.py\n" + "the output of it " * 15)
        journal.append(e.StepRecorded(kind="action", text=text), actor="agent", task=row.id, attempt=row.attempt)
        if number % 5_000 == 0:
            await journal.committed()
    await journal.committed()
    await journal._writer.close()


def enlarge(run: Path, megabytes: int) -> None:
    """Make the log of a run so large, with a snapshot as its supervisor would have left it."""
    log, known = run / LOG_NAME, checked_state(run)
    line = json.loads(log.read_bytes().splitlines()[-1])
    line["data"] |= {"text": "x" * 5_000}
    body = json.dumps({key: line[key] for key in line if key not in ("v", "seq", "safe", "crc")}).encode()
    seq, size, crc = known.position
    with log.open("ab") as file:
        while size < megabytes * 2**20:
            seq += 1
            raw, crc = framed(seq, body, crc)
            size += file.write(raw)
        known.state.seq = seq
        state = STATE_PREFIX + dump(known.state) + b"}"
        save(run / SNAPSHOT_NAME, seq=seq, offset=size, crc=crc, state=state)
        for later in range(seq + 1, seq + SNAPSHOT_BYTES // len(body)):
            raw, crc = framed(later, body, crc)
            file.write(raw)


async def worked(tasks: int) -> None:
    """Run so many tasks that are done at once, without a check."""

    async def works(guidance: Guidance) -> None:
        pass

    with tempfile.TemporaryDirectory(prefix="unstuck-bench-") as folder:
        async with Supervisor.open(folder, {"unverified": "accept"}) as supervisor:
            for number in range(tasks):
                supervisor.add(Task(id=f"t{number}", prompt=admit("Do it")))
            await Coordinator(supervisor, lambda task: CallableAgent(works)).run()


def milliseconds_a_task(tasks: int) -> float:
    """Processor time of a task in a run of so many, in a process of its own."""
    code = f"import asyncio, bench_runs; asyncio.run(bench_runs.worked({tasks}))"
    command = [sys.executable, "-c", code]
    return used(lambda: subprocess.run(command, cwd=Path(__file__).parent, check=True)) / tasks


async def overhead() -> float:
    """Milliseconds of processor time of an attempt without its checkpoints: all but the agent, which ends at once."""

    async def works(guidance: Guidance) -> None:
        pass

    with tempfile.TemporaryDirectory(prefix="unstuck-bench-") as folder:
        async with Supervisor.open(folder, {"unverified": "accept"}) as supervisor:
            saving = 0.0
            store = supervisor.core.checkpoints(supervisor.core.root)
            create = store.create

            async def created(*arguments: Any, **named: Any) -> Any:
                nonlocal saving
                begun = processor_time()
                try:
                    return await create(*arguments, **named)
                finally:
                    saving += processor_time() - begun

            store.create = created  # type: ignore[method-assign]
            begun = processor_time()
            for number in range(ATTEMPTS):
                await supervisor.supervise(Task(id=f"t{number}", prompt=admit("Do it")), works)
            return 1e3 * (processor_time() - begun - saving) / ATTEMPTS


def benches() -> Iterable[Bench]:
    """Each beside the same with next to nothing in it."""
    with tempfile.TemporaryDirectory(prefix="unstuck-bench-") as scratch:
        short, long, huge = (Path(scratch) / name for name in ("short", "long", "huge"))
        paused_run(short)
        asyncio.run(lengthen(paused_run(long), RECORDS))
        huge_run = paused_run(huge)
        asyncio.run(lengthen(huge_run, 100))
        enlarge(huge_run, MEGABYTES)

        def compared(name: str, project: Path, arguments: Sequence[str], budget: str, code: int = 0) -> Bench:
            return Bench(
                name=name,
                unit="ms CPU",
                measure=lambda: used(lambda: unstuck(project, *arguments, code=code)),
                against=lambda: used(lambda: unstuck(short, *arguments, code=code)),
                budget=budget,
                rounds=3,
            )

        resume = ("run", "--resume", "last", "--headless")
        yield compared(f"resume, {RECORDS:,} records (ratio to 20)", long, resume, "300 ms more", 3)
        yield compared(f"show, a log of {MEGABYTES} MB (ratio to 20 records)", huge, ("show", "last"), "500 ms")
        for name, arguments in (("events", ("events", "last")), ("events -f", ("events", "last", "--follow"))):
            yield Bench(
                name=f"{name}, first line of {MEGABYTES} MB (ratio to 20 records)",
                unit="ms CPU",
                measure=lambda arguments=arguments: used(lambda: first_line(huge, *arguments)),  # type: ignore[misc]
                against=lambda arguments=arguments: used(lambda: first_line(short, *arguments)),  # type: ignore[misc]
                budget="500 ms",
                rounds=3,
            )
    yield Bench(
        name="an attempt, without its checkpoints",
        unit="ms CPU",
        measure=lambda: asyncio.run(overhead()),
        against=lambda: used(lambda: subprocess.run(["git", "--version"], capture_output=True, check=True)),
        budget="60 ms",
        rounds=3,
    )
    yield Bench(
        name=f"a task of {TASKS:,} trivial ones (ratio to one of 50)",
        unit="ms CPU",
        measure=lambda: milliseconds_a_task(TASKS),
        against=lambda: milliseconds_a_task(50),
        budget="120 ms, ratio 1",
        rounds=1,
    )
