"""One call from a program: ``unstuck.supervise``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import until

import unstuck
from unstuck import (
    Answer,
    Capabilities,
    Coordinator,
    Guidance,
    Observer,
    Question,
    Receipt,
    Record,
    Report,
    Settings,
    SettingsError,
    Supervisor,
    Task,
    UsageError,
)
from unstuck.eventlog.log import journal
from unstuck.events import CheckFinished, GateAnswered, GateOpened

QUICK: dict[str, Any] = {"max_retries": 0, "max_pivots": 0, "max_research": 0}
CHECK = "grep -q hello greeting.txt"


async def greets(guidance: Guidance) -> None:
    """Writes the right word once it is told that the first was wrong."""
    words = "goodbye" if guidance.number == 1 else "hello"
    (guidance.workdir / "greeting.txt").write_text(words, encoding="utf-8")


async def idles(guidance: Guidance) -> Report:
    return Report(tokens=10, cost=0.25)


async def test_a_result_reads_well(repo: Path) -> None:
    """The result has its attempts, cost and changed files, and its text says what matters in one line."""
    result = await unstuck.supervise("Write the greeting.", agent=greets, check=CHECK, cwd=str(repo))
    assert (result.status, result.succeeded, result.exit_code) == ("succeeded", True, 0)
    assert [attempt.check for attempt in result.attempts] == ["failed", "passed"]
    assert [attempt.level for attempt in result.attempts] == ["first", "retry"]
    assert result.changed_files == ("greeting.txt",)
    assert result.questions == ()
    assert str(result) == "succeeded after 2 attempts; 1 file changed"
    assert repr(result).startswith("Result(run='")


async def test_events_are_classes(repo: Path) -> None:
    """A listener tells events apart by their classes, and a text from the caller is sanitised on the way in."""
    seen: list[tuple[str, str]] = []

    def listen(record: Record) -> None:
        match record.event:
            case CheckFinished(result=found):
                seen.append((record.task_id, found))

    await unstuck.supervise("Greet\x1b[2J me.", agent=greets, check=CHECK, cwd=repo, task_id="web", on_event=listen)
    assert seen[-1] == ("web", "passed")
    assert Task(id="t", prompt="Greet\x1b[2J me.").prompt == "Greet me."


async def test_a_callback_answers_questions(repo: Path) -> None:
    """A plain function is asked with the question's text and choices; its words reach the next attempt."""
    asked: list[str] = []
    told: list[str] = []

    async def agent(guidance: Guidance) -> None:
        told.append(guidance.text)
        if "Say hello" in guidance.text:
            (guidance.workdir / "greeting.txt").write_text("hello", encoding="utf-8")

    def answers(question: Question) -> str:
        asked.append(f"{question}")
        assert "skip" in question.choices
        return "Say hello."

    result = await unstuck.supervise("Greet.", agent=agent, check=CHECK, cwd=repo, on_question=answers, **QUICK)
    assert result.succeeded
    assert asked[0].startswith("task is stuck: ")
    assert "Say hello." in told[-1]
    (gate,) = result.questions
    assert (gate.task_id, gate.answer) == ("task", Answer(choice="show_me", text="Say hello."))
    assert "1 question" in str(result)


async def test_a_coroutine_answers_with_a_choice(repo: Path) -> None:
    """A coroutine function may answer, too: the name of a choice is that choice."""

    async def answers(question: Question) -> str:
        return "skip"

    result = await unstuck.supervise("Greet.", agent=idles, check=CHECK, cwd=repo, on_question=answers, **QUICK)
    assert (result.status, result.exit_code) == ("skipped", 1)
    assert result.cost == pytest.approx(0.25 * len(result.attempts))


async def test_with_nobody_to_answer_it_pauses_and_goes_on(repo: Path) -> None:
    """Without a callback the call returns with the open question; answered, the same run goes on where it was."""
    paused = await unstuck.supervise("Greet.", agent=idles, check=CHECK, cwd=repo, **QUICK)
    assert (paused.status, paused.exit_code, paused.succeeded) == ("paused", 3, False)
    (gate,) = paused.questions
    assert gate.status == "open"
    left_open = await unstuck.supervise(
        "Greet.", agent=idles, check=CHECK, cwd=repo, resume=paused.run, on_question=lambda question: None, **QUICK
    )
    assert left_open.status == "paused"

    async def agent(guidance: Guidance) -> None:
        (guidance.workdir / "greeting.txt").write_text("hello", encoding="utf-8")

    done = await unstuck.supervise(
        "Greet.", agent=agent, check=CHECK, cwd=repo, resume=paused.run, on_question=lambda question: "retry", **QUICK
    )
    assert done.succeeded
    assert done.run == paused.run
    assert [one.id for one in done.questions] == [gate.id]


async def test_questions_can_be_iterated(repo: Path) -> None:
    """``async for`` gives each question of a supervisor, also one that was open before."""
    async with Supervisor.open(str(repo), {"failure_handler": QUICK}, person=True) as supervisor:
        work = asyncio.create_task(supervisor.supervise(Task(id="web", prompt="Greet.", check=CHECK), idles))
        async for question in supervisor.questions():
            async for again in supervisor.questions():
                assert again.id == question.id
                break
            with pytest.raises(unstuck.AnswerRefused, match="takes one of: show_me"):
                await question.answer("resign", "please")
            await question.answer("abandon")
            break
        assert (await work).status == "abandoned"
        events = [row.event async for row in until_answered(supervisor)]
    assert any(isinstance(event, GateOpened) for event in events)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nonsense": 1}, "settings: nonsense: unknown key"),
        ({"failure_handler": 3}, "settings: failure_handler: must be a mapping"),
        ({"failure_handler": {"max_retries": "many"}}, "max_retries: must be a whole number from 0 to 100, not 'many'"),
    ],
)
def test_wrong_settings_are_named(given: dict[str, Any], said: str) -> None:
    """Settings that a program makes itself answer as those of a file do, in one line."""
    with pytest.raises(SettingsError, match=said) as refused:
        Settings(**given)
    assert "\n" not in str(refused.value)
    with pytest.raises(SettingsError, match=said):
        Settings.model_validate(given)


async def test_a_person_may_take_long_over_a_question(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next question is there, however much is recorded while somebody thinks about the one before."""
    monkeypatch.setattr(journal, "BACKLOG", 1)
    async with Supervisor.open(repo, {"failure_handler": QUICK}, person=True) as supervisor:
        for name in "ab":
            supervisor.add(Task(id=name, prompt="Greet.", check="false"))
        working = asyncio.create_task(Coordinator(supervisor, lambda task: idles).run())
        asked = supervisor.questions()
        first = await anext(asked)
        await until(supervisor, lambda: len(supervisor.core.head.open_gates()) == 2)
        second = await anext(asked)
        assert {first.task_id, second.task_id} == {"a", "b"}
        for question in (first, second):
            await question.answer("skip")
        assert (await working).exit_code == 1


async def until_answered(supervisor: Supervisor) -> Any:
    async for record in supervisor.events():
        yield record
        if isinstance(record.event, GateAnswered):
            return


async def test_old_names_mean_the_same(repo: Path) -> None:
    """``verify`` and ``timeout_s`` stay accepted beside ``check`` and ``timeout_seconds``, in both directions."""
    old = Task(id="t", prompt="x", verify="true", timeout_s=5, idle_s=3)
    assert old == Task(id="t", prompt="x", check="true", timeout_seconds=5, idle_seconds=3)
    assert (old.check, old.timeout_seconds, old.idle_seconds) == (old.verify, old.timeout_s, old.idle_s)
    handler = unstuck.FailureHandler(task="web")
    assert handler.task == handler.task_id == "web"
    manager = await unstuck.CheckpointManager.open(repo)
    assert (await manager.create(task_id="a")).task == "a"


async def blocks(guidance: Guidance) -> dict[str, str]:
    return {"done": "yes"}


async def takes_nothing() -> None:
    raise AssertionError("it is never called")


async def yields(guidance: Guidance) -> AsyncIterator[str]:
    yield "done"


class Worker:
    """An agent of a class, which a caller may forget to instantiate."""

    can = Capabilities(stop=True)

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        return Report()

    async def stop(self, attempt: str) -> Receipt:
        return Receipt()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"agent": "claude"}, "agent must be a coroutine function or an Agent, not str"),
        ({"agent": lambda guidance: None}, "an agent is a coroutine function: write `async def`"),
        ({"agent": blocks}, "an agent returns a Report, its last message or None, not dict"),
        ({"prompt": 3}, "prompt must be text, not int"),
        ({"check": ["pytest"]}, "check must be text, not list"),
        ({"cwd": 3}, "project must be text, a path or a Project, not 3"),
        ({"cwd": "/no/such/place"}, "is not a directory"),
        ({"settings": 3}, "settings must be a Settings, a mapping with text as keys or None, not 3"),
        ({"on_question": "skip"}, "on_question must be a function, not str"),
        ({"timeout_seconds": "soon"}, "timeout_seconds must be a number above 0, not 'soon'"),
        ({"timeout_seconds": True}, "timeout_seconds must be a number above 0, not True"),
        ({"agent": takes_nothing}, "an agent takes one argument, its Guidance: too many positional arguments"),
        ({"agent": yields}, "return a Report or None, and do not yield"),
        ({"agent": Worker}, "agent is the class Worker: pass an instance of it"),
        ({"cwd": "a\0b"}, "the project must be a path, not 'a"),
        ({"settings": {3: 3}}, "settings must be a Settings, a mapping with text as keys or None, not dict"),
        ({"on_event": blocks}, "on_event must be a plain function, not a coroutine function"),
        ({"prompt": Task(id="t", prompt="Greet."), "check": "true"}, "are those of the Task that you pass"),
        ({"resume": "20200101-000000"}, "there is no run 20200101-000000"),
        ({"resume": 3}, "resume must be text or None, not 3"),
    ],
)
async def test_a_wrong_call_is_told_at_once(repo: Path, given: dict[str, Any], said: str) -> None:
    """Each wrong argument is one clear line, and an UnstuckError like all others."""
    arguments = {"prompt": "Greet.", "agent": greets, "cwd": repo, **given}
    with pytest.raises(UsageError, match=said):
        await unstuck.supervise(arguments.pop("prompt"), **arguments)


async def test_a_supervisor_says_what_a_task_is(repo: Path) -> None:
    """A prompt in place of a task is told at once, and the next call works."""
    async with Supervisor.open(repo) as supervisor:
        with pytest.raises(UsageError, match=r"task must be a Task, not 'Greet\.'"):
            await supervisor.supervise("Greet.", greets)  # type: ignore[arg-type]
        outcome = await supervisor.supervise(Task(id="greet", prompt="Greet.", check=CHECK), greets)
    assert outcome.status == "succeeded"


async def test_wrong_settings_name_their_key(repo: Path) -> None:
    """A dictionary works as settings; a wrong key or value is named, and a ``Settings`` is overridden like it."""
    with pytest.raises(SettingsError, match=r"^settings: failure_handler.max_retries: must be a whole number"):
        await unstuck.supervise("Greet.", agent=greets, cwd=repo, max_retries=-1)
    with pytest.raises(SettingsError, match=r"^settings: max_retires"):
        await unstuck.supervise("Greet.", agent=greets, cwd=repo, settings={"max_retires": 1})
    given = Settings.model_validate({"window_size": 7})
    async with Supervisor.open(repo, given, overrides={"failure_handler.max_retries": 1}) as supervisor:
        assert (supervisor.core.settings.window_size, supervisor.core.settings.failure_handler.max_retries) == (7, 1)


def test_without_an_event_loop(repo: Path) -> None:
    """``supervise_sync`` is the same call for a program without a loop."""
    result = unstuck.supervise_sync("Write the greeting.", agent=greets, check=CHECK, cwd=repo)
    assert result.succeeded


async def test_inside_an_event_loop_the_other_one_is_named(repo: Path) -> None:
    """``supervise_sync`` within a loop says which call to use."""
    with pytest.raises(UsageError, match=r"await unstuck\.supervise"):
        unstuck.supervise_sync("Write the greeting.", agent=greets, cwd=repo)


async def test_an_error_of_the_callback_ends_the_call(repo: Path) -> None:
    """An exception of the caller's own callback reaches the caller, and the run can be resumed."""

    def answers(question: Question) -> str:
        raise LookupError("no such person")

    with pytest.raises(LookupError, match="no such person"):
        await unstuck.supervise("Greet.", agent=idles, check=CHECK, cwd=repo, on_question=answers, **QUICK)


@pytest.mark.parametrize("last", ["run_started", "run_ended"])
async def test_an_error_of_the_listener_ends_the_call(repo: Path, last: str) -> None:
    """An exception of ``on_event`` reaches the caller, also at the last event; it is not called again."""
    heard: list[str] = []

    def listens(record: Record) -> None:
        heard.append(record.event.name)
        if record.event.name == last:
            raise LookupError(f"no place for {last}")

    with pytest.raises(LookupError, match=f"no place for {last}"):
        await unstuck.supervise("Greet.", agent=greets, check=CHECK, cwd=repo, on_event=listens)
    assert heard[-1] == last
    assert (await unstuck.supervise("Greet.", agent=greets, check=CHECK, cwd=repo)).succeeded


def test_an_error_without_an_event_loop_has_no_other_before_it(repo: Path) -> None:
    """The traceback of a wrong call names that mistake alone."""
    with pytest.raises(UsageError) as told:
        unstuck.supervise_sync("Greet.", agent=greets, cwd=repo, resume="none")
    assert told.value.__context__ is None


def test_every_error_has_one_root() -> None:
    """All errors are exported, under one root."""
    from unstuck import errors

    own = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert own <= set(unstuck.__all__)
    assert all(issubclass(getattr(unstuck, name), unstuck.UnstuckError) for name in own)
