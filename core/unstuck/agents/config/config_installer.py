"""Changes to agents' settings files: entries of unstuck are installed with a backup and removed without a trace.

The user's state directory keeps the earlier text until the entries are removed. An unchanged file is restored byte for
byte; a file changed since loses only the entries of unstuck.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from unstuck.errors import UsageError
from unstuck.eventlog.storage.durable_files import make_directory, open_for_reading

_FILE_LIMIT = 2**24


class Editor(Protocol):
    """Editor of the entries of unstuck in one kind of settings. Raises ValueError for a text it cannot parse."""

    def find(self, text: str) -> Mapping[str, Any] | None:
        """Return the entries in ``text``; None or empty if there are none."""

    def without(self, text: str, keep: str) -> str:
        """Return ``text`` without the entries and the containers they leave empty, unless ``keep`` has those."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Planned change of one file: ``before`` and ``after`` are its texts, None for no file.

    ``holds``: entries of unstuck are in ``after``, and ``original`` is the text without them. ``made`` lists the
    folders that the change creates.
    """

    path: Path
    before: str | None
    after: str | None
    backup: Path
    original: str | None = None
    made: tuple[Path, ...] = ()
    holds: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to change."""
        return self.before == self.after

    def diff(self) -> list[str]:
        """Return the changed lines as ``diff -u`` shows them."""
        import difflib

        old, new = ((text or "").splitlines() for text in (self.before, self.after))
        return list(difflib.unified_diff(old, new, str(self.path), str(self.path), lineterm="", n=1))

    def apply(self) -> None:
        """Write the backup, then the file in one step. Raises UsageError if the file has changed since."""
        if read_settings(self.path) != self.before:
            raise UsageError(f"{self.path} was just changed by another program: try again")
        if not self.is_empty and self.after is not None and self.holds:
            make_directory(self.backup.parent)
            kept = {
                "file": str(self.path),
                "before": self.original,
                "after": _hash(self.after),
                "made": [str(folder) for folder in self.made],
            }
            _write(self.backup, json.dumps(kept) + "\n", 0o600)
        if self.after is None:
            Path(os.path.realpath(self.path)).unlink(missing_ok=True)  # a dangling link belongs to the person
        elif not self.is_empty:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _write(self.path, self.after, None)
        if not self.holds:
            self.backup.unlink(missing_ok=True)
            for folder in (*self.made, self.backup.parent):
                with suppress(OSError):
                    folder.rmdir()  # fails unless the folder is empty


def installing(path: Path, backup: Path, editor: Editor, edit: Callable[[str], str]) -> Change:
    """Return the change that ``edit`` makes to the file. Raises UsageError for a file that cannot be edited."""
    before = read_settings(path)
    try:
        after = edit(before or "")
        original, made = _original(before, backup, editor)
    except ValueError as error:
        raise UsageError(f"{path} cannot be edited: {error}") from None
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    return Change(
        path=path, before=before, after=after, backup=backup, original=original, made=(*made, *missing), holds=True
    )


def removing(path: Path, backup: Path, editor: Editor) -> Change:
    """Return the change that removes the entries. Raises UsageError for a file that cannot be edited."""
    before = read_settings(path)
    try:
        original, made = _original(before, backup, editor)
    except ValueError as error:
        raise UsageError(f"{path} cannot be edited: {error}") from None
    return Change(path=path, before=before, after=original, backup=backup, made=made)


def program_path(name: str, environ: Mapping[str, str]) -> Path:
    """Return the absolute path of a program of unstuck: an agent's PATH may differ. Raises UsageError without one."""
    places = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    found = next((place / name for place in places if os.access(place / name, os.X_OK)), None)
    named = shutil.which(name, path=environ.get("PATH"))
    if found is None and named is None:
        raise UsageError(f"{name} is not installed beside {sys.executable}: install unstuck again")
    return found or Path(named or "").absolute()


def read_settings(path: Path) -> str | None:
    """Return the text of a settings file; None if there is none. Raises UsageError for an unreadable file."""
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


def _original(now: str | None, backup: Path, editor: Editor) -> tuple[str | None, tuple[Path, ...]]:
    """Return the text without the entries of unstuck, and the folders created for the file."""
    kept = _kept(backup)
    made = tuple(Path(folder) for folder in kept.get("made", ()))
    if now is None or not editor.find(now):
        return now, made
    before = kept.get("before")
    if kept.get("after") == _hash(now):
        return before, made
    rest = editor.without(now, before or "")
    return (None if kept and before is None and rest.strip() in ("", "{}") else rest), made


def _kept(backup: Path) -> dict[str, Any]:
    try:
        with open_for_reading(backup) as file:
            kept = json.loads(file.read())
        made, before = kept["made"], kept["before"]
        sound = all(isinstance(folder, str) for folder in made) and (before is None or isinstance(before, str))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return kept if sound else {}


def _write(path: Path, text: str, mode: int | None) -> None:
    """Replace the file in one step, at the target of a link, with its mode."""
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
