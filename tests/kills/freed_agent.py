"""An agent that frees itself of dying with its supervisor, and works until it is told to end.

``python freed_agent.py OUTSIDE``; no test by itself.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
outside = Path(sys.argv[1])
if (outside / "pid").exists():
    (outside / "second").touch()
    Path("result.txt").write_text("again\n")
    sys.exit()
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)
(outside / "pid").write_text(str(os.getpid()))
(outside / "started").write_text("started")
# A frozen one takes no step, so this does not go on either.
while not (outside / "finish").exists():
    time.sleep(0.01)
Path("result.txt").write_text("first\n")
