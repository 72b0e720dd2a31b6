"""Tools of the server: descriptions for agents, and validation of arguments. Pure.

A model decides on a call by the description alone, so each says when to call and when not to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unstuck.errors import UsageError
from unstuck.text import one_line

SERVER = "unstuck"
"""Name of the server in agents' settings."""
MAX_GIVEN = 1_000_000
"""Most characters of a text argument; more is refused."""

INSTRUCTIONS = (
    "A supervisor sits beside you, and a person behind it. Call ask_human where only a person can decide, "
    "report_failure when the same thing has failed twice, checkpoint before anything risky, "
    "and report_progress whenever a step of longer work is done."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool. ``arguments`` holds their JSON schemas by name; those in ``required`` are mandatory."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]
    read_only: bool = False

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of its arguments."""
        return {
            "type": "object",
            "properties": {name: dict(schema) for name, schema in self.arguments.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            name="ask_human",
            title="Ask the person",
            description=(
                "Ask the person who supervises this work, and wait for the answer; that may take minutes or hours. "
                "Use it for what only a person can decide: requirements that are missing or contradict each other, a "
                "choice that cannot be taken back, access or credentials that you do not have. Do not use it for what "
                "you can find out in the files or by running something, and do not guess instead of asking. "
                "One question per call, complete in itself: the person has not seen what you have seen. "
                "If the call is cut off, call it again with the very same question: its answer is kept for you."
            ),
            arguments={
                "question": _text("The question, understandable without having seen your work."),
                "options": {
                    "type": "array",
                    "items": {"type": "string"},
                    "maxItems": 9,
                    "description": "Answers to choose from, where there are some. Another one can always be given.",
                },
                "context": _text("What the person needs to know to decide: what you found, and what each way costs."),
            },
            required=("question",),
            read_only=True,
        ),
        Tool(
            name="report_failure",
            title="Report a failure",
            description=(
                "Report a command, a test or a step that fails and that you could not mend at once. The answer says "
                "what the failure is and what to do next: a hint for another try, a different approach, what to read "
                "first; or, when nothing is left to try, what a person says, for whom it then waits. "
                "Use it when the same thing has failed twice, before you try a third time. "
                "Do not use it for failures that you expected."
            ),
            arguments={
                "error": _text("What it printed, word for word; its end where it is long."),
                "command": _text("The command that failed."),
                "exit_code": {"type": "integer", "description": "What it ended with."},
                "approach": _text("In a few words, the idea that you were following."),
            },
            required=("error",),
            read_only=True,
        ),
        Tool(
            name="report_progress",
            title="Report progress",
            description=(
                "Tell the supervisor in a line or two what is done and what comes next. Use it whenever a step of "
                "longer work is finished, and before something that takes long. It returns at once."
            ),
            arguments={"message": _text("What is done, and what comes next.")},
            required=("message",),
            read_only=True,
        ),
        Tool(
            name="checkpoint",
            title="Save the files",
            description=(
                "Save all files of the worktree as they are now, so that they can be brought back. Use it before "
                "anything risky: a large refactoring, a migration, deleting or generating many files. "
                "Your files, git's index, branches and stash stay as they are."
            ),
            arguments={"reason": _text("What you are about to do.")},
            required=("reason",),
        ),
    )
}


def is_ours(tool: str) -> bool:
    """Return whether ``tool``, as an agent's hooks name it, is one of these."""
    server, _, name = tool.removeprefix("mcp__").partition("__")
    return tool.startswith("mcp__") and server == SERVER and name in TOOLS


def given(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the validated arguments of ``tool``. Raises UsageError with a text for the agent."""
    unknown = [name for name in arguments if name not in tool.arguments]
    if unknown:
        raise UsageError(f"{tool.name} takes no {unknown[0][:40]!r}: {', '.join(tool.arguments)}")
    found = {name: value for name, value in arguments.items() if value is not None}
    for name in tool.required:
        if not isinstance(found.get(name), str) or not one_line(found[name]):
            raise UsageError(f"{tool.name} needs {name}, as a text")
    for name, value in found.items():
        _check(tool, name, value)
    return found


def _check(tool: Tool, name: str, value: Any) -> None:
    wanted = tool.arguments[name]["type"]
    if wanted == "string":
        _check_text(tool, name, value)
    elif wanted == "integer" and (type(value) is not int or abs(value) >= 2**32):
        raise UsageError(f"{tool.name}: {name} is a whole number")
    elif wanted == "array":
        most = tool.arguments[name]["maxItems"]
        if not isinstance(value, list) or len(value) > most:
            raise UsageError(f"{tool.name}: {name} is a list of at most {most} texts")
        for one in value:
            _check_text(tool, name, one)


def _check_text(tool: Tool, name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise UsageError(f"{tool.name}: {name} is no text")
    if len(value) > MAX_GIVEN:
        said = f"{name} has {len(value):,} characters, at most {MAX_GIVEN:,} are possible"
        raise UsageError(f"{tool.name}: {said}: give the part that matters")
