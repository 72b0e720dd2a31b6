"""Outages and spent quotas that an agent or its provider reports. They pass, so they are waited for. Pure.

Only an agent's own output is looked at, never that of a check.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from unstuck.diagnosis.agent_messages.troubles import (
    KNOWN,
    PROSE,
    REPORT,
    last_lines,
)
from unstuck.diagnosis.classification.retry_after import retry_times
from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.matching.prefilter import IndexedText
from unstuck.text import Clean, one_line

OUTAGE = "agent_outage"
"""Key in the metadata of a signature: the agent's provider reports an outage or a spent quota."""
_STATUS = r"(?:429|500|502|503|504|520|522|529)"
_LIBRARIES = "litellm|openai|anthropic|groq|mistralai|google|cohere|genai"


@dataclass(frozen=True, slots=True)
class AgentOutage:
    """An outage: the agent's own line about it, and the ``times`` that it names as ``retry_times`` gives them."""

    message: Clean
    times: Mapping[str, str]


# Sure enough for a program that is not known.
_ANY = Lazy(
    r"\b(?:overloaded_error|engine_overloaded|server_is_overloaded|rate_limit_error|rate_limit_exceeded"
    r"|resource_exhausted|usage_limit_reached|insufficient_quota|model_overloaded)\b"
    rf"|\bapi[ _]error\W{{1,3}}(?:\w{{1,12}}\W{{1,3}}){{0,4}}{_STATUS}\b"
    rf"|\b(?:last|unexpected) status:? (?:code )?{_STATUS}\b"
    rf"|\b(?:{_LIBRARIES})(?:\.\w{{1,30}}){{0,4}}"
    r"\.(?:RateLimit|InternalServer|ServiceUnavailable|APIConnection|APITimeout|Overloaded|ServerError)\w{0,12}"
    r"|\b(?:usage|session|weekly|daily|monthly|hourly|\d{1,2}-hour|opus|request|token) limit (?:has been )?reached\b"
    r"|\b(?:hit|reached|exceeded) your (?:[\w-]{2,12} ){0,3}limit\b"
    r"|\b(?:usage|weekly|session) limits? (?:will )?resets?\b"
    r"|\bmodel is (?:currently )?(?:overloaded|at capacity)\b"
    r"|\bexperiencing (?:\w+ )?(?:high|heavy) (?:demand|load|traffic)\b"
    r"|\bexceeded your (?:current |daily |monthly )?quota\b|\bquota exceeded for (?:quota )?metric\b"
    r"|\bexhausted your (?:\w+ )?(?:quota|capacity)\b|\b(?:daily )?quota (?:will reset|has been (?:reached|exceeded))\b"
    r"|\brate limit reached for [\w./-]{2,60} (?:in organi[sz]ation|on )"
    r"|\bexceed your account's rate limit\b|\bapi rate limit (?:exceeded|reached)\b"
    r"|\bprovider's servers are (?:down|overloaded)|\byou(?:'re| are) out of (?:extra usage|usage credits)\b",
    re.IGNORECASE,
)
_KNOWN_AGENT = Lazy(
    rf"\b(?:status|code|error|http|rejected|response|failed)(?:[ _-]?code)?\W{{1,6}}{_STATUS}\b"
    rf"|\b{_STATUS}\b.{{0,60}}\b(?:too many requests|server error|bad gateway|unavailable|time-?out|overloaded|no body)"
    r"|\boverloaded\b|\brate[ -]?limit(?:s|ed|ing)?\b|\btoo many requests\b|\bthrottl|\bquota\b"
    r"|\b(?:high demand|at capacity|capacity exceeded|over capacity|capacity issue)\b"
    r"|\b(?:service|server|model|api|backend) (?:is )?(?:temporarily |currently )?(?:unavailable|busy|down)\b"
    r"|\btemporarily unavailable\b|\b(?:bad gateway|internal server error|gateway time-?out)\b"
    r"|\b(?:internal|server) error (?:has )?occurred\b|\btry again (?:later|in a (?:moment|few))\b"
    r"|\bstream (?:closed|ended|disconnected|error)\b|\bresponse stream\b.{0,40}\b(?:disconnect|clos)"
    r"|\bunable to connect to (?:the )?\w{0,12} ?(?:api|anthropic|services?)\b"
    r"|\b(?:api|model|provider)\b.{0,30}\b(?:connection error|connect(?:ion)? (?:failed|refused|reset|timed out))"
    r"|\berror sending request for url\b|\bapi ?connection ?error\b|\bfetch failed sending\b|\bconnection error\b"
    r"|\bunable to connect\. is the computer\b|\brequest timed out\b"
    r"|\brepeats a request that (?:its provider refuses|does not reach its provider)\b",
    re.IGNORECASE,
)
# An attempt at going on is not what ended it, nor is a warning.
_GOES_ON = Lazy(
    r"^[^A-Za-z]{0,6}(?:warn(?:ing)?|retrying|reconnecting)\b|\bretrying (?:with|in|after)\b", re.IGNORECASE
)
_PROVIDER = Lazy(r"\bwe(?:'re| are) (?:currently |now )?(?:experiencing|receiving)\b", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s)]+")
_MARK = re.compile(r"^[✗✕×✖] ?(?=\[?(?:sorry|api|model|execution|request)\b)", re.IGNORECASE)
_FRAGMENT = Lazy(r"^[\[{\"]")
_MESSAGE = Lazy(r"\"message\\*\": ?\\*\"([^\"\\{]{8,300})")
# An error of a program's own calls, in a project that a test or a script ran.
_OTHERS = Lazy(
    r"\b(?:requests\.|urllib3?|aiohttp|psycopg2?|redis|pymysql|docker|axioserror)\b|<html|\b(?:npm|pip|git|curl):? "
    r"|\bserver error\b.{0,60}\bfor url\b",
    re.IGNORECASE,
)


def agent_outage(said: str, *, agent: str = "", own: bool = False, failed: bool = True) -> AgentOutage | None:
    """Return the outage that the last lines of ``said`` report; None for any other text.

    The arguments are those of :func:`agent_trouble`.
    """
    for line in last_lines(said, own=own, failed=failed):
        line = _MARK.sub("", _ADDRESS.sub("", line))
        prose = PROSE.search(line) and not _PROVIDER.search(line)
        if (_GOES_ON.search(line) and not own) or (not own and (REPORT.search(line) or prose or _OTHERS.search(line))):
            continue
        if _ANY.search(line) or ((own or agent in KNOWN) and failed and _KNOWN_AGENT.search(line)):
            told = _MESSAGE.search(line) or _MESSAGE.search(said) if _FRAGMENT.search(line) else None
            times = retry_times(IndexedText(line), line)
            return AgentOutage(one_line(told[1] if told else line, 400), times or retry_times(IndexedText(said), line))
    return None
