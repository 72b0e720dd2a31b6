"""A program of a user's that uses every public name; type checkers judge it as they judge any user's."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import assert_type

import unstuck
from unstuck import (
    Agent,
    AgentNotFound,
    AgentUnusable,
    Answer,
    AnswerRefused,
    Approach,
    ArgumentError,
    AttemptResult,
    Capabilities,
    Cause,
    ChannelError,
    Checkpoint,
    CheckpointManager,
    CheckpointUnknown,
    Clean,
    Client,
    Clock,
    Coordinator,
    DeliveryRefused,
    Denial,
    Diagnosis,
    Directive,
    ErrorAnalysis,
    ErrorCategory,
    ErrorType,
    EscalationLevel,
    Execution,
    Failure,
    FailureHandler,
    FailureSignature,
    FailureType,
    Gate,
    GateClosed,
    GateError,
    GateManager,
    GateType,
    GateUnknown,
    GitError,
    Guidance,
    HandlerResult,
    IntegrationConflict,
    LaggedBehind,
    Limits,
    LoopDetector,
    NoReply,
    Observation,
    Observer,
    Outcome,
    PlanError,
    ProjectError,
    ProjectLocked,
    Question,
    Receipt,
    Record,
    RecordDamaged,
    RecordError,
    RecordWriteFailed,
    Report,
    Restored,
    Result,
    Settings,
    SettingsError,
    State,
    StuckReport,
    Supervisor,
    SystemFailed,
    Task,
    TaskSession,
    TimeoutMonitor,
    TreeTooLarge,
    UnstuckError,
    UsageError,
    Verdict,
    WorkspaceError,
    admit,
    analyze_error,
    classify_cause,
    classify_error,
    classify_failure,
    diagnose,
    extract_failure_signature,
    handle_agent_failure,
    handle_configuration_error,
    handle_infrastructure_error,
    handle_transient_error,
    handle_unrecoverable_error,
    is_circular_fix,
    supervise,
    supervise_sync,
)
from unstuck.events import CheckFinished, GateOpened


async def write(guidance: Guidance) -> Report | None:
    """Write the greeting where the attempt works."""
    (guidance.workdir / "greeting.txt").write_text(guidance.text)
    return Report(question="Which language?", options=("en", "de")) if guidance.number > 1 else None


class Writer:
    """An agent that can be stopped."""

    can = Capabilities(stop=True, fresh=True)

    async def attempt(self, task: Task, guidance: Guidance, observer: Observer) -> Report:
        step: Directive = await observer.step(Observation(kind="action", text="write greeting.txt"))
        denied = (Denial(what=admit("curl"), rules=("Bash(curl:*)",)),)
        return Report(last_message=f"Done: {task.check} {step.kind}", denied=denied)

    async def stop(self, attempt: str) -> Receipt:
        return Receipt()


class Pace:
    """A clock that never waits."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def asleep(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


def reply(question: Question) -> str | Answer | None:
    """Answer a question."""
    match question.type:
        case "stuck":
            return "Keep the public names."
        case "timeout":
            return Answer(choice="extend", number=60)
        case _:
            return None if question.options else "skip"


def told(record: Record) -> None:
    """Print what matters of an event."""
    match record.event:
        case GateOpened(gate=id, type=kind):
            assert_type(id, str)
            print(record.task_id, id, kind)
        case CheckFinished(result="failed"):
            print("not yet")
        case _:
            pass


async def whole(project: str | Path) -> Result:
    """One call for everything."""
    limits = Settings.model_validate({"failure_handler": {"max_retries": 1}})
    await supervise(Task(id="greet", prompt="Write it.", timeout_seconds=60.0), agent=Writer(), settings=limits)
    result = await supervise(
        "Write the greeting.",
        agent=write,
        check="grep hello greeting.txt",
        cwd=project,
        max_retries=2,
        budget={"cost": 1.5},
        settings={"failure_handler": {"max_pivots": 1}},
        on_question=reply,
        on_event=told,
    )
    tries: tuple[AttemptResult, ...] = result.attempts
    print(result.succeeded, result.cost, result.changed_files, [one.failure for one in tries])
    return result


async def parts(project: Path) -> None:
    """The framework, step by step."""
    agent: Agent = Writer()
    task = Task(id="greet", prompt="Write it.", check="true", idle_seconds=10)
    async with Supervisor.open(project, {"max_parallel": 1}, person=True) as supervisor:
        session: TaskSession = supervisor.session(task, agent.can)
        print(session, supervisor.run)
        outcome: Outcome = await supervisor.supervise(task, write)
        assert_type(outcome.task_id, str)
        assert_type(outcome.last, Diagnosis | None)
        await Coordinator(supervisor, {"greet": agent}).run()
        await Coordinator(supervisor, lambda task: write).run()
        state: State = supervisor.state
        async for question in supervisor.questions():
            gate: Gate = await question.answer("retry", "with sqlite")
            print(str(question), gate.task_id, state.seq)
    manager = await CheckpointManager.open(project)
    saved: Checkpoint = await manager.create("before", task_id="greet")
    back: Restored = await manager.restore(saved.id)
    print(back)


async def seeds() -> None:
    """The parts that work alone."""
    gates, pace = GateManager(), Pace()
    clock: Clock = pace
    detector, monitor = LoopDetector(gates), TimeoutMonitor(gates, clock=clock)
    verdict: Verdict | None = detector.observe(Observation(kind="failure", text="boom", task_id="t"))
    await monitor.monitor_task("t", "a", "qa_engineer", timeout_seconds=5)
    id = await detector.check_and_trigger_gate("t", "a", None, "boom")
    await gates.answer(id or "", Answer(choice="retry", text="other way"))
    signature: FailureSignature = extract_failure_signature("KeyError: 'x'", "a", "t")
    kinds: tuple[ErrorType, FailureType] = (signature.error_type, classify_failure("boom"))
    cause, category = classify_cause(Failure("boom")), classify_error(SimpleNamespace(type="timeout"))
    assert_type(cause, Cause)
    assert_type(category, ErrorCategory)
    handler = FailureHandler(task_id="t", limits=Limits(), output=print)
    done: HandlerResult = handler.handle(Failure("boom"), Execution(current_approach=Approach("x")))
    asked: StuckReport | None = done.stuck_report
    hint: ErrorAnalysis = analyze_error("boom")
    print(verdict, kinds, asked, hint, EscalationLevel.RETRY, GateType.STUCK)
    clean: Clean = admit("text")
    print(clean, is_circular_fix("use async", ["use async await"] * 3))
    found = diagnose("price.py:3: error: Name 'totl' is not defined", exit_code=1)
    assert_type(found, Diagnosis | None)
    for handle in (handle_transient_error, handle_configuration_error):
        print(handle)
    print(handle_agent_failure, handle_infrastructure_error, handle_unrecoverable_error)


def control(project: Path) -> None:
    """Another program's run."""
    client = Client(project)
    for task in client.show().tasks:
        gate = client.hold(task.task)
        client.answer(gate, "continue")
    for record in client.follow():
        assert_type(record.seq, int)


def main() -> None:
    """Run it, and say what went wrong."""
    try:
        print(supervise_sync("Write it.", agent=write))
    except (SettingsError, PlanError) as error:
        print(error)
    except ProjectLocked as error:
        assert_type(error.pid, int)
    except (ProjectError, AgentUnusable, ArgumentError, UsageError, AgentNotFound):
        raise
    except (RecordDamaged, RecordWriteFailed, SystemFailed, RecordError):
        raise
    except (GateUnknown, GateClosed, AnswerRefused, GateError):
        raise
    except (GitError, CheckpointUnknown, TreeTooLarge, IntegrationConflict, DeliveryRefused, WorkspaceError):
        raise
    except (NoReply, ChannelError, LaggedBehind, UnstuckError) as error:
        print(error.exit_code, unstuck.__version__)
