"""Git commands, isolated from user settings, hooks and prompts; and the repository around a path.

Paths are decoded with ``os.fsdecode``, which keeps every byte of a name; admit them before showing them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unstuck.errors import GitError, RecordError, WorkspaceError
from unstuck.eventlog.storage.durable_files import make_directory, refuse_links, write_private
from unstuck.text import one_line
from unstuck.workspace.git.plain_file import blocking_file, waits_for_pipe

if TYPE_CHECKING:
    from unstuck.workspace.git.short_process import ShortProcess

OLDEST = (2, 36)
"""The first git that lists work trees with any name."""

DELIVERY, PINS = SHARED = ("delivery.lock", "pins.lock")
"""Locks that all worktrees of a repository share; they lie in our folder of its git directory."""

_ALWAYS = {
    b"GIT_AUTHOR_NAME": b"unstuck",
    b"GIT_AUTHOR_EMAIL": b"unstuck@localhost",
    b"GIT_COMMITTER_NAME": b"unstuck",
    b"GIT_COMMITTER_EMAIL": b"unstuck@localhost",
    b"GIT_TERMINAL_PROMPT": b"0",
    b"GIT_OPTIONAL_LOCKS": b"0",
    b"GIT_EDITOR": b"true",
    b"LC_ALL": b"C",
    # Else glibc gives the memory for each object back and asks for it again: most of the time of saving many files.
    b"MALLOC_TRIM_THRESHOLD_": b"%d" % (64 * 2**20),
}
_NO_USER_CONFIG = {b"GIT_CONFIG_GLOBAL": os.devnull.encode(), b"GIT_CONFIG_SYSTEM": os.devnull.encode()}
_SETTINGS = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "core.fsyncMethod=batch",
    "core.logAllRefUpdates=false",
    "log.showSignature=false",
    "commit.gpgSign=false",
    "color.ui=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "rerere.enabled=false",
    "submodule.recurse=false",
    "worktree.useRelativePaths=false",
)
_NO_CODE = "git's exit code is lost: start unstuck where SIGCHLD is not ignored and nobody else reaps its children"
_NO_LINKS = ("", "runs", "checkpoints", "checkpoints/store.git", "memory.jsonl", "lock", "watch.lock")
_WHERE = ("rev-parse", "--is-inside-work-tree")
_OWNERSHIP = re.compile(r"(?<=\t)git config --global --add safe\.directory [^\n]+")
_NOT_ONE = "not a git repository"
_FOLDERS = ("--show-toplevel", "--git-common-dir", "--absolute-git-dir")
_PATIENCE_S, _LONGEST_S = 2.0, 3600.0
_versions: dict[str | None, str] = {}


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a git command: its exit code, its output as bytes and its errors as text."""

    code: int
    out: bytes
    err: str

    @property
    def line(self) -> str:
        """Output without its last newline, as ``os.fsdecode`` gives it."""
        return os.fsdecode(self.out.removesuffix(b"\n"))


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree and its git directories, all absolute. ``git_dir`` differs from ``common`` in a linked work tree."""

    root: Path
    common: Path
    git_dir: Path


async def run_git(
    cwd: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    check: bool = True,
    user_config: bool = False,
    most: int | None = None,
    take: Callable[[bytes], bool] | None = None,
    inherit: tuple[int, ...] = (),
) -> Result:
    """Run git in ``cwd`` with unstuck's identity, without hooks, prompts, signatures or background work.

    ``user_config`` keeps the user's global configuration, with its filters and ignore rules. ``take`` gets the output
    in pieces. Git is stopped, with code 0, after ``most`` bytes of output or when ``take`` wants no more. Git inherits
    the descriptors ``inherit``, so a lock on one lasts until git has ended, even after a kill of this process.

    Raises GitError for a non-zero exit (unless ``check`` is off) or a killed git, and WorkspaceError where git cannot
    be started.
    """
    from unstuck.workspace.git.short_process import ShortProcess  # brings asyncio

    options = _options(user_config)
    out, err = _Kept(most), _Kept()
    try:
        process = ShortProcess(
            ("git", *options, *arguments),
            cwd=cwd,
            environment=_environment(environment, user_config),
            stdin=stdin,
            inherit=inherit,
            out=take or out,
            err=err,
        )
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise _cannot_start(cwd, error) from None
    try:
        code = await _end_of(process, [cwd, *(Path(place) for place in _places(environment))])
    except ChildProcessError:
        raise WorkspaceError(_NO_CODE) from None
    except BaseException:
        await process.end()  # which lets it remove its own lock files
        raise
    finally:
        process.close()
    result = Result(0 if process.is_stopped else code, bytes(out.bytes), err.bytes.decode("utf-8", "replace"))
    if result.code < 0 or (check and result.code):
        raise GitError(arguments, code, _complaint(result.err))
    return result


def _places(environment: Mapping[str, str] | None) -> list[str]:
    return [environment[name] for name in ("GIT_DIR", "GIT_WORK_TREE") if environment and name in environment]


async def _end_of(process: ShortProcess, places: list[Path]) -> int:
    """Wait for the exit code. Raises WorkspaceError for a git that waits for a pipe, or takes longer than an hour."""
    import asyncio  # a command that only looks is twice as fast without it

    waited, patience = 0.0, _PATIENCE_S
    while waited < _LONGEST_S:
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                return await process.wait()
        waited, patience = waited + patience, min(patience * 2, _LONGEST_S / 60)
        is_blocked = waits_for_pipe(process.pid)
        if file := await asyncio.to_thread(blocking_file, places):
            raise WorkspaceError(f"{one_line(os.fspath(file))} is a pipe or device, where git needs a file: remove it")
        if is_blocked:
            raise WorkspaceError(f"git waits for a named pipe in the place of a file in {places[0]}: remove it")
    raise WorkspaceError(f"git in {places[0]} has not ended within an hour")


def _options(user_config: bool) -> tuple[str, ...]:
    """Our settings; whose repository this is was asked of the user's own configuration when it was found."""
    settings = _SETTINGS if user_config else (*_SETTINGS, "safe.directory=*")
    return tuple(part for setting in settings for part in ("-c", setting))


def _cannot_start(cwd: Path, error: OSError) -> WorkspaceError:
    if cwd.is_dir() and not isinstance(error, PermissionError):
        return WorkspaceError("git was not found: install it, or put it on PATH")
    return WorkspaceError(f"git cannot work in {cwd}: {error.strerror}")


def _environment(extra: Mapping[str, str] | None, user_config: bool) -> dict[bytes, bytes]:
    """Return the environment in bytes, which need no encoding for each git."""
    kept = b"GIT_CONFIG_" if user_config else b"\0"
    inherited = os.environb.items()
    return {
        **{key: value for key, value in inherited if not key.startswith(b"GIT_") or key.startswith(kept)},
        **_ALWAYS,
        **({} if user_config else _NO_USER_CONFIG),
        **{os.fsencode(key): os.fsencode(value) for key, value in (extra or {}).items()},
    }


class _Kept:
    """First ``most`` bytes of an output."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most if most is not None else sys.maxsize
        self.bytes = bytearray()

    def __call__(self, chunk: bytes) -> bool:
        self.bytes += chunk[: self._most - len(self.bytes)]
        return len(self.bytes) < self._most


def _complaint(err: str) -> str:
    lines = [line for line in err.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return one_line((telling or lines or ["it said nothing"])[0])


async def version_of_git(place: Path) -> tuple[str, tuple[int, int] | None]:
    """Return git's version line and its first two numbers; git runs in ``place`` once for each program on PATH.

    Raises WorkspaceError where git cannot be started.
    """
    program = shutil.which("git")
    if program not in _versions:
        _versions[program] = (await run_git(place, "version")).line
    found = re.search(r"(\d+)\.(\d+)", said := _versions[program])
    return said, (int(found[1]), int(found[2])) if found else None


async def require_git() -> None:
    """Raise WorkspaceError where git is missing or too old for worktrees."""
    said, version = await version_of_git(Path.cwd())
    if version and version < OLDEST:
        raise WorkspaceError(f"{one_line(said)} is too old: worktrees need git {OLDEST[0]}.{OLDEST[1]} or newer")


def split_paths(out: bytes) -> list[str]:
    """Return the paths of git's NUL-separated output."""
    return [path for path in os.fsdecode(out).split("\0") if path]


def join_paths(paths: Iterable[str]) -> bytes:
    """Return ``paths`` as NUL-terminated input for git."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def above(path: str) -> list[str]:
    """Return every folder above a relative path, the top one first."""
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def path_hash(path: Path) -> str:
    """Return a name of 16 hex digits for ``path``, the same for every spelling of it."""
    import hashlib  # loads slowly, and a first worktree needs none

    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]


async def find_repository(path: Path) -> Repository | None:
    """Return the repository whose worktree holds ``path``; None without git, in a bare repository or inside ``.git``.

    Raises GitError where git refuses to read the repository (a foreign owner, a damaged file), with git's own cure.
    """
    if shutil.which("git") is None and not any((place / ".git").exists() for place in (path, *path.resolve().parents)):
        return None  # without a repository git is not needed
    found = await run_git(path, *_WHERE, *_FOLDERS, check=False, user_config=True)
    said = found.line.split("\n")
    if found.code and _NOT_ONE not in found.err and said[0] != "false":
        cure = _OWNERSHIP.search(found.err)
        advice = f"; if you trust it: {one_line(cure[0], 1000)}" if cure else ""
        raise GitError(("rev-parse",), found.code, _complaint(found.err) + advice)
    if found.code or said[0] != "true":
        return None
    answers = said[1:]
    if len(answers) > len(_FOLDERS):  # a newline in a path: ask one by one
        answers = [(await run_git(path, "rev-parse", question, user_config=True)).line for question in _FOLDERS]
    return _repository(path, answers)


def found_at_once(path: Path) -> tuple[bool, Repository | None]:
    """Return what :func:`find_repository` returns, without an event loop; False first where git's answer is unusual."""
    try:
        found = subprocess.run(
            ("git", *_options(True), *_WHERE, *_FOLDERS),
            cwd=path,
            env=_environment(None, True),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError):
        return False, None
    if found.returncode and _NOT_ONE.encode() in found.stderr:
        return True, None
    answers = os.fsdecode(found.stdout.removesuffix(b"\n")).split("\n")
    plain = found.returncode == 0 and answers[0] == "true" and len(answers) == 1 + len(_FOLDERS)
    return plain, _repository(path, answers[1:]) if plain else None


def _repository(path: Path, answers: list[str]) -> Repository:
    root, common, git_dir = ((path / answer).resolve() for answer in answers)
    return Repository(root, common, git_dir)


def is_git_directory(place: Path) -> bool:
    """Return whether a folder is a git directory: ``.git``, or a bare repository of any name."""
    return (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir()


def git_directory_round(place: Path) -> Path | None:
    """Return the git directory that ``place`` is or lies in; None elsewhere."""
    return next((folder for folder in (place, *place.parents) if is_git_directory(folder)), None)


async def dirty(repo: Repository) -> tuple[str, ...]:
    """Return the files that differ from the last commit or are untracked; sorted, relative to the root."""
    result = await run_git(repo.root, "status", "--porcelain=v1", "-z", "--no-renames", user_config=True)
    return tuple(sorted(row[3:] for row in split_paths(result.out)))


def record_home(path: Path, repo: Repository | None) -> Path:
    """Return the folder of a project's event logs and checkpoints, whether or not it exists.

    It lies in the git directory, where ``git clean -fdx`` does not remove it; a linked worktree has a folder of its
    own. Without git it is ``.unstuck`` in the project, which ignores itself.
    """
    if repo is None:
        return path.resolve() / ".unstuck"
    home = repo.common / "unstuck"
    return home if repo.git_dir == repo.common else home / "worktrees" / path_hash(repo.root)


def refuse_home_links(home: Path) -> None:
    """Raise RecordError for a symbolic link in the place of ``home``, or of a folder or file of unstuck in it."""
    try:
        refuse_links(*(home / name for name in _NO_LINKS))
    except OSError as problem:
        raise RecordError(problem.strerror) from problem


def project_home(path: Path, repo: Repository | None, *, links: bool = False) -> Path:
    """Return the folder of :func:`record_home`, created on first use.

    Raises RecordError, also as :func:`refuse_home_links` does unless ``links`` are allowed.
    """
    home = record_home(path, repo)
    if not links:
        refuse_home_links(home)
    try:
        make_directory(home)
        if repo is None and not (ignore := home / ".gitignore").exists():
            write_private(ignore, "*\n")
    except OSError as problem:
        said = problem.strerror or problem
        raise RecordError(
            f"{home}: the event log cannot be stored here: {said}; make it a writable directory"
        ) from problem
    return home
