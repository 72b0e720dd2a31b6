"""Messages about wrong settings, one line each: source, key, and allowed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from unstuck.errors import SettingsError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

_LONGEST_SHOWN = 60


def settings_error(source: str, error: ValidationError, model: type[BaseModel]) -> SettingsError:
    """Return the first problem that pydantic found in ``model``'s input, with the number of others."""
    problems = error.errors(include_url=False)
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return SettingsError(source, ".".join(printable(str(part)) for part in first["loc"]), _problem(first, model) + more)


def shown(value: object) -> str:
    """Return a value as messages quote it; a container only by its type, because it may be endless."""
    if value is None:
        return "nothing"
    if not isinstance(value, str | int | float):
        return {"dict": "a mapping", "list": "a list"}.get(type(value).__name__, f"a {type(value).__name__}")
    if isinstance(value, int) and abs(value) >= 10**_LONGEST_SHOWN:
        return "a huge number"
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"


def printable(text: str) -> str:
    """Return ``text`` on one line without unprintable characters."""
    clean = "".join(character if character.isprintable() else "?" for character in text[: 4 * _LONGEST_SHOWN])
    return clean if len(text) <= 4 * _LONGEST_SHOWN else clean + "…"


def unknown_key(key: str, allowed: Sequence[str], deeper: Mapping[str, str] | None = None) -> str:
    """Return the message about an unknown key; ``deeper`` has the full names of keys that belong below another."""
    from difflib import get_close_matches  # only a mistake needs it

    names = {**(deeper or {}), **{name: name for name in sorted(allowed)}}
    if nearest := get_close_matches(key, names, 1):
        return f"unknown key; did you mean {names[nearest[0]]}?"
    return f"unknown key; allowed are {', '.join(sorted(allowed))}"


def _problem(problem: ErrorDetails, model: type[BaseModel]) -> str:
    match problem["type"]:
        case "value_error":
            return str(problem["ctx"]["error"])
        case "extra_forbidden":
            deeper = _deeper(model) if len(problem["loc"]) == 1 else None
            return unknown_key(str(problem["loc"][-1]), _keys(model, problem["loc"][:-1]), deeper)
        case "missing":
            return "is missing"
        case "literal_error":
            return f"must be {problem['ctx']['expected']}, not {shown(problem['input'])}"
        case "tuple_type":
            return f"must be a list, not {shown(problem['input'])}"
        case "model_type" | "model_attributes_type" | "mapping_type" | "dict_type":
            return f"must be a mapping, not {shown(problem['input'])}"
        case _:
            return printable(problem["msg"])


def _keys(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    """Return the keys allowed at ``path``, without those that only the loader sets."""
    for part in path:
        if isinstance(part, str) and part in model.model_fields:
            model = _model_in(model.model_fields[part].annotation) or model
    return [name for name in model.model_fields if name != "trusted"]


def _deeper(model: type[BaseModel]) -> dict[str, str]:
    """Return the full names of the keys below the keys of ``model``, by their last part."""
    fields = model.model_fields.items()
    below = [(above, field.annotation) for above, field in fields if hasattr(field.annotation, "model_fields")]
    return {name: f"{above}.{name}" for above, one in below for name in getattr(one, "model_fields", ())}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the settings class in an annotation such as ``tuple[AutoResolve, ...]``."""
    if hasattr(annotation, "model_fields"):
        found: type[BaseModel] = annotation
        return found
    return next((inner for part in get_args(annotation) if (inner := _model_in(part))), None)
