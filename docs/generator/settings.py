"""Every setting with its default, its values and its meaning, from the models themselves."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin

from docs.generator.markdown import code, prose, table
from pydantic import BaseModel

from unstuck.settings.loading import ONLY_LOWERED, USERS_ONLY
from unstuck.settings.models import DEFAULT_TIMEOUTS, TIMER_ANSWERS, Settings
from unstuck.settings.prompt_templates import PLACEHOLDERS
from unstuck.settings.screen_settings import SCREEN_NAMES

__all__ = ["placeholders", "settings", "time_limits", "timers"]


# What a file of the project may not do with a setting that it may set.
_LIMITED = {
    "after_quota": "; in a project's file only `ask`",
    "prompts": "; in a project's file not `human`",
    "failure_handler": "; in a project's file no command",
}


def settings() -> str:
    """One table of all settings."""
    rows = sorted(_rows(Settings(), ""), key=lambda row: row[0].strip("`") in SCREEN_NAMES)
    return table(("key", "default", "set by", "meaning"), rows)


def time_limits() -> str:
    """The time limits by agent type."""
    return table(("agent type", "time limit"), [(code(name), _span(limit)) for name, limit in DEFAULT_TIMEOUTS.items()])


def timers() -> str:
    """The answers that a timer may give, by question type."""
    rows = [(code(question), _listed(answers)) for question, answers in TIMER_ANSWERS.items()]
    return table(("question", "a timer may answer"), rows)


def placeholders() -> str:
    """The placeholders of the ``prompts`` setting."""
    return _listed(["{" + name + "}" for name in PLACEHOLDERS])


def _rows(model: BaseModel, above: str) -> Iterator[tuple[str, str, str, str]]:
    told = _docstrings(type(model))
    for name, field in type(model).model_fields.items():
        value, key = getattr(model, name), above + name
        if isinstance(value, BaseModel):
            yield from _rows(value, f"{key}.")
            continue
        words = [told[name], _choices(field.annotation)]
        yield code(key), code(_default(field, value)), _setters(key), " ".join(filter(None, words))


def _setters(key: str) -> str:
    """Who may set ``key``."""
    name = key.partition(".")[0]
    if name in SCREEN_NAMES:
        return "you"
    if name in USERS_ONLY:
        return "you, a plan"
    if key in ONLY_LOWERED:
        return "all; a project's file only lowers it"
    return f"all{_LIMITED.get(name, '')}"


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """The docstring below each field, of the classes above as well."""
    found = _docstrings(model.__base__) if model.__base__ not in (None, BaseModel) else {}
    (body,) = (node.body for node in ast.parse(inspect.getsource(model)).body if isinstance(node, ast.ClassDef))
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(field.target, ast.Name):
            found[field.target.id] = prose(ast.literal_eval(below.value))
    return found


def _choices(annotation: Any) -> str:
    """The values of a choice."""
    if get_origin(annotation) is not Literal or len(get_args(annotation)) < 2:
        return ""
    return f"Values: {_listed(get_args(annotation))}."


def _listed(names: Any) -> str:
    return ", ".join(code(str(name)) for name in names)


def _default(field: Any, value: Any) -> str:
    if isinstance(value, Mapping):
        return "{}" if not value else "by type"
    if isinstance(value, tuple | list):
        return "[]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "on" if value else "off"
    return _span(value) if _is_time(field) else str(value)


def _is_time(field: Any) -> bool:
    return any(getattr(getattr(one, "func", None), "__name__", "") == "parse_duration" for one in field.metadata)


def _span(seconds: float) -> str:
    return f"{seconds / 60:g}m" if seconds >= 60 else f"{seconds:g}s"
