"""A task on a host, as an agent of the owner's run: it reports once a host has brought files or has failed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from unstuck.contract import (
    Capabilities,
    Choice,
    GateTypeName,
    Guidance,
    Observation,
    Observer,
    Receipt,
    Report,
    Task,
)
from unstuck.errors import RecordError, WorkspaceError
from unstuck.escalation.prompts import Brief, compose
from unstuck.eventlog import events as e
from unstuck.eventlog.memory.store import Memory, memory_file
from unstuck.eventlog.state import AttemptRow, GateRow
from unstuck.eventlog.storage.durable_files import make_directory, open_for_writing
from unstuck.fleet.shared_plan.entries import AnswerEntry, ClaimEntry, Files, QuestionEntry, WorkEntry, digest
from unstuck.fleet.shared_plan.owner import PlanOwner
from unstuck.supervision.attempt.guidance import first_guidance
from unstuck.supervision.context.types import Question
from unstuck.supervision.intervention.tool_call import Call
from unstuck.text import Clean, admit, one_line
from unstuck.workspace.git.plain_file import read_bytes

_ASKED_ALIKE = ("stuck", "loop_detected", "timeout", "question", "permission")
"""Types of questions that are asked here as the host asks them; any other is one about its choices."""
_LEAST = 1e-9
_STOP_S, _LOOK_S, _PATIENCE_S = 10.0, 1.0, 10.0
_WHERE = "fleet"
"""Key in the context of a question: the host, and the question's id there."""
_TEXT, _DEEP, _MANY = 20_000, 4, 200
_OWN = ("checkpoint", "saved", "not_saved", "tree", "branch", "answers")
"""Facts of a question that only the host can use."""


class RemoteAgent:
    """An agent whose attempts hosts work. No clock runs for them here: those of their small runs do."""

    can = Capabilities(hold="freeze", tell=True, fresh=True, may_restore=True)

    def __init__(self, owner: PlanOwner, task: Task) -> None:
        self._owner, self._core, self._task = owner, owner.core, task
        self._used = 0, 0, 0.0
        self._said: tuple[str, ...] = ()
        self._learnt: tuple[str, ...] = ()
        """Lines of memory that came from the host and are in the project's."""
        self._attempt, self._began, self._output = "", 0.0, Path()

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        """Offer the attempt, and wait for a host's result. Raises TakenOver."""
        try:
            work = await self._offered(task, guidance)
        except WorkspaceError as problem:
            return Report(how="not_started", error=admit(f"its files cannot be sent: {problem}", limit=2_000))
        self._attempt, self._began, self._said = work.attempt, self._core.clock.monotonic(), ()
        self._output = self._core.folder / "output" / f"{guidance.attempt}.log"
        # A host's count begins with its claim, which may be older than this process.
        rows = self._rows_since(work, guidance)
        tokens, written = (sum(getattr(row, name) for row in rows) for name in ("tokens", "written"))
        self._used = tokens, written, sum(row.cost or 0.0 for row in rows)
        asking: dict[str, asyncio.Task[None]] = {}
        words = asyncio.ensure_future(self._pass_words_on(observer))
        try:
            while True:
                claim, token = self._owner.claim(task.id, work.attempt)
                self._tell(observer, claim, token)
                if claim is not None and claim.memory != self._learnt:
                    await asyncio.to_thread(self._learn, claim)
                for gate, call in list(asking.items()):
                    if call.done():
                        call.result()
                    if claim is None or gate not in {question.id for question in claim.questions}:
                        call.cancel()
                        del asking[gate]
                        self._withdraw(gate)
                if claim is not None and claim.state == "asked":
                    answered = (self._owner.work(task.id) or work).answers
                    for question in claim.questions:
                        if question.id not in asking and question.id not in answered:
                            asked = self._ask(guidance.attempt, claim.host, question)
                            asking[question.id] = asyncio.ensure_future(asked)
                # A host that stopped without being told to has lost sight of the plan: another one goes on.
                told = (self._owner.work(task.id) or work).stop
                if claim is not None and claim.state in ("passed", "failed", *(("stopped",) if told else ())):
                    for gate in asking:
                        self._withdraw(gate)
                    return await self._report(task, work, claim)
                await self._owner.table.until_changed(_LOOK_S)
        finally:
            for one in (words, *asking.values()):
                one.cancel()
            await asyncio.gather(words, *asking.values(), return_exceptions=True)

    # Work

    async def _offered(self, task: Task, guidance: Guidance) -> WorkEntry:
        """Offer the attempt; one that was cut off here and still stands is gone on with."""
        known = self._owner.work(task.id)
        if known is not None and not known.stop and self._goes_on(known, guidance):
            given = [gate for gate in self._given() if gate not in guidance.answers]
            answers = dict(found for gate in (*guidance.answers, *given) for found in self._answer_for(gate))
            await self._owner.change(
                task.id, lambda was: was.model_copy(update={"hold": False, "answers": {**was.answers, **answers}})
            )
            for gate in given:
                sent = e.AnswerSent(gate=gate, incarnation=guidance.attempt)
                for event in (sent, e.AnswerDelivered(gate=gate)):
                    self._core.append(event, task=task.id, attempt=guidance.attempt)
            return self._owner.work(task.id) or known
        trees = self._core.worktrees
        assert trees is not None
        base = await self._owner.transport.send(await trees.captured(task.id), f"{task.id}-a{guidance.number}")
        work = WorkEntry(
            attempt=guidance.attempt,
            agent=task.agent,
            prompt=self._words(task, guidance),
            check=task.verify,
            timeout_s=task.timeout_s,
            idle_s=task.idle_s,
            base=base,
            start=self._last_files(task.id, known) or base,
            **self._owner.planned(task),
        )
        await self._owner.offer(task.id, work)
        return work

    def _words(self, task: Task, guidance: Guidance) -> str:
        """Return the text for the host without what its own run adds: the check and the template of a first attempt."""
        first = first_guidance(self._core.row(task.id), self.can, self._core.settings.prompts).text
        if guidance.text.startswith(first):
            return task.prompt + guidance.text[len(first) :]
        done = compose(Brief(prompt="", check=task.verify or ""))
        return guidance.text.replace(f"\n\n{done}", "", 1) if done else guidance.text

    def _goes_on(self, work: WorkEntry, guidance: Guidance) -> bool:
        """Return whether every attempt since the one of ``work`` was cut off, so that its host may have gone on."""
        since = [row for row in self._rows_since(work, guidance) if row.id != guidance.attempt]
        asked_there = all(self._answer_for(gate) for gate in guidance.answers)
        return bool(since) and asked_there and all(row.state == "interrupted" for row in since)

    def _given(self) -> list[str]:
        """Return the questions of hosts whose answers wait for the call that asked."""
        return [
            row.id
            for row in self._core.head.gates_of(self._task.id)
            if row.status == "answered" and _WHERE in row.gate.context
        ]

    def _rows_since(self, work: WorkEntry, guidance: Guidance) -> list[AttemptRow]:
        """Return the attempts at the task from that of ``work`` on; none where the log does not know it."""
        found = (self._core.head.attempts.get(f"{self._task.id}.{number}") for number in range(1, guidance.number + 1))
        rows = [row for row in found if row is not None]
        first = next((index for index, row in enumerate(rows) if row.id == work.attempt), len(rows))
        return rows[first:]

    def _last_files(self, task: str, work: WorkEntry | None) -> Files | None:
        """Return the last files that the host of a stopped attempt has sent."""
        claim, _ = self._owner.claim(task, work.attempt) if work is not None else (None, 0)
        attempt = self._core.head.attempts.get(work.attempt) if work is not None else None
        return claim.files if claim is not None and attempt is not None and attempt.state == "interrupted" else None

    async def _report(self, task: Task, work: WorkEntry, claim: ClaimEntry) -> Report:
        """Take the files of a claim that is over into the task's worktree."""
        trees = self._core.worktrees
        assert trees is not None
        if claim.files is not None:
            try:
                commit = await self._owner.transport.fetch(claim.files)
                await trees.take(task.id, await trees.captured(task.id), commit)
            except WorkspaceError as problem:
                return Report(how="crashed", error=admit(f"the files of {claim.host}: {problem}", limit=2_000))
        if claim.state == "stopped":
            return Report(how="stopped")
        where = f"worked by {claim.host}, run {claim.run}"
        if claim.state == "failed":
            return Report(exit_code=1, error=admit(f"{where}: {claim.problem}", limit=2_000))
        return Report(exit_code=0, last_message=admit(where, limit=2_000))

    def _learn(self, claim: ClaimEntry) -> None:
        """Add what a small run has learnt to the memory of the project.

        Its answers are there already. Rules are a person's; a host only says that one has failed.
        """
        from unstuck.eventlog.memory.entry import read_entry

        file = memory_file(self._core.home)
        memory, known = Memory(file), set(self._learnt)
        with suppress(OSError, UnicodeDecodeError):
            known |= set(read_bytes(file).decode().splitlines())
        self._learnt = claim.memory
        with suppress(RecordError):
            for line in claim.memory:
                entry = read_entry(line.encode()) if line not in known else None
                if entry is not None and entry.kind != "answer" and (entry.kind != "rule" or entry.outcome == "failed"):
                    memory.remember(entry)

    def _tell(self, observer: Observer, claim: ClaimEntry | None, token: int) -> None:
        """Tell the run of the use since the last time, and of the host's doing."""
        awaited = self._note_awaited(claim)
        said: tuple[str, ...] = (awaited,)
        if claim is not None:
            said = said if awaited else (f"{claim.host} {claim.state}", claim.doing, claim.problem, f"claim {token}")
            tokens, written, cost = self._used
            self._used = max(tokens, claim.tokens), max(written, claim.written), max(cost, claim.cost or 0.0)
            tokens, written, cost = self._used[0] - tokens, self._used[1] - written, self._used[2] - cost
            if tokens or cost > _LEAST:
                observer.see(Observation(kind="usage", tokens=tokens, written=min(written, tokens), cost=cost or None))
        if said != self._said:
            self._said = said
            text = one_line("; ".join(part for part in said if part), 500)
            with suppress(OSError):
                make_directory(self._output.parent)
                with open(open_for_writing(self._output, os.O_WRONLY | os.O_APPEND), "a", encoding="utf-8") as output:
                    output.write(f"{text}\n")
            if not awaited:  # else the log says it already
                observer.see(Observation(kind="message", text=text, tool="message", role="system"))

    def _note_awaited(self, claim: ClaimEntry | None) -> str:
        """Record what the task waits for while no host works it, and return it."""
        left = (
            self._owner.silent_host(self._task.id, claim) if claim is not None else "waits for a host with a free slot"
        )
        nobody = self._owner.nobody_for(self._task) if left else ""
        if nobody and self._core.clock.monotonic() - self._began > _PATIENCE_S:
            self._owner.warn_of(nobody)
        awaited, attempt = one_line(nobody or left, 300), self._core.head.attempts.get(self._attempt)
        host = one_line(claim.host, 100) if claim is not None and not awaited else ""
        if attempt is not None and attempt.is_live and (attempt.awaits, attempt.host) != (awaited, host):
            self._core.append(e.HostAwaited(reason=awaited, host=host), task=self._task.id, attempt=self._attempt)
        return awaited

    # Questions

    async def _ask(self, attempt: str, host: str, question: QuestionEntry) -> None:
        """Ask a host's question here, and pass the answer on."""
        call = Call(self._core, self._question(attempt, host, question), question.id)
        try:
            row = await call.answered()
            if row is None or row.answer is None:
                return
            await self._owner.share_memory()  # an answer may be a rule from now on
            await self._pass_on({question.id: _answer_of(row)})
            if row.status == "sent":
                await call.delivered()
        finally:
            call.close()

    def _withdraw(self, question: str) -> None:
        """Withdraw a question that its host does not ask any more: another host has gone on, or it is over."""
        for row in self._core.head.open_gates():
            where = row.gate.context.get(_WHERE)
            if row.gate.task == self._task.id and where and where[1] == question:
                event = e.GateWithdrawn(gate=row.id, reason="its host asks it no more")
                self._core.append(event, task=self._task.id, attempt=row.gate.attempt or "")

    def _question(self, attempt: str, host: str, question: QuestionEntry) -> Question:
        context = {name: value for name, value in _clean(question.context).items() if name not in _OWN}
        context |= {"task_id": self._task.id, "agent_id": self._task.agent}
        choices = tuple(choice for choice in question.choices if choice in get_args(Choice))
        alike = question.type in _ASKED_ALIKE
        context[_WHERE] = [host, question.id, alike, digest(question)]
        kind: GateTypeName = question.type  # type: ignore[assignment]
        if not alike:
            said = context.get("problem") or context.get("question") or ""
            context |= {
                "question": admit(f"{host} asks ({one_line(question.type, 40)}): {said}", limit=4_000),
                "options": [choice.replace("_", " ") for choice in choices],
            }
            kind, choices = "question", ("choose", "skip", "abandon")
        key = one_line(f"{host}:{question.id}", 200)
        return Question(type=kind, key=key, context=context, task=self._task.id, attempt=attempt, choices=choices)

    def _answer_for(self, gate: str) -> list[tuple[str, AnswerEntry]]:
        """Return the answer to a question of a host with its id there; nothing for any other question."""
        row = self._core.head.gates.get(gate)
        where = row.gate.context.get(_WHERE) if row is not None else None
        return [(str(where[1]), _answer_of(row))] if row is not None and where and row.answer is not None else []

    async def _pass_on(self, answers: Mapping[str, AnswerEntry]) -> None:
        await self._owner.change(
            self._task.id, lambda work: work.model_copy(update={"answers": {**work.answers, **answers}})
        )

    async def _pass_words_on(self, observer: Observer) -> None:
        """Pass on what a person says to the agent at work."""
        while True:
            directive = await observer.next_answer()
            row = self._core.head.gates.get(directive.gate or "")
            if row is not None and row.answer is not None:
                await self._pass_on({f"say-{row.id}": _answer_of(row)})
            await observer.delivered(directive)

    # Control

    async def stop(self, attempt: str) -> Receipt:
        """Have the host stop, and wait a while for its files. Where the run only pauses, the host goes on."""
        row = self._core.head.attempts.get(attempt)
        stops = self._core.head.run.state == "draining" or (row is not None and row.state == "stopping")
        if not stops or not self._attempt or self._owner.lost is not None:
            return Receipt()
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_S):
                await self._owner.change(self._task.id, lambda work: work.model_copy(update={"stop": True}))
                while (found := self._owner.claim(self._task.id, self._attempt)[0]) is not None:
                    if found.state in ("stopped", "released", "passed", "failed"):
                        break
                    await self._owner.table.until_changed()
        return Receipt()

    def freeze(self, attempt: str) -> None:
        """Have the host hold its agent."""
        self._hold(True)

    def thaw(self, attempt: str) -> None:
        """Have the host go on."""
        self._hold(False)

    def _hold(self, hold: bool) -> None:
        self._owner.soon(self._owner.change(self._task.id, lambda work: work.model_copy(update={"hold": hold})))


def _answer_of(row: GateRow) -> AnswerEntry:
    answer = row.answer
    assert answer is not None
    choice, text = str(answer.choice), str(answer.text)
    where = row.gate.context.get(_WHERE)
    about = str(where[3]) if where and len(where) > 3 else ""  # one that an older version asked has none
    if where and not where[2] and choice == "choose":  # the option was one of the host's own choices
        return AnswerEntry(choice=text.replace(" ", "_"), by=row.by or "", about=about)
    return AnswerEntry(choice=choice, text=text, number=answer.number, scope=answer.scope, by=row.by or "", about=about)


def _clean(value: Any, deep: int = 0) -> Any:
    """Return a value from a host with all its text admitted, and bounded."""
    if isinstance(value, str):
        return admit(value, limit=_TEXT)
    if isinstance(value, Mapping) and deep < _DEEP:
        some = list(value.items())[:_MANY]
        return {one_line(str(name), 100): _clean(one, deep + 1) for name, one in some}
    if isinstance(value, list | tuple) and deep < _DEEP:
        return [_clean(one, deep + 1) for one in value[:_MANY]]
    return value if isinstance(value, int | float | bool) else Clean("")
