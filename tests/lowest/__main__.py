"""Installs unstuck with the lowest versions that it declares, runs a demo, draws its screen and asks for its page."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import ptyprocess
import pyte

TOP = Path(__file__).resolve().parents[2]
PLACE = TOP / "build" / "lowest"
SCENARIO = "succeeds-at-once"
EXTRAS = ("web", "fleet")
LONGEST_S = 120
ROWS, COLUMNS = 30, 100


def lowest(requirements: list[str]) -> list[str]:
    """The lowest version of each requirement, as a constraint."""
    found = [re.match(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement) for requirement in requirements]
    assert all(found), f"a requirement has no lower bound: {requirements}"
    return [f"{match[1]}=={match[2]}" for match in found if match]


def installed() -> Path:
    """The directory of the programs of a fresh environment with the lowest versions."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    shutil.rmtree(PLACE, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(PLACE)], check=True)
    constraints = PLACE / "constraints.txt"
    declared = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    constraints.write_text("\n".join(lowest(declared)) + "\n", encoding="utf-8")
    print(constraints.read_text("utf-8"))
    command = [PLACE / "bin" / "python", "-m", "pip", "install", "--quiet", "--constraint", constraints]
    subprocess.run([*command, f"{TOP}[{','.join(EXTRAS)}]"], check=True)
    return PLACE / "bin"


def drawn(program: Path, project: Path, *wanted: str) -> str:
    """Return the picture of ``unstuck replay`` of the last run in ``project``, once all ``wanted`` words are there."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    command = [str(program), "replay", "last", "--project", str(project)]
    environment = os.environ | {"TERM": "xterm-256color"}
    process = ptyprocess.PtyProcess.spawn(command, env=environment, dimensions=(ROWS, COLUMNS))
    signal.alarm(LONGEST_S)  # ends what never shows it
    try:
        text = ""
        while not all(word in text for word in wanted):
            try:
                # The emulator does not know the keyboard protocol, or what is asked of the terminal.
                stream.feed(re.sub(rb"\x1b\[[<>=][\d;]*[a-z]|\x1b\[\?\d+\$p", b"", process.read(65_536)))
            except EOFError:
                raise SystemExit(f"the program ended before it showed {wanted}:\n{text}") from None
            text = "\n".join(line.rstrip() for line in screen.display)
        return text
    finally:
        process.terminate(force=True)


def served(program: Path, project: Path) -> str:
    """The page behind the link that ``unstuck web`` prints."""
    command = [program, "web", "--project", project]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        signal.alarm(LONGEST_S)
        try:
            assert process.stdout is not None
            link = next(found[0] for line in process.stdout if (found := re.search(r"http://\S+/enter/\S+", line)))
            with urllib.request.urlopen(link) as page:
                return str(page.read().decode())
        finally:
            signal.alarm(0)
            process.terminate()


def keys_made(program: Path, folder: Path) -> str:
    """The words of ``unstuck fleet up``, which makes keys and certificates, and finds nobody at a server's address."""
    command = [program, "fleet", "up", "--server", "tls://127.0.0.1:1", "--host", "box", "--data", folder]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S).stderr


def main() -> None:
    """Install, run, draw, serve, make keys."""
    program, project = installed() / "unstuck", PLACE / "project"
    demo = [program, "demo", "--headless", "--scenario", SCENARIO, "--speed", "10", "--keep", project]
    subprocess.run(demo, check=True, timeout=LONGEST_S)
    print(drawn(program, project / "shop", "REPLAY", "WHAT IS WRONG", SCENARIO.partition("-")[0]))
    assert "Open it in this browser" in served(program, project / "shop")
    assert "cannot be reached" in keys_made(program, PLACE / "fleet")
    print("the lowest versions work")


if __name__ == "__main__":
    main()
