"""A restore in words: the same on the screen and in the command. Pure, and light."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

PLANNED = {"change": "changes", "return": "returns", "disappear": "disappears"}
"""The change of a file in words, by its name in a plan."""
_OF_MANY = {word: kind for kind, word in PLANNED.items()}


def plan_text(checkpoint: str, tree: str, becomes: Iterable[str]) -> str:
    """The plan of a restore of ``checkpoint`` in ``tree``; ``becomes`` is what becomes of each file."""
    parts = [
        f"1 file {word}" if count == 1 else f"{count} files {_OF_MANY.get(word, word)}"
        for word, count in Counter(becomes).items()
    ]
    return f"{checkpoint} restores in {tree}: {', '.join(parts) or 'nothing, the files are the same'}"


def under_way_text(what: str) -> str:
    """The remark on ``what`` git is in the middle of, such as ``a rebase``."""
    return f"{what} is under way here: only files are restored, it stays as it is"
