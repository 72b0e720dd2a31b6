"""Owners whose plans this machine works, by their public keys."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from unstuck.errors import UsageError
from unstuck.fleet.nats.keys import write_secret
from unstuck.settings.paths import state_dir
from unstuck.text import one_line

_KEY = re.compile(r"U[A-Z2-7]{55}")


class Trust:
    """The trusted keys of this user on this machine; each with whether its plans may name agents' commands."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._path: Path = state_dir(environ) / "fleet-nats" / "trusted.json"

    def keys(self) -> dict[str, bool]:
        """Return the keys. A file that cannot be read trusts nobody."""
        with suppress(OSError, ValueError, AttributeError):
            found = json.loads(self._path.read_bytes())
            return {str(key): allowed is True for key, allowed in found.items()}
        return {}

    def add(self, key: str, *, commands: bool) -> None:
        """Trust ``key``. Raises UsageError."""
        write_secret(self._path, json.dumps(self.keys() | {_checked(key): commands}))

    def remove(self, key: str) -> None:
        """Trust ``key`` no more. Raises UsageError."""
        known = self.keys()
        if _checked(key) not in known:
            raise UsageError(f"{key} is not trusted here: `unstuck fleet trust` lists the keys that are")
        del known[key]
        write_secret(self._path, json.dumps(known))


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise UsageError(f"{one_line(key, 80)!r} is no key: `unstuck fleet trust` prints it on the owner's machine")
    return key
