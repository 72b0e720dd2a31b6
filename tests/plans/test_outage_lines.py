"""An outage of the agent's provider in a run without a screen: said, shown, interrupted and resumed."""

from __future__ import annotations

import json
import signal
from typing import Any

from tests.plans.conftest import Bench

OVERLOADED = "API Error: 529 Overloaded. This is a server-side issue, usually temporary"


def test_the_wait_is_seen_survives_a_stop_and_ends(bench: Bench) -> None:
    """The line and `show` say what is waited for and how long; Ctrl+C ends the run, and it goes on where it was."""
    gone = bench.outside / "gone"
    # The provider names its own short time at first, so that only the last wait is long.
    script = (
        f"[ -f {gone} ] && touch done.txt && exit 0\n"
        f"[ $n -lt 4 ] && echo '{OVERLOADED}, retry after 0.01 s' || echo '{OVERLOADED}'\nexit 1"
    )
    worker = bench.agent("worker", script)
    named = bench.outside / "claude"
    (bench.outside / "worker.sh").rename(named)
    worker["command"] = [str(named)]
    path = bench.plan(
        agents={"worker": worker},
        tasks=[{"id": "web", "prompt": "Build it.", "verify": "test -f done.txt"}],
        settings={"outage_limit": "1s"},
    )
    process = bench.start("run", path, "--headless")
    assert process.stdout is not None
    line = next(line for line in process.stdout if "outage" in line)
    assert line.rstrip().endswith(f"… outage: again in 1s, 0s of 1s waited: {OVERLOADED}")
    shown = bench.call("show").out
    assert "… waits for an outage to pass: " in shown
    assert "of 1s left, asks you in " in shown
    row = next(row for row in _rows(bench) if row.get("task") == "web")
    assert (row["state"], row["waits"]["for"], row["waits"]["seconds"]) == ("backoff", "outage", 1)
    assert 0 <= row["waits"]["left"] <= 1
    process.send_signal(signal.SIGINT)
    assert bench.end(process).code == 130
    assert len(bench.events("transient_error_retry")) == 3
    assert bench.events("directive_issued") == []
    gone.touch()
    done = bench.resume()
    assert done.code == 0, done.out + done.err
    assert bench.attempts("web") == 5
    assert len(bench.events("outage_wait")) == 1
    assert [event["data"]["total_retries"] for event in bench.events("transient_error_resolved")] == [4]


def _rows(bench: Bench) -> list[dict[str, Any]]:
    return [json.loads(line) for line in bench.call("show", "--json").out.splitlines()]
