"""One rule for the shape of a secret, and what makes such rules.

The process beside each agent loads this file by its path: it imports nothing of ours, and a pattern is compiled when
text first hints at it.
"""

from __future__ import annotations

import re
from itertools import accumulate, compress, groupby, repeat
from operator import itemgetter, sub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Rule:
    """Pattern of one kind of secret. Only text with one of the lower-case ``hints`` is searched.

    The first group of ``pattern`` stays, the second goes; where it has others, the secret begins with the one that
    matches, which is looked back for. A ``folded`` pattern is matched on the text in lower case, which is several times
    faster than one that ignores case. With ``behind``, one of these programs stands less than 200 characters before,
    in the same line; with ``preceded``, this pattern matches what stands before, read backwards. ``likely`` is a
    pattern for RE2 of what every match has, where ``pattern`` without all that RE2 cannot do is too loose: in large
    text, which has most hints, it is looked for instead of them. A ``backwards`` pattern is matched on the text read
    from its end, because only the end of such a secret tells what it is.

    No pattern may need more than linear time: repetitions are possessive, bounded, or fail within a few characters.
    Those of a group are in an atomic one instead: possessive they are wrong in Pythons before 3.11.5. A pattern begins
    with a literal, which is looked for without trying it: what must not stand before it is looked back for behind it.
    """

    __slots__ = ("_backwards", "_behind", "_compiled", "_preceded", "folded", "hints", "likely", "pattern")

    def __init__(
        self,
        hints: str,
        pattern: str,
        *,
        folded: bool,
        behind: str = "",
        preceded: str = "",
        likely: str = "",
        backwards: bool = False,
    ) -> None:
        self.hints = tuple(hint.replace(BLANK, " ") for hint in hints.split())
        self.pattern, self.folded, self.likely = pattern, folded, likely
        self._behind = tuple(program.replace(BLANK, " ") for program in behind.split())
        self._preceded = preceded
        self._backwards = backwards
        self._compiled: re.Pattern[str] | None = None

    def loosened(self) -> str:
        """Return a pattern for RE2 that finds something wherever this rule finds something, in bytes in lower case."""
        if self.likely:
            return self.likely
        if _LOOKED_BACK in self.pattern:
            return "|".join(map(re.escape, self.hints))
        begin = "[^a-z0-9]" if _ALONE in self.pattern else ""
        if self._behind:
            begin = f"(?:{'|'.join(map(re.escape, self._behind))})[^\\n]*"
        kept, no_value, _ = self.pattern.partition(NO_VALUE)
        return begin + (f"{loosened(kept)}{_BEGINS_VALUE})" if no_value else loosened(self.pattern))

    def places(self, text: str) -> tuple[list[int], list[int]]:
        """Return where secrets begin and end in ``text``, in their order; that of a folded rule is in lower case."""
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, re.ASCII)
        if self._backwards:
            found = [match.span() for match in self._compiled.finditer(text[::-1])][::-1]
            return [len(text) - last for _, last in found], [len(text) - first for first, _ in found]
        pattern = self._compiled
        if pattern.groups != _KEPT_AND_GONE:
            found = [(match.start(match.lastindex or 0), match.end()) for match in pattern.finditer(text)]
            return [first for first, _ in found], [last for _, last in found]
        # What stands between, what stays and what goes, in turn: several times faster than match after match.
        ends = list(accumulate(map(len, pattern.split(text))))
        options, first, last = ends[:-1:3], ends[1::3], ends[2::3]
        if options and (self._behind or self._preceded):
            near = self._after_program(text, options) if self._behind else self._after_match(text, options)
            first, last = list(compress(first, near)), list(compress(last, near))
        return first, last

    def _after_program(self, text: str, options: list[int]) -> list[bool]:
        starts = list(map(max, map(sub, options, repeat(_NEAR)), repeat(0)))
        lines = list(map(max, starts, map(text.rfind, repeat("\n"), starts, options)))
        # To look behind each of a few options takes less time than to look through all of a large text.
        few = len(options) * _SELDOM < len(text)
        each = (map(text.find, repeat(one), lines, options) for one in self._behind if few or one in text)
        return [max(found) >= 0 for found in zip(*each, strict=True)]

    def _after_match(self, text: str, options: list[int]) -> list[bool]:
        match = re.compile(self._preceded, re.ASCII).match
        return [match(text[max(at - _NEAR, 0) : at][::-1]) is not None for at in options]


_KEPT_AND_GONE = 2
_ALONE = "(?<![A-Za-z0-9]"
_LOOKED_BACK = "(?:(?<="  # for what tells most
_NEAR = 200
_SELDOM = 1000
_TOKEN = re.compile(
    r"(?P<look>\(\?<?[=!])|(?P<group>\((?:\?[:>])?)|(?P<set>\[\^?(?:\\.|[^\]\\])*\])|(?P<escape>\\.)|\{(?P<least>[0-9]+)"
    r"(?P<most>,[0-9]*)?\}[+?]?|(?P<some>[*+?])[+?]?|.",
    re.DOTALL,
)

_MOST_COUNTED = 8  # more makes many states of it


def loosened(pattern: str) -> str:
    """``pattern`` as RE2 takes it for bytes in lower case: with nothing looked at, and counts only up to a few."""
    said, looking = list[str](), 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if looking or token["look"]:
            looking += text.startswith("(") - (text == ")")
        elif token["group"]:
            said.append("(?:")
        elif token["set"]:
            said.append(_loosened_set(text))
        elif token["escape"]:
            said.append(r"[\s\v]" if text == r"\s" else text)
        elif token["least"]:
            least = min(int(token["least"]), _MOST_COUNTED)
            said.append(f"{{{least},}}" if token["most"] or int(token["least"]) > least else f"{{{least}}}")
        else:
            said.append(token["some"] or text.lower())
    return "".join(said)


def _loosened_set(said: str) -> str:
    """A set of characters as RE2 takes it, where those outside of ASCII are several bytes."""
    lowered = re.sub(r"(?<!\\)[A-Z]", lambda letter: letter[0].lower(), said)
    ascii_only = re.sub(r"[^\x00-\x7f]", "", lowered)
    if said.startswith("[^"):
        return ascii_only
    others = sorted(set(lowered) - set(ascii_only))
    return "|".join([f"(?:{ascii_only[:-1]}\\v]" if r"\s" in said else f"(?:{ascii_only}", *others]) + ")"


def rule(hints: str, pattern: str, *, keep: str = "", behind: str = "", preceded: str = "", likely: str = "") -> Rule:
    return Rule(hints, f"({keep})({pattern})", folded=bool(keep), behind=behind, preceded=preceded, likely=likely)


def key(begin: str, pattern: str, hints: str = "") -> Rule:
    """A key that begins with ``begin``, before which no letter or digit stands."""
    begin = re.escape(begin)
    return Rule(
        hints or begin.replace("\\", "").lower(), f"()({begin}(?<![A-Za-z0-9]{begin})(?:{pattern}))", folded=False
    )


def word(word: str) -> str:
    """``word`` where no letter or digit stands before it."""
    return rf"{word}(?<!\w{word})"


# To look for it is several times faster than to look back from every letter.
BEFORE_WORD = "([^0-9A-Za-z])"


def each_letter(patterns: Iterable[str]) -> list[str]:
    """Return one pattern for all ``patterns`` that begin with the same letter or digit, in their order."""
    first = itemgetter(0)
    begun = groupby(sorted(patterns, key=first), first)
    return [f"{one}(?:{'|'.join(rest[1:] for rest in found)})" for one, found in begun]


def by_letter(patterns: Iterable[str]) -> str:
    """Return one pattern for all ``patterns``, each of which begins with a letter or digit."""
    return f"(?:{'|'.join(each_letter(patterns))})"


BLANK = "\0"  # within a hint
# Source code and messages name secrets without giving them: references, types, constants, calls, punctuation.
_ENDS = r"(?![^\s\"',;)=|\]])"
_REFERENCE = rf"\$\{{?[A-Za-z_]\w{{0,60}}\}}?{_ENDS}|\$[({{]|(?:self|this|os|process|args|request)\."
_CONSTANT = rf"(?:none|null|true|false|undefined|str|string|bytes|bool|int|any|optional){_ENDS}"
_CALL = r"[a-z_.]{1,60}+\((?=[^\n]{0,200}\))"
STRING_PREFIX = r"[bfru]{1,2}(?=\\?[\"'])"
NO_VALUE = rf"(?![\[\](){{}}<>=:|*…]|{_REFERENCE}|{_CONSTANT}|{_CALL}|{STRING_PREFIX})"
_BEGINS_VALUE = r"[^\s\[\](){}<>=:|*]"
