"""Sources of settings, the weakest first; what they hold is read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

_PREFIX = "UNSTUCK_"
# Variables for agents, for directories, and for the number of rounds of the project's tests.
_OUR_OWN = {
    "TASK",
    "ATTEMPT",
    "PROMPT_FILE",
    "RUNG",
    "STATE_DIR",
    "RUNTIME_DIR",
    "SOCKET",
    "PROCESS",
    "SLOT",
    "PORT",
    "PORTS",
}
_NO_SETTINGS = _OUR_OWN | {"KILLS", "TREES", "EVENTS", "BENCH_EVENTS"}

Kind = Literal["default", "user", "project", "environment", "option"]


class Layer(NamedTuple):
    """One source of settings. ``trusted`` is true if only the user can write it, not an agent.

    ``own`` is true if it applies to the user in every project, not to one run; ``file`` stands in ``project``. ``read``
    raises SettingsError.
    """

    kind: Kind
    source: str
    read: Callable[[], dict[str, Any]]
    trusted: bool
    file: Path | None = None
    own: bool = False
    project: Path | None = None


def default_user_file() -> Path:
    """Return the path of the user settings, which may not exist."""
    from platformdirs import user_config_path

    return user_config_path("unstuck") / "config.yaml"


def project_file(project: Path) -> Path:
    """Return the path of the project's settings, which may not exist."""
    return project / "unstuck.yaml"


def layers(
    project: Path | None,
    user_file: Path | None,
    environ: Mapping[str, str],
    overrides: Mapping[str, Any],
) -> Iterator[Layer]:
    """Yield the sources of settings, the weakest first."""
    if user_file is not None:
        yield Layer("user", str(user_file), partial(_mapping_in, user_file), trusted=True, file=user_file, own=True)
    if project is not None:
        shared, own = project / ".claude" / "config.yaml", project_file(project)
        yield Layer("project", str(shared), partial(_handler_in, shared), trusted=False, file=shared, project=project)
        yield Layer("project", str(own), partial(_mapping_in, own), trusted=False, file=own, project=project)
    for variable in sorted(environ):
        key = variable.removeprefix(_PREFIX)
        if variable.startswith(_PREFIX) and key not in _NO_SETTINGS and environ[variable].strip():
            read = partial(_in_variable, key.lower().split("__"), environ[variable].strip(), variable)
            yield Layer("environment", variable, read, trusted=True, own=True)
    for dotted, value in overrides.items():
        if value is not None:
            yield Layer("option", "flags", partial(_nested, dotted.split("."), value), trusted=True)


def nothing_set(
    project: Path | None, user_file: Path | None, environ: Mapping[str, str], overrides: Mapping[str, Any]
) -> bool:
    """Return whether every setting has its default: no source is there that could hold one."""
    sources = layers(project, user_file, environ, overrides)
    return not any(layer.file is None or _is_there(layer.file) for layer in sources)


def _is_there(file: Path) -> bool:
    """Return whether there is a file; one that cannot be looked at counts, so that its problem is found."""
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _mapping_in(file: Path) -> dict[str, Any]:
    from unstuck.settings.yaml_file import read_mapping

    return read_mapping(file)


def _handler_in(shared: Path) -> dict[str, Any]:
    return {name: value for name, value in _mapping_in(shared).items() if name == "failure_handler"}


def _in_variable(path: list[str], text: str, variable: str) -> dict[str, Any]:
    """Return the value of a variable: a list or mapping given as YAML, any other value as text."""
    from unstuck.settings.yaml_file import read_value

    return _nested(path, read_value(text, variable) if text.startswith(("[", "{")) else text)


def _nested(path: list[str], value: Any) -> dict[str, Any]:
    """Return ``value`` nested under the keys of ``path``."""
    for key in reversed(path):
        value = {key: value}
    nested: dict[str, Any] = value
    return nested
