"""Place of a failure that the output prints apart from its message."""

from __future__ import annotations

from unstuck.diagnosis.matching.lazy_regex import Lazy, lines_with
from unstuck.diagnosis.matching.prefilter import IndexedText
from unstuck.diagnosis.parsers.base import Finding, is_library, place

LINE_LIMIT = 2_000
SURE = 90
# How sure a message is that says more than that something failed.
TOLD = 40
# The user's own code that asked for a library's template.
ASKED_FOR = Lazy(
    r"([^\s:][^:\n]{0,400}):(\d{1,7}):\d{1,7}:\s+"
    r"(?:required from here|note: in instantiation of .{1,2000} requested here)$"
)
ASKING = ("required from here", "requested here")
# A line that is nothing but a place, which some test runners print below what failed.
PLACE_ALONE = Lazy(r"\s*(?:# )?([^\s:#]{1,300}\.[A-Za-z]\w{0,4}):(\d{1,7})(?::in [`'].{1,200}')?$")
# A line that names a place as such.
NAMED_PLACE = Lazy(r"\s*Origin: ([^\s:#]{1,300}\.[A-Za-z]\w{0,4}):(\d{1,7})(?::\d{1,7})?$")
PLACE_ENDS = frozenset("0123456789'")
# A line that ends with a place after nothing, or after a word that leads to it.
NEAR = Lazy(
    r"(?:.{0,200}(?:\b(?:[Aa]t|[Ii]n|from|[Ff]ile)|└─|-->|#) |\s{0,40})[\"'(]?"
    r"(?P<file>[^\s:\"'(),]{1,300}\.[A-Za-z]\w{0,7}|(?<=\")[^\s:\"'(),]{1,300}(?=\"))[\"']?"
    r"(?::| ?\(|, line )(?P<line>\d{1,7})(?:[:,] ?\d{1,7}(?:-\d{1,7})?)?\)?:?$"
)
OF_FILE = Lazy(r".{0,200}\b(?:[Aa]t|on|near) line (?P<line>\d{1,7}) of (?:file )?(?P<file>[^\s:]{1,300}\.\w{1,8}):?$")
# A message that ends with its place.
AT_END = Lazy(
    r".{1,400}?[ (](?P<file>[^\s:\"'(),]{1,300}\.[A-Za-z]\w{0,7})(?::|, line )(?P<line>\d{1,7})(?::\d{1,7})?\)?$"
)
# Lines below and above a message in which its place is looked for.
BELOW, ABOVE = 4, 4
ENDS = frozenset("0123456789):")


def place_apart(seen: IndexedText, best: Finding, tested: bool) -> str | None:
    """Return a place that the output prints apart from the error."""
    for line in lines_with(seen.text, "Origin: "):
        if named := NAMED_PLACE.match(line[:LINE_LIMIT].rstrip()):
            return place(named[1], named[2])
    alone = _place_alone(seen.text) if tested and best.weight < SURE else None
    if alone is not None:
        return alone
    asked = _place_of_request(seen.text) if best.kind == "build" else None
    return asked or (_place_near(seen.text, best) if best.weight >= TOLD and best.kind != "lint" else None)


def _place_near(text: str, best: Finding) -> str | None:
    """Return the user's own place at the end of a line next to the message, the lines below it first."""
    at = text.find(best.headline)
    if at < 0:
        return None
    own = AT_END.match(best.headline) or OF_FILE.match(best.headline)
    if own and not is_library(own["file"]):
        return place(own["file"], own["line"])
    below = text[at : at + LINE_LIMIT].split("\n")[1 : 1 + BELOW]
    above = text[max(0, at - LINE_LIMIT) : at].split("\n")[:-1][: -ABOVE - 1 : -1]
    for line in map(str.rstrip, (*below, *above)):
        spot = NEAR.match(line) or OF_FILE.match(line) if line[-1:] in ENDS or " line " in line else None
        if spot and not is_library(spot["file"]):
            return place(spot["file"], spot["line"])
    return None


def _place_alone(text: str) -> str | None:
    """Return the user's own place that is alone on a line."""
    spots = (
        PLACE_ALONE.match(line) for line in text.split("\n") if line[-1:] in PLACE_ENDS and len(line) <= LINE_LIMIT
    )
    return next((place(spot[1], spot[2]) for spot in spots if spot and not is_library(spot[1])), None)


def _place_of_request(text: str) -> str | None:
    """Return the user's own line that a compiler was at when it failed inside a library."""
    for mark in ASKING:
        for line in lines_with(text, mark):
            spot = ASKED_FOR.match(line[:LINE_LIMIT].rstrip())
            if spot and not is_library(spot[1]):
                return place(spot[1], spot[2])
    return None
