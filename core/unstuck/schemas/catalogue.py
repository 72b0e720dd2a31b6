"""The schemas by name: of each command with ``--json``, of the socket, and of each event."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import TypeAdapter

from unstuck.errors import UsageError
from unstuck.eventlog.events import EVENTS
from unstuck.schemas import control, project, runs
from unstuck.supervision.recovery.facts import RecoveryState
from unstuck.words.did_you_mean import near


class Schema(NamedTuple):
    """A schema. Raise ``version`` with each change of ``type``: a test asks for it."""

    version: int
    type: Any

    @property
    def adapter(self) -> TypeAdapter[Any]:
        """The validator of one object."""
        return TypeAdapter(self.type)


_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_INSTALLED = project.Installation | project.FileChanged
SCHEMAS: dict[str, Schema] = {
    "answer": Schema(2, project.Answered),
    "checkpoints": Schema(1, project.WholeCheckpoint | project.Checkpoint | project.Change | project.RestoreDone),
    "config": Schema(1, project.Setting | project.Source | project.SettingsPath),
    "delete": Schema(1, project.Goes | project.Stays | project.Blocked | project.Deleted),
    "demo": Schema(1, runs.EventRecord | runs.RunResult | project.Scenario),
    "diagnose": Schema(1, project.Diagnosis | project.NoFailure),
    "doctor": Schema(1, project.Finding),
    "events": Schema(1, runs.EventRecord),
    "fleet": Schema(1, project.FleetKey | project.FleetHost | project.FleetFinding),
    "fsck": Schema(1, project.LogCheck),
    "hooks": Schema(1, _INSTALLED),
    "mcp": Schema(1, _INSTALLED),
    "memory": Schema(3, project.Remembered | project.Forgotten | project.KnownApproach),
    "permissions": Schema(1, runs.Permission),
    "recap": Schema(1, runs.RecapLine),
    "review": Schema(2, project.Session | project.TranscriptEntry),
    "run": Schema(1, runs.EventRecord | runs.RunResult),
    "runs": Schema(1, runs.Run | runs.DamagedRun | runs.Day),
    "show": Schema(5, runs.ShownRun | runs.ShownTask | runs.OpenQuestion | project.TranscriptEntry | RecoveryState),
    "signatures": Schema(1, project.Failure),
    "truth": Schema(1, project.Truth),
    "watch": Schema(1, runs.EventRecord | runs.RunResult),
    "what-if": Schema(1, project.WhatIfDifference | project.WhatIfRules | project.WhatIfTotal),
    "socket-request": Schema(4, control.REQUESTS),
    "socket-reply": Schema(1, control.REPLIES),
}


def schema_names() -> list[str]:
    """Return the names of all schemas, those of events last."""
    return [*SCHEMAS, *sorted(EVENTS)]


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of ``name`` with its version. Raises UsageError for an unknown name."""
    kind = SCHEMAS[name].type if name in SCHEMAS else EVENTS.get(name)
    if kind is None:
        raise UsageError(f"there is no schema {name}{near(name, schema_names())}; `unstuck schema` lists them")
    found = TypeAdapter(kind).json_schema(mode="serialization")
    version = SCHEMAS[name].version if name in SCHEMAS else _fields(found)
    return {"$schema": _DIALECT, "$id": f"unstuck:{name}:{version}", "x-version": version} | found


def _fields(schema: Any) -> int:
    """Return the number of fields in a schema, which is the version of an event: events only ever grow."""
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    own = len(schema.get("properties", ())) if isinstance(schema, dict) else 0
    return own + sum(map(_fields, inner))
