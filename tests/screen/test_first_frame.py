"""The first frame of a run's screen waits for nothing that only the work needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

_LATER = {
    "unstuck.detection.agent_monitor",
    "unstuck.diagnosis.pipeline",
    "unstuck.escalation.precedence",
    "unstuck.supervision.outcome.decision",
    "unstuck.supervision.run.coordinator",
    "unstuck.supervision.run.session",
    "unstuck.workspace.checkpoints.manager",
    "unstuck_tui.dialogs.question_dialog",
}


@pytest.mark.parametrize("command", ["watch", "run_execution"])
def test_diagnosis_escalation_and_dialogs_are_not_loaded_for_it(command: str) -> None:
    """They take longer to load than the frame takes to draw, and no session has begun yet."""
    code = (
        f"import sys, unstuck_tui.cli.{command}, unstuck_tui.app.host\n"
        f"print(*sorted({_LATER!r} & set(sys.modules)), sep='\\n')"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert loaded.split() == []
