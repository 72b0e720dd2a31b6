"""The base of the models of rows and messages."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Row(BaseModel):
    """One JSON object. A reader ignores fields that it does not know: a new version may add some."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
