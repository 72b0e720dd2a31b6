"""Environment of an agent or a check: the user's own, without variables that lead to another repository or run."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["clean_environment"]

# From `git rev-parse --local-env-vars`, and the quarantine of hooks: inherited, they lead git to another repository.
_DROPPED = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_PARAMETERS",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
        "PYTEST_CURRENT_TEST",
        "PYTEST_VERSION",
        "PYTEST_XDIST_TESTRUNUID",
        "PYTEST_XDIST_WORKER",
        "PYTEST_XDIST_WORKER_COUNT",
    }
)
_DROPPED_PREFIXES = ("UNSTUCK_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")


def clean_environment(environ: Mapping[str, str], **extra: str) -> dict[str, str]:
    """Return ``environ`` without the per-process variables of git, pytest and unstuck, and with ``extra``."""
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _DROPPED and not name.startswith(_DROPPED_PREFIXES)
    }
    return kept | extra
