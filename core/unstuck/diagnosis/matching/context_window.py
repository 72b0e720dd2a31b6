"""Messages of services about a full context window."""

from __future__ import annotations

from unstuck.diagnosis.matching.lazy_regex import Lazy
from unstuck.diagnosis.matching.prefilter import Literals

# Whole phrases only, in lower case: "context" alone is a word of every second program.
CONTEXT_EXHAUSTED = Lazy(
    r"(?<![a-z])(?:prompt is too long|context_length_exceeded|maximum context length"
    r"|(?:exceed(?:s|ed)?|over) (?:the )?context (?:limit|length|window)"
    r"|input token count.{0,60}exceeds the maximum number of tokens"
    r"|context (?:window|length|limit)(?: \S+)? (?:(?:is |has been )?(?:exceeded|exhausted|reached)|is full)"
    r"|exceed(?:s|ed)? (?:the |its |your )?(?:model'?s? )?(?:available |maximum |remaining )?"
    r"context (?:window|length|size|limit)|context exceeds (?:the |its )?model(?:'s)? limit"
    r"|(?:exhausted|overflowed|filled) (?:the |its |your )?(?:model'?s? )?context window|context window overflow"
    r"|context size has been exceeded"
    r"|ran out of (?:room|space) in (?:the |its |your )?(?:model'?s )?context"
    r"|input tokens exceed the (?:configured )?limit|prompt token count (?:of )?\d{1,12} exceeds"
    r"|ran out of context|context (?:window )?(?:left until|low).{0,30} 0%"
    r"|token limit:? ?(?:of )?(?:\d[\d,]{0,12}k? )?(?:tokens )?(?:(?:is |was |has been )?(?:exceeded|reached|hit)\b)"
    r"(?! per\b)"
    r"|(?:exceeds?|exceeded|over|reached|hit) (?:an? |the |its |your )?(?:maximum )?token limit(?! per\b)"
    r"|(?:input|prompt|conversation) is too long"
    r"|range of input length should be \["
    r"|too many (?:input )?tokens in (?:the )?(?:prompt|request|conversation)"
    r"|maximum length (?:of|for) (?:the )?(?:context|prompt|input)"
    r"|(?:^|error: )maximum length (?:was |has been )?exceeded(?=[.!]?\s*$))"
)
CONTEXT_LITERALS = Literals(
    "[Tt]oo long",
    "[Cc]ontext",
    "[Tt]oken",
    "[Tt]okens",
    "[Mm]aximum length",
    "Range of input length",
)
# A limit of the model's output is not its context window.
OUTPUT_LIMIT = Lazy(r"output token|max_tokens: \d")


def says_context_exhausted(text: str) -> bool:
    """Return whether ``text``, a line or a few, reports a full context window."""
    lowered = text.lower()
    return CONTEXT_EXHAUSTED.search(lowered) is not None and OUTPUT_LIMIT.search(lowered) is None
