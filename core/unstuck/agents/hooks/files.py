"""Agents' settings files on the disk: our hooks set up, looked at, and removed without a trace.

What a file held before is kept in the user's state directory until the hooks are removed: an unchanged file is set back
to it byte for byte, and from one that was changed since only our own entries are taken out.
"""

from __future__ import annotations

import difflib
import json
import os
import shlex
import shutil
import stat
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from unstuck.agents.hooks.known import KNOWN, HookedAgent, Scope
from unstuck.agents.hooks.settings_text import FORWARDER, entries, with_entries, without_entries
from unstuck.errors import UsageError
from unstuck.settings import state_dir

__all__ = [
    "OPEN",
    "Change",
    "HookFile",
    "forwarder_path",
    "hook_files",
    "installation",
    "installed_hooks",
    "removal",
]

SCOPES: tuple[Scope, ...] = ("home", "project")
OPEN = "the agent goes on unwatched"
"""What becomes of an agent whose hook cannot be called: all of them fail open."""
_FILE_LIMIT = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFile:
    """The hooks in one settings file.

    ``state``: ``installed`` is as this version writes it, ``outdated`` holds ours otherwise, ``absent`` none of ours,
    ``unreadable`` is no JSON (``problem`` says where). ``commands`` are those that are called; ``missing`` is one whose
    program does not exist.
    """

    agent: HookedAgent
    scope: Scope
    path: Path
    state: Literal["installed", "outdated", "absent", "unreadable"]
    commands: tuple[str, ...] = ()
    missing: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to become of one file: ``before`` and ``after`` are its texts, None where it does not exist."""

    path: Path
    before: str | None
    after: str | None
    backup: Path
    original: str | None = None
    made: tuple[Path, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether everything is as it should be."""
        return self.before == self.after

    def diff(self) -> list[str]:
        """The lines that change, as ``diff -u`` shows them."""
        old, new = ((text or "").splitlines() for text in (self.before, self.after))
        return list(difflib.unified_diff(old, new, str(self.path), str(self.path), lineterm="", n=1))

    def apply(self) -> None:
        """Write it in one step, with its backup first. Raises UsageError where the file has changed meanwhile."""
        if _read(self.path) != self.before:
            raise UsageError(f"{self.path} has just been changed by somebody else: look again")
        if not self.is_empty and self.after is not None and entries(self.after):
            self.backup.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            kept = {
                "file": str(self.path),
                "before": self.original,
                "after": _hash(self.after),
                "made": [str(folder) for folder in self.made],
            }
            _write(self.backup, json.dumps(kept) + "\n", 0o600)
        if self.after is None:
            Path(os.path.realpath(self.path)).unlink(missing_ok=True)  # a link that led nowhere was the person's
        elif not self.is_empty:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _write(self.path, self.after, None)
        if self.after is None or not entries(self.after):
            self.backup.unlink(missing_ok=True)
            for folder in (*self.made, self.backup.parent):
                with suppress(OSError):
                    folder.rmdir()  # only if nothing else is in it


def hook_files(root: Path, environ: Mapping[str, str]) -> Iterator[HookFile]:
    """Every settings file that could hold hooks, of the user's home and of the project at ``root``."""
    for agent in KNOWN.values():
        for scope in SCOPES:
            yield _look(agent, scope, root, environ)


def installed_hooks(root: Path, environ: Mapping[str, str], *, scope: Scope | None = None) -> tuple[HookFile, ...]:
    """Those that hold hooks of ours; of one ``scope``, where it is given."""
    found = (file for file in hook_files(root, environ) if scope in (None, file.scope))
    return tuple(file for file in found if file.state in ("installed", "outdated"))


def installation(
    agent: HookedAgent, scope: Scope, *, root: Path, environ: Mapping[str, str], forwarder: Path
) -> Change:
    """What would set up the hooks. Raises UsageError where the file cannot be edited."""
    path, backup = _places(agent, scope, root, environ)
    before = _read(path)
    command = f"{shlex.quote(str(forwarder))} {agent.name}"
    try:
        after = with_entries(before or "", {event: agent.group(event, command) for event in agent.events})
        original, made = _original(before, backup)
    except ValueError as error:
        raise UsageError(f"{path} cannot be edited: {error}") from None
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    return Change(path=path, before=before, after=after, backup=backup, original=original, made=(*made, *missing))


def forwarder_path(environ: Mapping[str, str]) -> Path:
    """The installed forwarder, by its whole path: an agent's own PATH may be another. Raises UsageError without one."""
    places = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    found = next((place / FORWARDER for place in places if os.access(place / FORWARDER, os.X_OK)), None)
    named = shutil.which(FORWARDER, path=environ.get("PATH"))
    if found is None and named is None:
        raise UsageError(f"{FORWARDER} is not installed beside {sys.executable}: install unstuck again")
    return found or Path(named or "").absolute()


def removal(agent: HookedAgent, scope: Scope, *, root: Path, environ: Mapping[str, str]) -> Change:
    """What would take the hooks out again. Raises UsageError where the file cannot be edited."""
    path, backup = _places(agent, scope, root, environ)
    before = _read(path)
    try:
        original, made = _original(before, backup)
    except ValueError as error:
        raise UsageError(f"{path} cannot be edited: {error}") from None
    return Change(path=path, before=before, after=original, backup=backup, made=made)


def _original(now: str | None, backup: Path) -> tuple[str | None, tuple[Path, ...]]:
    """What the file would be without us, and the folders that we had made for it."""
    kept = _kept(backup)
    made = tuple(Path(folder) for folder in kept.get("made", ()))
    if now is None or not entries(now):
        return now, made
    before = kept.get("before")
    if kept.get("after") == _hash(now):
        return before, made
    rest = without_entries(now, keep=before or "")
    return (None if kept and before is None and rest.strip() in ("", "{}") else rest), made


def _kept(backup: Path) -> dict[str, Any]:
    try:
        kept = json.loads(backup.read_text("utf-8"))
        made, before = kept["made"], kept["before"]
        sound = all(isinstance(folder, str) for folder in made) and (before is None or isinstance(before, str))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return kept if sound else {}


def _look(agent: HookedAgent, scope: Scope, root: Path, environ: Mapping[str, str]) -> HookFile:
    path, _ = _places(agent, scope, root, environ)
    try:
        found = entries(_read(path) or "")
    except (UsageError, ValueError) as error:
        return HookFile(agent=agent, scope=scope, path=path, state="unreadable", problem=str(error))
    if not found:
        return HookFile(agent=agent, scope=scope, path=path, state="absent")
    commands = tuple(dict.fromkeys(handler["command"] for handlers in found.values() for handler in handlers))
    wanted = {event: agent.group(event, commands[0])["hooks"] for event in agent.events}
    missing = next(
        (word for word in map(_program, commands) if os.path.isabs(word) and not os.access(word, os.X_OK)), ""
    )
    state: Literal["installed", "outdated"] = "installed" if found == wanted else "outdated"
    return HookFile(agent=agent, scope=scope, path=path, state=state, commands=commands, missing=missing)


def _program(command: str) -> str:
    return next(word for word in shlex.split(command) if Path(word).name == FORWARDER)


def _places(agent: HookedAgent, scope: Scope, root: Path, environ: Mapping[str, str]) -> tuple[Path, Path]:
    path = agent.file(scope, root=root, environ=environ)
    name = sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
    return path, state_dir(environ) / "hooks" / f"{agent.name}-{name}.json"


def _read(path: Path) -> str | None:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UsageError(f"{path} is no file: it may be a link to /dev/null, and is left alone")
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read(_FILE_LIMIT + 1)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', '') or 'it is no UTF-8 text'}") from None
    if len(text) > _FILE_LIMIT:
        raise UsageError(f"{path} is too large to be settings")
    return text


def _write(path: Path, text: str, mode: int | None) -> None:
    """Replace the file in one step, as the same file that a link leads to, with the mode it had."""
    real = Path(os.path.realpath(path))
    if mode is None:
        mode = real.stat().st_mode & 0o7777 if real.exists() else 0o600
    try:
        descriptor, beside = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
        try:
            with open(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(beside, mode)
            os.replace(beside, real)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()
