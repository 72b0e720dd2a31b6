"""``unstuck doctor``: what is installed, what is in the way, and where everything lies."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from unstuck import __version__
from unstuck.channel import call, socket_path
from unstuck.errors import ChannelError, UnstuckError
from unstuck.record.lock import read_holder
from unstuck.record.mounts import shared_risk
from unstuck.settings import default_user_file, load_settings, runtime_dir, state_dir
from unstuck.text import one_line
from unstuck.workspace.project import Project
from unstuck_tui.cli.common import echo, here, print_json, project_option

__all__ = ["command"]

_AGENTS = ("claude", "codex", "gemini", "qwen", "opencode", "aider")


@click.command(name="doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per row.")
@project_option
@click.pass_context
def command(ctx: click.Context, project: Path, as_json: bool) -> None:
    """What is installed, what is in the way, and where everything lies. Exits with 1 where something is in the way."""
    rows = list(_rows(here(project), dict(os.environ)))
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            echo(f"{'ok ' if row['ok'] else '!! '} {row['what']:<12} {row['value']}")
    ctx.exit(0 if all(row["ok"] for row in rows) else 1)


def _rows(place: Project, environ: dict[str, str]) -> Iterator[dict[str, Any]]:
    yield _row("unstuck", __version__)
    yield _row("python", f"{platform.python_version()} on {platform.system()}")
    yield _git()
    repository = place.repository
    yield _row("project", f"{place.root} ({'git' if repository else 'no git: no work trees, pivots keep the files'})")
    risk = shared_risk(place.home)
    yield _row("record", risk or str(place.home), ok=not risk and (place.home.is_dir() or not place.home.exists()))
    yield from _work_trees(place, state_dir(environ) / "worktrees")
    yield _settings(place, environ)
    yield _socket(place, environ)
    yield _lock(place)
    found = [name for name in _AGENTS if shutil.which(name, path=environ.get("PATH"))]
    yield _row("agents", ", ".join(found) or "none of the known ones on PATH; any program works after --")


def _row(what: str, value: str, *, ok: bool = True) -> dict[str, Any]:
    return {"what": what, "value": value, "ok": ok}


def _git() -> dict[str, Any]:
    git = shutil.which("git")
    if git is None:
        return _row("git", "not found: checkpoints keep their own store only with git; install it", ok=False)
    said = subprocess.run([git, "--version"], capture_output=True, text=True, check=False)
    return _row("git", said.stdout.strip())


def _work_trees(place: Project, folder: Path) -> Iterator[dict[str, Any]]:
    from unstuck.workspace.worktrees import kept_trees

    yield _row("work trees", str(folder))
    try:
        for kept in asyncio.run(kept_trees(place, folder)):
            yield _row("kept", f"{one_line(kept.place)}: {kept.reason}")
    except (UnstuckError, OSError) as error:
        yield _row("kept", f"cannot be looked at: {error}", ok=False)


def _settings(place: Project, environ: dict[str, str]) -> dict[str, Any]:
    try:
        load_settings(place.root, user_file=default_user_file(), environ=environ, overrides={})
    except UnstuckError as error:
        return _row("settings", str(error), ok=False)
    files = [default_user_file(), place.root / ".claude" / "config.yaml", place.root / "unstuck.yaml"]
    return _row("settings", ", ".join(str(path) for path in files if path.is_file()) or "defaults")


def _socket(place: Project, environ: dict[str, str]) -> dict[str, Any]:
    try:
        path = socket_path(runtime_dir(environ), place.home)
    except ChannelError as error:
        return _row("socket", str(error), ok=False)
    try:
        reply = call(path, {"v": 1, "do": "state"}, timeout=2.0)
    except (ChannelError, OSError):
        return _row("socket", f"{path} (no live run)")
    if held := reply.get("held"):
        return _row("socket", f"{path} (run {reply.get('run')} is live, but has no room on the disk: {held})", ok=False)
    return _row("socket", f"{path} (run {reply.get('run')} is live)")


def _lock(place: Project) -> dict[str, Any]:
    holder = read_holder(place.home / "lock")
    if holder is None:
        return _row("lock", "free")
    where = f" on {holder.host}" if holder.host else ""
    return _row("lock", f"last taken by process {holder.pid}{where} for run {holder.run}")
