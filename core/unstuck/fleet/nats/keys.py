"""Keys of a fleet: one for each host, person and viewer, with a pass that the fleet's owner has signed.

The server's permissions alone do not hold: a client may name any subject as the reply of a request, and the server
answers there with what the client has stored before. So each message is signed for its subject, and its reader checks
the signature and the pass, wherever the message came from.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import nkeys
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from unstuck.errors import UnstuckError, UsageError
from unstuck.eventlog.storage.durable_files import make_directory, open_fresh, sync_directory, write_all
from unstuck.text import one_line

Role = Literal["host", "person", "viewer"]
ROLES: tuple[Role, ...] = ("host", "person", "viewer")
PASS, SIGNATURE = "Unstuck-Pass", "Unstuck-Signature"

_SERVER = re.compile(r"tls://(?:[\w.-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", re.ASCII)
_MOST = 65_536


class Forged(UnstuckError):
    """A message was not signed by a key that may send it."""


class Pass(NamedTuple):
    """The owner's word for a key: the ``name`` and ``role`` of the holder of ``public``."""

    name: str
    role: str
    public: str


@dataclass(frozen=True, slots=True)
class Credentials:
    """All that a machine needs: the server's ``url`` and ``ca``, the ``owner``'s public key, a seed and its pass."""

    name: str
    role: Role
    url: str
    ca: str
    owner: str
    seed: str
    admission: str

    @property
    def public(self) -> str:
        return public_key(self.seed)

    def headers(self, subject: str, about: str, payload: bytes) -> dict[str, str]:
        """Return the headers that prove who says this: ``about`` stands for what is in other headers."""
        return {PASS: self.admission, SIGNATURE: _sign(self.seed, _signed(subject, about, payload))}

    def write(self, path: Path) -> None:
        """Write the file that its holder keeps to themselves, mode 0600."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        write_secret(path, json.dumps(fields, indent=1) + "\n")


def made_name(given: str) -> str:
    """Return ``given`` if it can be the name of a key. Raises UsageError."""
    if not _NAME.fullmatch(given):
        raise UsageError(f"{one_line(given, 80)!r} cannot be a name here: up to 63 letters, digits, `_` and `-`")
    return given


def checked_servers(given: str) -> str:
    """Return ``given`` if it names servers with commas between. Raises UsageError.

    With another scheme than ``tls`` the client would speak in the clear to whoever says that there is no TLS.
    """
    for one in given.split(","):
        found = _SERVER.fullmatch(one)
        if found is None or not 0 < int(found[1]) < 1 << 16:
            raise UsageError(f"{one_line(one, 80)!r} is no server of a fleet: it has to be tls://ADDRESS:PORT")
    return given


def read_credentials(path: Path, *, url: str = "") -> Credentials:
    """Return the credentials in a file, with another ``url`` where it is given. Raises UsageError."""
    try:
        with path.open("rb") as file:
            fields = json.loads(file.read(_MOST))
        found = Credentials(**{name: fields[name] for name in Credentials.__slots__} | ({"url": url} if url else {}))
        if not all(isinstance(getattr(found, name), str) for name in Credentials.__slots__):
            raise ValueError
        admission = checked_pass(found.admission, found.owner)
        if (admission.name, admission.role, admission.public) != (found.name, found.role, found.public):
            raise ValueError
    except OSError as problem:
        raise UsageError(f"{path}: cannot be read: {problem.strerror or problem}") from None
    except (ValueError, KeyError, TypeError, Forged, nkeys.NkeysError):
        raise UsageError(f"{path}: is no credentials file: take the one that `unstuck fleet up` has written") from None
    return found


def new_seed() -> str:
    """Return the seed of a new key."""
    return bytes(nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)).decode()


def public_key(seed: str) -> str:
    """Return the public key of a seed."""
    return bytes(nkeys.from_seed(seed.encode()).public_key).decode()


def admitted(owner_seed: str, name: str, role: Role, public: str) -> str:
    """Return the pass that the owner gives to the key ``public``."""
    body = json.dumps([name, role, public], separators=(",", ":")).encode()
    return f"{base64.b64encode(body).decode()}.{_sign(owner_seed, b'pass' + body)}"


@lru_cache(maxsize=10_000)
def checked_pass(written: str, owner: str) -> Pass:
    """Return what the owner has signed. Raises Forged."""
    body, _, signature = written.partition(".")
    try:
        raw = base64.b64decode(body, validate=True)
        _verify(owner, b"pass" + raw, signature)
        name, role, public = json.loads(raw)
    except (ValueError, TypeError):
        raise Forged("its pass is not signed by the owner of the fleet") from None
    return Pass(name, role, public)


def checked(
    headers: Mapping[str, str] | None, owner: str, subject: str, about: str, payload: bytes, *roles: Role
) -> Pass:
    """Return who has signed this message for this subject, with one of ``roles``. Raises Forged."""
    found = checked_pass((headers or {}).get(PASS, ""), owner)
    if found.role not in roles:
        raise Forged(f"the key of {one_line(found.name, 80)} has the role {one_line(found.role, 20)}")
    try:
        _verify(found.public, _signed(subject, about, payload), (headers or {}).get(SIGNATURE, ""))
    except ValueError:
        raise Forged(f"it is not signed by {one_line(found.name, 80)} for {one_line(subject, 200)}") from None
    return found


def write_secret(path: Path, text: str) -> None:
    """Write a file for its owner only, whole or not at all."""
    make_directory(path.parent)
    draft = path.with_name(f".{path.name}.new")
    fd = open_fresh(draft)
    try:
        write_all(fd, text.encode())
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(draft, path)
    sync_directory(path.parent)


def permissions(role: Role, name: str) -> dict[str, Any]:
    """Return what the server allows a key: a host its own subjects, a viewer to read, a person to answer, too.

    Hosts claim the tasks of plans that people own, so either reads the entries of all plans.
    """
    from unstuck.fleet.nats import subjects as s

    box, plans = f"_INBOX_{name}.>", s.PLANS_PREFIX
    shared = [f"{s.DIRECT}.{s.PLANS}", f"{s.DIRECT}.{s.PLANS}.>", f"{s.DIRECT}.{s.FILES}", f"{s.DIRECT}.{s.FILES}.>"]
    shared += [f"$JS.API.STREAM.INFO.{s.PLANS}", s.files(name)]
    if role == "host":
        own = [s.events(name), s.host(name), f"{s.DIRECT}.{s.EVENTS}.{s.events(name)}"]
        return {
            "publish": [
                *own,
                f"{s.DIRECT}.{s.ANSWERS}.{s.answers(name)}",
                *shared,
                f"{plans}.claim.>",
                f"{plans}.offer.{name}",
            ],
            "subscribe": [box, s.answers(name), s.ask(name), f"{plans}.>"],
            "allow_responses": {"max": 1, "expires": "1m"},
        }
    streams = (s.EVENTS, s.HOSTS, s.ANSWERS)
    reads = [*(f"{s.DIRECT}.{one}" for one in streams), *(f"{s.DIRECT}.{one}.>" for one in streams), s.ask("*")]
    info = [f"$JS.API.STREAM.INFO.{one}" for one in streams]
    owns = [s.answers("*"), *shared, *(f"{plans}.{kind}.{name}.>" for kind in ("plan", "lease", "work"))]
    return {
        "publish": [*reads, *info, *([*owns, f"{plans}.drain.*"] if role == "person" else [])],
        "subscribe": [box, s.NEW, s.host("*"), *([f"{plans}.>"] if role == "person" else [])],
    }


def _signed(subject: str, about: str, payload: bytes) -> bytes:
    return b"\n".join((b"message", subject.encode(), about.encode(), payload))


def _sign(seed: str, text: bytes) -> str:
    return base64.b64encode(_signer(seed).sign(text)).decode()


def _verify(public: str, text: bytes, signature: str) -> None:
    """Raise ValueError for another signature than that of ``public``."""
    try:
        _verifier(public).verify(text, base64.b64decode(signature, validate=True))
    except (BadSignatureError, binascii.Error, TypeError) as problem:
        raise ValueError(str(problem)) from None


# Making a key of its text costs more than what is done with it.
@lru_cache(maxsize=10_000)
def _signer(seed: str) -> Any:
    return nkeys.from_seed(seed.encode())


@lru_cache(maxsize=10_000)
def _verifier(public: str) -> VerifyKey:
    return VerifyKey(base64.b32decode(public + "=" * (-len(public) % 8))[1:33])
