"""Locations of the project's files: paths, sizes, and access."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from unstuck.channel import call, socket_path
from unstuck.channel.server import private_directory
from unstuck.errors import ChannelError, NoReply, RecordError, UnstuckError
from unstuck.eventlog.log.load_state import is_watch
from unstuck.eventlog.memory.store import memory_file
from unstuck.eventlog.storage.lock import RUN_LOCK, read_holder
from unstuck.eventlog.storage.network_fs import shared_risk
from unstuck.eventlog.storage.run_store import run_names
from unstuck.runs.doctor.finding import Finding
from unstuck.runs.memory_commands import memory_damage
from unstuck.runs.queries.run_list import live_runs
from unstuck.settings.layers import default_user_file
from unstuck.settings.loading import load_settings
from unstuck.settings.paths import runtime_dir, state_dir
from unstuck.text import one_line
from unstuck.words.amounts import sized
from unstuck.workspace.git.repository import refuse_home_links
from unstuck.workspace.project import Project
from unstuck.workspace.worktrees.cleanup import size_of


def places(place: Project, environ: Mapping[str, str]) -> list[Finding]:
    """Return the findings about the project, its event logs, worktrees, settings, socket and lock. Blocks."""
    return list(_places(place, environ))


def _places(place: Project, environ: Mapping[str, str]) -> Iterator[Finding]:
    kind = "git" if place.repository else "no git: no worktrees, new approaches keep the files"
    yield Finding("project", f"{one_line(str(place.root), 400)} ({kind})")
    yield (record := _record(place))
    if place.home.is_dir() and record.ok:
        yield Finding("takes", _sizes(place))
        if damage := memory_damage(place):
            yield Finding("memory", damage, ok=False, mend="delete these lines or the file: it only holds advice")
    yield Finding("worktrees", str(state_dir(environ) / "worktrees"))
    yield _settings(place, environ)
    yield _socket(place, environ)
    yield _lock(place)
    for live in live_runs(place):
        if live.run and is_watch(place.runs / live.run):
            yield Finding("watch", f"live in process {live.pid}: run {live.run}")


def _record(place: Project) -> Finding:
    where, risk = str(place.home), shared_risk(place.home)
    try:
        refuse_home_links(place.home)
    except RecordError as error:
        return Finding("record", str(error), ok=False, mend="remove the link, or move what it leads to into its place")
    if risk:
        return Finding("record", risk, ok=False, mend="move the project to a disk of this machine")
    if not place.home.exists():
        above = next(folder for folder in place.home.parents if folder.exists())
        writable = os.access(above, os.W_OK | os.X_OK)
        return Finding("record", where, ok=writable, mend="" if writable else f"make {above} writable")
    if not place.home.is_dir():
        return Finding("record", where, ok=False, mend=f"move {where} away: it is in the place of our folder")
    writable = os.access(place.home, os.W_OK | os.X_OK)
    return Finding("record", where, ok=writable, mend="" if writable else f"make {where} writable")


def _sizes(place: Project) -> str:
    runs, memory = run_names(place.runs), memory_file(place.home)
    kept = [f"{len(runs)} run{'' if len(runs) == 1 else 's'} ({sized(size_of(place.runs))})"]
    kept.append(f"checkpoints ({sized(size_of(place.home / 'checkpoints'))})")
    if memory.is_file():
        kept.append(f"memory ({sized(size_of(memory))})")
    return ", ".join(kept)


def _settings(place: Project, environ: Mapping[str, str]) -> Finding:
    try:
        load_settings(place.root, user_file=default_user_file(), environ=environ, overrides={})
    except UnstuckError as error:
        source = getattr(error, "source", "")
        return Finding("settings", str(error), ok=False, mend=f"correct {source}" if source else "")
    files = [default_user_file(), place.root / ".claude" / "config.yaml", place.root / "unstuck.yaml"]
    return Finding("settings", ", ".join(str(path) for path in files if path.is_file()) or "defaults")


def _socket(place: Project, environ: Mapping[str, str]) -> Finding:
    try:
        path = socket_path(runtime_dir(environ), place.home)
    except UnstuckError as error:
        return Finding("socket", str(error), ok=False, mend="export UNSTUCK_RUNTIME_DIR=/a/short/path")
    try:
        if path.parent.exists():
            private_directory(path.parent)
    except ChannelError as error:
        return Finding("socket", str(error), ok=False, mend=f"chmod 700 {path.parent}")
    try:
        reply = call(path, {"v": 1, "do": "state"}, timeout=2.0)
    except NoReply:
        return _silent(place, path)
    except (ChannelError, OSError):
        return Finding("socket", f"{path} (no live run)")
    if held := reply.get("held"):
        said = f"{path} (run {reply.get('run')} is live, but has no space on the disk: {held})"
        return Finding("socket", said, ok=False, mend="make room on that disk")
    return Finding("socket", f"{path} (run {reply.get('run')} is live)")


def _silent(place: Project, path: Path) -> Finding:
    """Return what is known of a process that listens and does not reply."""
    holder = read_holder(place.home / RUN_LOCK)
    if holder is None:
        return Finding("socket", f"{path} (a process listens and does not reply)", ok=False)
    status = ""
    with suppress(psutil.Error):
        status = psutil.Process(holder.pid).status()
    if status == psutil.STATUS_STOPPED:
        said = f"{path} (run {holder.run} is live, but its process {holder.pid} is suspended)"
        return Finding("socket", said, ok=False, mend=f"kill -CONT {holder.pid}")
    return Finding("socket", f"{path} (run {holder.run} is live, but process {holder.pid} does not reply)", ok=False)


def _lock(place: Project) -> Finding:
    holder = read_holder(place.home / RUN_LOCK)
    if holder is None:
        return Finding("lock", "free")
    where = f" on {holder.host}" if holder.host else ""
    return Finding("lock", f"last taken by process {holder.pid}{where} for run {holder.run}")
