"""An agent without a model: it does what the lines of its prompt say."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def circle() -> None:
    """Take the same step until a person has said how it is done."""
    if "\nwrite " in Path(sys.argv[1]).read_text():
        return
    for number in range(6):
        for kind, text, code in (("action", "pytest -q", 0), ("failure", "FAILED test_b - assert 1 == 2", 1)):
            step = {"step": kind, "id": str(number), "tool": "bash", "text": text, "exit_code": code}
            print(f"UNSTUCK {json.dumps(step)}", flush=True)
    time.sleep(60)


def main() -> None:
    failure = ""
    for line in Path(sys.argv[1]).read_text().splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "write":
            Path(f"{rest}.txt").write_text(f"{rest}\n")
            failure = ""  # a person has said how it is done
        elif word == "collect":
            name, *needs = rest.split()
            Path(f"{name}.txt").write_text(name + "".join(Path(f"{need}.txt").read_text() for need in needs) + "\n")
        elif word == "draft":
            Path(f"{rest}.draft").write_text("half\n")
        elif word == "await":
            while not Path(rest).exists():
                time.sleep(0.05)
        elif word == "sleep":
            time.sleep(float(rest) * float(os.environ.get("SLOW", "1")))
        elif word == "note":
            with Path(os.environ["NOTES"]).open("a") as notes:
                notes.write(f"{rest} {os.environ.get('WHO', '')}\n")
        elif word == "secret":
            Path(f"{rest}.txt").write_text(os.environ.get("OWNERS_SECRET", "none") + "\n")
        elif word == "say":
            print(rest, flush=True)
        elif word == "circle":
            circle()
        elif word == "fail":
            failure = f"Error: {rest}"
    if failure:
        sys.exit(failure)


main()
