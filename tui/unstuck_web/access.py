"""Access to the page: one-time links, and the sessions that they open. Only hashes of their secrets are kept.

They lie in ``web.json`` in the project's folder, so that a page outlives the process that serves it, and another
command can list and revoke them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from unstuck.errors import UnstuckError, UsageError
from unstuck.eventlog.state import State
from unstuck.eventlog.storage.durable_files import make_directory, open_for_reading, open_for_writing, write_all
from unstuck.eventlog.storage.lock import alone_in
from unstuck.eventlog.storage.run_store import PAGE_FILE
from unstuck.processes import is_alive
from unstuck.text import one_line

LINK_S = 15 * 60.0
"""Seconds for which a link opens the page, once."""
SESSION_S = 24 * 3600.0
"""Seconds for which a session lasts."""
_MOST_BYTES, _MOST, _MOST_PAGES = 1_000_000, 100, 8
_LATEST = 1e11
_NOTED_S = 60.0
"""Seconds after which a session's use is written down again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A signed-in browser. ``id`` is for people, ``hash`` that of its cookie; times are seconds since 1970."""

    id: str
    hash: str
    host: str
    browser: str
    opened: float
    seen: float
    ends: float


@dataclass(frozen=True, slots=True)
class _Served:
    """A page of the project: where it is served, or was last (``pid`` 0). ``runs`` are those it shows, none for all.

    ``started`` is the start of its process, in seconds since 1970.
    """

    port: int
    address: str
    pid: int = 0
    started: float = 0.0
    runs: tuple[str, ...] = ()

    @property
    def is_live(self) -> bool:
        return self.pid > 0 and is_alive(self.pid, self.started)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The content of the file: ``pages``, latest last, and ``links``, hashes of tokens with the time when each ends."""

    pages: tuple[_Served, ...] = ()
    links: dict[str, float] = field(default_factory=dict)
    sessions: tuple[Session, ...] = ()


class Access:
    """The links and sessions of the page of one project, in the folder ``home``. ``now`` is in seconds since 1970."""

    def __init__(self, home: Path, now: Callable[[], float]) -> None:
        self._file, self._now = home / PAGE_FILE, now
        self._read: tuple[tuple[int, int, int], _Kept] | None = None
        # The cookies of a host are shared by all its ports, and so by the pages of several projects.
        self.cookie = f"unstuck-{hashlib.sha256(os.fsencode(home)).hexdigest()[:8]}"

    def ports(self) -> list[int]:
        """Return the ports at which pages were served that are no more, latest first."""
        return [page.port for page in reversed(self._kept().pages) if not page.is_live]

    def address(self, run: str = "") -> str:
        """Return the address of the page that is served now, and shows ``run`` where one is named; empty without."""
        pages = reversed(self._kept().pages)
        return next((one.address for one in pages if (not run or not one.runs or run in one.runs) and one.is_live), "")

    def serve(self, port: int, address: str, runs: Sequence[str] = ()) -> None:
        """Note that this process serves a page. Raises UnstuckError."""
        make_directory(self._file.parent)
        mine = psutil.Process()
        page = _Served(port, address, mine.pid, mine.create_time(), tuple(runs))
        with self._change() as change:
            others = [one for one in self._kept().pages if one.port != port]
            change(pages=(*others[-_MOST_PAGES + 1 :], page))

    def leave(self, port: int) -> None:
        """Note that this process serves the page at ``port`` no more. Raises UnstuckError."""
        with self._change() as change:
            pages, mine = self._kept().pages, os.getpid()
            change(pages=tuple(replace(one, pid=0) if (one.port, one.pid) == (port, mine) else one for one in pages))

    def link(self) -> str:
        """Return a token that opens one session."""
        token = secrets.token_urlsafe(24)
        with self._change() as change:
            links = {known: ends for known, ends in self._kept().links.items() if ends > self._now()}
            change(links=dict(list(links.items())[-_MOST:]) | {_hashed(token): self._now() + LINK_S})
        return token

    def is_good(self, token: str) -> bool:
        """True for a token that was neither used nor is too old; it stays good."""
        return self._kept().links.get(_hashed(token), 0.0) > self._now()

    def open(self, token: str, *, host: str, browser: str) -> str:
        """Spend ``token`` and return the secret of a new session; empty where it opens none (any more)."""
        with self._change() as change:
            links = dict(self._kept().links)
            if links.pop(_hashed(token), 0.0) <= self._now():
                return ""
            secret, now = secrets.token_urlsafe(32), self._now()
            session = Session(
                id=secrets.token_hex(3),
                hash=_hashed(secret),
                host=host,
                browser=one_line(browser, 120),
                opened=now,
                seen=now,
                ends=now + SESSION_S,
            )
            change(links=links, sessions=(*self.sessions()[-_MOST + 1 :], session))
        return secret

    def session(self, secret: str, host: str) -> Session | None:
        """Return the session of a cookie, None where it has ended or was opened under another host name."""
        if not secret:
            return None
        wanted = _hashed(secret)
        found = next((one for one in self.sessions() if hmac.compare_digest(one.hash, wanted)), None)
        if found is None or found.host != host:
            return None
        if self._now() - found.seen > _NOTED_S:
            with suppress(UnstuckError), self._change(wait=False) as change:
                seen = replace(found, seen=self._now())
                change(sessions=tuple(seen if one.id == found.id else one for one in self.sessions()))
        return found

    def sessions(self) -> tuple[Session, ...]:
        """Return the sessions that have not ended, oldest first."""
        return tuple(one for one in self._kept().sessions if one.ends > self._now())

    def revoke(self, id: str) -> list[str]:
        """End the session ``id``, or ``all`` with the open links; returns what has ended. Raises UsageError."""
        make_directory(self._file.parent)
        with self._change() as change:
            ended = [one.id for one in self.sessions() if id in ("all", one.id)]
            if not ended and id != "all":
                raise UsageError(f"there is no session {one_line(id, 40)}: `unstuck web sessions` lists them")
            left = tuple(one for one in self.sessions() if one.id not in ended)
            change(sessions=left, **({"links": {}} if id == "all" else {}))
        return ended

    def _kept(self) -> _Kept:
        """Return what the file holds now; nothing where it cannot be read."""
        try:
            with open_for_reading(self._file) as file:
                status = os.fstat(file.fileno())
                version = status.st_ino, status.st_mtime_ns, status.st_size
                if self._read is None or self._read[0] != version:
                    self._read = version, _parsed(file.read(_MOST_BYTES))
                return self._read[1]
        except OSError:
            return _Kept()

    @contextmanager
    def _change(self, *, wait: bool = True) -> Iterator[Callable[..., None]]:
        """Keep other processes out while the file is read and written. Raises UnstuckError, also without its folder."""
        try:
            with alone_in(self._file.parent, wait=wait):
                yield self._write
        except OSError as problem:
            why = problem.strerror or problem
            raise UnstuckError(f"the page's file of sessions cannot be written: {why}") from problem

    def _write(self, **fields: Any) -> None:
        """Put the new content in the place of the old one, of which a kill leaves either."""
        kept = replace(self._kept(), **fields)
        fresh = self._file.with_name(f"{PAGE_FILE}.new")
        fd = open_for_writing(fresh, os.O_WRONLY | os.O_TRUNC)
        try:
            write_all(fd, json.dumps(asdict(kept)).encode())
        finally:
            os.close(fd)
        fresh.replace(self._file)


def address_of(home: Path, state: State, task: str = "") -> str:
    """Return the address of a run on the page that is served now: of the open question of ``task``, if it has one.

    Empty where no page is served. It signs nobody in: only a signed-in browser sees the page.
    """
    address = Access(home, lambda: 0.0).address(state.run.id)
    if not address:
        return ""
    gate = next((row for row in state.open_gates() if task and row.gate.task == task), None)
    asked = f"/question?id={gate.id}" if gate is not None else ""
    return f"{address}/runs/{state.run.id}{asked}"


def form_token(secret: str) -> str:
    """Return the token that each form of a session carries, so that no other site can send one."""
    return hmac.new(secret.encode(), b"form", hashlib.sha256).hexdigest()


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _parsed(raw: bytes) -> _Kept:
    """Return the content; what is damaged lets nobody in."""
    try:
        found = json.loads(raw)
        sessions = tuple(Session(**one) for one in found.pop("sessions"))
        pages = tuple(_Served(**one | {"runs": tuple(one["runs"])}) for one in found.pop("pages"))
        kept = _Kept(**found, pages=pages, sessions=sessions)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return _Kept()
    return kept if _is_sound(kept) else _Kept()


def _is_sound(kept: _Kept) -> bool:
    """True if every value has its type and range."""
    texts = [text for one in kept.sessions for text in (one.id, one.hash, one.host, one.browser)]
    texts += [text for one in kept.pages for text in (one.address, *one.runs)]
    links: object = kept.links
    if not isinstance(links, dict):
        return False
    times = [*links.values(), *(time for one in kept.sessions for time in (one.opened, one.seen, one.ends))]
    times += [page.started for page in kept.pages]
    return (
        all(type(page.port) is int and 0 <= page.port < 1 << 16 and type(page.pid) is int for page in kept.pages)
        and all(isinstance(text, str) for text in texts)
        and all(type(time) in (int, float) and 0 <= time < _LATEST for time in times)
    )
