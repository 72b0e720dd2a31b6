"""Public names are real to the tools of a user: type checkers and editors."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from enum import Enum
from pathlib import Path

import pytest
from tests.documents import DOCUMENTS, TOP

import unstuck

SAMPLE = Path(__file__).with_name("sample_program.py")
WRONG = """
import unstuck
from unstuck import NoSuchThing
from unstuck import Task, Supervisor

Task(id=3, nonsense=True)
Supervisor.open(7)
unstuck.supervise_sync("Write it.", agent="claude")
reveal_type(unstuck.diagnose)
"""


# The programs for frameworks are judged without the packages of those.
MYPY = ("--strict", "--ignore-missing-imports", "--allow-untyped-decorators", "--allow-subclassing-any")
FRAMEWORKS = ("pydantic_ai", "langgraph", "minisweagent")


def judged(checker: str, place: Path, *files: Path) -> tuple[int, str]:
    """The exit code and the output of a type checker, run as a user does, far from the sources of the project."""
    config = place / "pyrightconfig.json"
    config.write_text('{"typeCheckingMode": "strict", "reportMissingTypeStubs": false}', encoding="utf-8")
    command = {
        "mypy": [sys.executable, "-m", "mypy", *MYPY, "--cache-dir", str(place / "cache"), *map(str, files)],
        "pyright": [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--project", str(config)],
    }[checker]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def programs() -> dict[str, str]:
    """The Python programs of the documents that import unstuck."""
    found = {
        f"{Path(document).stem}_{number}.py": text
        for document, whole in DOCUMENTS.items()
        for number, text in enumerate(re.findall(r"^```python\n(.*?)^```$", whole, re.MULTILINE | re.DOTALL))
    }
    return {name: text for name, text in found.items() if "unstuck import" in text or "import unstuck" in text}


def test_the_sample_uses_every_public_name() -> None:
    """No public name is left out of what the type checkers judge."""
    names = {node.id for node in ast.walk(ast.parse(SAMPLE.read_text("utf-8"))) if isinstance(node, ast.Name)}
    assert set(unstuck.__all__) - {"__version__"} <= names


def test_what_tools_read_is_what_runs() -> None:
    """The imports for type checkers name exactly what a program can import."""
    tree = ast.parse((TOP / "core" / "unstuck" / "__init__.py").read_text("utf-8"))
    imported = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert {name for name in imported if name != "__version__"} == set(unstuck.__all__) - {"__version__"}
    for name, module in imported.items():
        assert getattr(unstuck, name) is getattr(sys.modules[str(module)], name), name


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_programs_of_users_type_check(checker: str, tmp_path: Path) -> None:
    """A program with every public name, README's and the documents' programs have no error; wrong uses have one."""
    texts = programs()
    assert len(texts) >= 8
    if checker == "pyright":
        texts = {name: text for name, text in texts.items() if not any(one in text for one in FRAMEWORKS)}
    (tmp_path / "sample_program.py").write_text(SAMPLE.read_text("utf-8"), encoding="utf-8")
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    code, said = judged(checker, tmp_path, *sorted(tmp_path.glob("*.py")))
    assert code == 0, said
    wrong = tmp_path / "wrong" / "wrong.py"
    wrong.parent.mkdir()
    wrong.write_text(WRONG, encoding="utf-8")
    code, said = judged(checker, wrong.parent, wrong)
    assert code == 1
    for problem in ("NoSuchThing", "nonsense", "Path", '"agent"', "Diagnosis"):
        assert problem in said, said
    assert len(re.findall(r"wrong\.py:\d+.*error", said)) >= 5, said


def test_importing_the_package_imports_no_part() -> None:
    """``import unstuck`` imports nothing of what works, whatever type checkers read."""
    program = (
        "import sys; before = set(sys.modules); import unstuck; "
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('unstuck') or '.' in name))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {program}"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert ast.literal_eval(done.stdout) == ["__future__", "unstuck.version"]


@pytest.mark.parametrize("name", sorted(set(unstuck.__all__) - {"__version__", "Clean"}))
def test_every_public_class_shows_how_it_is_used(name: str) -> None:
    """Each public class but exceptions and enumerations has an example, which is Python, and so has ``supervise``."""
    value = getattr(unstuck, name)
    plain = not inspect.isclass(value) or issubclass(value, Exception | Enum)
    if plain and name != "supervise":
        assert value.__doc__
        return
    _, _, example = inspect.cleandoc(value.__doc__).partition("Example::\n\n")
    assert example
    wrapped = "async def example():\n" + example
    names = {node.id for node in ast.walk(ast.parse(wrapped)) if isinstance(node, ast.Name)}
    assert {one for one in names if one[:1].isupper()} - {"SystemClock"} <= set(unstuck.__all__)
