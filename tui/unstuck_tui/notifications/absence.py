"""Absence of the person: no key for ten minutes while the run went on."""

from __future__ import annotations

from unstuck.runs.view.run_view import RunView

AWAY_S = 600.0
"""Seconds without a key after which a recap is shown."""


class Absence:
    """Tells when the person is back, and from which event on they have missed something."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._last, self._seen = view.clock.monotonic(), view.state.seq
        self._missed: int | None = None

    def sign(self) -> None:
        """Note a sign of the person: a key, or the terminal's focus."""
        now, seq = self._view.clock.monotonic(), self._view.state.seq
        if now - self._last >= AWAY_S and seq > self._seen and self._missed is None and not self._view.is_past:
            self._missed = self._seen
        self._last, self._seen = now, seq

    def take(self) -> int | None:
        """Return the last event before the absence, once; None if the person has missed nothing."""
        missed, self._missed = self._missed, None
        return missed
