"""`unstuck diagnose` on recorded outputs of tools, each with its version (`tests/data/tool_versions.jsonl`).

Each line: the tool with its version, what its output shows, and what must be read in it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unstuck.diagnosis.pipeline import diagnose
from unstuck_tui.cli.diagnose import command

RUNS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data" / "tool_versions.jsonl").read_text(encoding="utf-8").splitlines()
]


def told(run: dict[str, Any]) -> dict[str, Any]:
    """Return the command's ``--json`` for a recorded run as one row; the test stands last in the subject."""
    said = CliRunner().invoke(command, ["--exit-code", str(run["exit_code"]), "--json"], input=run["output"])
    assert said.exit_code == 0, said.output
    read: dict[str, Any] = json.loads(said.stdout)
    signature = read["signature"]
    return {
        **read,
        **signature,
        "function": signature["metadata"].get("function"),
        "test": signature["subject"].rpartition("\n")[2],
    }


@pytest.mark.parametrize("run", [pytest.param(run, id=run["id"]) for run in RUNS])
def test_a_run_is_read_as_it_should(run: dict[str, Any]) -> None:
    """The diagnosis does not depend on the version of the tool: type, place, test and headline are right."""
    read = told(run)
    place = read["location"] or ""
    assert place == run["reads"]["location"] or place.endswith("/" + run["reads"]["location"]), run["shows"]
    others = {name: value for name, value in run["reads"].items() if name != "location"}
    assert {name: read[name] for name in others} == others, run["shows"]


@pytest.mark.parametrize(
    ("output", "place"),
    [
        ("thread 'x' panicked at 'no till', src/till.rs:4:5\n   0: f\n', src/other.rs:7:9\n", "src/till.rs:4"),
        ("thread 'x' (7) panicked at src/till.rs:4:5:\nno\n', src/other.rs:7:9\n", "src/till.rs:4"),
        ("thread 'x' panicked at 'no\ntill\nnote: run with `RUST_BACKTRACE=1`\nas in 'x', src/a.rs:7:9\n", None),
        ("thread 'x' panicked at 'no\nthread 'y' panicked at 'left\n right', src/b.rs:2:3\n", "src/b.rs:2"),
        ("the thread 'main' panicked at 'the disco', they say\n", None),
        ("thread 'x' panicked at 'no\n', the end: src/a.rs\n", None),
    ],
)
def test_the_place_of_a_panic_is_its_own(output: str, place: str | None) -> None:
    """Text in or after a panic's message that looks like its place is not taken for it."""
    diagnosis = diagnose(output, exit_code=101)
    assert diagnosis is not None
    assert diagnosis.location == place
