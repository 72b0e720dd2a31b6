"""The README as a package index shows it: without pictures and links that lead into the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"^!\[[^\]\n]*\]\((?!https?://)[^)\n]*\)\n\n?", re.MULTILINE)
_LINK = re.compile(r"\[([^\]\n]*)\]\((?!https?://|#)[^)\n]*\)")


def index_readme(text: str) -> str:
    """Return ``text`` with the words of its relative links alone, and without its relative pictures."""
    return _LINK.sub(r"\1", _PICTURE.sub("", text))


class IndexReadme(MetadataHookInterface):
    """Sets ``readme``."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": index_readme(text)}
