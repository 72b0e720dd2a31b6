"""Forks the scripted run as often as it is asked to, each time a process that may be killed; no test by itself.

``python forking_runs.py`` reads one JSON object a line from standard input (``arguments``, ``environment`` and the file
``said``, which gets what the run prints) and answers each with the run's exit code, once it has ended. What a start of
Python and its imports cost is paid once.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from typing import Any

import scripted_run  # type: ignore[import-not-found]

from unstuck.eventlog.state import State, dump


def work(order: dict[str, Any]) -> None:
    """Become the scripted run."""
    os.environ.clear()
    os.environ.update(order["environment"])
    said = os.open(order["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in enumerate((nothing, said, said)):
        os.dup2(source, target)
    sys.argv[1:] = order["arguments"]
    scripted_run.main()
    sys.stdout.flush()


def main() -> None:
    """Serve until standard input ends."""
    dump(State())  # what writes a snapshot is built once it is first needed
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                work(json.loads(line))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
