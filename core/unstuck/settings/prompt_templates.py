"""Prompt templates of the user for escalation levels, and their placeholders."""

from __future__ import annotations

import re
from typing import Literal

from unstuck.settings.messages import shown

Rung = Literal["first", "retry", "pivot", "research", "human", "continue"]
PLACEHOLDER = re.compile(r"\{([a-z_]{1,30})\}")
PLACEHOLDERS = (
    "instruction", "answer", "advice", "approach", "problem", "hint", "failed", "insights", "restored", "progress",
    "evidence", "check", "signals",
)  # fmt: skip
_LONGEST = 20_000


def checked_templates(templates: dict[Rung, str]) -> dict[Rung, str]:
    """``templates`` unchanged. Raises ValueError for an unknown placeholder, or where a person's words are left out."""
    for rung, text in templates.items():
        if not text.strip() or len(text) > _LONGEST:
            raise ValueError(f"{rung} must be text of 1 to {_LONGEST} characters")
        for name in PLACEHOLDER.findall(text):
            if name not in PLACEHOLDERS:
                allowed = ", ".join(PLACEHOLDERS)
                raise ValueError(f"{rung}: there is no placeholder {shown('{' + name + '}')}; allowed are {allowed}")
    if "human" in templates and "{answer}" not in templates["human"]:
        raise ValueError("human must hold {answer}: without it the person's words would not reach the agent")
    return templates
