"""Exceptions that a function of the project can raise, as far as its source shows them.

Calls are followed through names, imports, ``self`` and annotated values. An exception that is caught on the way does
not count, and neither does a call that no annotation resolves.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import unstuck
from unstuck import errors

CORE = Path(unstuck.__file__).parent
ERRORS = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}


def described(call: Any) -> str:
    """Return what the docstrings of a function or class, of the class around it and of what they refer to say."""
    name = getattr(call, "__qualname__", "")
    around = [getattr(unstuck, name.split(".")[0], None)] if "." in name else []
    if inspect.isclass(call):
        around.append(call.__init__)
    text = "\n".join(inspect.cleandoc(one.__doc__ or "") for one in [call, *around] if one is not None)
    referred = [name for name in re.findall(r":func:`(\w+)`", text) if name in unstuck.__all__]
    return "\n".join([text, *(getattr(unstuck, name).__doc__ for name in referred)])


def is_named(error: str, text: str) -> bool:
    """Return whether a docstring names an exception, or a narrower base of it than that of all."""
    bases = {kind.__name__ for kind in ERRORS[error].__mro__} & set(ERRORS) - {"UnstuckError"}
    return any(re.search(rf"\b{name}\b", text) for name in {error, *bases})


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


SETTLED = {
    "unstuck.text:admit": "ArgumentError",
    "unstuck.supervision.gates.service:apply_policy": "GateError",
    "unstuck.supervision.recovery.interrupted_attempt:answer_chosen": "GateError",
}
"""Errors that callers cannot get: text is always given to ``admit``; a rule answers a question that is open."""


class Scope(NamedTuple):
    """Place of a piece of source: its module, the class around it, and the classes of its arguments."""

    module: str
    owner: str
    values: dict[str, str]


@cache
def trees() -> dict[str, ast.Module]:
    """The parsed modules of the core, by name."""
    found = {}
    for path in CORE.rglob("*.py"):
        parts = path.relative_to(CORE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text("utf-8"))
    return found


@cache
def definitions(module: str) -> dict[str, ast.AST]:
    """Functions, methods and classes of a module, by qualified name."""
    found: dict[str, ast.AST] = {}
    for node in trees()[module].body:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found[node.name] = node
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}": one for one in node.body if isinstance(one, _FUNCTIONS)}
    return found


@cache
def imports(module: str) -> dict[str, str]:
    """Names that a module imports from the core, as ``module:name``, or ``module:`` for a module."""
    found = {}
    for node in ast.walk(trees()[module]):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "unstuck":
            for one in node.names:
                inner = f"{node.module}.{one.name}"
                found[one.asname or one.name] = f"{inner}:" if inner in trees() else f"{node.module}:{one.name}"
    return found


def defined(module: str, name: str) -> str:
    """Return where a name of a module is defined, as ``module:name``; empty for what is not the project's."""
    while name not in definitions(module):
        target = imports(module).get(name.split(".")[0], "")
        if not target:
            return ""
        first, _, last = target.partition(":")
        rest = name.split(".")[1:]
        name = ".".join([*([last] if last else []), *rest])
        if not name or first == module:
            return f"{first}:" if not name else ""
        module = first
    return f"{module}:{name}"


def annotated(module: str, node: ast.expr | None) -> str:
    """Return the class of the project that an annotation names, where it is one."""
    match node:
        case ast.Constant(value=str(text)):
            return annotated(module, ast.parse(text, mode="eval").body)
        case ast.BinOp(left=left, right=right):
            return annotated(module, left) or annotated(module, right)
        case ast.Name(id=name):
            return defined(module, name)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return defined(module, f"{name}.{attribute}")
        case ast.Subscript(value=ast.Name(id="Awaitable" | "AsyncIterator" | "Coroutine"), slice=inside):
            return annotated(module, inside)
    return ""


_MEMBERS: dict[str, dict[str, str]] = {}


def members(kind: str) -> dict[str, str]:
    """Classes of the attributes of a class: annotated ones, properties, and what ``__init__`` puts there."""
    if kind in _MEMBERS:
        return _MEMBERS[kind]
    found = _MEMBERS[kind] = {}  # one that is given by another of the same class is looked up meanwhile
    module, _, name = kind.partition(":")
    node = definitions(module).get(name) if module in trees() else None
    if not isinstance(node, ast.ClassDef):
        return found
    for base in node.bases:
        found |= members(annotated(module, base)) if annotated(module, base) else {}
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            found[one.target.id] = annotated(module, one.annotation)
        elif isinstance(one, _FUNCTIONS) and any(getattr(d, "id", "") == "property" for d in one.decorator_list):
            found[one.name] = annotated(module, one.returns)
    begin = definitions(module).get(f"{name}.__init__")
    for one in ast.walk(begin) if begin else ():
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        for target in targets:
            for single, value in pairs(target, getattr(one, "value", None)):
                if isinstance(single, ast.Attribute) and getattr(single.value, "id", "") == "self" and value:
                    found.setdefault(single.attr, kind_of(value, arguments(module, name, begin)))
    return found


def pairs(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Each target of an assignment with its value."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


def arguments(module: str, owner: str, node: ast.AST) -> Scope:
    """Return the scope of a function."""
    assert isinstance(node, _FUNCTIONS)
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    values = {one.arg: annotated(module, one.annotation) for one in every}
    if owner:
        values |= {"self": f"{module}:{owner}", "cls": f"{module}:{owner}"}
    return Scope(module, owner, values)


def method(kind: str, name: str) -> str:
    """Return where a method of a class is defined, in it or in a base of it."""
    module, _, owner = kind.partition(":")
    if module not in trees() or owner not in definitions(module):
        return ""
    if f"{owner}.{name}" in definitions(module):
        return f"{module}:{owner}.{name}"
    node = definitions(module)[owner]
    bases = [annotated(module, base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
    return next((found for base in bases if base and (found := method(base, name))), "")


_TARGETS: dict[int, str] = {}


def target_of(call: ast.expr, scope: Scope) -> str:
    """Return the function or the class that is called, where it is known."""
    if id(call) not in _TARGETS:
        _TARGETS[id(call)] = _target_of(call, scope)
    return _TARGETS[id(call)]


def _target_of(call: ast.expr, scope: Scope) -> str:
    match call:
        case ast.Name(id=name):
            return defined(scope.module, name)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name not in scope.values:
            found = defined(scope.module, f"{name}.{attribute}")
            return found or method(defined(scope.module, name), attribute) or kind_method(call, scope)
        case ast.Attribute():
            return kind_method(call, scope)
    return ""


def kind_method(call: ast.Attribute, scope: Scope) -> str:
    kind = kind_of(call.value, scope)
    return method(kind, call.attr) if kind else ""


def kind_of(node: ast.expr, scope: Scope) -> str:
    """Return the class of a value, where it is one of the project and known."""
    match node:
        case ast.Name(id=name):
            return scope.values.get(name, "")
        case ast.Attribute(value=inner, attr=attribute):
            kind = kind_of(inner, scope)
            return members(kind).get(attribute, "") if kind else ""
        case ast.Await(value=inner):
            return kind_of(inner, scope)
        case ast.BoolOp(values=values):
            return next((kind for one in values if (kind := kind_of(one, scope))), "")
        case ast.Call(func=function):
            found = target_of(function, scope)
            module, _, name = found.partition(":")
            made = definitions(module).get(name) if module in trees() else None
            if isinstance(made, ast.ClassDef):
                return found
            if isinstance(made, _FUNCTIONS):
                if isinstance(made.returns, ast.Name) and made.returns.id == "Self":
                    return f"{module}:{name.rpartition('.')[0]}"
                return annotated(module, made.returns)
    return ""


def caught(node: ast.expr | None) -> set[str]:
    """Return the names of the exceptions in an ``except`` or a ``suppress``."""
    if node is None:
        return {"BaseException"}
    return {one.id for one in ([*node.elts] if isinstance(node, ast.Tuple) else [node]) if isinstance(one, ast.Name)}


def without(raised: set[str], names: set[str]) -> set[str]:
    """Return what is left of ``raised`` once ``names`` are caught."""
    kinds = tuple(kind for name in names if isinstance(kind := ERRORS.get(name, getattr(builtins, name, 0)), type))
    return {name for name in raised if not issubclass(ERRORS[name], kinds)}


_NEEDED: set[str] = set()
"""Functions that the one at hand calls."""


def passed_on(function: str, known: dict[str, set[str]]) -> set[str]:
    """Return the exceptions of a function that reach its callers."""
    _NEEDED.add(function)
    raised = known.get(function, set())
    return without(raised, {SETTLED[function]}) if function in SETTLED else raised


def _below(nodes: list[ast.stmt], scope: Scope, known: dict[str, set[str]]) -> set[str]:
    return set().union(*(_raised(node, scope, known) for node in nodes)) if nodes else set()


def _raised(node: ast.AST, scope: Scope, known: dict[str, set[str]]) -> set[str]:
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
        return set()
    if isinstance(node, ast.Try):
        found = _below(node.body, scope, known)
        passed: set[str] = set()
        for handler in node.handlers:
            names = caught(handler.type)
            if any(isinstance(one, ast.Raise) and one.exc is None for one in ast.walk(handler)):
                passed |= found - without(found, names)
            found = without(found, names)
            passed |= _below(handler.body, scope, known)
        return found | passed | _below(node.orelse, scope, known) | _below(node.finalbody, scope, known)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        found = _below(node.body, scope, known)
        for item in node.items:
            made = item.context_expr
            if isinstance(made, ast.Call) and getattr(made.func, "id", "") == "suppress":
                found = without(found, set().union(*map(caught, made.args)))
            else:
                found |= _raised(made, scope, known)
        return found
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        scope.values[node.targets[0].id] = kind_of(node.value, scope)
    found = set()
    if isinstance(node, ast.Raise) and node.exc is not None:
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        found |= {one.id for one in ast.walk(made) if isinstance(one, ast.Name) and one.id in ERRORS}
        if isinstance(made, ast.Call) or (isinstance(node.exc, ast.Call) and not found):
            found |= _returned(target_of(made if not isinstance(made, ast.Call) else made.func, scope))
    if isinstance(node, ast.Call):
        found |= passed_on(target_of(node.func, scope), known)
        for argument in node.args[:2]:  # as in asyncio.to_thread(function, …) and partial(function, …)
            if isinstance(argument, (ast.Name, ast.Attribute)) and "to_thread" in ast.unparse(node.func):
                found |= passed_on(target_of(argument, scope), known)
    for child in ast.iter_child_nodes(node):
        found |= _raised(child, scope, known)
    return found


def _returned(function: str) -> set[str]:
    module, _, name = function.partition(":")
    node = definitions(module).get(name) if module in trees() else None
    if not isinstance(node, _FUNCTIONS) or node.returns is None:
        return set()
    return {one.id for one in ast.walk(node.returns) if isinstance(one, ast.Name) and one.id in ERRORS}


@cache
def raised() -> dict[str, set[str]]:
    """Exceptions of each function, method and class of the core, by ``module:name``."""
    known: dict[str, set[str]] = {}
    needs: dict[str, set[str]] = {}
    waiting = {f"{module}:{name}" for module in trees() for name in definitions(module)}
    while waiting:
        changed = set()
        for key in waiting:
            module, _, name = key.partition(":")
            node = definitions(module)[name]
            _NEEDED.clear()
            if isinstance(node, ast.ClassDef):
                begun = [method(key, one) for one in ("__init__", "__post_init__", "__new__")]
                found = set().union(*(passed_on(one, known) for one in begun))
            else:
                assert isinstance(node, _FUNCTIONS)
                found = _below(node.body, arguments(module, name.rpartition(".")[0], node), known)
            needs[key] = set(_NEEDED)
            if found != known.get(key, set()):
                known[key] = found
                changed.add(key)
        waiting = {key for key, needed in needs.items() if needed & changed}
    return known
