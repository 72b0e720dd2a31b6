"""Command agent: any program behind the process shim, with its prompt as an argument, a file or standard input."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from unstuck.agents.command.agent_output import AgentOutput, see
from unstuck.agents.command.nudged_output import NudgedOutput
from unstuck.agents.command.presets import allowing, can_resume, denials, model_in, resumed, stream_of
from unstuck.agents.command.process_agent import (
    CommandSpec,
    How,
    ProcessAgent,
    account,
    end_of,
    prompt_file,
    surroundings,
)
from unstuck.agents.command.prompt_delivery import Placed, delivered_by_file, place
from unstuck.agents.command.refused_requests import LOGGING, refused_in, refused_in_log
from unstuck.agents.command.signal_line import read_signal
from unstuck.agents.command.usage_lines import usage_in
from unstuck.contract import Guidance, Observation, Observer, Receipt, Report, Task
from unstuck.diagnosis.agent_messages.help_page import help_instead
from unstuck.diagnosis.agent_messages.troubles import known_agent
from unstuck.eventlog.storage.text_files import is_unread, mark_unread
from unstuck.processes import Exit, Launch, Process
from unstuck.supervision.checks.check import read_output
from unstuck.text import admit
from unstuck.words.exit_words import signal_words

__all__ = ["CommandAgent", "CommandSpec"]


def _joined(first: Exit, last: Exit) -> Exit:
    """Return the end of two processes of one attempt."""
    ended, alive = (*first.receipt.ended, *last.receipt.ended), (*first.receipt.alive, *last.receipt.alive)
    return replace(
        last,
        seconds=first.seconds + last.seconds,
        receipt=Receipt(ended=ended, alive=alive),
        start=first.start,
        lost=first.lost or last.lost,
    )


class CommandAgent(ProcessAgent):
    """Runs ``spec`` once per attempt. ``folder`` is the run's; raw output goes below its ``output/``.

    ``used`` returns the tokens that a session has used, and written, in attempts of an earlier supervisor.
    """

    def __init__(
        self,
        spec: CommandSpec,
        *,
        folder: Path,
        environ: Mapping[str, str],
        limit: int,
        prompt_limit: int,
        used: Callable[[str], tuple[int, int]] = lambda session: (0, 0),
    ) -> None:
        super().__init__(
            spec,
            folder=folder,
            environ=environ,
            limit=limit,
            hold="freeze" if spec.freeze else "none",
            resume=can_resume(spec.command),
        )
        self._stream, self._prompt_limit = stream_of(spec.command), prompt_limit
        self._by_file = spec.prompt != "stdin" and delivered_by_file(spec.command)
        self._used, self._used_before = dict[str, tuple[int, int]](), used
        self._stopping: set[str] = set()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Run the program to its end. Raises AgentNotFound if it cannot start."""
        attempt, session = guidance.attempt, guidance.session or ""
        before = self._used[session] if session in self._used else self._used_before(session)
        resumes = can_resume(self._spec.command)
        output = NudgedOutput(
            self._stream, attempt, observer, lambda: self._process(attempt), resumes=resumes, before=before
        )
        logs = known_agent(self._spec.command) in LOGGING
        refusals = asyncio.create_task(self._end_refused(guidance, output)) if logs else None
        done, turn = None, guidance
        try:
            while True:
                placed = await self._placed(turn)
                more = await end_of(await self._started(task, turn, placed, output, observer))
                done = more if done is None else _joined(done, more)
                self._live.pop(attempt, None)  # what is over is not ended again
                if not (told := await output.next_turn()) or attempt in self._stopping:
                    break
                turn = replace(guidance, text=told, session=output.parsed.session)
        finally:
            if refusals is not None:
                refusals.cancel()
            self._forget(attempt)
            self._stopping.discard(attempt)
            await output.close()
            self._used[output.parsed.session] = output.parsed.used
        unread = await asyncio.to_thread(is_unread, placed.file) if self._by_file else False
        file = self._output(attempt)
        printed = await read_output(file)
        for used in () if self._stream else usage_in(printed):
            see(observer, used)
        return replace(self._report(task, guidance, done, output.parsed, printed, file), unread=unread)

    async def stop(self, attempt: str) -> Receipt:
        """End the attempt with everything it started; it does not go on with a nudge."""
        if attempt in self._live:
            self._stopping.add(attempt)
        return await super().stop(attempt)

    async def _started(
        self, task: Task, guidance: Guidance, placed: Placed, output: NudgedOutput, observer: Observer
    ) -> Process:
        """Start the process of a turn with the prompt of ``guidance``."""

        def alive(total: int, tail: str) -> None:
            see(observer, Observation(kind="alive"))
            output.printed = total
            output.end_refused(refused_in(self._stream, tail))

        launch = Launch(
            command=placed.command,
            cwd=guidance.workdir,
            environment=surroundings(self._environ, task, guidance, placed.file),
            output=self._output(guidance.attempt),
            stdin=placed.file if placed.stdin else None,
            limit=self._limit,
            objects=bool(self._stream),
        )
        return await self._start(
            guidance.attempt,
            launch,
            spawned=observer.spawned,
            progress=alive,
            said=output.parsed.feed,
        )

    async def _end_refused(self, guidance: Guidance, output: NudgedOutput) -> None:
        """End the turn of an agent that notes refused requests in its own log only."""

        def session() -> str:
            return output.parsed.session or guidance.session or ""

        while not output.parsed.refused:
            agent = known_agent(self._spec.command)
            said = await refused_in_log(agent, self._environ, guidance.workdir, session, lambda: output.printed)
            output.end_refused(said)

    async def _placed(self, guidance: Guidance) -> Placed:
        file = await prompt_file(self._folder, guidance)
        if self._by_file:
            await asyncio.to_thread(mark_unread, file)
        stdin = self._spec.prompt == "stdin"
        command = resumed(self._spec.command, guidance.session)
        command = allowing(command, known_agent(command), guidance.allowed)
        return place(command, guidance.text, file, session=guidance.session, limit=self._prompt_limit, stdin=stdin)

    def _report(
        self, task: Task, guidance: Guidance, done: Exit, parsed: AgentOutput, printed: str, output: Path
    ) -> Report:
        text = parsed.text(printed)
        signal = read_signal(text, task.id)
        how: How = "ended"
        error, said = parsed.problem(done.code, printed), parsed.said(done.code, printed)
        if done.code and (told := help_instead(printed, self._spec.command)):
            error = said = told
        if done.code is None and not parsed.refused:
            # The supervisor reports its own stops as stopped, whatever is set here.
            how = "crashed"
            killed = signal_words(done.signal or 0)
            doubt = "" if ":" in killed else ", not by unstuck: self-inflicted, or from outside"
            error = admit(f"{killed}{doubt}", limit=200)
        elif parsed.broke_off(done.code):
            how = "crashed"
        elif self._spec.signals and signal.problem:
            how = "no_signal" if signal.problem == "missing" else "bad_signal"
        return account(
            guidance,
            text,
            signal,
            done,
            output=output,
            code=done.code,
            how=how,
            error=error,
            session=parsed.session,
            last_message=parsed.last_message(printed),
            model=parsed.model or model_in(self._spec.command),
            said=said,
            program=known_agent(self._spec.command),
            marked=parsed.marked,
            message=parsed.message,
            denied=denials(known_agent(self._spec.command), parsed.denied(printed)),
        )
