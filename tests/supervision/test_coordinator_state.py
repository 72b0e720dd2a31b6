"""The coordinator's state under its published names, while a run is under way and when it has failed."""

from __future__ import annotations

from pathlib import Path

from unstuck import Coordinator, Guidance, Report, Supervisor, Task, admit
from unstuck.eventlog import events as e
from unstuck.settings.models import Settings
from unstuck.supervision.attempt.runner import CallableAgent


async def test_the_names_while_a_question_is_open(repo: Path) -> None:
    """An agent that asks: its question with options and context, and how often the agent failed before."""
    reports = [
        Report(how="crashed"),
        Report(signal="needs_guidance", question=admit("Which port?"), options=(admit("80"),)),
    ]

    async def agent(guidance: Guidance) -> Report:
        return reports.pop(0)

    task = Task(id="web", prompt=admit("serve it"), verify="false")
    async with Supervisor.open(repo) as supervisor:
        coordinator = Coordinator(supervisor, {"web": CallableAgent(agent)})
        supervisor.session(task, CallableAgent.can)
        assert coordinator.available_tasks == ("web",)
        assert coordinator.failed_attempts == {}
        await coordinator.run()
        assert coordinator.failed_attempts == {"web": 1}
        (question,) = coordinator.pending_divine_questions
        assert question == {"task_id": "web", "question": "Which port?", "options": ["80"], "context": ""}
        assert coordinator.infrastructure_blocked is False
        assert coordinator.infrastructure_issue == ""
        assert coordinator.available_tasks == ()


async def test_a_halt_says_what_led_to_it(repo: Path) -> None:
    """``workflow_failed`` holds the task, its agent, its attempts and its failure as its context."""
    heard: list[e.Event] = []

    async def agent(guidance: Guidance) -> None:
        return None

    settings = Settings.model_validate({"ask": "never", "failure_handler": {"max_attempts": 1}})
    async with Supervisor.open(repo, settings) as supervisor:
        supervisor.core.journal.on_append(lambda record: heard.append(record.event))
        task = Task(id="web", prompt=admit("mend it"), verify="echo expected 3, got 4; exit 1")
        await supervisor.supervise(task, agent)
    (failed,) = [event for event in heard if isinstance(event, e.WorkflowFailed)]
    assert failed.context["task_id"] == "web"
    assert failed.context["attempts"] == 2
    assert failed.context["failure_type"] == "VERIFICATION_FAILED"
    assert failed.context["signature"]
