"""Types and signatures as a reader of the documentation knows them: without the modules they live in."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

__all__ = ["annotation", "signature"]

_PLAIN = {"OptionalText": "str | None", "Texts": "tuple[str, ...]", "Text": "str"}
"""Fields that take plain text, as a caller writes them."""
_MODULES = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")


def annotation(value: Any) -> str:
    """A type as it is written."""
    written = _MODULES.sub("", value if isinstance(value, str) else inspect.formatannotation(value))
    return _PLAIN.get(written, written)


def signature(function: Callable[..., Any]) -> str:
    """The parameters and the result of a function; without ``self`` and ``cls``."""
    found = inspect.signature(function)
    kept = [
        one.replace(annotation=_Written(one.annotation))
        for one in found.parameters.values()
        if one.name not in ("self", "cls")
    ]
    return str(found.replace(parameters=kept, return_annotation=_Written(found.return_annotation)))


class _Written:
    """An annotation that prints as it is written, without quotes."""

    def __init__(self, value: Any) -> None:
        self._text = annotation(value)

    def __repr__(self) -> str:
        return self._text
