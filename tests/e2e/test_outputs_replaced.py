"""An agent or a check that puts something else in the place of a file of its run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Inside = Callable[..., tuple[int, str, str]]
REPLACED = 'for file in .git/unstuck/runs/*/output/*.log; do rm -f "$file"; mkfifo "$file"; done'


def test_a_pipe_in_the_place_of_an_output_holds_nothing_up(repo: Path, inside: Inside) -> None:
    """The run goes on to its question, and the task is shown."""
    command = ("run", "--headless", "--task", "Do it.", "--check", f"{REPLACED}; exit 1", "--", "sh", "-c", REPLACED)
    code, _, err = inside(repo, *command)
    assert code == 3, err
    code, out, err = inside(repo, "show", "last", "--json")
    assert code == 0, err
    assert any(json.loads(line).get("type") == "stuck" for line in out.splitlines()), out
