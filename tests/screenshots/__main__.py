"""Every screen, taken from real rehearsals: ``make screenshots`` writes the pictures to ``screenshots/``."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from tests.screenshots.afterwards import cut_off, past_screens, recovery_screens
from tests.screenshots.camera import PICTURES
from tests.screenshots.film import film
from tests.screenshots.live import LiveCamera

from unstuck.runs.run import RunOptions
from unstuck.testing import Part, Rehearsal, curated, load_scenario
from unstuck.workspace.project import locate


async def main() -> None:
    """Play the demo's plan and one more task that repeats itself, then a run that is killed."""
    PICTURES.mkdir(exist_ok=True)
    for picture in PICTURES.glob("*.svg"):
        picture.unlink()
    with tempfile.TemporaryDirectory(prefix="unstuck-pictures-") as folder:
        for name in ("STATE", "RUNTIME"):
            os.environ[f"UNSTUCK_{name}_DIR"] = str(Path(folder) / name.lower())
        # What is checked is shown as a user with unstuck on the PATH sees it.
        os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        os.environ["XDG_CONFIG_HOME"] = str(Path(folder) / "config")
        (PICTURES / "demo.svg").write_text(film(Path(folder), os.environ), encoding="utf-8")
        cast = (*curated(), Part("labels", load_scenario("tool-call-loop")))
        rehearsal = Rehearsal.prepare(cast, Path(folder) / "demo")
        started: list[str] = []
        await rehearsal.run(RunOptions(beside=LiveCamera(), started=started.append))
        place = await locate(rehearsal.project)
        await past_screens(place, started[0])
        killed = await cut_off(rehearsal.plan, rehearsal.project, rehearsal.environ)
        await recovery_screens(place, killed, rehearsal.environ)
    print(*sorted(path.name for path in PICTURES.glob("*.svg")))


if __name__ == "__main__":
    asyncio.run(main())
