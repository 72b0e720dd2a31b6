"""The floor plan: no package imports in a circle, and none has more modules than one can keep in mind."""

from __future__ import annotations

from functools import cache
from graphlib import CycleError, TopologicalSorter

import click
import grimp

from unstuck_tui.cli import cli
from unstuck_tui.cli.catalogue import HIDDEN, module_of

ROOTS = ("unstuck", "unstuck_tui", "unstuck_web")
MOST = 12
# Packages that do not hold yet. A list only gets shorter: what holds is struck off.
STILL_CIRCULAR: set[str] = set()
STILL_LARGE = {"unstuck", "unstuck.diagnosis.parsers"}


@cache
def imports() -> grimp.ImportGraph:
    """Every import of the packages: also those inside functions, and those for type checkers only."""
    return grimp.build_graph(*ROOTS, exclude_type_checking_imports=False)


def packages() -> list[str]:
    """Every package that has modules."""
    return sorted(name for name in imports().modules if imports().find_children(name))


def circle_in(package: str) -> list[str]:
    """The modules and packages of ``package`` that import each other in a circle, itself included; else nothing."""
    graph, children = imports(), imports().find_children(package)
    arrows = {
        one: {
            other
            for other in children
            if other != one and graph.direct_import_exists(importer=one, imported=other, as_packages=True)
        }
        for one in children
    }
    arrows[package] = {one for one in children if graph.find_modules_directly_imported_by(package) & within(one)}
    for one in children:
        if graph.find_modules_that_directly_import(package) & within(one):
            arrows[one].add(package)
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def within(name: str) -> set[str]:
    """A module with all that is below it."""
    return {name, *imports().find_descendants(name)}


def size_of(package: str) -> int:
    """Return the number of its modules and packages; command files of the command line do not count."""
    commands = [*cli.list_commands(click.Context(cli)), *HIDDEN] if package == "unstuck_tui.cli" else []
    return len(imports().find_children(package) - {module_of(name) for name in commands})


def test_every_kind_of_import_is_seen() -> None:
    """An import inside a function counts, and one that only type checkers follow."""
    assert imports().direct_import_exists(importer="unstuck_tui.app.base_app", imported="unstuck_tui.screens.reading")
    assert imports().direct_import_exists(
        importer="unstuck_tui.cli.attached", imported="unstuck.runs.view.followed_run"
    )


def test_no_package_imports_in_a_circle() -> None:
    """The imports of a package form no circle."""
    found = {package: circle for package in packages() if (circle := circle_in(package))}
    assert {package: circle for package, circle in found.items() if package not in STILL_CIRCULAR} == {}
    assert STILL_CIRCULAR - found.keys() == set(), "these have no circle any more: strike them off the list"


def test_no_package_is_too_large() -> None:
    """A package has at most twelve modules and packages, so that its plan can be kept in mind."""
    found = {package: size_of(package) for package in packages() if size_of(package) > MOST}
    assert {package: size for package, size in found.items() if package not in STILL_LARGE} == {}
    assert STILL_LARGE - found.keys() == set(), "these are small enough by now: strike them off the list"
