"""Installed packages as they lie on the disk: a package's metadata, its documentation and what it defines.

Looked for in the tree's own environments and in those that the environment names; nothing is imported or run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

_READ_LIMIT = 200_000
_LINES = 40
_DEFINED = re.compile(r"^(?:async def|def|class)\s+(?!_)\w+.{0,100}", re.MULTILINE)
_FIELDS = ("Name:", "Version:", "Summary:", "Requires-Python:", "Requires-Dist:")
_ENVIRONMENTS = (".venv", "venv", "env")


def describe(tree: Path, name: str, environ: Mapping[str, str]) -> str:
    """Describe the package or module ``name``; says where it was looked for when it is not installed."""
    scripts = name.startswith("@") or "/" in name
    top = name if scripts else name.split(".")[0]
    if not re.fullmatch(r"@?[\w.-]{1,100}(?:/[\w.-]{1,100})?", top) or ".." in top:
        return ""
    places = list(_places(tree, environ))
    for place in places:
        if said := _python(place, top, name):
            return said
    package = tree / "node_modules" / top
    if said := _script(package):
        return said
    looked = ", ".join([*(_shown(place, tree) for place in places), *(["node_modules"] * package.parent.is_dir())])
    return f"{top} is not installed. Looked in: {looked or 'no environment was found'}."


def _places(tree: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """The directories in which Python finds packages, the project's own first."""
    prefixes = [tree / folder for folder in _ENVIRONMENTS]
    if environ.get("VIRTUAL_ENV"):
        prefixes.append(Path(environ["VIRTUAL_ENV"]))
    if python := shutil.which("python3", path=environ.get("PATH", "")):
        prefixes.append(Path(os.path.realpath(python)).parent.parent)
        prefixes.append(Path(python).parent.parent)
    seen: set[Path] = set()
    for prefix in prefixes:
        for place in sorted(prefix.glob("lib/python3*/*-packages")):
            if place not in seen:
                seen.add(place)
                yield place


def _python(place: Path, top: str, name: str) -> str:
    parts = [_metadata(_read(folder / "METADATA")) for folder in place.glob("*.dist-info") if _is_of(folder, top)]
    module = place / name.replace(".", "/")
    for file in (module / "__init__.py", module.with_name(f"{module.name}.py"), place / top / "__init__.py"):
        if text := _read(file):
            defined = "\n".join(islice((found[0] for found in _DEFINED.finditer(text)), _LINES))
            parts.append(f"{_shown(file, place)}:\n{defined or _head(text)}")
            break
    return "\n\n".join(filter(None, parts))


def _is_of(folder: Path, name: str) -> bool:
    """Return whether this is the metadata of the package ``name``: hyphen, underscore and dot are the same in names."""
    return _plain(folder.name.removesuffix(".dist-info").rpartition("-")[0]) == _plain(name)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _metadata(text: str) -> str:
    head, _, body = text.partition("\n\n")
    fields = [line[:200] for line in head.splitlines() if line.startswith(_FIELDS)][:_LINES]
    return "\n".join([*fields, "", _head(body)]).strip()


def _script(package: Path) -> str:
    text = _read(package / "package.json")
    if not text:
        return ""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    keys = ("name", "version", "description", "main", "module", "types", "exports")
    fields = [f"{key}: {str(said[key])[:300]}" for key in keys if isinstance(said, dict) and key in said]
    return "\n".join([*fields, "", _head(_read(package / "README.md"))]).strip()


def _head(text: str) -> str:
    lines = [line[:200] for line in text.strip().splitlines() if line.strip()]
    return "\n".join(lines[:_LINES])


def _read(file: Path) -> str:
    """The beginning of a regular file; empty where there is none."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            return stream.read(_READ_LIMIT).decode("utf-8", "replace") if file.is_file() else ""
    except (OSError, ValueError):
        return ""


def _shown(path: Path, base: Path) -> str:
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)
