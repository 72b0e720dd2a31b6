"""The wheel that users install, and its metadata."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest
from tests.documents import TOP

from unstuck.version import __version__


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel, built from the sources with what is installed already."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(place)]
    subprocess.run(command, cwd=TOP, check=True, capture_output=True)
    (path,) = place.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return email.message_from_bytes(wheel.read(name))


def test_the_wheel_holds_its_packages_alone(wheel: zipfile.ZipFile) -> None:
    """It has every module and data file of its packages, the hook program, and no test, document or picture."""
    prefix = f"unstuck-{__version__}"
    names = {name for name in wheel.namelist() if not name.startswith(f"{prefix}.dist-info/")}
    sources = {
        path.relative_to(TOP / top).as_posix()
        for top, package in (("core", "unstuck"), ("tui", "unstuck_tui"), ("tui", "unstuck_web"))
        for path in (TOP / top / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == sources | {f"{prefix}.data/scripts/unstuck-hook"}
    assert {"unstuck/py.typed", "unstuck_tui/py.typed", "unstuck/__main__.py"} <= names


def test_the_installed_wheel_runs(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """``python -m unstuck`` is the command, from the wheel alone, and ``-V`` is the version that Python reports."""
    wheel.extractall(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "unstuck", "-V"]
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert said == f"unstuck {__version__}\n"
    where = [sys.executable, "-c", "import unstuck, unstuck.__main__ as m; print(m.__file__, unstuck.__version__)"]
    said = subprocess.run(where, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert said == f"{tmp_path}/unstuck/__main__.py {__version__}\n"


def test_the_metadata_say_what_an_index_shows(wheel: zipfile.ZipFile) -> None:
    """Version, Pythons and licence are there; the README has its words, and no link or picture that leads nowhere."""
    told = metadata(wheel)
    assert told["Version"] == __version__
    assert told["Requires-Python"] == ">=3.11"
    assert told["License-Expression"] == "MIT"
    (tried,) = re.findall(r"^VERSIONS \?= (.*)$", (TOP / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = [one.rpartition(" ")[2] for one in told.get_all("Classifier", []) if " :: 3." in one]
    assert named == tried.split()
    assert told["Description-Content-Type"] == "text/markdown"
    text = str(told.get_payload())
    assert text.startswith("# Unstuck\n\nUnstuck supervises coding agents")
    assert "Install Unstuck" in text
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert [target for target in targets if not target.startswith("https://")] == []
    assert "![" not in text


def test_every_dependency_has_a_lower_bound_and_caps_are_few() -> None:
    """``make lowest`` can install each lower bound; a package that others share is not kept from its next version."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = project["dependencies"]
    assert all(re.match(r"[\w-]+>=\d", one) for one in wanted)
    assert [re.split("[><]", one)[0] for one in wanted if "<" in one] == ["textual"]
