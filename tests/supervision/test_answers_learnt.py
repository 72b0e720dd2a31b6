"""My earlier answer is offered when the same failure gets stuck again, with its outcome; in a later run, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unstuck import Answer, Guidance, Outcome, Report, Supervisor, Task, admit
from unstuck.contract import Capabilities, Choice, Observation, Observer, Receipt
from unstuck.errors import AnswerRefused
from unstuck.eventlog import events as e
from unstuck.eventlog.memory.store import Memory
from unstuck.runs.answers.answer_offline import answer_offline
from unstuck.settings.models import Settings
from unstuck.workspace.project import locate

ASK = {"max_retries": 0, "max_pivots": 0, "max_research": 0}
SETTINGS = Settings.model_validate({"failure_handler": ASK})
SECRET = "use the endpoint secret"
Says = Callable[[Guidance], bool]


def told_the_secret(guidance: Guidance) -> bool:
    return SECRET in guidance.text


async def worked(
    root: Path, task: str, *answers: Answer, right: Says = told_the_secret, error: str = "wrong signature"
) -> tuple[Outcome, list[dict[str, Any]], list[str]]:
    """One run: its outcome, the contexts of its gates, and what the agent was told; gates are answered in turn."""
    told: list[str] = []

    async def agent(guidance: Guidance) -> Report:
        told.append(guidance.text)
        if right(guidance):
            (guidance.workdir / "right").touch()
        return Report()

    (root / "right").unlink(missing_ok=True)
    work = Task(id=task, prompt=admit("Work."), verify=f"test -f right || {{ echo 'ValueError: {error}'; exit 1; }}")
    left, contexts = list(answers), list[dict[str, Any]]()
    async with Supervisor.open(root, SETTINGS, person=True) as supervisor:
        working = asyncio.ensure_future(supervisor.supervise(work, agent))
        try:
            async for record in supervisor.events():
                if isinstance(record.event, e.GateOpened):
                    contexts.append(dict(record.event.context))
                    await supervisor.answer(record.event.gate, left.pop(0))
                if isinstance(record.event, e.TaskEnded) or not left:
                    break
            return await working, contexts, told
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


@pytest.mark.parametrize("choice", ["show_me", "retry"])
async def test_what_worked_is_offered_the_next_time(tmp_path: Path, choice: Choice) -> None:
    """The next run's question says what I answered, when, in which task, and that it worked."""
    outcome, (first,), _ = await worked(tmp_path, "one", Answer(choice=choice, text=admit(SECRET)))
    assert outcome.status == "succeeded"
    assert "learnt" not in first
    _, (second,), _ = await worked(tmp_path, "two", Answer(choice="skip"))
    learnt = second["learnt"]
    assert learnt["choice"] == choice
    assert learnt["text"] == SECRET
    assert learnt["outcome"] == "worked"
    assert learnt["task"] == "one"
    assert len(learnt["when"]) >= 20
    _, (other,), _ = await worked(tmp_path, "three", Answer(choice="skip"), error="no such table: users")
    assert "learnt" not in other


async def test_what_did_not_help_is_said_too(tmp_path: Path) -> None:
    """An answer after which the same failure got stuck again is kept as one that failed; the one that helped wins."""
    answers = (Answer(choice="show_me", text=admit("strip it")), Answer(choice="show_me", text=admit(SECRET)))
    _, (_, again), _ = await worked(tmp_path, "one", *answers)
    assert again["learnt"]["text"] == "strip it"
    assert again["learnt"]["outcome"] == "failed"
    _, (second,), _ = await worked(tmp_path, "two", Answer(choice="skip"))
    assert second["learnt"]["text"] == SECRET
    assert second["learnt"]["outcome"] == "worked"


@pytest.mark.parametrize("choice", ["skip", "abandon"])
async def test_what_i_leave_out_while_nothing_is_live_is_kept(tmp_path: Path, choice: Choice) -> None:
    """An answer that ends its task is in the memory with its reason, also where no run is live that could keep it."""
    async with Supervisor.open(tmp_path, SETTINGS) as supervisor:
        work = Task(id="pay", prompt=admit("Work."), verify="echo 'ValueError: wrong signature'; exit 1")
        working = asyncio.ensure_future(supervisor.supervise(work, do_nothing))
        async for record in supervisor.events():
            if isinstance(record.event, e.GateOpened):
                gate, signature = record.event.gate, record.event.context["signature"]
                break
        run = supervisor.run
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    place = await locate(tmp_path)
    await answer_offline(place, gate, Answer(choice=choice, text=admit("not this week")))
    memory = Memory(place.home / "memory.jsonl")
    memory.load()
    (kept,) = memory.entries("answer", signature=signature)
    assert kept.approach == choice
    assert kept.note == "not this week"
    assert kept.outcome == ""
    assert kept.task == "pay"
    assert kept.run == run


async def do_nothing(guidance: Guidance) -> Report:
    return Report()


async def test_a_rule_of_mine_is_told_by_itself(tmp_path: Path) -> None:
    """Answered for this failure for good: the next time the agent hears it at once, and nobody is asked."""
    await worked(tmp_path, "one", Answer(choice="show_me", text=admit(SECRET), scope="pattern"))
    outcome, contexts, told = await worked(tmp_path, "two")
    assert outcome.status == "succeeded"
    assert outcome.attempts == 2
    assert contexts == []
    assert f"Hint: {SECRET}" in told[1]


async def test_a_rule_that_does_not_help_is_not_told_again(tmp_path: Path) -> None:
    """It is tried once; when the same failure comes back I am asked, and later runs do not try it any more."""
    await worked(tmp_path, "one", Answer(choice="retry", text=admit(SECRET), scope="pattern"))
    _, contexts, told = await worked(tmp_path, "two", Answer(choice="skip"), right=lambda guidance: False)
    assert len(contexts) == 1
    assert f"Hint: Follow this approach: {SECRET}" in told[1]
    _, contexts, told = await worked(tmp_path, "three", Answer(choice="skip"), right=lambda guidance: False)
    assert len(contexts) == 1
    assert len(told) == 1


async def test_words_of_mine_are_never_a_command(tmp_path: Path) -> None:
    """A rule that I made from an answer is words, also where they begin with `run`."""
    said = f"run touch made; {SECRET}"
    await worked(tmp_path, "one", Answer(choice="show_me", text=admit(said), scope="pattern"))
    outcome, _, told = await worked(tmp_path, "two")
    assert outcome.status == "succeeded"
    assert f"Hint: {said}" in told[1]
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(choice="retry", scope="pattern"), "retry needs a text"),
        (Answer(choice="show_me", text=admit("x"), scope="task"), "for once, or for every such failure"),
    ],
)
async def test_a_rule_without_words_or_with_another_reach_is_refused(tmp_path: Path, answer: Answer, said: str) -> None:
    """A rule without words, or for another failure, is refused in one line, and the question stays open."""
    with pytest.raises(AnswerRefused, match=said):
        await worked(tmp_path, "one", answer)


class Looping:
    """Runs the same failing command until it is told something, then does the work."""

    can = Capabilities(hold="step", fresh=True, stop=True)

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        for number in range(9):
            for kind in ("action", "failure"):
                text = admit("make test" if kind == "action" else "KeyError: 'currency'")
                directive = await observer.step(Observation(kind=kind, text=text, id=f"c{number}", exit_code=1))  # type: ignore[arg-type]
                if directive.gate:
                    await observer.delivered(directive)
                    (guidance.workdir / "right").touch()
                    return Report()
        return Report()

    async def stop(self, attempt: str) -> Receipt:
        return Receipt()


async def test_an_answer_inside_an_attempt_is_learnt_too(tmp_path: Path) -> None:
    """An answer that got a looping agent out is offered when the same loop comes again, and may become a rule."""
    contexts = []
    for task in ("one", "two"):
        (tmp_path / "right").unlink(missing_ok=True)
        async with Supervisor.open(tmp_path, SETTINGS, person=True) as supervisor:
            work = Task(id=task, prompt=admit("Work."), verify="test -f right")
            working = asyncio.ensure_future(supervisor.supervise(work, Looping()))
            async for record in supervisor.events():
                if isinstance(record.event, e.GateOpened):
                    contexts.append(dict(record.event.context))
                    said = Answer(choice="show_me", text=admit("set the currency"), scope="pattern")
                    await supervisor.answer(record.event.gate, said)
                    break
            assert (await working).status == "succeeded"
            rules = [entry.note for entry in supervisor.core.memory.entries("rule")]
    assert "learnt" not in contexts[0]
    assert contexts[1]["learnt"]["text"] == "set the currency"
    assert contexts[1]["learnt"]["outcome"] == "worked"
    assert rules == ["set the currency"]
