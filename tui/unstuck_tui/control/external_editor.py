"""Opens a place in the person's editor beside a run: as a program with arguments, never through a shell."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from textual.app import App

from unstuck.errors import UsageError
from unstuck.runs.view.run_view import RunView
from unstuck_tui.control.clipboard import copy_and_save

_LINES = re.compile(r":(\d{1,9})(?::\d{1,9})?$")
_COLON = frozenset({"hx", "helix", "subl", "zed"})
_GOTO = frozenset({"code", "codium", "code-insiders", "cursor", "windsurf"})
_PLUS = frozenset(
    {"vi", "vim", "nvim", "view", "nano", "pico", "emacs", "emacsclient", "kak", "joe", "mg", "micro", "gvim", "gedit"}
)
_WAITS = dict.fromkeys(("code", "codium", "code-insiders", "cursor", "windsurf", "subl", "zed", "gedit"), "--wait")
_WAITS |= {"gvim": "--nofork", "kate": "--block"}
"""The editors that have a window of their own, and what makes them end only when that is closed."""


class Place(NamedTuple):
    """A file, and a line in it; 0 where none is known."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


def locate(folders: Sequence[Path], location: str) -> Place | None:
    """The file that ``location`` (``file:line``) means in the worktree round one of ``folders``; None outside of it.

    The text comes from an agent's output: a way out of the tree, by ``..`` or a link, leads nowhere. Blocks.
    """
    found = _LINES.search(location)
    name, line = (location[: found.start()], int(found[1])) if found else (location, 0)
    if not name or "\0" in name:
        return None
    for folder in folders:
        # The worktree is the directory with git's own entry.
        tree = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)
        for base in dict.fromkeys((folder, tree)):
            try:
                file = (base / name).resolve()
                if file.is_relative_to(tree.resolve()) and file.is_file():
                    return Place(file, line)
            except (OSError, RuntimeError, ValueError):
                continue
    return None


def command_for(environ: Mapping[str, str], place: Place) -> list[str]:
    """The program and its arguments that show ``place``; empty where no editor is named."""
    words = editor(environ)
    if not words:
        return []
    name, file = Path(words[0]).name, str(place.file)
    if not place.line:
        return [*words, file]
    if name in _GOTO:
        return [*words, "--goto", f"{file}:{place.line}"]
    if name in _COLON:
        return [*words, f"{file}:{place.line}"]
    if name == "kate":
        return [*words, "--line", str(place.line), file]
    return [*words, f"+{place.line}", file] if name in _PLUS else [*words, file]


def editor(environ: Mapping[str, str]) -> list[str]:
    """The words of the person's editor; empty where none is named."""
    try:
        return shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "")
    except ValueError:
        return []


def waited_for(command: Sequence[str]) -> list[str]:
    """``command`` so that it ends only when its person has done with it."""
    program, *arguments = command
    waits = _WAITS.get(Path(program).name)
    return [program, *([waits] if waits and waits not in arguments else []), *arguments]


def has_window(command: Sequence[str]) -> bool:
    """True for an editor with a window of its own, which needs no terminal."""
    return Path(command[0]).name in _WAITS


async def open_place(
    app: App[Any],
    view: RunView,
    place: Place,
    environ: Mapping[str, str],
    lend: Callable[[Sequence[str], Path], Awaitable[None]],
) -> str:
    """Show ``place`` without holding up a run: what became of it, in a line.

    An editor with a window opens there; one for a terminal opens in a pane of tmux, or in this terminal where no run
    goes on meanwhile: ``lend`` gives it to a program in a folder. Else the place is copied.
    """
    command = command_for(environ, place)
    if not command:
        return _copied(app, view, place, "Neither VISUAL nor EDITOR names an editor")
    try:
        if has_window(command):
            await asyncio.to_thread(_start, command)
            return f"{place} is opened in {Path(command[0]).name}."
        if environ.get("TMUX"):
            await asyncio.to_thread(_start, ["tmux", "split-window", *map(_for_tmux, command)])
            return f"{place} is opened in another pane."
        if not view.goes_on:
            await lend(command, place.file.parent)
            return f"{place} was opened in {Path(command[0]).name}."
    except UsageError:
        return _copied(app, view, place, "This terminal cannot run another program now")
    except OSError as problem:
        return _copied(app, view, place, f"{command[0]} cannot be started ({problem.strerror or problem})")
    return _copied(app, view, place, f"{Path(command[0]).name} would hold up the run in this terminal")


def _for_tmux(argument: str) -> str:
    """A semicolon at the end of an argument would end tmux's own command."""
    return f"{argument[:-1]}\\;" if argument.endswith(";") else argument


def _start(command: Sequence[str]) -> None:
    """Start a program that outlives us, and has nothing of our terminal."""
    nothing = subprocess.DEVNULL
    editor = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
    threading.Thread(target=editor.wait, daemon=True).start()


def _copied(app: App[Any], view: RunView, place: Place, why: str) -> str:
    """Copy the place; a terminal may ignore that, so it stands in a file, too."""
    file = copy_and_save(app, str(place), view.log.parent)
    return f"{why}: {place} is copied, and stands in {file}." if file else f"{why}: {place} is copied."
