"""The exit codes, from the table of the code."""

from __future__ import annotations

from docs.generator.markdown import code, table

from unstuck.errors import EXIT_CODES

__all__ = ["exit_codes"]


def exit_codes() -> str:
    """Each code with its reason and its meaning."""
    return table(
        ("code", "`exit_reason`", "meaning"),
        [(str(number), code(reason), meaning) for number, (reason, meaning) in EXIT_CODES.items()],
    )
