"""Parser of a failed image build: the output of the failed step, or else the daemon's last line."""

from __future__ import annotations

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.parsers.base import Finding, place

NOT_BUILT = "failed to solve: "
INSTRUCTION = Lazy(r"((?:\S*/)?(?:Docker|Container)file\S{0,40}):(\d{1,7})$")
FAILED_STEP = Lazy(r"#(\d{1,5}) ERROR: ")
STEP_LINE = Lazy(r"#(\d{1,5}) \d{1,7}\.\d{1,4} ?(.*)$")
LOGGED = Lazy(r"\d{1,7}\.\d{1,4} ?(.*)$")
RULE = "------"


def docker(text: str, lines: list[str]) -> Finding | None:
    """Return the daemon's last line, and the line of the instruction."""
    printed = next(
        (line for line in lines if NOT_BUILT in line and line.partition(NOT_BUILT)[0].strip()[-1:] in ("", ":")), ""
    )
    return Finding(62, printed, location=_instruction(lines), kind="build") if printed else None


def failed_step(text: str) -> tuple[str, str | None]:
    """Return the output of the failed step without the builder's marks, and the place of its instruction.

    With plain progress each line has the step's number and time; on a terminal only the block between two rules is
    printed. Empty where the step printed nothing.
    """
    lines = text.split("\n")
    failed = {found[1] for line in lines if (found := FAILED_STEP.match(line))}
    steps = (STEP_LINE.match(line) for line in lines if line[:1] == "#") if failed else ()
    printed = [step[2] for step in steps if step and step[1] in failed]
    return "\n".join(printed or _between_rules(lines)), _instruction(lines)


def _between_rules(lines: list[str]) -> list[str]:
    printed: list[str] = []
    inside = False
    for line in lines:
        if line.rstrip() == RULE:
            inside = not inside
        elif inside and (logged := LOGGED.match(line)):
            printed.append(logged[1])
    return printed


def _instruction(lines: list[str]) -> str | None:
    spots = (INSTRUCTION.match(line.rstrip()) for line in lines if "file" in line)
    return next((place(spot[1], spot[2]) for spot in spots if spot), None)
