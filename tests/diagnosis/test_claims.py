"""Claims: what an agent says about its work at the end of an attempt, and what only sounds like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstuck.diagnosis.claim import claim_in, claim_of

DONE = {
    "one word": "Done.",
    "heading": "## Migration complete!\n\nThe three tables are in the new schema.",
    "first person": "I've fixed the off-by-one in `pager.py` and added a regression test.",
    "plural": "We have now moved the parser into its own module.",
    "two verbs": "I found the missing index and added it to the migration.",
    "bare verbs": "Fixed the race in `queue.go`.\n\n- Added a mutex around the map\n- Removed the sleep",
    "tests": "The cause was a stale cache. All 42 tests pass now.",
    "one test": "`test_rounding` was wrong about banker's rounding; tests are passing.",
    "ready": "The endpoint is ready to use at /health.",
    "passive": "The configuration has been updated for both environments.",
    "works": "I checked with the sample file: it works as expected.",
    "offer": "Implemented the retry with backoff. Would you like me to also add metrics?",
    "what was not run": "I've implemented the feature, but I couldn't run the tests because pytest is not installed.",
    "list of tasks": "Progress\n- Parse the header: done\n- Write the index: done",
    "curly quotes": "I’ve renamed the column everywhere.",
    "condition after it": "I've added the flag. If the build still fails on Windows, tell me.",
    "no remaining errors": "Mypy reports no remaining errors. Everything is in place.",
    "fenced code": "Completed.\n```python\nraise NotImplementedError('not done')\n```",
}
NOT_DONE = {
    "unable": "I was unable to build the old release, so the bisect stops here: no fix yet.",
    "could not": "I couldn't get the login flow to accept the token.",
    "not finished": "The parser handles comments, but nested strings are not implemented yet.",
    "still failing": "I changed the lock order, but two tests are still failing with a timeout.",
    "still fails": "The import is fixed. `test_upload` still fails.",
    "blocked": "Blocked: the database password is missing.",
    "pending": "Status\n- Schema: done\n- Backfill: pending",
    "in progress": "- [x] read the logs\n- Find the leak — in progress",
    "needs an answer": "Which option do you prefer?",
    "asks for a file": "To go on I need access to the staging bucket. Could you provide the key?",
    "asks first": "I have prepared the change. Before I proceed: may I drop the table?",
    "impossible": "Both versions work correctly. One file for both compilers is not possible.",
    "partial": "The refactoring is partially done: the client still needs to be converted.",
    "gave up": "After five different approaches I gave up on the linker error.",
    "remaining": "I've fixed 3 of the 7 warnings. Remaining issues are in vendor code.",
}
UNKNOWN = {
    "nothing": "",
    "blank": " \n\t",
    "next step": "Let me look at the failing test first.",
    "next step after a success": "Great! The compiler is now installed. Now let me build the project:",
    "a plan": "I'll help you set up the server. Here's the plan:\n\n1. Set up nginx\n2. Install the certificate",
    "an explanation": "The function compares the two lists by their lengths first.",
    "only code": "```sh\necho all tests pass\n```",
    "a call as text": '{"todos": [{"content": "Fix it", "status": "completed"}]}',
    "a hope": "This should be fixed once the cache is cleared.",
    "a hint": "You can run the tests with make check.",
    "another language": "Ich bin fertig, alle Tests laufen.",
}


@pytest.mark.parametrize("message", DONE.values(), ids=DONE)
def test_a_message_that_claims_the_work_is_done(message: str) -> None:
    """Whatever its form: a word, a summary, a list, with an offer or a condition behind it."""
    assert claim_in(message) == "done"


@pytest.mark.parametrize("message", NOT_DONE.values(), ids=NOT_DONE)
def test_a_message_that_says_the_work_is_not_done(message: str) -> None:
    """An open item, a question or a failure outweighs the part that is done."""
    assert claim_in(message) == "not_done"


@pytest.mark.parametrize("message", UNKNOWN.values(), ids=UNKNOWN)
def test_a_message_that_claims_nothing(message: str) -> None:
    """A plan, the next step, code and explanations are no claim."""
    assert claim_in(message) == "unknown"


def test_an_explicit_signal_outweighs_the_message() -> None:
    """The last message counts only where the agent gave no signal."""
    assert claim_of("complete", "Two tests still fail.") == "done"
    assert claim_of("blocked", "All done!") == "not_done"
    assert claim_of("needs_guidance", None) == "not_done"
    assert claim_of(None, "All done!") == "done"
    assert claim_of(None, None) == "unknown"


def test_the_middle_of_a_long_message_is_not_read() -> None:
    """The summary stands at an end; what is said between describes the work."""
    story = "\n".join(f"Step {number}: the old index was rebuilt and the tests still fail" for number in range(4_000))
    begin, end = "- one more table\n" * 20, "- a note\n" * 20
    assert claim_in(f"I've completed the migration.\n{begin}{story}\n{end}") == "done"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300), st.integers(1, 400))
def test_any_text_gets_an_answer(text: str, times: int) -> None:
    """The rule never raises, whatever an agent prints."""
    assert claim_in(text * times) in ("done", "not_done", "unknown")
