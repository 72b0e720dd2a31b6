"""``python -m unstuck`` is the command ``unstuck``."""

from __future__ import annotations

from importlib import import_module

if __name__ == "__main__":
    # By its name, because nothing else of the core knows the commands.
    import_module("unstuck_tui.cli").main()
