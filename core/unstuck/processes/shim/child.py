"""What happens in the forked child between the fork and the agent's first instruction."""

from __future__ import annotations

import errno
import json
import os
import signal

from .table import PR_SET_PDEATHSIG, TAG, process_control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

READY = b"+"
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
_RESTORED = (*IGNORED, signal.SIGCHLD, signal.SIGXFSZ)


def become(launch: dict[str, Any], streams: tuple[int, int, int], gate: int, setup: int) -> NoReturn:
    """Turn into the agent once a tag comes through ``gate``; the gate's end means to give up.

    ``streams`` become its standard input, output and error; ``setup`` hears READY when only the exec is left, and a
    refusal as JSON where something does not work.
    """
    place = ""
    try:
        os.setsid()
        process_control(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in _RESTORED:
            signal.signal(number, signal.SIG_DFL)
        for target, source in enumerate(streams):
            os.dup2(source, target)
        place = f"working directory {launch['cwd']}: "
        os.chdir(launch["cwd"])
        place = ""
        command, env = launch["command"], launch["env"]
        _require_program(command[0], env)
        os.write(setup, READY)
        if tag := os.read(gate, 1024):
            place = "could not be executed: "
            os.execvpe(command[0], command, {**env, TAG: tag.decode()})
    except (OSError, ValueError) as error:
        code, message = getattr(error, "errno", None), getattr(error, "strerror", None)
        hint = " (a script needs a first line such as #!/bin/sh)" if code == errno.ENOEXEC else ""
        os.write(setup, refusal(code or errno.EINVAL, place + (message or str(error)) + hint))
    finally:
        os._exit(127)


def refusal(number: int, message: str) -> bytes:
    """The report of an agent that could not be started, for the error ``number``."""
    return json.dumps({"not_started": errno.errorcode.get(number, str(number)), "message": message}).encode()


def _require_program(name: str, env: dict[str, str]) -> None:
    """Raise OSError when ``name`` cannot be run, so that this is known before the agent counts as spawned."""
    places = [name] if "/" in name else [os.path.join(folder, name) for folder in os.get_exec_path(env)]
    found = [place for place in places if os.path.isfile(place)]
    if not found:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT) if "/" in name else "not found on PATH")
    if not any(os.access(place, os.X_OK) for place in found):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
