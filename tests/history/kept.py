"""Homes of a person with recorded sessions of the five agents, each in the place where its agent keeps it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "data" / "transcripts"
AGENTS = ("claude", "codex", "gemini", "qwen", "opencode")
_PLACES = {
    "claude": ".claude/projects/-home-ann-shop/{name}.jsonl",
    "codex": ".codex/sessions/2026/11/23/rollout-2026-11-23T09-21-57-{name}.jsonl",
    "gemini": ".gemini/tmp/shop/chats/session-2026-11-23T09-22-{name}.jsonl",
    "qwen": ".qwen/projects/-home-ann-shop/chats/{name}.jsonl",
    "opencode": ".local/share/opencode/opencode.db",
}


def keep(home: Path, agent: str, name: str = "loop") -> Path:
    """Put the recorded session ``name`` of ``agent`` where that agent would have put it; its file."""
    place = home / _PLACES[agent].format(name=name)
    place.parent.mkdir(parents=True, exist_ok=True)
    if agent == "opencode":
        with closing(sqlite3.connect(place)) as store:
            store.executescript((RECORDED / f"opencode_{name}.sql").read_text("utf-8"))
    else:
        shutil.copyfile(RECORDED / f"{agent}_{name}.jsonl", place)
    if agent == "gemini":
        (place.parents[1] / ".project_root").write_text("/home/ann/shop", encoding="utf-8")
    return place


def lines_of(agent: str, name: str = "loop") -> list[str]:
    """The lines of a recorded session."""
    return (RECORDED / f"{agent}_{name}.jsonl").read_text("utf-8").splitlines()
