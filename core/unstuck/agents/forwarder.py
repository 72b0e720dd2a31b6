#!python
"""Forwarder of ``unstuck-hook AGENT``: passes one hook call of a coding agent to the supervisor, prints the answer.

It uses only the standard library and no other module of unstuck, because an agent waits for it at every step. The
modules behind ``json``, ``socket``, ``signal`` and ``hashlib`` come first: those themselves take longer than Python's
own start. It never disturbs the agent: without a listener, or after any error, it prints nothing and exits with 0, and
the agent proceeds. If a supervisor hangs or has no room, it exits before the agent's own limit. It then reports that on
standard error and in a file beside the supervisor's socket.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # an import of typing would take longer than all the rest
    from collections.abc import Iterator
    from socket import socket
    from typing import Any

MAX_LINE = 2**20
LIMIT_S = 570.0
"""Seconds for one call: longer than a supervisor holds it, shorter than the agent waits."""
LOG_LIMIT = 2**16
BUSY_PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
ASKED: list[str] = []
"""Sockets tried so far, the latest last."""


def main() -> int:
    """Return the exit code: 0 unless the supervisor's reply sets another."""
    try:
        if len(sys.argv) != 2 or os.isatty(0):
            return 0
        os.fstat(1)  # if it were closed, the socket would get its number
        return forward(sys.argv[1], read_input())
    except TooLong:
        complain(f"the supervisor did not answer within {LIMIT_S:g} s: the agent continues unsupervised (open)")
        return 0
    except (Exception, KeyboardInterrupt):
        return 0


class TooLong(Exception):
    """The time limit of the whole call is over."""


def give_up(number: int, frame: object) -> None:
    raise TooLong


def complain(words: str) -> None:
    """Write to standard error, which is the agent's log, and to the file beside the socket while it has room."""
    import time

    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} unstuck-hook: {words}\n".encode()
    for number in (2, log_file()):
        try:  # noqa: SIM105
            os.write(number, line)
        except OSError:
            pass


def log_file() -> int:
    """Return a descriptor that appends to the log; -1 if there is none or it is full."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        number = os.open(ASKED[-1] + ".log", flags, 0o600)
    except (IndexError, OSError):
        return -1
    return number if os.fstat(number).st_size < LOG_LIMIT else -1


def first(*names: str) -> Any:
    """Return the first of these modules that this Python has."""
    for name in names:
        try:
            return __import__(name)
        except ImportError:
            pass
    raise ImportError(names[-1])


def forward(agent: str, raw: bytes) -> int:
    """Send the hook's input, print and acknowledge the reply, and return its exit code."""
    if "UNSTUCK_SOCKET" not in os.environ and not any(name.endswith(".sock") for name in os.listdir(runtime_dir())):
        return 0  # there is no listener, so parsing is not worth it

    import time

    signal = first("_signal", "signal")
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    payload = parsed(raw)
    line = request_line(agent, raw, payload)
    for pause in BUSY_PAUSES_S:
        connection = connect(payload)
        if connection is None:
            return 0
        try:
            reply = parsed(exchange(connection, line))
            if not reply.get("busy"):
                return deliver(connection, reply)
        finally:
            connection.close()
        time.sleep(pause)
    complain("the supervisor had no room for this call: the agent continues unsupervised (open)")
    return 0


def deliver(connection: socket, reply: dict[str, Any]) -> int:
    """Print, then acknowledge: an acknowledgement confirms that the agent has the bytes."""
    if reply.get("output") is not None:
        write_output(written(reply["output"]) + b"\n")
    if reply.get("ack"):
        connection.sendall(written({"v": 1, "ack": reply["ack"]}) + b"\n")
    return int(reply.get("exit", 0))


def exchange(connection: socket, line: bytes) -> bytes:
    """Send ``line`` and wait for the reply until the agent closes its end."""
    import select

    try:  # noqa: SIM105
        connection.sendall(line)
    except BrokenPipeError:
        pass  # a rejected client finds the reason in the reply
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    poll.register(1, 0)  # reports only a closed reading end: the agent has died or given up
    reply = b""
    while not reply.endswith(b"\n"):
        ready = dict(poll.poll())
        if connection.fileno() not in ready:
            raise BrokenPipeError
        chunk = connection.recv(65536)
        if not chunk or len(reply) > MAX_LINE:
            raise ConnectionResetError
        reply += chunk
    return reply


class Plain:
    """Settings of the scanner of JSON that ``json.loads`` uses."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def parsed(raw: bytes) -> dict[str, Any]:
    """Return the JSON object in ``raw``. Raises an exception for anything else."""
    text = raw.decode().strip(" \t\r\n")
    try:
        value, end = first("_json").make_scanner(Plain)(text, 0)
    except (ImportError, AttributeError, TypeError):
        import json

        value, end = json.loads(text), len(text)
    if end != len(text) or not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value


def written(value: Any) -> bytes:
    """Return ``value`` as JSON."""
    try:
        fast = first("_json")
        encode = fast.make_encoder(None, None, fast.encode_basestring_ascii, None, ": ", ", ", False, False, True)
        return "".join(encode(value, 0)).encode()
    except (ImportError, AttributeError, TypeError):
        import json

        return json.dumps(value).encode()


def request_line(agent: str, raw: bytes, payload: dict[str, Any]) -> bytes:
    """Return the message as one line of at most 1 MiB; the longest texts are cut first."""
    message = {"v": 1, "do": "hook", "agent": agent, "payload": None}
    # A line end in JSON is never part of a text.
    line = written(message)[: -len("null}")] + raw.strip().replace(b"\n", b" ").replace(b"\r", b" ") + b"}"
    if len(line) < MAX_LINE:
        return line + b"\n"

    import json

    message["payload"] = payload
    line = json.dumps(message, separators=(",", ":")).encode()
    limit = MAX_LINE // 4
    while len(line) >= MAX_LINE and limit >= 64:
        line = json.dumps(shortened(message, limit), separators=(",", ":")).encode()
        limit //= 4
    return line + b"\n"


def shortened(value: Any, limit: int) -> Any:
    """Return ``value`` with every text in it cut to about ``limit`` characters, with head and tail."""
    if isinstance(value, str) and len(value) > limit:
        return f"{value[: limit // 2]} … {len(value) - limit} characters left out … {value[-limit // 2 :]}"
    if isinstance(value, list):
        return [shortened(item, limit) for item in value]
    if isinstance(value, dict):
        return {key: shortened(item, limit) for key, item in value.items()}
    return value


def connect(payload: dict[str, Any]) -> socket | None:
    """Return a connection to this user's first supervisor that listens for the agent's project.

    A socket of another user is not tried: its listener could block the agent.
    """
    module = first("_socket", "socket")
    for path in socket_paths(payload):
        connection: socket = module.socket(module.AF_UNIX)
        try:
            if os.lstat(path).st_uid == os.getuid():
                ASKED.append(path)
                connection.connect(path)
                if server_user(connection) == os.getuid():
                    return connection
        except OSError:
            pass
        connection.close()
    return None


def server_user(connection: socket) -> int:
    """Return the user id of the peer."""
    module = first("_socket", "socket")
    if not hasattr(module, "SO_PEERCRED"):
        return os.getuid()
    # Three numbers: the process, the user and the group.
    peer = connection.getsockopt(module.SOL_SOCKET, module.SO_PEERCRED, 12)
    return int.from_bytes(peer[4:8], sys.byteorder)


def socket_paths(payload: dict[str, Any]) -> Iterator[str]:
    """Yield possible sockets of the project, first by the agent's own project folder: its directory may change.

    That of a watch comes before that of a run, which names its own to the agents that it starts.
    """
    if "UNSTUCK_SOCKET" in os.environ:
        yield os.environ["UNSTUCK_SOCKET"]
        return
    for start in (os.environ.get("CLAUDE_PROJECT_DIR"), payload.get("cwd"), "."):
        home = project_home(start) if start else None
        if home:
            name = os.path.join(runtime_dir(), hashed(os.path.realpath(home)))
            yield name + "w.sock"
            yield name + ".sock"


def hashed(path: str) -> str:
    """Return the first sixteen digits of the SHA-256 of ``path``."""
    digits: str = first("_sha2", "_sha256", "hashlib").sha256(os.fsencode(path)).hexdigest()[:16]
    return digits


def runtime_dir() -> str:
    """Return the directory of all sockets of this user."""
    if os.environ.get("UNSTUCK_RUNTIME_DIR"):
        return os.environ["UNSTUCK_RUNTIME_DIR"]
    platform = os.environ.get("XDG_RUNTIME_DIR")
    if platform and os.path.isdir(platform) and os.access(platform, os.W_OK):
        return os.path.join(platform, "unstuck")
    return f"/tmp/unstuck-{os.getuid()}"


def project_home(start: str) -> str | None:
    """Return the folder of the project's event logs: in the git directory, else ``.unstuck`` in a folder above."""
    above = list(parents(os.path.realpath(start)))
    for directory in above:
        home = git_home(directory)
        if home:
            return home
    return next((found for directory in above if os.path.isdir(found := os.path.join(directory, ".unstuck"))), None)


def parents(directory: str) -> Iterator[str]:
    """Yield ``directory`` and every folder above it."""
    yield directory
    while directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
        yield directory


def git_home(directory: str) -> str | None:
    """Return the home of the git worktree at ``directory``; a linked one has its own in the common home."""
    git = os.path.join(directory, ".git")
    if os.path.isfile(git):
        git = os.path.join(directory, read_line(git).removeprefix("gitdir:").strip())
    if not os.path.exists(os.path.join(git, "HEAD")):
        return None
    common = os.path.join(git, "commondir")
    if not os.path.exists(common):
        return os.path.join(git, "unstuck")
    shared = os.path.join(git, read_line(common))
    return os.path.join(shared, "unstuck", "worktrees", hashed(directory))


def read_line(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.readline().rstrip("\n")


def read_input() -> bytes:
    parts = []
    while part := os.read(0, 65536):
        parts.append(part)
    return b"".join(parts)


def write_output(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main())
