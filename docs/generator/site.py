"""The source of the site in one directory: every page with its tables filled in, the pictures and ``llms.txt``."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from docs.generator.agents import AGENT_TABLES, acp_agents, known_agents
from docs.generator.commands import commands
from docs.generator.events import events
from docs.generator.exit_codes import exit_codes
from docs.generator.glossary import glossary, screen_signs, task_states
from docs.generator.keys import keys
from docs.generator.old_names import old_names
from docs.generator.plans import agent_keys, plan_keys, task_keys
from docs.generator.python_api import python_api
from docs.generator.questions import answers
from docs.generator.settings import placeholders, settings, time_limits, timers

__all__ = ["TABLES", "TOP", "filled", "pages", "write_site"]

TOP = Path(__file__).resolve().parents[2]
TABLES: Mapping[str, Callable[[], str]] = {
    **{
        one.__name__: one
        for one in (
            acp_agents, agent_keys, answers, commands, events, exit_codes, glossary, keys, known_agents, old_names,
            placeholders, plan_keys, python_api, screen_signs, settings, task_keys, task_states, time_limits, timers,
        )
    },
    **AGENT_TABLES,
}  # fmt: skip
"""What a page may ask for with ``<!-- generated: NAME -->``."""
_ASKED = re.compile(r"<!-- generated: (\w+) -->")
_PICTURES = "screenshots"


def filled(text: str) -> str:
    """``text`` with what the code says where it asks for it. Raises KeyError for a name that does not exist."""
    return _ASKED.sub(lambda found: TABLES[found[1]](), text)


def pages() -> dict[str, str]:
    """Every page by its path below ``docs``, filled in."""
    docs = TOP / "docs"
    return {str(page.relative_to(docs)): filled(page.read_text("utf-8")) for page in sorted(docs.rglob("*.md"))}


def write_site(target: Path) -> None:
    """Write the source of the site to ``target``, which is emptied first."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(TOP / _PICTURES, target / _PICTURES)
    written = pages()
    for path, text in written.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text, encoding="utf-8")
    (target / "llms.txt").write_text(_overview(written), encoding="utf-8")
    (target / "llms-full.txt").write_text(_everything(written), encoding="utf-8")


def _overview(written: Mapping[str, str]) -> str:
    """``llms.txt``: what Unstuck is, and each page with its first sentence."""
    lines = ["# Unstuck", "", f"> {_first(written['index.md'])}", ""]
    for section, entries in _nav():
        lines += [
            f"## {section}",
            "",
            *(f"- [{title}]({page.removesuffix('.md')}.html): {_first(written[page])}" for title, page in entries),
            "",
        ]
    return "\n".join(lines)


def _everything(written: Mapping[str, str]) -> str:
    """``llms-full.txt``: all pages in the order of the navigation."""
    return "\n\n".join(written[page].strip() for _, entries in _nav() for _, page in entries) + "\n"


def _nav() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    nav: list[dict[str, Any]] = yaml.safe_load((TOP / "mkdocs.yml").read_text("utf-8"))["nav"]
    for part in nav:
        for section, inside in part.items():
            entries = [{section: inside}] if isinstance(inside, str) else inside
            yield section, [(title, page) for entry in entries for title, page in entry.items()]


def _first(text: str) -> str:
    """The first sentence of a page."""
    paragraph = next(part for part in text.split("\n\n") if re.match(r"[A-Z*\[]|`[^`]", part))
    plain = " ".join(re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", paragraph).split())
    return re.split(r"(?<=[.:!?])\s", plain, maxsplit=1)[0]
