"""Help page that a known agent printed in place of its work, without a word about the reason. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from unstuck.diagnosis.agent_messages.troubles import known_agent
from unstuck.text import Clean, one_line

_OPTION = re.compile(r"\s{1,12}(?:-\w, {0,4})?--?[A-Za-z]")
_HELP = re.compile(r"\s{1,12}(?:-\w, {0,4})?--help\b")
_HEADING = re.compile(r"[A-Z][\w -]{0,40}:")
_WORD = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_LEAST, _FIRST, _LARGEST = 5, 6, 40_000


def help_instead(printed: str, command: Sequence[str]) -> Clean:
    """Return the advice for a known agent's ``command`` that printed nothing but a help page; empty for other output.

    It is the line of the page that names the agent, and the options of ``command`` that the page does not list.
    """
    agent = known_agent(command)
    if not agent or len(printed) > _LARGEST:
        return Clean("")
    lines = [line.rstrip() for line in printed.splitlines() if line.strip()]
    listed = next((place for place, line in enumerate(lines[:_FIRST]) if _HEADING.fullmatch(line)), 0)
    about, rest = next((line for line in lines[:listed] if agent in line.split()), ""), lines[listed:]
    is_page = about and all(line[0].isspace() or _HEADING.fullmatch(line) for line in rest)
    if not is_page or sum(map(bool, map(_OPTION.match, rest))) < _LEAST or not any(map(_HELP.match, rest)):
        return Clean("")
    own = command[: command.index("--")] if "--" in command else command
    options = dict.fromkeys(word.partition("=")[0] for word in own[1:] if _WORD.match(word))
    known = set(_WORD.findall(printed))
    unknown = [f"`{option}`" for option in options if option not in known]
    reason = f", which does not list {', '.join(unknown)}" if unknown else ""
    return one_line(f"{about}: it printed only its help{reason}", 400)
