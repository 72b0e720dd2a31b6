"""Claims of agents: whether an agent claims to be done, by an explicit signal or in its last message. Pure.

The rule reads the beginning and the end of a message. It prefers ``unknown`` to a wrong guess: an agent that announces
its next step has claimed nothing. Languages other than English are unknown, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from unstuck.diagnosis.enums import Claim

_SIGNALS: dict[str, Claim] = {"complete": "done", "needs_guidance": "not_done", "blocked": "not_done"}
_END_LIMIT = 6_000
"""Characters read at each end of a message."""
_STATEMENT_LIMIT = 400
_FIRST, _LAST = 6, 8
"""Statements at the beginning and at the end that say how the work ended; those between describe it."""
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "—": "-", "–": "-", "→": "-", "\u00a0": " "})
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_DECORATION = " \t#*_>`~|-+•✅☑✔✓🎉"
_NUMBERED = re.compile(r"^\d{1,3}[.)]\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[*_`\"')]{0,3}\s+")

_DID = (
    r"(?:accomplished|achieved|added|addressed|adjusted|applied|built|calculated|changed|cleaned|cleared|compiled|completed"
    r"|computed|configured|converted|corrected|counted|cracked|created|delivered|deployed|done|enabled|encrypted|ensured"
    r"|evaluated|extended|extracted"
    r"|finali[sz]ed|finished|fixed|generated|implemented|improved|installed|integrated|made|merged|met|migrated|modified"
    r"|moved|optimi[sz]ed|patched|placed|ported|prepared|produced|pushed|put|rebuilt|recovered|refactored|removed|renamed"
    r"|repaired|replaced|reproduced|resolved|restored|reverted|rewritten|rewrote|sanitized|saved|set up|set|solved"
    r"|stored|swapped|tightened|trained|transformed|translated|turned|updated|upgraded|wired|wrapped|written|wrote)"
)
_ADVERBS = r"(?:all|already|also|both|completely|correctly|fully|just|now|properly|successfully|then|therefore)"
_DONE = tuple(
    re.compile(pattern)
    for pattern in (
        # "I've successfully fixed the parser", but no list of things to do.
        (
            rf"\b(?:i|we)(?:'ve|'m| have| am)?(?: {_ADVERBS}){{0,3}} (?:[a-z]+ and )?{_DID}\b"
            r"(?!.{0,40}\b(?:todo|to-do|plan|task list|progress|attempts?|several experimental))"
        ),
        rf"\b(?:i|we)(?:'ve| have)? [a-z]+\b.{{0,60}}\band(?: {_ADVERBS}){{0,2}} {_DID}\b",
        rf"\b(?:has|have) been(?: {_ADVERBS}){{0,3}} {_DID}\b",
        (
            rf"\b(?:is|are|was|were|'s|looks?)(?: {_ADVERBS}){{0,3}} "
            r"(?:complete|completed|done|finished|fixed|functional|in place|live|ready|resolved|saved|solved|written"
            r"|operational|up and running)\b"
        ),
        r"\b(?:all|everything|fully|now)(?: is| are)?(?: [a-z]+ing)? working\b",
        rf"^(?:{_ADVERBS} )?(?:all )?(?:done|all set|fixed|finished|complete|completed|success)(?:[.!:,; -]|$)",
        # "Set" and "put" may be instructions.
        rf"^(?:successfully )?(?!set\b|put\b){_DID} (?!by\b|with\b|in\b|from\b|when\b|under\b|using\b)\S",
        r"\b(?:complete|completed|completed successfully|successful|fully implemented|all done)\s*!*$",
        r"[:(\[-]\s*(?:done|completed?)[)\]]?(?: \(.*)?$",
        r"^(?:x\]|\[x\]) ",
        (
            r"\b(?:all|every|\d+)(?: of)?(?: the)?(?: [a-z0-9-]+){0,3} (?:tests?|checks?|specs?|requirements?)\b.{0,40}"
            r"\b(?:green|met|pass|passed|passes|passing|satisfied|succeed)\b"
        ),
        r"\btests? (?:now |all |suite ){0,2}(?:are |is )?pass(?:es|ed|ing)?\b",
        (
            r"\b(?:works?|working|runs?|functions?|functioning|behaves?)(?: [a-z]+)? "
            r"(?:as (?:expected|intended|requested|required|specified)|correctly|properly|perfectly|again)\b"
        ),
    )
)
_HEDGED = re.compile(
    r"\b(?:attempted|could|ensure|going to|how to|i'll|i will|if|let me|let's|make sure|may|might|must|needs? to|never"
    r"|none|nor|not|once|only partially|partially|should be|to be|tried|trying|unless|until|want|we'll|will|would"
    r"|\d+ (?:of|out of|/) \d+)\b|n't\b|\?"
)

_NOT_DONE = tuple(
    re.compile(pattern)
    for pattern in (
        # A check that could not be run says nothing about the work.
        (
            r"\b(?:i|we)(?: (?:still|currently|also|just|simply|really))?(?: am| was| were|'m|'re)?"
            r"(?: (?:still|currently))? (?:unable to|not able to|wasn't able to|weren't able to|could not|couldn't"
            r"|cannot|can't|can not|failed to|haven't been able to|have not been able to"
            r"|did not manage to|don't have the ability to|do not have)"
            r"(?!.{0,20}\b(?:run|test|verify|reproduce|execute|check|confirm|find any|see any|detect)\b)"
        ),
        (
            r"\b(?:i|we)(?:'ve| have)? (?:did not|didn't|have not|haven't|not)(?: yet| been able to)? "
            r"(?:accomplish|attempt|complete|do|finish|fix|get|implement|make|manage|resolve|solve|start|succeed)"
        ),
        (
            r"\b(?:isn't|aren't|is not|are not|was not|wasn't|not|hasn't been|has not been|not yet)"
            r"(?: yet| fully| been)* (?:complete|completed|done|finished|fixed|implemented|resolved|solved|working)\b"
        ),
        r"\b(?:incomplete|unfinished|unresolved|partially (?:complete|completed|done|fixed|implemented|working))\b",
        r"\bstill (?:broken|do not|does not|doesn't|don't|errors?|fail|failing|fails|missing|needs? to|not|to do)\b",
        r"\b(?:beyond what i can|gave up|giv(?:e|ing) up|i've exhausted|ran out of|hit a blocker|i(?:'m| am) stuck)\b",
        r"\b(?:is|are|was|were)(?: simply| practically)? (?:not(?: practically)? possible|impossible|infeasible)\b",
        r"\bbefore i (?:begin|continue|go on|proceed|start)\b|\bonce (?:confirmed|you confirm)\b",
        r"^(?:status: )?(?:blocked|blocker|in[_ ]progress|incomplete|not done|failed)(?:[.!:,; -]|$)",
        r"\b(?:am|are|been|is|i'm|remains?|we're|work)(?: currently| still)? blocked\b",
        r"[:(\[-]\s*(?:blocked|in[_ ]progress|not started|pending|to ?do)\b[)\]]?(?:[ -]+[(a-z].*)?$",
        r"\ball (?:my |the |of my )?attempts\b.{0,60}\b(?:failed|resulted in|unsuccessful)\b",
        r"\bremaining (?:errors?|failures?|issues?|problems?|steps?|tasks?|work)\b",
    )
)
_EXCUSED = re.compile(
    r"\b(?:any|if|in case|no|no longer|should|unless|when|whenever|which|without|would|zero|previously|originally"
    r"|because|before|since it was|problem was|issue was|bug was|so that)\b"
)
_ASKS = re.compile(
    r"\b(?:please|could you|can you)(?: [a-z]+){0,2} "
    r"(?:choose|clarify|confirm|enable|give|install|paste|provide|reply|run|send|share|specify|tell|upload)\b"
    r"|\b(?:i|we)(?:'ll| will)? need (?:your|you to|access|more|either|some|to know|a bit|the following)\b"
    r"|\b(?:waiting|wait) for (?:your|you|the user)\b"
    r"|\b(?:reply|respond) with\b|\btell me (?:which|how|what|whether)\b"
    r"|\b(?:let me know|tell me) (?:which|what you|how you(?:'d| would) like(?: me)? to proceed"
    r"|if (?:i should|you(?:'d| would) like me to (?:continue|proceed|try)))"
    r"|\bwould you like me to (?:attempt|continue|create an empty|go ahead|help you implement|implement|proceed|start"
    r"|try)\b"
    r"|\b(?:do|would) (?:any|either) of these\b|\bshould i\b.{0,200}\?$|\bwhich (?:option|approach|one)\b.{0,200}\?$"
)
_ANNOUNCES = re.compile(
    r"^(?:(?:now|next|ok|okay|great|perfect|excellent|good|first|then|so|alright|finally)[,!.:]? ){0,3}"
    r"(?:let me(?! know)|let's|i'll|i will|i'm going to|i am going to|i need to|i should|we need to|need to|going to)\b"
)


def claim_of(signal: str | None, message: str | None) -> Claim:
    """Return the claim of an attempt: that of its explicit ``signal``, else of the agent's last ``message``."""
    return _SIGNALS.get(signal or "") or claim_in(message or "")


def claim_in(message: str) -> Claim:
    """Return what the agent's last ``message`` claims about the work. Time is linear in the ends that are read."""
    said = list(_statements(message))
    if not said:
        return "unknown"
    ends = said if len(said) <= _FIRST + _LAST else said[:_FIRST] + said[-_LAST:]
    if any(_matches(pattern, one, _EXCUSED) for one in ends for pattern in _NOT_DONE):
        return "not_done"
    if _ANNOUNCES.match(said[-1]):
        return "unknown"
    if _ANNOUNCES.match(said[0]):
        ends = said[-_LAST:]  # the rest of the beginning is the plan
    if any(_matches(pattern, one, _HEDGED) for one in ends for pattern in _DONE):
        return "done"
    return "not_done" if any(_ASKS.search(one) for one in ends) else "unknown"


def _matches(pattern: re.Pattern[str], statement: str, unless: re.Pattern[str]) -> bool:
    """Return whether the pattern matches and nothing before the end of the match takes it back."""
    found = pattern.search(statement)
    return found is not None and not unless.search(statement, 0, found.start()) and not _is_hedged_inside(found, unless)


def _is_hedged_inside(found: re.Match[str], unless: re.Pattern[str]) -> bool:
    return unless is _HEDGED and unless.search(found.group()) is not None


def _statements(message: str) -> Iterator[str]:
    """Yield the sentences of a message in lower case, without code, JSON and Markdown."""
    if len(message) > 2 * _END_LIMIT:
        message = f"{message[:_END_LIMIT]}\n{message[-_END_LIMIT:]}"
    # What lies between two fences is code; a fence that is never closed hides nothing after it.
    parts = _FENCE.split(message.translate(_STRAIGHT))
    prose = parts if len(parts) % 2 == 0 else parts[::2]
    for line in "\n".join(prose).splitlines():
        line = _NUMBERED.sub("", line.strip(_DECORATION)).strip(_DECORATION)
        if not line or line[0] in '{}[]"<':
            continue
        for sentence in _SENTENCE_END.split(line.replace("**", "").replace("`", "").lower()):
            if sentence.strip(_DECORATION):
                yield sentence.strip(_DECORATION)[:_STATEMENT_LIMIT]
