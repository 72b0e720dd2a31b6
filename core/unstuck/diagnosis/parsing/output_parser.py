"""Parser of an output: the failure that it reports, and its place."""

from __future__ import annotations

import re
from typing import cast

from unstuck.diagnosis.matching.context_window import CONTEXT_LITERALS, says_context_exhausted
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.matching.prefilter import IndexedText, Literals
from unstuck.diagnosis.parsers import PARSERS, RULES, SUREST, Finding, first_match
from unstuck.diagnosis.parsers.docker import NOT_BUILT, failed_step
from unstuck.diagnosis.parsers.line_rules import COMMAND_LINE
from unstuck.diagnosis.parsers.plain_lines import message_of, with_symbol
from unstuck.diagnosis.parsing.line_prefix import without_prefixes
from unstuck.diagnosis.parsing.parsed_output import ParsedOutput
from unstuck.diagnosis.parsing.place_apart import place_apart
from unstuck.diagnosis.parsing.run_summary import is_test_run
from unstuck.diagnosis.parsing.truncation import ends_of
from unstuck.diagnosis.parsing.wrappers import SUMMED_UP, before_wrapper, without_wrappers
from unstuck.text import Clean, admit

LINE_LIMIT = 2_000
HEADLINE_LIMIT = 400
DETAIL_LIMIT = 2_000
KNOWN = 30
NOT_FOUND = 127

ESCAPE = Lazy(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)?|[ -/]{0,8}[0-~])")
# A character for private use.
DRIVE_COLON = "\ue0c5"
DRIVE = Lazy(r"(?<![A-Za-z0-9])([A-Za-z]):(?=[\\/][\w .@~+-])")
# A frame's last line has no words.
HAS_WORD = Lazy(r"\w")
# A program's words about another one that it was to run; a path is that of a file.
NO_COMMAND = Lazy(r"([^\s:]+): (?:[^/]{0,200}[ :])?[^/\s]{1,200}: No such file or directory$")
# A launcher's report about the program that it ran.
ENDED = Lazy(r"exit status \d{1,3}$")
# An agent's tool says the exit code above the output.
SAID_EXIT = Lazy(r"Exit code (\d{1,3})(?:\n|$)")
LIVELY_EXITS = {124: "timed out", 137: "killed", 139: "segmentation fault", 143: "terminated", 127: "command not found"}
# A package manager that runs a package's own build.
INSTALLERS = Literals(
    "metadata-generation-failed", "subprocess-exited-with-error", "Failed building wheel", "npm error code E…"
)
# Lines of unstuck's own prompts, which an agent may repeat.
OWN_WORDS = (
    "Problem: ",
    "Hint: ",
    "This is the same failure ",
    "Already tried without success:",
    "Your work is done when this passes: ",
)
EVIDENCE = "What the check printed:\n"
OWN = Lazy("\n(?:" + "|".join(map(re.escape, (*OWN_WORDS, EVIDENCE))) + ")")
EVIDENCE_ENDS = ("Your work is done when this passes: ", "End with one line such as UNSTUCK ")


def parse_output(output: str | bytes, *, root: str | None = None, exit_code: int | None = None) -> ParsedOutput:
    """Parse an output. Its paths become relative to ``root``. Linear in a bounded part; never raises."""
    seen = IndexedText(_without_drives(without_prefixes(_bounded(output))))
    if OWN.search(seen.lines):
        seen = IndexedText(_without_own_words(seen.text))
    wrapped, inner = seen, without_wrappers(seen)
    if inner:
        seen = IndexedText(inner)
    if exit_code in (None, 1) and (said := SAID_EXIT.match(seen.text)):
        exit_code = int(said[1]) or exit_code
    best = _found(seen, wrapped, inner, exit_code)
    if exit_code == NOT_FOUND and (absent := NO_COMMAND.match(best.headline)) and not _is_shell(absent[1]):
        # A program did not find the command that it was to run. A shell reports a missing script in the same way.
        best.code = f"exit {NOT_FOUND}"
    # Where no rule matches the output, the words of its task runner do not tell whether it was a test.
    ran = wrapped if inner is None or (inner and best.weight) else seen if inner else None
    unsure = best.kind == "run" or best.location is None
    tested = best.kind == "test" or (unsure and ran is not None and is_test_run(ran))
    if best.kind == "run" and tested:
        best.kind = "test"
    if best.location is None:
        best.location = place_apart(seen, best, tested)
    return _reading(seen, best, root, exit_code)


def _found(seen: IndexedText, wrapped: IndexedText, inner: str | None, exit_code: int | None) -> Finding:
    """Return the finding in ``seen``. ``wrapped`` has the lines of task runners, ``inner`` is without them."""
    best = _best_of_step(seen.text) if NOT_BUILT in seen.text else None
    best = best or _best(seen, exit_code)
    if inner == "":
        best.kind = "run"
    elif inner and not best.weight:
        best = _last_line(without_wrappers(IndexedText(before_wrapper(wrapped.text))) or inner, exit_code)
    return best


def _best_of_step(text: str) -> Finding | None:
    """Return the finding in the failed step of an image's build, where a rule matches it."""
    step, instruction = failed_step(text)
    seen = IndexedText(step)
    best = _best(seen, None) if step else None
    if best is None or best.weight < KNOWN:
        return None
    best.kind = "build" if best.kind == "run" and not is_test_run(seen) else best.kind
    best.location = best.location or instruction
    return best


def _best(seen: IndexedText, exit_code: int | None) -> Finding:
    """Return the surest finding: of the parsers, of surer one-line rules, or the last line."""
    lines: list[str] = []
    best: Finding | None = None
    if seen.has(SUREST.literals):
        lines = _lines(seen.text)
        best = _surer(None, SUREST.read(seen.text, lines))
        if best is not None and best.weight >= SUREST.most:
            return best
    for parser in PARSERS.candidates(seen):
        if best is not None and parser.most <= best.weight:
            break
        if seen.has(parser.literals):
            lines = lines or _lines(seen.text)
            best = _surer(best, parser.read(seen.text, lines))
    ruled = first_match(RULES, seen, -1 if best is None else best.weight)
    if ruled is not None:
        best = ruled
        best.headline = with_symbol(message_of(best.headline), seen.text)
    return best or _last_line(seen.text, exit_code)


def _surer(best: Finding | None, found: Finding | None) -> Finding | None:
    if found is None or not found.headline:
        return best
    return found if best is None or found.weight > best.weight else best


def _is_shell(program: str) -> bool:
    return program.rpartition("/")[2] in COMMAND_LINE


def _lines(text: str) -> list[str]:
    """Return the lines of ``text``, each within the limit and without trailing blanks."""
    lines = [*map(str.rstrip, text.split("\n"))]
    long = len(text) > LINE_LIMIT and max(map(len, lines)) > LINE_LIMIT
    return [line[:LINE_LIMIT].rstrip() for line in lines] if long else lines


def _last_line(text: str, exit_code: int | None) -> Finding:
    """Return a finding from the exit code, or else from the last line."""
    if exit_code in LIVELY_EXITS:
        code = f"exit {exit_code}"
        return Finding(weight=20, headline=f"exit code {exit_code}: {LIVELY_EXITS[exit_code]}", code=code)
    last = ""
    for line in reversed(text.split("\n")):
        text = line[:LINE_LIMIT].strip()
        if HAS_WORD.search(text) and not ENDED.match(text) and not SUMMED_UP.match(text):
            return Finding(weight=0, headline=text)
        last = last if HAS_WORD.search(last) else text or last
    return Finding(weight=0, headline=last)


def _reading(seen: IndexedText, best: Finding, root: str | None, exit_code: int | None) -> ParsedOutput:
    program = best.kind in ("run", "build") and best.weight > 0
    installing = program and seen.has(INSTALLERS)
    kind = "build" if installing and best.kind == "run" else best.kind
    headline, location, function, test, detail = _cleaned(
        *map(_with_drives, (best.headline[:LINE_LIMIT], _relative(best.location, root))),
        *map(_with_drives, (best.function, best.test, best.detail)),
    )
    if DRIVE_COLON in seen.text:
        seen.text = _with_drives(seen.text)
    headline = headline if len(headline) <= HEADLINE_LIMIT else Clean(headline[:HEADLINE_LIMIT])
    exhausted = best.weight < 95 and seen.has(CONTEXT_LITERALS) and says_context_exhausted(f"{headline} {detail}")
    return ParsedOutput(
        seen=seen,
        headline=headline,
        lowered=IndexedText(headline.lower()),
        name=best.name,
        code=best.code,
        location=location or None,
        function=function,
        test=test,
        detail=detail,
        kind=kind,
        files=tuple(map(_with_drives, best.files)),
        weight=best.weight,
        context_exhausted=exhausted,
        environment=best.environment,
        installing=installing,
        exit_code=exit_code,
    )


def _cleaned(*fields: str) -> list[Clean]:
    """Return every field admitted, in one call where possible: admitting is the costliest part of parsing."""
    together = "\n".join(fields)
    clean = admit(together, limit=DETAIL_LIMIT).split("\n") if len(together) <= DETAIL_LIMIT else []
    if len(clean) == len(fields):
        return cast("list[Clean]", clean)
    return [admit(field, limit=DETAIL_LIMIT) for field in fields]


def _bounded(output: str | bytes) -> str:
    """Return head and tail with plain line ends and without terminal escapes."""
    text = ends_of(output)
    if "\x1b" in text:
        text = ESCAPE.sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _without_drives(text: str) -> str:
    """Return the text with a stand-in for the colon of each Windows drive, which is no separator."""
    return DRIVE.sub(rf"\1{DRIVE_COLON}", text) if (":\\" in text or ":/" in text) and DRIVE_COLON not in text else text


def _with_drives(text: str) -> str:
    return text.replace(DRIVE_COLON, ":")


def _without_own_words(text: str) -> str:
    """Return the text without unstuck's own words: a quoted failure has not happened again."""
    start = text.find(EVIDENCE)
    ends = [at for mark in EVIDENCE_ENDS if start >= 0 and (at := text.find(mark, start)) >= 0]
    if ends:
        text = text[:start] + text[min(ends) :]
    return "\n".join(line for line in text.split("\n") if not line.startswith(OWN_WORDS))


def _relative(location: str | None, root: str | None) -> str:
    if location and root:
        return location.removeprefix(root.rstrip("/") + "/")
    return location or ""
