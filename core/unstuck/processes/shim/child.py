"""Steps of the forked child between the fork and the exec of the agent."""

from __future__ import annotations

import errno
import json
import os
import signal
from _signal import signal as heed  # type: ignore[import-not-found]  # signal's own makes members of enumerations

from .process_table import PR_SET_PDEATHSIG, TAG, process_control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

READY = b"+"
_DEFAULT, _IGNORE = int(signal.SIG_DFL), int(signal.SIG_IGN)
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
_RESTORED = (*_IGNORED, signal.SIGXFSZ)  # what Python ignores; what has a handler is restored by the exec


def be_deaf() -> None:
    """Ignore the signals that the shim has to survive."""
    for number in _IGNORED:
        heed(number, _IGNORE)


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
            heed(number, _DEFAULT)
        for target, source in enumerate(streams):
            os.dup2(source, target)
        place = f"working directory {launch['cwd']}: "
        os.chdir(launch["cwd"])
        place = ""
        command, env = launch["command"], launch["env"]
        programs = _programs(command[0], env)
        os.write(setup, READY)
        if tag := os.read(gate, 1024):
            place = "could not be executed: "
            _execute(programs, command, {**env, TAG: tag.decode()})
    except (OSError, ValueError) as error:
        code, message = getattr(error, "errno", None), getattr(error, "strerror", None)
        hint = " (a script needs a first line such as #!/bin/sh)" if code == errno.ENOEXEC else ""
        os.write(setup, refusal(code or errno.EINVAL, place + (message or str(error)) + hint))
    finally:
        os._exit(127)


def refusal(number: int, message: str) -> bytes:
    """The report of an agent that could not be started, for the error ``number``."""
    return json.dumps({"not_started": errno.errorcode.get(number, str(number)), "message": message}).encode()


def _execute(programs: list[str], command: list[str], env: dict[str, str]) -> None:
    """Become the first of ``programs`` that can be: one may lack its interpreter. Raises the first one's OSError."""
    refused: OSError | None = None
    for program in programs:
        try:
            os.execve(program, command, env)
        except OSError as error:
            refused = refused or error
    raise refused or OSError(errno.ENOENT, os.strerror(errno.ENOENT))


def _programs(name: str, env: dict[str, str]) -> list[str]:
    """The files of ``name``, first come first. Raises OSError where none can be run: before it counts as spawned."""
    folders = env.get("PATH", os.defpath).split(os.pathsep)
    places = [name] if "/" in name else [os.path.join(folder, name) for folder in folders]
    found = [place for place in places if os.path.isfile(place)]
    if programs := [place for place in found if os.access(place, os.X_OK)]:
        return programs
    if found:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    raise OSError(errno.ENOENT, os.strerror(errno.ENOENT) if "/" in name else "not found on PATH")
