"""The link to a host: frames in, requests out. A process that speaks them over its standard streams is one."""

from __future__ import annotations

import asyncio
import os
import shlex
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from unstuck.errors import UnstuckError
from unstuck.fleet.frames import FRAME_LIMIT, FromHost, FromScreen, encode, from_host
from unstuck.fleet.names import host_name
from unstuck.settings.paths import own_directory, runtime_dir
from unstuck.text import admit, one_line

_SERVE = "unstuck serve --stdio"
# A shell that nobody logged in to often lacks the place where pip and pipx put programs.
REMOTE = f"""sh -c 'PATH="$PATH:$HOME/.local/bin" exec {_SERVE}'"""
_NOISE = 65_536
_SAID = 2_000
_END_S = 2.0


class LinkFailed(UnstuckError):
    """A host cannot be reached, or says what cannot be understood."""


class HostLink(Protocol):
    """A connection with one host. It lasts until ``frames`` ends or raises LinkFailed."""

    def frames(self) -> AsyncIterator[FromHost]:
        """Yield the frames of the host as they come. Raises LinkFailed with the reason where there are no more."""

    async def send(self, frame: FromScreen) -> None:
        """Send a frame to the host. Raises LinkFailed."""

    async def close(self) -> None:
        """End the connection."""


class ProcessLink:
    """A link over the standard streams of a program, such as ssh."""

    def __init__(self, process: Process, name: str) -> None:
        self._process, self._name = process, name
        self._said = bytearray()
        self._listening = asyncio.create_task(self._hear_errors())

    @classmethod
    async def open(cls, command: Sequence[str], environ: Mapping[str, str]) -> ProcessLink:
        """Start ``command``. Raises LinkFailed."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=FRAME_LIMIT, env=environ, start_new_session=True
            )
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
            raise LinkFailed(f"{one_line(command[0], 80)} cannot be started: {reason}") from None
        return cls(process, command[0])

    async def frames(self) -> AsyncIterator[FromHost]:
        assert self._process.stdout is not None
        noise, greeted = 0, False
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:
                raise LinkFailed(f"it sent a line of more than {FRAME_LIMIT} bytes") from None
            if not line.endswith(b"\n"):
                raise LinkFailed(await self._reason())
            try:
                frame = from_host(line)
            except ValueError as problem:
                noise += len(line)
                if greeted or noise > _NOISE:
                    raise LinkFailed(f"it does not speak as `{_SERVE}` does: {problem}") from None
                continue  # a shell may greet before the program starts
            greeted = True
            if frame is not None:
                yield frame

    async def send(self, frame: FromScreen) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(encode(frame))
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError):
            raise LinkFailed("the connection is gone") from None

    async def close(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        self._listening.cancel()
        ended = asyncio.ensure_future(self._process.wait())
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            await ended  # it is killed: a person who leaves at this moment leaves no process behind
            raise

    async def _hear_errors(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(4096):
            self._said = (self._said + piece)[-_SAID:]

    async def _reason(self) -> str:
        """Return why the program has ended, as it says itself."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await self._process.wait()
                await asyncio.shield(self._listening)
        said = [line for line in admit(bytes(self._said), limit=_SAID).splitlines() if line.strip()]
        if said:
            return one_line(said[-1], 200)
        return f"{one_line(os.path.basename(self._name), 40)} ended with {self._process.returncode}"


def ssh_command(host: str, environ: Mapping[str, str], given: str = "") -> list[str]:
    """Return the command that serves this screen on ``host``, over the person's own ssh or the program ``given``.

    Raises UsageError for what cannot be the name of a host.
    """
    words = shlex.split(given) or ["ssh"]
    options = ["BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3"]
    options += ["ControlMaster=auto", f"ControlPath={_sockets(environ)}/%C"]
    return [*words, "-T", *(f"-o{option}" for option in options), "--", host_name(host), REMOTE]


def _sockets(environ: Mapping[str, str]) -> Path:
    """Return the private directory of the connections that several windows share."""
    folder = runtime_dir(environ)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return own_directory(folder / "ssh")
