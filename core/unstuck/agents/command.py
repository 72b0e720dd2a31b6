"""The command agent: any program, run through the process shim, told what to do by argument, file or standard input."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unstuck.agents.presets import goes_on, resumed, stream_of
from unstuck.agents.prompting import Placed, place
from unstuck.agents.signals import read_approach, read_signal
from unstuck.agents.speech import Speech
from unstuck.contract import Capabilities, Guidance, Observation, Observer, Receipt, Report, Task
from unstuck.errors import AgentNotFound, RecordError
from unstuck.processes import Exit, Launch, Process, clean_environment
from unstuck.supervision.verification import read_output
from unstuck.text import admit

__all__ = ["CommandAgent", "CommandSpec", "require_program"]

PROMPT_FILE_MODE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """How an agent is started. ``signals`` requires a signal line; ``prompt`` says how the text reaches it.

    ``freeze``: it stands still while a question about it is open, else it runs on.
    """

    command: tuple[str, ...]
    signals: bool = False
    prompt: Literal["auto", "stdin"] = "auto"
    freeze: bool = True


def require_program(command: Sequence[str], directory: Path, environ: Mapping[str, str]) -> None:
    """Raise AgentNotFound with one clear line unless ``command`` can be started in ``directory``."""
    program = command[0]
    if "/" in program:
        path = Path(program) if Path(program).is_absolute() else directory / program
        if not path.is_file():
            raise AgentNotFound(f"agent program {admit(program, limit=200)} does not exist in {directory}")
        if shutil.which(str(path), path=environ.get("PATH")) is None:
            raise AgentNotFound(f"agent program {admit(program, limit=200)} may not be run (chmod +x?)")
    elif shutil.which(program, path=environ.get("PATH")) is None:
        raise AgentNotFound(f"agent program {admit(program, limit=200)} was not found on PATH")


class CommandAgent:
    """Runs ``spec`` once per attempt. ``folder`` is the run's; raw output goes below its ``output/``."""

    def __init__(
        self, spec: CommandSpec, *, folder: Path, environ: Mapping[str, str], limit: int, prompt_limit: int
    ) -> None:
        hold: Literal["freeze", "none"] = "freeze" if spec.freeze else "none"
        self.can = Capabilities(
            hold=hold, resume=goes_on(spec.command), fresh=True, stop=True, may_restore=True, signals=spec.signals
        )
        self._stream = stream_of(spec.command)
        self._spec, self._folder, self._environ = spec, folder, environ
        self._limit, self._prompt_limit = limit, prompt_limit
        self._live: dict[str, asyncio.Task[Process]] = {}
        self._still: set[str] = set()
        self._used: dict[str, int] = {}

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Run the program to its end. Raises AgentNotFound where it cannot be started."""
        output = self._folder / "output" / f"{guidance.attempt}.log"
        placed = self._placed(guidance)
        environment = clean_environment(
            self._environ,
            UNSTUCK_TASK=task.id,
            UNSTUCK_ATTEMPT=guidance.attempt,
            UNSTUCK_RUNG=guidance.level,
            UNSTUCK_PROMPT_FILE=str(placed.file),
        )
        launch = Launch(
            command=placed.command,
            cwd=guidance.workdir,
            environment=environment,
            output=output,
            stdin=placed.file if placed.stdin else None,
            limit=self._limit,
            objects=bool(self._stream),
        )

        def hear(observation: Observation) -> None:
            # Where nothing can be recorded any more the attempt itself ends for that reason.
            with suppress(RecordError):
                observer.see(observation)

        before = self._used.get(guidance.session or "", 0)
        speech = Speech(self._stream, guidance.attempt, hear, before=before)

        starting = asyncio.create_task(
            Process.start(
                launch,
                spawned=observer.spawned,
                progress=lambda total, tail: hear(Observation(kind="alive")),
                said=speech.hear,
            )
        )
        self._live[guidance.attempt] = starting
        try:
            process = await starting
            if guidance.attempt in self._still:
                process.freeze()  # asked for while it was being started
            done = await _end_of(process)
        finally:
            self._live.pop(guidance.attempt, None)
            self._still.discard(guidance.attempt)
            self._used[speech.session] = speech.tokens
        printed = await read_output(output)
        return self._report(task, guidance, done, speech, printed, f"output/{output.name}")

    async def stop(self, attempt: str) -> Receipt:
        """End the attempt with everything it started, also one that is just being started."""
        if starting := self._live.get(attempt):
            await asyncio.wait((starting,))
        process = self._process(attempt)
        return await process.stop() if process is not None else Receipt()

    def freeze(self, attempt: str) -> None:
        """Let the attempt stand still while a question is open, unless it is to run on."""
        if not self._spec.freeze:
            return
        self._still.add(attempt)
        if process := self._process(attempt):
            process.freeze()

    def thaw(self, attempt: str) -> None:
        """Let it go on."""
        self._still.discard(attempt)
        if self._spec.freeze and (process := self._process(attempt)):
            process.resume()

    def _process(self, attempt: str) -> Process | None:
        """The attempt's process, once it has started."""
        starting = self._live.get(attempt)
        if starting is None or not starting.done() or starting.cancelled() or starting.exception():
            return None
        return starting.result()

    def _placed(self, guidance: Guidance) -> Placed:
        folder = self._folder / "prompts"
        folder.mkdir(exist_ok=True, mode=0o700)
        file = folder / f"{guidance.attempt}.txt"
        file.write_text(guidance.text, encoding="utf-8")
        file.chmod(PROMPT_FILE_MODE)
        stdin = self._spec.prompt == "stdin"
        command = resumed(self._spec.command, guidance.session)
        return place(command, guidance.text, file, session=guidance.session, limit=self._prompt_limit, stdin=stdin)

    def _report(self, task: Task, guidance: Guidance, done: Exit, speech: Speech, printed: str, path: str) -> Report:
        output = speech.words(printed)
        signal = read_signal(output, task.id)
        how: Literal["ended", "crashed", "no_signal", "bad_signal"] = "ended"
        error = speech.problem(done.code, printed)
        if done.code is None:
            # One that we stop is reported as stopped, whatever stands here.
            how = "crashed"
            error = admit(f"ended by signal {done.signal}, not by unstuck: self-inflicted, or from outside", limit=200)
        elif speech.broke_off(done.code):
            how = "crashed"
        elif self._spec.signals and signal.problem:
            how = "no_signal" if signal.problem == "missing" else "bad_signal"
        return Report(
            exit_code=done.code,
            how=how,
            error=error,
            signal=signal.kind,
            approach=signal.approach or read_approach(output, guidance.text),
            question=signal.question,
            options=signal.options,
            context=signal.context,
            phase=signal.phase,
            alternatives=signal.alternatives,
            session=speech.session or signal.session,
            tokens=signal.tokens,
            cost=signal.cost,
            sample=signal.sample if signal.problem else None,
            output=path,
            output_at=(done.start, done.end),
            output_lost=admit(done.lost, limit=200),
            receipt=done.receipt,
        )


async def _end_of(process: Process) -> Exit:
    """Wait for the end; whoever calls that off ends the process."""
    try:
        return await process.wait()
    except asyncio.CancelledError:
        await process.stop()
        raise
