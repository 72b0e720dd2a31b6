"""The notice that the terminal is too small."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

__all__ = ["SmallNotice"]


class SmallNotice(Static):
    """Says which size there is, which is needed, and what the run does meanwhile."""

    DEFAULT_CSS = """
    SmallNotice { width: 100%; height: 100%; content-align: center middle; text-align: center; display: none; }
    """

    _told = ""

    def tell(self, size: Size, needed: Size, meanwhile: str) -> None:
        """Name both sizes; ``meanwhile`` is a sentence. Told the same again, nothing is drawn."""
        told = (
            f"This terminal has {size.width}x{size.height} cells.\n"
            f"unstuck needs {needed.width}x{needed.height}.\n{meanwhile}"
        )
        if told != self._told:
            self._told = told
            self.update(Content(told))
