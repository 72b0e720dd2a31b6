"""Loop detector: identical failures of a task, and repetition inside an attempt.

Events are stamped by the clock of the caller. No decision depends on time.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, Protocol

from unstuck.arguments import checked
from unstuck.clock import Clock, SystemClock, iso
from unstuck.contract import Observation, Verdict
from unstuck.detection.recent import Recent
from unstuck.detection.rules.requested_repeats import times_asked_for
from unstuck.errors import ArgumentError

if TYPE_CHECKING:
    from unstuck.detection.agent_monitor import Window


TASKS_KEPT = 10_000
TASKS_WATCHED = 2_000
AGENTS_KEPT = 16
EVENTS_KEPT = 1_000
LOOP_TYPE = "execution_loop"


class GateOpener(Protocol):
    """Gate manager as the detector uses it.

    An optional ``is_open(gate_id)``, or else ``open_gates()``, says which gates are still open.
    """

    async def create_gate(
        self, gate_type: str, *, task_id: str, agent_id: str, project_id: str | None, context: dict[str, Any]
    ) -> str: ...


class LoopDetector:
    """Loop detector, bounded in memory: the tasks and agents that were quiet longest are forgotten first.

    Example::

        detector = LoopDetector()
        detector.record_failure("task-1", "TypeError: x")  # True at the third identical one
        verdict = detector.observe(Observation(kind="failure", text="TypeError: x", task_id="task-1"))
    """

    @checked
    def __init__(
        self, gate_manager: GateOpener | None = None, window_size: int = 3, *, clock: Clock | None = None
    ) -> None:
        """Create a detector. ``window_size`` identical failures make a loop (at least 2, else ArgumentError)."""
        if not isinstance(window_size, int) or window_size < 2:
            raise ArgumentError(f"window_size must be a whole number of at least 2, not {window_size}")
        self.window_size = window_size
        self._gate_manager = gate_manager
        self._clock = clock or SystemClock()
        self._failures: OrderedDict[str, deque[str]] = OrderedDict()
        self._looping: dict[str, dict[str, Any]] = {}
        self._events: deque[dict[str, Any]] = deque(maxlen=EVENTS_KEPT)
        self._detected = 0
        self._windows: Recent[str, Recent[str, Window]] = Recent(TASKS_WATCHED)
        self._dismissed_tasks: set[str] = set()
        self._allowed: Recent[str, int] = Recent(TASKS_KEPT)
        self._found: Recent[str, set[tuple[str, str]]] = Recent(TASKS_WATCHED)

    @checked
    def record_failure(self, task_id: str, error_signature: str) -> bool:
        """Record a failure. Return True while the last ``window_size`` of this task are identical."""
        window = self._failures.pop(task_id, None) or deque(maxlen=self.window_size)
        self._failures[task_id] = window
        window.append(error_signature)
        if len(self._failures) > TASKS_KEPT:
            forgotten, _ = self._failures.popitem(last=False)
            self._looping.pop(forgotten, None)
        looping = len(window) == self.window_size and len(set(window)) == 1
        if not looping:
            self._looping.pop(task_id, None)
        elif task_id not in self._looping:
            self._looping[task_id] = self._event(task_id, error_signature)
        return looping

    @checked
    def record_success(self, task_id: str) -> None:
        """Forget the failures of a task whose check passed."""
        self._failures.pop(task_id, None)
        self._looping.pop(task_id, None)

    @checked
    def answered(self, task_id: str) -> None:
        """Forget the repetitions of a task after a person's answer."""
        self.record_success(task_id)
        self._found.pop(task_id, None)
        for window in self._windows.get(task_id, {}).values():
            window.reset()

    @checked
    async def check_and_trigger_gate(
        self, task_id: str, agent_id: str, project_id: str | None, error_signature: str
    ) -> str | None:
        """Record a failure and open a gate where it completes a loop. Return the gate's id while it is open.

        Each loop has one gate. Its answer ends the loop; a new loop needs ``window_size`` failures again. Without a
        gate manager the loop is only an event. Raises what the gate manager raises; the next failure tries again.
        """
        if self._is_answered(task_id):
            self.record_success(task_id)
        if not self.record_failure(task_id, error_signature):
            return None
        event = self._looping[task_id]
        if self._gate_manager is None or event["gate_id"] is not None:
            event.update(agent_id=event["agent_id"] or agent_id, project_id=event["project_id"] or project_id)
            return event["gate_id"] or None
        return await self._create_loop_gate(event, agent_id, project_id)

    def get_loop_stats(self) -> dict[str, Any]:
        """``active_tasks``, ``detected_loops``, ``window_size`` and ``loop_events`` (oldest first, the last 1,000).

        They count what :meth:`observe` has found, too.
        """
        return {
            "active_tasks": len(self._failures.keys() | self._windows.keys()),
            "detected_loops": self._detected,
            "window_size": self.window_size,
            "loop_events": [dict(event) for event in self._events],
        }

    @checked
    def observe(self, observation: Observation) -> Verdict | None:
        """Return a verdict when an agent repeats itself inside an attempt: first a nudge, then one for the gate.

        Each repetition is one loop of the statistics, also if it has several verdicts.
        """
        task, agent = observation.task_id, observation.agent_id
        if task in self._dismissed_tasks:
            return None
        verdict = self._window(task, agent).observe(observation)
        if verdict is not None and verdict.kind != "waiting":
            found = self._found.get(task)
            self._found[task] = found = set() if found is None else found
            if (agent, verdict.pattern) not in found:
                found.add((agent, verdict.pattern))
                self._event(task, verdict.pattern, agent_id=agent, loop_type=verdict.kind)
        return verdict

    @checked
    def dismiss(self, task_id: str, pattern: str | None = None) -> None:
        """Exclude a pattern, or without one every repetition of the task: a person has answered that it is no loop."""
        if pattern is None:
            self._dismissed_tasks.add(task_id)
            return
        for window in self._windows.get(task_id, {}).values():
            window.dismiss(pattern)

    @checked
    def started(self, task_id: str, prompt: str = "") -> None:
        """Begin an attempt: forget earlier repetitions and allow those that ``prompt`` asks for."""
        self.record_success(task_id)
        self._windows.pop(task_id, None)
        self._found.pop(task_id, None)
        self._allowed[task_id] = times_asked_for(prompt)

    @checked
    def rounds(self, task_id: str, agent_id: str = "") -> int:
        """Return the repetitions of the agent's current step: the 2 of ``↻ 2/3``; 0 where nothing repeats."""
        window = self._watched(task_id, agent_id)
        return window.rounds if window is not None else 0

    @checked
    def progressed(self, task_id: str, agent_id: str = "") -> bool:
        """Return whether the last observation was measured progress: a check passed or got further than before."""
        window = self._watched(task_id, agent_id)
        return window is not None and window.progressed

    @checked
    def counts(self, task_id: str, agent_id: str = "") -> bool:
        """Return whether the last step is an informative failure: no wait, no empty result, no external blocker."""
        window = self._watched(task_id, agent_id)
        return window is not None and window.counts

    def _watched(self, task_id: str, agent_id: str) -> Window | None:
        agents = self._windows.get(task_id)
        return agents.get(agent_id) if agents is not None else None

    @checked
    def forget(self, task_id: str) -> None:
        """Forget a task that has ended, except its events."""
        self.record_success(task_id)
        self._dismissed_tasks.discard(task_id)
        self._windows.pop(task_id, None)
        self._found.pop(task_id, None)
        self._allowed.pop(task_id, None)

    def _window(self, task_id: str, agent_id: str) -> Window:
        agents = self._windows.get(task_id)
        if agents is None:
            self._windows[task_id] = agents = Recent(AGENTS_KEPT)
        else:
            self._windows.move_to_end(task_id)
        window = agents.get(agent_id)
        if window is None:
            from unstuck.detection.agent_monitor import Window  # it loads every rule

            agents[agent_id] = window = Window(self._allowed.get(task_id, 0), self.window_size)
        else:
            agents.move_to_end(agent_id)
        return window

    def _event(
        self, task_id: str, error_signature: str, *, agent_id: str = "", loop_type: str = LOOP_TYPE
    ) -> dict[str, Any]:
        now = self._clock.now()
        event: dict[str, Any] = {
            "task_id": task_id,
            "agent_id": agent_id,
            "project_id": None,
            "loop_type": loop_type,
            "window_size": self.window_size,
            "error_signature": error_signature,
            "detected_at": iso(now),
            "timestamp": now,
            "gate_id": None,
        }
        self._detected += 1
        self._events.append(event)
        return event

    async def _create_loop_gate(self, event: dict[str, Any], agent_id: str, project_id: str | None) -> str:
        assert self._gate_manager is not None
        # An empty id marks the gate as being made, so that a second failure meanwhile opens no second one.
        event.update(agent_id=agent_id, project_id=project_id, gate_id="")
        fields = ("task_id", "agent_id", "loop_type", "window_size", "error_signature", "detected_at")
        try:
            event["gate_id"] = await self._gate_manager.create_gate(
                "loop_detected",
                task_id=event["task_id"],
                agent_id=agent_id,
                project_id=project_id,
                context={name: event[name] for name in fields},
            )
        finally:
            event["gate_id"] = event["gate_id"] or None
        return str(event["gate_id"])

    def _is_answered(self, task_id: str) -> bool:
        """Return whether the gate of this task's loop is no longer open."""
        event = self._looping.get(task_id)
        if event is None or not event["gate_id"]:
            return False
        is_open = getattr(self._gate_manager, "is_open", None)
        if is_open is not None:
            return not is_open(event["gate_id"])
        open_gates = getattr(self._gate_manager, "open_gates", None)
        return open_gates is not None and event["gate_id"] not in {getattr(gate, "id", gate) for gate in open_gates()}
