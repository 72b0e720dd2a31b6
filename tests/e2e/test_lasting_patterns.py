"""Patterns of loops: the same in every process, because an answer for a pattern holds for later runs as well."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WRITES = """
import json
from unstuck import LoopDetector
from unstuck.contract import Observation
from unstuck.text import Clean
detector, found = LoopDetector(), []
for number in range(8):
    name = {name}
    call = "Write " + json.dumps({{"file_path": name, "content": "listen 443 ssl;" * 30}})
    for kind, text in (("action", call), ("success", f"The file {{name}} has been updated.")):
        seen = Observation(kind=kind, text=Clean(text), tool="Write", id=f"c{{number}}", task_id="t")
        found.append(detector.observe(seen))
print([verdict.pattern for verdict in found if verdict])
"""


@pytest.mark.parametrize("name", ['"/srv/site.conf"', 'f"/srv/{number}.conf"'], ids=["one file", "other files"])
def test_a_written_text_has_the_same_pattern_in_every_process(name: str) -> None:
    """Python gives the hash of a text another value in each process; a pattern does not depend on it."""
    said = set()
    for seed in ("1", "2"):
        command = [sys.executable, "-c", WRITES.format(name=name)]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        said.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(said) == 1
    assert said != {"[]\n"}
