"""The server that agents start for their own calls: in whose settings it is, and whether it works there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unstuck.agents.mcp.server_files import entry_files, trouble_with
from unstuck.runs.doctor.finding import Finding
from unstuck.text import one_line
from unstuck.workspace.project import Project

__all__ = ["servers"]


def servers(place: Project, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Every settings file that has it, or cannot be understood."""
    for file in entry_files(place.root, environ):
        trouble, mend = trouble_with(file)
        if trouble:
            yield Finding("mcp", f"{file.agent.name}: {one_line(trouble, 400)}", ok=False, mend=one_line(mend, 400))
        elif file.state == "installed":
            yield Finding("mcp", f"{file.agent.name}: {one_line(str(file.path), 300)}")
