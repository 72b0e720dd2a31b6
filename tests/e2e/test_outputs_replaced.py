"""An agent or a check that puts something else in the place of a file of its run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

Inside = Callable[..., tuple[int, str, str]]
REPLACED = 'for file in .git/unstuck/runs/*/output/*.log; do rm -f "$file"; mkfifo "$file"; done'
COMING = "for number in 2 3 4 5 6 7 8; do mkfifo task.$number.log; done"


def test_a_pipe_in_the_place_of_an_output_holds_nothing_up(repo: Path, inside: Inside) -> None:
    """The run goes on to its question, and the task is shown."""
    command = ("run", "--headless", "--task", "Do it.", "--check", f"{REPLACED}; exit 1", "--", "sh", "-c", REPLACED)
    code, _, err = inside(repo, *command)
    assert code == 3, err
    code, out, err = inside(repo, "show", "last", "--json")
    assert code == 0, err
    assert any(json.loads(line).get("type") == "stuck" for line in out.splitlines()), out


def test_a_pipe_in_the_place_of_an_output_to_come_holds_nothing_up(repo: Path, inside: Inside) -> None:
    """The next attempts are worked, and what they print is kept."""
    hears = "cat $UNSTUCK_PROMPT_FILE > /dev/null; echo once more"
    command = f"{hears}; cd .git/unstuck/runs/*/output && test -e task.2.log || {{ {COMING}; }}"
    code, _, err = inside(repo, "run", "--headless", "--task", "Do it.", "--check", "false", "--", "sh", "-c", command)
    assert code == 3, err
    outputs = list((repo / ".git/unstuck/runs").glob("*/output/task.2.log"))
    assert [file.read_text() for file in outputs] == ["once more\n"]
