"""Recorded outputs name no machine and no package index, only neutral stand-ins: /home/dev and index.example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
# A path begins here: not in the middle of another one.
START = r"(?:(?<![\w.\-}~/])|(?<=file://))"
TRACES = {
    "a home directory other than /home/dev or /home/ann": re.compile(
        rf"{START}(?:/home/(?!(?:dev|ann)\b)[\w.-]+|/Users/[\w.-]+|/root/[\w.-]+)|[A-Z]:\\+Users\\+\w+"
    ),
    "a directory of one machine": re.compile(rf"{START}/(?:opt|work|workspace)/[\w.-]+"),
    "a temporary directory of one user": re.compile(
        r"/var/folders/\w+|/tmp/(?:pip|pytest-of|npm|cargo|go-build|user|claude|codex)[\w.-]*|-tmp-[\w-]+"
    ),
    "the host of a package index": re.compile(
        r"\b(?:pypi\.org|(?:files\.)?pythonhosted\.org|registry\.(?:npmjs\.org|yarnpkg\.com)|(?:[\w-]+\.)?crates\.io"
        r"|(?:proxy|sum)\.golang\.org|repo1?\.maven(?:\.apache)?\.org|rubygems\.org|packagist\.org|nuget\.org"
        r"|(?:deb|security)\.debian\.org|(?:archive|security)\.ubuntu\.com|docker\.io|conda\.anaconda\.org)\b"
    ),
}


def traces(line: str) -> list[str]:
    """Each trace of a machine in a line, which may be JSON: its escaped line ends are no part of a path."""
    plain = re.sub(r"\\+[nrt](?=[/\W]|[A-Z]:)|\\+u[0-9a-f]{4}", " ", line)
    return [f"{found.group()} ({what})" for what, trace in TRACES.items() for found in trace.finditer(plain)]


@pytest.mark.parametrize(
    "line",
    [
        "Looking in links: /opt/wheels",
        "Looking in indexes: file:///opt/index/simple",
        '{"output": "warning\\n/work/shop/a.py:3: error"}',
        '{"again": "in \\"/root/.npm/_logs/a.log\\""}',
        "/home/ci/w/app",
        "at C:\\\\Users\\\\kim\\\\app",
        "/tmp/pytest-of-kim/pytest-0",
        "GET https://registry.npmjs.org/left-pad",
        "location searched: crates.io index",
    ],
)
def test_a_trace_of_a_machine_is_found(line: str) -> None:
    """Paths and hosts that a tool prints of the machine it ran on are recognised, also within JSON."""
    assert len(traces(line)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "/home/dev/work/app/main.py",
        "/home/ann/shop",
        "/srv/ci/175/work/s.py",
        "node_modules/react/build/index.js",
        "/usr/local/lib/python3.11/ast.py",
        "https://index.example/left-pad",
        "#11 [2/5] WORKDIR /app",
    ],
)
def test_a_neutral_name_is_no_trace(line: str) -> None:
    """Places that every system has, and the names that stand in for those of one machine, may be recorded."""
    assert traces(line) == []


def test_recorded_data_name_no_machine() -> None:
    """Nobody learns from a recorded output where it was made, and no test needs a host that it names."""
    files = sorted(path for path in (TOP / "tests" / "data").rglob("*") if path.is_file())
    assert files
    found = [
        f"{path.relative_to(TOP)}:{number}: {trace}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for trace in traces(line)
    ]
    assert found == [], "put a neutral name in its place (/home/dev, index.example):\n" + "\n".join(found)
