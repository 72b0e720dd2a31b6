"""ASCII stand-ins for the signs of the commands and of the screen, where the terminal's encoding lacks them.

Each is the error handler of a stream: it is asked only for what cannot be encoded.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable
from io import TextIOWrapper

IN_CELLS = "unstuck-in-cells"
"""Stand-ins of the same width, for the screen, whose columns must not move."""
IN_LINES = "unstuck-in-lines"
"""Stand-ins for lines, which may become longer."""
_SIGNS = "—–‘’“”▶▷✓✗×○●◌◷‖…↯↻↺⇄⋈■±−•»━╸▕▏▾▴▸╭╮╰╯─│┃┌┐├└┘·›→⏎█░▁▂▃▄▅▆▇⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏▪⋯▊▎▔"
_SPELLED = dict(
    zip(_SIGNS, "--''\"\">)vXxo*c%=.z@<&W#~-*>=-[]v^>++++-||+++++->><#.__--==#/-\\|/-\\|/-*:||-", strict=True)
)
_LONGER = {"→": "->", "…": "..."}


def use_stand_ins() -> None:
    """Print stand-ins from here on; a name that is no text is printed with question marks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=IN_LINES)


def _in_cells(lacking: str) -> str:
    from rich.cells import cell_len  # commands that show no screen do without

    return "".join(_SPELLED.get(sign, "?" * cell_len(sign)) for sign in lacking)


def _in_lines(lacking: str) -> str:
    return "".join(_LONGER.get(sign) or _SPELLED.get(sign, "?") for sign in lacking)


def _register(name: str, spelled: Callable[[str], str]) -> None:
    def replace(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        return spelled(error.object[error.start : error.end]), error.end

    codecs.register_error(name, replace)


_register(IN_CELLS, _in_cells)
_register(IN_LINES, _in_lines)
