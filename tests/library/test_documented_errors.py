"""Docstrings name the exceptions that public functions raise."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest
from tests.library.raised import described, is_named, raised

import unstuck


def functions() -> Iterator[tuple[str, Any]]:
    """Each public function, class and method by its name in the source, and the object that a program calls."""
    for name in unstuck.__all__:
        value = getattr(unstuck, name)
        if inspect.isclass(value) and not issubclass(value, Exception | Enum):
            yield f"{value.__module__}:{name}", value
            for member, function in list(vars(value).items()):
                plain = getattr(function, "__func__", function)
                if not member.startswith("_") and inspect.isfunction(plain):
                    yield f"{value.__module__}:{name}.{member}", plain
        elif inspect.isfunction(value):
            yield f"{value.__module__}:{name.removesuffix('_sync')}", value


def test_what_the_source_raises_is_found() -> None:
    """Exceptions are followed through calls, attributes and threads, and those that are caught are left out."""
    found = {name.partition(":")[2]: errors for name, errors in raised().items()}
    assert {"AgentUnusable", "ProjectLocked", "SettingsError", "RecordWriteFailed"} <= found["supervise"]
    assert {"ChannelError", "GateError"} <= found["Client.answer"]
    assert {"CheckpointUnknown", "GitError"} <= found["CheckpointManager.restore"]
    assert "TreeTooLarge" in found["CheckpointManager.create"]
    assert "LaggedBehind" in found["Supervisor.events"]
    assert "LaggedBehind" not in found["Supervisor.questions"]
    assert "GateError" not in found.get("diagnose", set())


@pytest.mark.parametrize(("name", "function"), [pytest.param(*one, id=one[0].partition(":")[2]) for one in functions()])
def test_what_a_function_raises_is_in_its_docstring(name: str, function: Any) -> None:
    """A program that catches what the docstrings name meets no other exception of ours."""
    text = described(function)
    assert [error for error in sorted(raised().get(name, ())) if not is_named(error, text)] == []


@pytest.mark.parametrize(
    ("error", "text", "named"),
    [
        ("GateClosed", "Raises GateError.", True),
        ("GateClosed", "Raises UnstuckError.", False),
        ("UnstuckError", "Raises UnstuckError.", True),
        ("GateError", "Raises GateErrors and GateClosed.", False),
    ],
)
def test_a_wider_exception_names_a_narrower_one(error: str, text: str, named: bool) -> None:
    """Naming a base names its kinds, but naming the root of all says nothing."""
    assert is_named(error, text) is named
