"""Text fields, as far as they need private names of Textual's. No first frame has one, and they load slowly."""

from __future__ import annotations

from textual import events
from textual.widgets import Input, TextArea


class PasteInput(Input):
    """A field of one line. Subclasses say what ``pasted`` makes of a text."""

    def pasted(self, text: str) -> str:
        """The part of a pasted ``text`` that goes into the field."""
        return text

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default().stop()
        super()._on_paste(events.Paste(self.pasted(event.text)))


class PasteTextArea(TextArea):
    """A field of several lines. Subclasses say what ``pasted`` makes of a text."""

    def pasted(self, text: str) -> str:
        """The part of a pasted ``text`` that goes into the field."""
        return text

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default().stop()
        await super()._on_paste(events.Paste(self.pasted(event.text)))
