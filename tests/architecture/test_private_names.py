"""The screen uses Textual's private names in one package only."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator
from functools import cache

import unstuck_tui

ALLOWED = "unstuck_tui.textual_internals"


def private(name: str | None) -> bool:
    """Return whether a name is for its owner only; names that Python itself reads are for everybody."""
    return name is not None and name.startswith("_") and not name.startswith("__") and name != "_"


@cache
def names_of(owner: type) -> frozenset[str]:
    """The private names that a class defines, or gives to itself, in its source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    except (OSError, TypeError):
        return frozenset()
    return frozenset(name for name, _ in names_in(tree) if private(name))


def names_in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that is defined in it, or read from or given to ``self``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node.attr, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno


def uses() -> Iterator[tuple[str, str]]:
    """Each use of a private name of Textual's: the module, and the name."""
    for found in pkgutil.walk_packages(unstuck_tui.__path__, "unstuck_tui."):
        module = importlib.import_module(found.name)
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "textual":
                parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                yield from ((found.name, part) for part in parts if private(part))
            elif isinstance(node, ast.Attribute) and private(node.attr) and ast.unparse(node.value) != "self":
                yield from ((found.name, name) for name in {node.attr} & of_widgets())
        for owner in vars(module).values():
            if inspect.isclass(owner) and owner.__module__ == found.name:
                theirs = frozenset[str]().union(
                    *(names_of(base) for base in owner.__mro__ if base.__module__.partition(".")[0] == "textual")
                )
                yield from ((found.name, name) for name in sorted(names_of(owner) & theirs))


@cache
def of_widgets() -> frozenset[str]:
    """The private names of what the app hands around: itself, its screens, its widgets, and its driver."""
    from textual.app import App
    from textual.drivers.linux_driver import LinuxDriver
    from textual.screen import Screen

    owners = {base for owner in (App, Screen, LinuxDriver) for base in owner.__mro__}
    return frozenset[str]().union(*(names_of(owner) for owner in owners if owner.__module__.startswith("textual")))


def test_textual_is_private_to_one_package() -> None:
    """Parts of Textual that a release may change are used in one package, where each name is tested."""
    found = set(uses())
    assert {name for module, name in found if module.startswith(ALLOWED)} >= {
        "_display",
        "_xterm_parser",
        "_driver",
        "_file",
    }
    assert sorted(use for use in found if not use[0].startswith(ALLOWED)) == []
