"""Frozen values that are made for every output, at the cost of open ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any, ParamSpec, TypeVar, cast

__all__ = ["maker_of"]

Given = ParamSpec("Given")
Value = TypeVar("Value")


def maker_of(frozen: Callable[Given, Value]) -> Callable[Given, Value]:
    """What makes a ``frozen``, a dataclass with slots, of the values of all its fields, given in their order.

    The constructor of a frozen class sets each field through ``object.__setattr__``, at ten times the cost of an
    assignment. So an open class with the same slots is filled, and its instance then becomes one of ``frozen``.
    """

    def freeze(self: Any) -> None:
        self.__class__ = frozen

    kind = cast("type[Any]", frozen)
    names = [field.name for field in fields(kind)]
    return make_dataclass(kind.__name__, names, namespace={"__post_init__": freeze}, slots=True, eq=False, repr=False)
