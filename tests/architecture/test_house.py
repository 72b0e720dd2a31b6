"""Rules for every file of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PACKAGES = ("core", "tui")
PLACES = (*PACKAGES, "docs", "tests", ".ci")
LONGEST = 600
# Texts that tests feed to the product may show any path; in what is shipped none may point at somebody's machine.
FORBIDDEN = {
    "a directory of one machine": re.compile(r"(?<![\w.\-}~/])/(?:root|work)/"),
    "a package index": re.compile(r"https?://[\w.\-]*(?:pypi|pythonhosted|npmjs|goproxy|crates)\b"),
}
CLAUSE = re.compile(r'^ *r?"""((?:What|Who|Whoever|Where|How|Whether)\b.*)', re.MULTILINE)
# These two show what is forbidden.
SHOW_FORBIDDEN = {"test_house.py", "test_recorded_data.py"}


def modules() -> list[Path]:
    """Every Python module of the two packages."""
    return sorted(path for package in PACKAGES for path in (TOP / package).rglob("*.py"))


def texts() -> Iterator[Path]:
    """Every text file that is shipped or runs the project, without the tests' recorded data and this file."""
    for place in PLACES:
        for path in sorted((TOP / place).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and "data" not in path.parts:
                yield path
    yield from (path for path in sorted(TOP.iterdir()) if path.is_file() and path.name != ".git")


def lines(path: Path) -> list[str]:
    """The file's lines; a picture has none."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []


def test_modules_stay_small() -> None:
    """No module grows past what can be read in one sitting."""
    assert modules()
    assert {str(path.relative_to(TOP)): len(lines(path)) for path in modules() if len(lines(path)) > LONGEST} == {}


def test_every_module_says_what_it_is() -> None:
    """Every module that holds anything begins with a docstring."""
    mute = [path for path in modules() if lines(path) and not re.match(r'(#!.*\n+)?r?"""', path.read_text("utf-8"))]
    assert [str(path.relative_to(TOP)) for path in mute] == []


def test_docstrings_begin_with_the_thing() -> None:
    """A docstring names what the thing is or does, without a clause as its subject."""
    paths = (*modules(), *sorted((TOP / "tests").rglob("*.py")))
    assert [
        f"{path.relative_to(TOP)}: {text}" for path in paths for text in CLAUSE.findall(path.read_text("utf-8"))
    ] == []


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Pythons before 3.11.5 match such a pattern wrongly, and a secret goes through: an atomic group they know."""
    possessive = re.compile(r"\)(?:[*+?]|\{{1,2}[\d,]+\}{1,2})\+(?!\s|$)")
    assert possessive.search('r"(?:a|bc)*+d"')
    assert {str(path.relative_to(TOP)) for path in modules() if possessive.search(path.read_text("utf-8"))} == set()


def test_no_handler_of_the_screen_calls_the_one_above() -> None:
    """Textual calls the handler of every class by itself: called there, too, it works twice."""
    handlers = re.compile(r"super\(\)\.on_(?!event\b)\w+\(")
    assert {str(path.relative_to(TOP)) for path in modules() if handlers.search(path.read_text("utf-8"))} == set()


@pytest.mark.parametrize("what", FORBIDDEN)
def test_nothing_of_one_machine(what: str) -> None:
    """No file names a directory of one machine or the address of a package index."""
    found = [
        f"{path.relative_to(TOP)}:{number}"
        for path in texts()
        if path.name not in SHOW_FORBIDDEN
        for number, line in enumerate(lines(path), 1)
        if FORBIDDEN[what].search(line)
    ]
    assert found == []


def test_test_names_are_unique() -> None:
    """Two test files never share a name, so that a failure's name leads to one file."""
    names = [path.name for path in (TOP / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_check_runs_everything_in_order() -> None:
    """``make check`` runs format, lint, types, import contracts and tests, in this order."""
    assert shutil.which("make"), "make is needed to work on this project"
    # Below another make, its flags would be inherited.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--dry-run", "--no-print-directory", "check"]
    said = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=True).stdout
    steps = ["ruff format --check", "ruff check", "mypy", "lint-imports", "pytest"]
    places = [re.search(rf"^(?:[A-Z_]+=\S+ )*(?:\S*(?:python -m )?|\S*/){step}", said, re.MULTILINE) for step in steps]
    assert None not in places
    assert [place.start() for place in places if place] == sorted(place.start() for place in places if place)


def test_pins_cover_what_is_declared() -> None:
    """Every declared dependency, tool and build requirement has one exact version in ``constraints.txt``."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
    groups = project["dependency-groups"]
    declared = [*project["project"]["dependencies"], *groups["dev"], *groups["docs"]]
    declared += project["build-system"]["requires"]
    pinned = dict(line.split("==") for line in lines(TOP / "constraints.txt") if not line.startswith("#"))
    names = {re.split(r"[<>=~! ]", requirement)[0].lower() for requirement in declared}
    assert names - {name.lower() for name in pinned} == set()
    assert all(re.fullmatch(r"[\w.]+", version) for version in pinned.values())
