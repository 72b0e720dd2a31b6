"""Targets of research before the next attempt: few, the most telling first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstuck.diagnosis.enums import Cause
from unstuck.escalation.research_targets import (
    MOST_TARGETS,
    Target,
    dependency_in,
    imports_in,
    related_files,
    research_targets,
    resolved,
)

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""Any: to work them out from a codec takes each worker of a fresh clone two seconds."""

FILES = ("shop/cart.py", "shop/units.py", "shop/a.py", "shop/b.py", "shop/note.md", "tests/test_cart.py", "web/main.ts")


def test_related_files_come_first() -> None:
    """The test of what failed, what it imports, then its neighbours; three at most."""
    imports = (("grams", "shop.units"),)
    assert related_files("shop/cart.py", FILES, imports) == ("tests/test_cart.py", "shop/units.py", "shop/a.py")
    assert related_files("tests/test_cart.py", FILES) == ("shop/cart.py",)
    assert related_files("", FILES) == ()
    assert related_files("gone/x.rs", FILES) == ()


def test_an_import_that_the_failure_names_is_looked_into() -> None:
    """The definition behind a name of the message, wherever it was imported from."""
    files = (*FILES, "lib/money/rates.py")
    targets = research_targets(
        Cause.SIMPLE_LOGIC,
        "TypeError: rate() takes 1 argument",
        file="shop/cart.py",
        imports=(("os", "os"), ("json", "json"), ("units", "shop.units"), ("a", "shop.a"), ("rate", "lib.money.rates")),
        files=files,
    )
    assert Target("file", "lib/money/rates.py") in targets
    assert len(targets) <= MOST_TARGETS


def test_the_dependency_of_a_dependency_failure() -> None:
    """Only where that is what failed."""
    said = "ModuleNotFoundError: No module named 'stripe'"
    assert Target("dependency", "stripe") in research_targets(Cause.DEPENDENCY_ISSUE, said)
    assert research_targets(Cause.SIMPLE_LOGIC, said) == ()


def test_examples_of_an_approach_that_is_wrong() -> None:
    """Examples of an approach are looked up if the approach or the pattern was wrong."""
    for cause in (Cause.APPROACH_WRONG, Cause.PATTERN_MISMATCH):
        assert research_targets(cause, "boom", approach="raw_body") == (Target("pattern", "raw_body"),)
    assert research_targets(Cause.SIMPLE_LOGIC, "boom", approach="raw_body") == ()


@pytest.mark.parametrize(
    ("headline", "name"),
    [
        ("ModuleNotFoundError: No module named 'pay.hooks'", "pay.hooks"),
        ("Error: Cannot find module '@pay/sdk'", "@pay/sdk"),
        ("ImportError: cannot import name 'x' from 'pay' (unknown)", "pay"),
        ("ERROR: No matching distribution found for pay-sdk", "pay-sdk"),
        ("Module not found: Error: Can't resolve 'left-pad' in '/x'", "left-pad"),
        ("Cannot find module './utils'", ""),
        ("boom", ""),
    ],
)
def test_the_name_of_a_dependency(headline: str, name: str) -> None:
    """As package managers and languages say it; a file of the project is none."""
    assert dependency_in(headline) == name


def test_imports_are_read() -> None:
    """Python's and JavaScript's, by the names that the file calls them by."""
    python = "from a.b import c, d as e\nimport f.g, h as i\n    from . import j\n# from z import y\nx = 'import k'\n"
    assert imports_in(python) == (("c", "a.b"), ("e", "a.b"), ("f", "f.g"), ("i", "h"), ("j", "."))
    script = "import { cart, total as sum } from './cart'\nconst pay = require('@pay/sdk')\n"
    assert ("cart", "./cart") in imports_in(script)
    assert ("sdk", "@pay/sdk") in imports_in(script)


@pytest.mark.parametrize(
    ("module", "file", "path"),
    [
        ("shop.units", "tests/test_cart.py", "shop/units.py"),
        ("units", "shop/cart.py", "shop/units.py"),
        ("../shop/units", "tests/x.ts", "shop/units.py"),
        ("./main", "web/x.ts", "web/main.ts"),
        ("../../../etc/passwd", "web/x.ts", ""),
        ("json", "shop/cart.py", ""),
    ],
)
def test_where_a_module_lies(module: str, file: str, path: str) -> None:
    """Its file in the tree, by its dots or its slashes; nothing where it is not of the tree."""
    assert resolved(module, file, FILES) == path


@given(
    st.text(CHARACTERS, max_size=300),
    st.text(CHARACTERS, max_size=60),
    st.lists(st.text(CHARACTERS, max_size=20), max_size=9),
    st.sampled_from(list(Cause)),
)
def test_whatever_a_failure_holds_there_are_at_most_five(said: str, file: str, files: list[str], cause: Cause) -> None:
    """No text and no path breaks the choice, and only paths of the tree are chosen."""
    targets = research_targets(cause, said, file=file, files=files, imports=imports_in(said), approach=said)
    assert len(targets) <= MOST_TARGETS
    assert all(target.name in files for target in targets if target.kind == "file")
