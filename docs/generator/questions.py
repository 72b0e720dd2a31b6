"""Every question with its answers, from the gates and the dialogs."""

from __future__ import annotations

from docs.generator.markdown import code, table

from unstuck.supervision.gates.gate_types import CHOICES

__all__ = ["answers"]


def answers() -> str:
    """The answers that each type of question takes."""
    return table(("question", "answers"), [(code(name), _listed(choices)) for name, choices in CHOICES.items()])


def _listed(choices: tuple[str, ...]) -> str:
    return ", ".join(code(choice.replace("_", "-")) for choice in choices)
