"""``python -m unstuck`` is the command ``unstuck``."""

from __future__ import annotations

from importlib import import_module

if __name__ == "__main__":
    # By its name: the core imports no screen.
    import_module("unstuck_tui").main()
