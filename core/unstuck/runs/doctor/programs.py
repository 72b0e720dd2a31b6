"""Programs of a run: git and known agents with their versions, their hooks, and their MCP server entries."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from unstuck.agents.command.presets import PRESETS, preset_command
from unstuck.agents.config.settings_files import SettingsFile, settings_files
from unstuck.agents.hooks.codex_trust import trust_of
from unstuck.agents.hooks.hook_agents import KNOWN, OPEN, HookedAgent
from unstuck.agents.hooks.unsupervised_log import unwatched_calls, unwatched_file
from unstuck.agents.mcp.mcp_agents import KNOWN as CALLING
from unstuck.agents.mcp.mcp_agents import trouble_with
from unstuck.errors import WorkspaceError
from unstuck.processes import clean_environment
from unstuck.runs.doctor.finding import Finding
from unstuck.runs.doctor.first_look import first_look, version_of
from unstuck.supervision.checks.check import detect_check
from unstuck.text import one_line
from unstuck.version import __version__
from unstuck.workspace.git.repository import OLDEST, run_git
from unstuck.workspace.project import Project

_TIMEOUT_S = 3.0
_OUTPUT_LIMIT = 4096


def versions() -> Iterator[Finding]:
    yield Finding("unstuck", __version__)
    yield Finding("python", f"{platform.python_version()} on {platform.system()}")


async def git() -> Finding:
    """Return the version of git, and whether it is recent enough."""
    try:
        said = (await run_git(Path.cwd(), "--version")).line
    except WorkspaceError as error:
        return Finding("git", f"{error}: no checkpoints and no worktrees", ok=False, mend="install git")
    found, needed = re.search(r"(\d+)\.(\d+)", said), ".".join(map(str, OLDEST))
    if found and (int(found[1]), int(found[2])) < OLDEST:
        said = f"{one_line(said)} is too old for worktrees"
        return Finding("git", said, ok=False, mend=f"install git {needed} or newer")
    return Finding("git", one_line(said))


async def agents(environ: Mapping[str, str]) -> list[Finding]:
    """Return the installed known agents with their versions, which they have three seconds to print."""
    found = {name: path for name in PRESETS if (path := shutil.which(name, path=environ.get("PATH")))}
    if not found:
        return [Finding("agents", "none of the known ones on PATH; any program works after --")]
    said = await asyncio.gather(*(_version(path, environ) for path in found.values()))
    told = (f"{name} ({version or 'does not say its version'})" for name, version in zip(found, said, strict=True))
    return [Finding("agents", ", ".join(told))]


def looks(place: Project, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what a first look at each installed known agent finds, as the start of a run does."""
    check = detect_check(place.root)
    for name in PRESETS:
        if shutil.which(name, path=environ.get("PATH")):
            look = first_look(preset_command(name), [check] if check else [], place.directory, environ)
            yield from (Finding("agent", warning) for warning in look.warnings)


async def _version(path: str, environ: Mapping[str, str]) -> str:
    """Return the version by the package, or the first line of ``--version``; empty if the program does not end."""
    if known := version_of(path, environ):
        return known
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            "--version",
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            env=clean_environment(environ),
            start_new_session=True,
        )
    except OSError:
        return ""
    assert process.stdout is not None
    said = b""
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            said = await process.stdout.read(_OUTPUT_LIMIT)
            await process.wait()
    except TimeoutError:
        pass
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return one_line(said.strip().partition(b"\n")[0], 60)


def hooks(place: Project, environ: Mapping[str, str], of: str = "") -> Iterator[Finding]:
    """Yield the installed hooks, with their problems and their trust; with ``of`` those of one agent."""
    for file in settings_files({of: KNOWN[of]} if of in KNOWN else KNOWN, place.root, environ):
        where = " --here" if file.scope == "project" else ""
        mend = f"unstuck hooks install {file.agent.name}{where}"
        path = one_line(str(file.path), 300)
        if file.state == "unreadable":
            yield Finding(
                "hooks", f"{file.agent.name}: {path}: {one_line(file.problem)}", ok=False, mend=f"edit {path}"
            )
        elif file.missing:
            said = f"{file.agent.name}: {path} calls {one_line(file.missing)}, which does not exist: {OPEN}"
            yield Finding("hooks", said, ok=False, mend=mend)
        elif file.state == "outdated":
            said = f"{file.agent.name}: {path} is not as this version writes it"
            yield Finding("hooks", said, ok=False, mend=mend)
        elif file.state == "installed":
            yield _trusted(file, path, place, environ)
    yield from _unwatched(place, environ)


def _unwatched(place: Project, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the calls that a watch has accepted and not answered in time."""
    path = unwatched_file(place.home, environ)
    found = unwatched_calls(path) if path is not None else None
    if found is not None:
        calls = "1 call" if found.calls == 1 else f"{found.calls} calls"
        yield Finding("hooks", f"{calls} went on unwatched, the last: {found.last} ({one_line(str(path), 300)})")


def _trusted(file: SettingsFile[HookedAgent], path: str, place: Project, environ: Mapping[str, str]) -> Finding:
    """Return the finding about current hooks, with the agent's trust in them."""
    said = f"{file.agent.name}: {path}"
    if not file.agent.trust:
        return Finding("hooks", said)
    match trust_of(file.path, place.root, environ):
        case "trusted":
            return Finding("hooks", f"{said} (trusted)")
        case "untrusted":
            mend = f"start {file.agent.name}, type /hooks, and look at them there"
            return Finding("hooks", f"{said} is not trusted, so it is ignored", ok=False, mend=mend)
    return Finding("hooks", f"{said} (whether {file.agent.title} trusts it is not known)")


def mcp_servers(place: Project, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the settings files that start the MCP server, and those that cannot be parsed."""
    for file in settings_files(CALLING, place.root, environ):
        trouble, mend = trouble_with(file)
        if trouble:
            yield Finding("mcp", f"{file.agent.name}: {one_line(trouble, 400)}", ok=False, mend=one_line(mend, 400))
        elif file.state == "installed":
            yield Finding("mcp", f"{file.agent.name}: {one_line(str(file.path), 300)}")
