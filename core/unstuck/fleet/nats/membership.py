"""The part of this machine in a fleet: the credentials that it was given, and the forwarder that works for them."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from unstuck.errors import UsageError
from unstuck.eventlog.storage.durable_files import make_directory, open_for_writing
from unstuck.fleet.nats.forwarder import Forwarder
from unstuck.fleet.nats.keys import Credentials, checked_servers, read_credentials, write_secret
from unstuck.fleet.nats.session import connected
from unstuck.settings.paths import state_dir
from unstuck.text import secret_values, set_secret_values

_START_S, _END_S, _LOOK_S = 10.0, 10.0, 0.05


class Membership:
    """The fleets that this user has joined on this machine: as a host, and as a person or a viewer."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self.folder = state_dir(environ) / "fleet-nats"
        self._lock, self._words = self.folder / "forwarder.lock", self.folder / "forwarder.json"

    def _path(self, kind: str) -> Path:
        return self.folder / f"{kind}.json"

    async def join(self, url: str, path: Path) -> Credentials:
        """Keep the credentials in ``path`` once the server at ``url`` takes them. Raises UsageError, FleetError."""
        given = read_credentials(path, url=checked_servers(url))
        async with connected(given):
            pass
        given.write(self._path("host" if given.role == "host" else "person"))
        return given

    def joined(self) -> list[Credentials]:
        """Return the credentials that are kept here."""
        return [read_credentials(self._path(kind)) for kind in ("host", "person") if self._path(kind).exists()]

    def host(self) -> Credentials:
        """Return this host's credentials. Raises UsageError."""
        if not self._path("host").exists():
            raise UsageError("this machine is no host of a fleet: unstuck fleet join URL --creds FILE")
        return read_credentials(self._path("host"))

    def person(self) -> Credentials:
        """Return the credentials with which this machine reads the fleet. Raises UsageError."""
        if not self._path("person").exists():
            raise UsageError("this needs the key of a person or a viewer: unstuck fleet join URL --creds FILE")
        return read_credentials(self._path("person"))

    def leave(self) -> list[str]:
        """Forget the credentials and end the forwarder; return the names that were given up."""
        names = [one.name for one in self.joined()]
        for kind in ("host", "person"):
            self._path(kind).unlink(missing_ok=True)
        self.stop()
        return names

    def forwarder(self) -> int:
        """Return the process that forwards; 0 without one."""
        with suppress(OSError, ValueError), self._lock.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return int(lock.read() or b"0")
        return 0

    def words(self) -> dict[str, Any]:
        """Return the last words of the forwarder: its ``problem`` and its number of ``logs``."""
        with suppress(OSError, ValueError):
            found = json.loads(self._words.read_bytes())
            return found if isinstance(found, dict) else {}
        return {}

    def start(self) -> int:
        """Start the forwarder in the background, if there is none, and return its process. Raises UsageError."""
        self.host()
        if not self.forwarder():
            self._words.unlink(missing_ok=True)
            command = [sys.executable, "-m", "unstuck", "fleet", "join", "--foreground"]
            nowhere = subprocess.DEVNULL
            process = subprocess.Popen(
                command, env=self._environ, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
            )
            give_up = time.monotonic() + _START_S
            while not self.forwarder():
                if process.poll() is not None or time.monotonic() > give_up:
                    raise UsageError("the forwarder did not start: `unstuck fleet join --foreground` says why")
                time.sleep(_LOOK_S)
        return self.forwarder()

    def stop(self) -> None:
        """End the forwarder, if there is one."""
        give_up = time.monotonic() + _END_S
        while (process := self.forwarder()) and time.monotonic() < give_up:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
            time.sleep(_LOOK_S)

    def _opened_lock(self) -> IO[bytes]:
        return open(open_for_writing(self._lock, os.O_WRONLY), "wb")

    async def forward(self) -> None:
        """Forward until it is cancelled. Raises UsageError where another process does."""
        key = self.host()
        make_directory(self.folder)
        set_secret_values(secret_values(self._environ))
        with self._opened_lock() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(f"process {self.forwarder()} forwards already: unstuck fleet status") from None
            lock.truncate(0)
            lock.write(b"%d" % os.getpid())
            lock.flush()
            forwarder = Forwarder(key, self._environ)
            working, said = asyncio.create_task(forwarder.run()), ""
            try:
                while not working.done():
                    words = json.dumps({"problem": forwarder.problem, "logs": forwarder.logs})
                    if words != said:
                        write_secret(self._words, words)
                        said = words
                    await asyncio.wait({working}, timeout=0.5)
                await working
            finally:
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
