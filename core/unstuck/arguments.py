"""Arguments of public calls, checked against their annotations, so that a wrong one is named at once."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, wraps
from itertools import chain
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from unstuck.errors import ArgumentError

_Parameters = ParamSpec("_Parameters")
_Returned = TypeVar("_Returned")


class _Kind(NamedTuple):
    """One allowed kind of value: the words for it, the test of a value, and a class that needs no test."""

    words: str
    holds: Callable[[Any], bool]
    plain: type | None = None


class _Kinds(NamedTuple):
    """The allowed kinds of an argument, and the classes of most values."""

    kinds: tuple[_Kind, ...]
    plain: frozenset[type | None]


_ANY = _Kind("", lambda value: True)
_LISTS = {"Sequence", "Collection", "Iterable", "tuple", "list", "MutableSequence"}
_KINDS = {
    "str": _Kind("text", lambda value: isinstance(value, str), str),
    "bytes": _Kind("bytes", lambda value: isinstance(value, bytes)),
    "bytearray": _Kind("bytes", lambda value: isinstance(value, bytearray)),
    "bool": _Kind("True or False", lambda value: isinstance(value, bool), bool),
    "int": _Kind("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool), int),
    "float": _Kind("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool), float),
    "Path": _Kind("a path", lambda value: isinstance(value, os.PathLike)),
    "None": _Kind("None", lambda value: value is None, type(None)),
    "Any": _ANY,
    "object": _ANY,
    "Callable": _Kind("a function", callable),
    "Mapping": _Kind("a mapping", lambda value: isinstance(value, Mapping)),
}
_SAME = {"Clean": "str", "Text": "str", "dict": "Mapping", "MutableMapping": "Mapping"}


def checked(function: Callable[_Parameters, _Returned]) -> Callable[_Parameters, _Returned]:
    """Check the arguments of each call. The first wrong one raises ArgumentError, as the docstring then says."""
    # typeguard and beartype take True for a number, look at one item of a list, and double a short command's imports.
    inner = inspect.unwrap(function)
    names = list(inspect.signature(inner).parameters)
    name = inner.__qualname__.removesuffix(".__init__")

    def check(args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        kinds = _kinds(inner)
        given = zip(names, args, strict=False)
        for key, value in chain(given, kwargs.items()) if kwargs else given:
            allowed = kinds.get(key)
            if allowed is not None and type(value) not in allowed.plain:
                _require(f"{name}: {key}", value, allowed.kinds)

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            return await function(*args, **kwargs)

        return _documented(cast("Callable[_Parameters, _Returned]", awaited))

    @wraps(function)
    def called(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Returned:
        check(args, kwargs)
        return function(*args, **kwargs)

    return _documented(called)


def _documented(function: Callable[_Parameters, _Returned]) -> Callable[_Parameters, _Returned]:
    """Add to the docstring that the function checks its arguments."""
    function.__doc__ = (
        f"{inspect.cleandoc(function.__doc__ or '')}\n\nRaises ArgumentError for a wrong argument.".lstrip()
    )
    return function


def check_fields(value: object) -> None:
    """Check the fields of a dataclass against their annotations, as its ``__post_init__``. Raises ArgumentError."""
    kind = type(value)
    for name, (kinds, plain) in _kinds(cast("Any", kind)).items():
        given = getattr(value, name)
        if type(given) not in plain:
            _require(f"{kind.__name__}: {name}", given, kinds)


def _require(name: str, value: object, kinds: tuple[_Kind, ...]) -> None:
    for kind in kinds:
        if kind.holds(value):
            return
    words = list(dict.fromkeys(kind.words for kind in kinds))
    given = repr(value) if isinstance(value, str | int | float) else type(value).__name__
    allowed = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    raise ArgumentError(f"{name} must be {allowed}, not {given[:60]}")


@cache
def _kinds(owner: Any) -> dict[str, _Kinds]:
    """Return the kinds of each annotated argument or field that can be checked."""
    scope = vars(sys.modules[owner.__module__])
    found = {
        name: tuple(_of(ast.parse(text, mode="eval").body, scope))
        for name, text in owner.__annotations__.items()
        if isinstance(text, str) and not text.startswith("ClassVar")
    }
    return {
        name: _Kinds(kinds, frozenset(kind.plain for kind in kinds))
        for name, kinds in found.items()
        if _ANY not in kinds
    }


def _of(node: ast.expr, scope: Mapping[str, Any]) -> Iterable[_Kind]:
    match node:
        case ast.BinOp(left=left, right=right):
            yield from _of(left, scope)
            yield from _of(right, scope)
        case ast.Constant(value=None):
            yield _KINDS["None"]
        case ast.Constant(value=str(text)):
            yield from _of(ast.parse(text, mode="eval").body, scope)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=elements)):
            yield _one_of(tuple(ast.literal_eval(element) for element in elements))
        case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Constant(value=only)):
            yield _one_of((only,))
        case ast.Subscript(value=ast.Name(id=name), slice=inside) if name in _LISTS:
            several = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            mixed = len(several) > 1 and ast.unparse(several[1]) != "..."
            yield _list_of((_ANY,) if mixed else tuple(_of(several[0], scope)))
        case ast.Subscript(value=ast.Name(id="Mapping"), slice=ast.Tuple(elts=[ast.Name(id="str"), _])):
            yield _Kind("a mapping with text as keys", _has_names)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            yield _named(getattr(scope.get(module), name, None))
        case ast.Subscript(value=inner):
            yield from _of(inner, scope)
        case ast.Name(id="OptionalText"):
            yield from (_KINDS["str"], _KINDS["None"])
        case ast.Name(id="Texts"):
            yield _list_of((_KINDS["str"],))
        case ast.Name(id=name):
            yield _KINDS.get(_SAME.get(name, name)) or _named(scope.get(name))
        case _:
            yield _ANY


def _named(value: Any) -> _Kind:
    """Return the kind of a name in the module of the function: a class, a protocol, a ``Literal``; else anything."""
    if getattr(value, "__args__", None) and "Literal" in str(value):
        return _one_of(value.__args__)
    if not isinstance(value, type):
        return _KINDS["Callable"] if "Callable" in str(value) and "|" not in str(value) else _ANY
    if getattr(value, "_is_protocol", False):
        methods = [name for name, member in vars(value).items() if callable(member) and not name.startswith("_")]
        words = f"an object with {', '.join(methods)}"
        return _Kind(words, lambda given: not isinstance(given, type) and any(hasattr(given, one) for one in methods))
    words = f"{'an' if value.__name__[0] in 'AEIOU' else 'a'} {value.__name__}"
    return _Kind(words, lambda given: isinstance(given, value))


def _has_names(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _one_of(values: tuple[object, ...]) -> _Kind:
    words = ", ".join(map(repr, values))
    return _Kind(f"one of {words}", lambda given: isinstance(given, str) and given in values)


def _list_of(kinds: tuple[_Kind, ...]) -> _Kind:
    words = " or ".join(kind.words for kind in kinds)

    def holds(value: object) -> bool:
        if isinstance(value, str | bytes | Mapping | type) or not isinstance(value, Iterable):
            return False
        known = isinstance(value, Collection)
        return not known or all(any(kind.holds(one) for kind in kinds) for one in cast("Collection[object]", value))

    return _Kind(f"a list of {words}" if words else "a list", holds)
