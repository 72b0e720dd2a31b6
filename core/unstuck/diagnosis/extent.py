"""Extent of a failure: the stage at which a check failed, and how many errors and passes its output counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Stage = Literal["", "parse", "load", "run"]
"""Stage of a failed check: parsing, loading (compile, import, collect) or running tests; empty: unknown."""
NOT_RUN: tuple[Stage, ...] = ("parse", "load")
"""The stages at which nothing has run."""
_ORDER: tuple[Stage, ...] = ("", "parse", "load", "run")


@dataclass(frozen=True, slots=True)
class Extent:
    """Extent of a failure. ``errors`` and ``passed`` are counts, 0 where none is known."""

    stage: Stage = ""
    errors: int = 0
    passed: int = 0

    def is_better_than(self, best: Extent) -> bool:
        """Return whether this is known to be closer to passing: a later stage, fewer errors, or more passes.

        Tests that no longer run are never closer than tests that failed.
        """
        if self.stage and best.stage and self.stage != best.stage and "run" in (self.stage, best.stage):
            return self.stage == "run"
        if best.stage and _ORDER.index(self.stage) > _ORDER.index(best.stage):
            return True
        if self.errors == best.errors:
            return self.passed > best.passed
        return bool(self.errors) and self.errors < best.errors

    def after(self, best: Extent) -> Extent:
        """Return the new best extent where this one is better than ``best``. A stage stays reached."""
        return Extent(max(self.stage, best.stage, key=_ORDER.index), self.errors, self.passed)

    def broke(self, before: Extent) -> bool:
        """Return whether this is known to be worse than ``before``: nothing runs, or more errors at the same stage.

        A compiler stops at the first stage with errors, so more errors of a later stage are no worse.
        """
        if before.stage == "run":
            return self.stage in NOT_RUN
        return bool(self.stage) and self.stage == before.stage and self.errors > before.errors > 0


UNKNOWN_EXTENT = Extent()
