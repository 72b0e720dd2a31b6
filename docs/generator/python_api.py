"""The public names of ``unstuck`` with their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from docs.generator.markdown import code, prose, table
from docs.generator.signatures import annotation, signature

import unstuck
from unstuck import Question, Task

__all__ = ["python_api"]

_GROUPS: dict[str, Callable[[Any], bool]] = {
    "Exceptions": lambda value: inspect.isclass(value) and issubclass(value, Exception),
    "Enumerations": lambda value: inspect.isclass(value) and issubclass(value, Enum),
    "Classes": inspect.isclass,
    "Functions": inspect.isfunction,
    "Types": lambda value: hasattr(value, "__supertype__"),
}
_ORDER = ("Classes", "Functions", "Enumerations", "Types", "Exceptions")


def python_api() -> str:
    """All public names, grouped by what they are."""
    groups: dict[str, list[str]] = {}
    for name in sorted(set(vars(unstuck)["__all__"]) - {"__version__"}):
        value = getattr(unstuck, name)
        groups.setdefault(next(group for group, holds in _GROUPS.items() if holds(value)), []).append(name)
    return "\n\n".join(
        part for group in _ORDER for part in (f"## {group}", *(one for name in groups[group] for one in _parts(name)))
    )


def _parts(name: str) -> Iterator[str]:
    value = getattr(unstuck, name)
    yield f"### `{name}`"
    if inspect.isfunction(value):
        yield f"```python\n{name}{signature(value)}\n```"
    if kind := getattr(value, "__supertype__", None):
        yield f"A `{kind.__name__}` that `admit` has cleaned. At run time it is a plain `{kind.__name__}`."
        return
    yield prose(value.__doc__)
    if not inspect.isclass(value):
        return
    if issubclass(value, Enum):
        yield table(("member", "value"), [(code(member.name), code(str(member.value))) for member in value])
    elif _has_own_constructor(value):
        yield f"```python\n{name}{signature(value.__init__).removesuffix(' -> None')}\n```"
    elif fields := getattr(value, "__dataclass_fields__", None):
        yield table(("field", "type"), [(code(field.name), code(annotation(field.type))) for field in fields.values()])
    for member, function in inspect.getmembers_static(value):
        if member.startswith("_") or member not in vars(value):
            continue
        if isinstance(function, property):
            yield f"#### `{name}.{member}`\n\n{prose(function.__doc__)}"
        elif _is_method(function):
            yield _method(value, member, function)


def _has_own_constructor(value: type) -> bool:
    """True for a class that a program makes with other arguments than its fields."""
    if value is Task:  # it takes old names, too
        return True
    if value is Question or "Use :meth:`open`" in (value.__doc__ or ""):
        return False
    return inspect.isfunction(vars(value).get("__init__")) and "__dataclass_fields__" not in vars(value)


def _is_method(function: Any) -> bool:
    return inspect.isfunction(function) or isinstance(function, classmethod | staticmethod)


def _method(owner: type, member: str, function: Any) -> str:
    bound = inspect.unwrap(getattr(owner, member))
    told = signature(bound)
    prefix = "async " if inspect.iscoroutinefunction(bound) else ""
    if inspect.isasyncgenfunction(bound) and not inspect.isasyncgenfunction(getattr(owner, member)):
        prefix = "async with "
    return f"#### `{owner.__name__}.{member}`\n\n```python\n{prefix}{member}{told}\n```\n\n{prose(bound.__doc__)}"
