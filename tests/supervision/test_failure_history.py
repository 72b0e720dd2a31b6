"""Earlier failures decide the escalation level: several at one place, the same one again, and a new approach."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from unstuck import Guidance, Report, Supervisor, Task, admit
from unstuck.settings.models import Settings

CHECK = "test -f done || { cat said; exit 1; }"


def raised(what: str, line: int = 3) -> str:
    """Return pytest's output when ``what`` is raised in that line of one file."""
    return (
        "=================================== FAILURES ===================================\n"
        "__________________________________ test_total __________________________________\n"
        f"\n    def total():\n>       return add()\nE       {what}\n\nshop.py:{line}: {what.partition(':')[0]}\n"
        "=========================== short test summary info ============================\n"
        f"FAILED tests/test_shop.py::test_total - {what}\n1 failed in 0.01s\n"
    )


@pytest.mark.parametrize(
    ("says", "rungs"),
    [
        ([raised("KeyError: 'a'"), raised("ValueError: b"), raised("NameError: name 'c' is not defined")], "rrp"),
        (
            [raised("KeyError: 'a'"), raised("ValueError: b", 20), raised("NameError: name 'c' is not defined", 40)],
            "rrr",
        ),
        ([raised("KeyError: 'a'")] * 4, "rrrp"),
        ([raised("TypeError: can only concatenate str")] * 3, "rrp"),
        (
            [*map(raised, ("KeyError: 'a'", "ValueError: b", "NameError: name 'c' is not defined", "IndexError: d"))],
            "rrpr",
        ),
    ],
    ids=[
        "three failures at one place",
        "three places",
        "the same failure",
        "a type that stays wrong",
        "a new approach",
    ],
)
async def test_earlier_failures_decide_the_first_level(repo: Path, says: Sequence[str], rungs: str) -> None:
    """Two more at one place mean that the approach is wrong; the very same one has its three retries."""
    told = list[str]()

    async def agent(guidance: Guidance) -> Report:
        said = says[len(told)] if len(told) < len(says) else ""
        told.append(guidance.level[0])
        (guidance.workdir / "said").write_text(said, encoding="utf-8")
        if not said:
            (guidance.workdir / "done").touch()
        return Report(exit_code=0)

    async with Supervisor.open(repo, Settings()) as supervisor:
        await supervisor.supervise(Task(id="t", prompt=admit("Do it."), verify=CHECK), agent)
    assert "".join(told)[1:] == rungs
