"""The usage examples of failure handling and recovery, as they are written but for their import lines."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from tests.manual_clock import ManualClock

from unstuck import Answer, GateManager

logger = logging.getLogger("agents")


async def test_example_1_timeout_monitoring() -> None:
    """Watch a task, complete it, read the statistics."""
    gate_manager = GateManager()
    # fmt: off
    from unstuck import TimeoutMonitor

    # Initialize with gate manager
    monitor = TimeoutMonitor(gate_manager)

    # Start monitoring loop
    await monitor.start()

    # Monitor a task
    await monitor.monitor_task(
        task_id="task-123",
        agent_id="backend-dev-1",
        agent_type="backend_developer",  # Uses 15 min default
        on_timeout=lambda: logger.warning("Task timed out!")
    )

    # Task completes
    monitor.complete_task("task-123")

    # Get statistics
    stats = monitor.get_monitor_stats()
    # fmt: on
    assert stats == {"active_count": 0, "running": True, "tasks": []}
    await monitor.stop()


async def test_example_1_when_time_is_up(caplog: pytest.LogCaptureFixture) -> None:
    """The same task left alone for 15 minutes: one gate, and the callback's warning."""
    from unstuck import TimeoutMonitor

    clock, gate_manager = ManualClock(), GateManager()
    monitor = TimeoutMonitor(gate_manager, clock=clock)
    await monitor.start()
    await monitor.monitor_task(
        task_id="task-123",
        agent_id="backend-dev-1",
        agent_type="backend_developer",
        on_timeout=lambda: logger.warning("Task timed out!"),
    )
    await clock.advance(15 * 60)
    await monitor.stop()
    assert caplog.messages == ["Task timed out!"]
    assert [(gate.type, gate.task) for gate in gate_manager.open_gates()] == [("timeout", "task-123")]


async def test_example_2_loop_detection(capsys: pytest.CaptureFixture[str]) -> None:
    """The third identical error opens a gate whose id is printed."""
    gate_manager = GateManager()
    # fmt: off
    from unstuck import LoopDetector

    # Initialize with gate manager
    detector = LoopDetector(gate_manager=gate_manager)

    for _ in range(3):
        # On each error
        gate_id = await detector.check_and_trigger_gate(
            task_id="task-456",
            agent_id="qa-engineer-1",
            project_id="proj-789",
            error_signature="TypeError: cannot access property of undefined"
        )

        if gate_id:
            print(f"Loop detected! Gate created: {gate_id}")
            # Agent should pause

    # Get loop statistics
    stats = detector.get_loop_stats()
    # fmt: on
    (gate,) = gate_manager.open_gates()
    assert capsys.readouterr().out == f"Loop detected! Gate created: {gate.id}\n"
    assert stats["active_tasks"] == 1
    assert stats["detected_loops"] == 1
    assert stats["window_size"] == 3
    assert len(stats["loop_events"]) == 1
    context = dict(gate.context)
    detected_at = context.pop("detected_at")
    assert detected_at.endswith("Z")
    assert context == {
        "task_id": "task-456",
        "agent_id": "qa-engineer-1",
        "loop_type": "execution_loop",
        "window_size": 3,
        "error_signature": "TypeError: cannot access property of undefined",
        "project_id": "proj-789",
    }


def test_example_3_failure_signatures(capsys: pytest.CaptureFixture[str]) -> None:
    """Type, location and hash of a traceback; the same error again is identical."""
    # fmt: off
    from unstuck import FailureSignature, extract_failure_signature

    # From raw error output
    error_output = """
Traceback (most recent call last):
  File "backend/api/routes.py", line 42, in authenticate
    user = db.users.find(id)
TypeError: 'NoneType' object is not subscriptable
"""

    signature = extract_failure_signature(
        error_output=error_output,
        agent_id="backend-dev-1",
        task_id="task-123"
    )

    print(signature.error_type)  # ErrorType.TYPE_ERROR
    print(signature.location)     # "backend/api/routes.py:42"
    print(signature.context_hash) # "a3f2e1..."

    # Compare signatures
    sig2 = FailureSignature.from_error(error_output, "backend-dev-1", "task-123")

    if signature.is_identical_to(sig2):
        print("Same error - possible loop!")

    elif signature.is_similar_to(sig2):
        print("Similar error - related issue")
    # fmt: on
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "ErrorType.TYPE_ERROR",
        "backend/api/routes.py:42",
        signature.context_hash,
        "Same error - possible loop!",
    ]
    assert len(signature.context_hash) == 16


async def test_example_4_complete_integration() -> None:
    """The executor fails three times, pauses at the gate until the answer, and raises; its success clears it all."""
    # fmt: off
    from unstuck import GateManager, LoopDetector, TimeoutMonitor, extract_failure_signature

    # Full failure handling workflow
    class AgentExecutor:
        def __init__(self) -> None:
            self.gate_manager = GateManager()
            self.timeout_monitor = TimeoutMonitor(self.gate_manager)
            self.loop_detector = LoopDetector(gate_manager=self.gate_manager)

        async def execute_task(self, task: Any) -> Any:
            # Start timeout monitoring
            await self.timeout_monitor.monitor_task(
                task_id=task.id,
                agent_id=self.agent_id,
                agent_type=self.agent_type
            )

            try:
                # Execute task
                result = await self.run_task(task)

                # Success - clear loop history
                self.loop_detector.record_success(task.id)
                self.timeout_monitor.complete_task(task.id)

                return result

            except Exception as e:
                # Extract failure signature
                signature = extract_failure_signature(
                    error_output=str(e),
                    agent_id=self.agent_id,
                    task_id=task.id
                )

                # Check for loop and auto-create gate
                gate_id = await self.loop_detector.check_and_trigger_gate(
                    task_id=task.id,
                    agent_id=self.agent_id,
                    project_id=task.project_id,
                    error_signature=signature.context_hash
                )

                if gate_id:
                    # Loop detected - pause and wait for human
                    await self.pause_and_wait_for_gate(gate_id)

                raise
    # fmt: on

        agent_id = "backend-dev-1"
        agent_type = "backend_developer"
        broken = True

        async def run_task(self, task: Any) -> str:
            if self.broken:
                raise TypeError("'NoneType' object is not subscriptable")
            return "done"

        async def pause_and_wait_for_gate(self, gate_id: str) -> None:
            paused.append(gate_id)
            await self.gate_manager.answer(gate_id, Answer(choice="skip"))
            assert (await self.gate_manager.wait(gate_id)).choice == "skip"

    paused: list[str] = []
    executor = AgentExecutor()
    task = SimpleNamespace(id="task-123", project_id="proj-789")
    for _ in range(3):
        assert paused == []
        with pytest.raises(TypeError, match="subscriptable"):
            await executor.execute_task(task)
    assert len(paused) == 1
    assert executor.gate_manager.open_gates() == ()
    assert executor.timeout_monitor.get_monitor_stats()["active_count"] == 1
    executor.broken = False
    assert await executor.execute_task(task) == "done"
    assert executor.timeout_monitor.get_monitor_stats()["active_count"] == 0
    assert executor.loop_detector.get_loop_stats()["active_tasks"] == 0


async def test_configuration_of_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The defaults are set on the class; a type that is left out has the fallback."""
    from unstuck import TimeoutMonitor

    monkeypatch.setattr(TimeoutMonitor, "DEFAULT_TIMEOUTS", TimeoutMonitor.DEFAULT_TIMEOUTS)
    # fmt: off
    TimeoutMonitor.DEFAULT_TIMEOUTS = {
        "orchestrator": 1800,        # 30 min
        "backend_developer": 900,    # 15 min
        "frontend_developer": 900,   # 15 min
        "qa_engineer": 600,          # 10 min
        "security_expert": 1200,     # 20 min
        "devops_engineer": 1800,     # 30 min
        # ... etc
    }
    # fmt: on
    monitor = TimeoutMonitor(clock=ManualClock())
    for agent_type in ("qa_engineer", "documentation"):
        await monitor.monitor_task(agent_type, "a", agent_type)
    limits = {row["task_id"]: row["timeout_seconds"] for row in monitor.get_monitor_stats()["tasks"]}
    assert limits == {"qa_engineer": 600, "documentation": 900}


def test_configuration_of_loop_detection() -> None:
    """A window of its own size, and a gate manager."""
    from unstuck import LoopDetector

    gate_mgr = GateManager()
    # fmt: off
    # Window size (default 3)
    detector = LoopDetector(window_size=3)

    # With gate manager
    detector = LoopDetector(gate_manager=gate_mgr)
    # fmt: on
    assert [detector.record_failure("t", "x") for _ in range(3)] == [False, False, True]


def test_example_3_with_the_placeholder_as_it_stands() -> None:
    """Even ``from_error(...)`` with its three dots gives a signature, which is another failure."""
    from unstuck import FailureSignature, extract_failure_signature

    signature = extract_failure_signature(error_output="TypeError: x", agent_id="a", task_id="t")
    sig2 = FailureSignature.from_error(...)  # type: ignore[arg-type]
    assert not signature.is_identical_to(sig2)
    assert not signature.is_similar_to(sig2)
