"""Other detectors on the calls of recorded histories, run by the Python that has them installed.

``loops`` reads histories of calls from standard input and prints the ids that each detector reports; ``checkpoint
ROOT ROUNDS`` prints the milliseconds of each checkpoint of stepback.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Calls = list[dict[str, Any]]


def unwedge(calls: Calls) -> bool:
    """Its tier without a model: any action but to continue."""
    from unwedge.adapters.generic import turn_from_command  # type: ignore[import-not-found]
    from unwedge.guard import Guard  # type: ignore[import-not-found]

    guard = Guard("Make the check pass.", None)
    turns = (turn_from_command(n, c["command"], c["output"], failed=c["failed"]) for n, c in enumerate(calls, 1))
    return any(guard.on_turn(turn).decision.action.value not in ("continue", "flag") for turn in list(turns))


def loopguard(calls: Calls) -> bool:
    """Its decorator, as it comes: the same arguments more than three times within a minute."""
    import loopguard as package  # type: ignore[import-not-found]

    @package.loopguard
    def call(tool: str, command: str) -> None:
        pass

    try:
        for one in calls:
            call(one["tool"], one["command"])
    except package.LoopDetectedError:
        return True
    return False


def agent_loop_guard(calls: Calls) -> bool:
    """Its guard, as it comes: any decision but to continue."""
    from loop_guard.guard import LoopGuard  # type: ignore[import-not-found]

    guard = LoopGuard()
    decisions = [guard.check(one["tool"], one["command"], one["output"]) for one in calls]
    return any(one.action.name != "CONTINUE" for one in decisions)


DETECTORS: Mapping[str, Callable[[Calls], bool]] = {
    "unwedge": unwedge,
    "loopguard": loopguard,
    "agent-loop-guard": agent_loop_guard,
}


def main(wanted: list[str]) -> None:
    if wanted[0] == "loops":
        histories = json.load(sys.stdin)
        found = {
            name: [id for id, calls in histories.items() if detector(calls)] for name, detector in DETECTORS.items()
        }
        print(json.dumps(found))
        return
    from stepback.engine import Engine  # type: ignore[import-not-found]

    engine, root = Engine(Path(wanted[1])), Path(wanted[1])
    for turn in range(int(wanted[2]) + 1):
        for file in sorted(root.glob("part_*/file_0.py")):
            file.write_text(f"TURN = {turn}\n")
        began = time.perf_counter()
        engine.checkpoint(f"turn {turn}")
        if turn:
            print(1e3 * (time.perf_counter() - began))


if __name__ == "__main__":
    main(sys.argv[1:])
