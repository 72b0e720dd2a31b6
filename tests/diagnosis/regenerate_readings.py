"""Writes readings.json: what is read in every recorded failure. Run it after a change that is meant."""

from __future__ import annotations

import json
from pathlib import Path

from unstuck.diagnosis.pipeline import diagnose

DATA = Path(__file__).parent.parent / "data"
RECORDED = ("failures.jsonl", "tools.jsonl", "tool_versions.jsonl")


def readings() -> dict[str, list[str]]:
    """Type, failure type, category, place and headline of each recorded failure, by file and id."""
    found = {}
    for name in RECORDED:
        for case in map(json.loads, (DATA / name).read_text(encoding="utf-8").splitlines()):
            one = diagnose(case["output"], exit_code=case["exit_code"], failed=True)
            fields = (one.error_type.value, one.failure_type.value, one.category.value, one.cause.value) if one else ()
            where = (str(one.location), str(one.headline), one.identity) if one else ()
            found[f"{name} {case['id']}"] = [*fields, *where]
    return found


if __name__ == "__main__":
    lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in readings().items())
    (DATA / "readings.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
