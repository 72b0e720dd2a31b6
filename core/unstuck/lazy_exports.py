"""Lazy exports: names of a package that are imported on first use, so that importing the package is cheap."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def when_used(
    package: str, names: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of ``package`` (PEP 562); ``names`` maps modules to names."""
    modules = {name: module for module, those in names.items() for name in those}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(modules), find, lambda: sorted({*modules, *vars(sys.modules[package])})
