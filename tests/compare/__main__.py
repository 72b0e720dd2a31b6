"""Scripted honest agents before real tools: ``python -m tests.compare [FAMILY…]``, or ``--record [FAMILY…]``.

Each agent fixes one thing per attempt. The table says how many attempts it needed for how many things; what is not
installed is named and left out. ``--record`` writes what the tools say into ``tests/data`` instead, for ``make test``.
``peers`` compares other programs with ours.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from tests.compare.families import FAMILIES, MOST, Family
from tests.compare.recording import missing, record, write

from unstuck.eventlog.log.records import replay

UNSTUCK = Path(sys.executable).parent / "unstuck"
COUNTS = range(2, MOST + 1)
_AGENT = """#!/bin/sh
read left < "$UNSTUCK_TASK/left"
cp -R "{steps}/$((left - 1))/." "$UNSTUCK_TASK/"
"""


def attempts(family: Family, place: Path) -> dict[int, int | None]:
    """Return the number of attempts for each number of things; None where the agent did not succeed."""
    project, steps = place / "project", place / "steps"
    for left in range(MOST + 1):
        write(steps / str(left), dict(family.left(left)) | {"left": f"{left}\n"})
    for count in COUNTS:
        write(project / f"things-{count}", dict(family.left(count)) | {"left": f"{count}\n"})
    agent = place / "agent.sh"
    agent.write_text(_AGENT.format(steps=steps), encoding="utf-8")
    agent.chmod(0o755)
    plan = {
        "max_parallel": 1,
        "agents": {"worker": {"command": [str(agent)]}},
        "tasks": [
            {"id": f"things-{count}", "prompt": "Fix it.", "verify": f"cd things-{count} && {family.command}"}
            for count in COUNTS
        ],
    }
    (place / "plan.yaml").write_text(yaml.safe_dump(plan), encoding="utf-8")
    identity = ("-c", "user.name=compare", "-c", "user.email=compare@localhost")
    for command in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-q", "-m", "Begin")):
        subprocess.run(["git", *command], cwd=project, check=True)
    subprocess.run(
        [UNSTUCK, "run", place / "plan.yaml", "--headless", "-C", project], check=False, stdout=subprocess.DEVNULL
    )
    (run,) = (project / ".git" / "unstuck" / "runs").iterdir()
    rows = replay(run / "events.jsonl").tasks
    return {count: row.attempts if (row := rows[f"things-{count}"]).status == "succeeded" else None for count in COUNTS}


def main(wanted: list[str]) -> int:
    """Print the table; 1 where somebody needed more attempts than things and one, 2 where a family is unknown."""
    if wanted == ["peers"]:
        from tests.compare.peers import compare

        return compare()
    recording = wanted[:1] == ["--record"]
    names = wanted[1:] if recording else wanted
    if unknown := [name for name in names if name not in [family.name for family in FAMILIES]]:
        print(f"no such family: {', '.join(unknown)}", file=sys.stderr)
        return 2
    if recording:
        for gone in record(names):
            print(gone)
        return 0
    late = 0
    print(f"{'things to fix':<20}" + "".join(f"{count:>6}" for count in COUNTS))
    for family in FAMILIES:
        if names and family.name not in names:
            continue
        if gone := missing(family):
            print(f"{family.name:<20}  not found: {', '.join(gone)}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as place:
            needed = attempts(family, Path(place))
        late += sum(tries is None or tries > count + 1 for count, tries in needed.items())
        print(f"{family.name:<20}" + "".join(f"{needed[count] or 'never':>6}" for count in COUNTS), flush=True)
    print(f"too many attempts: {late}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
