"""Claims of agents beside what their checks found, as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unstuck.text import one_line
from unstuck.words.amounts import span, tokens_of

if TYPE_CHECKING:
    from unstuck.runs.run_end import Changes, Claims

Row = Mapping[str, Any]
_LINE = "{:<20}  {:<20}  {:>8}  {:>12}  {:>12}  {:<14}  {:>12}  {}"
_HEAD = _LINE.format("AGENT", "MODEL", "ATTEMPTS", "CLAIMED DONE", "CHECK PASSED", "AGREEMENT", "FALSE CLAIMS", "USED")


def claims_line(claims: Claims) -> str:
    """Return the claims of a run in one line."""
    attempts, wrong = claims.attempts, claims.false_claims
    said = f"; the check failed after {wrong} of them" if wrong else ""
    return (
        f"claims: done in {claims.claimed_done} of {attempts} {'attempt' if attempts == 1 else 'attempts'}{said}; "
        f"claim and check agree in {claims.agreed} of {claims.compared} (unstuck truth)"
    )


def changes_line(changes: Changes) -> str:
    """Return what a run has changed in one line, with the command that shows it."""
    if not changes.files:
        return "changed: no file"
    files = f"{changes.files} {'file' if changes.files == 1 else 'files'}"
    return f"changed: {files}, +{changes.added} −{changes.removed}: {changes.command}"


def truth_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table by agent and model, each with the failures behind its false claims."""
    yield _HEAD
    for row in rows:
        yield _LINE.format(
            one_line(row["agent"] or "-", 20),
            one_line(row["model"] or "-", 20),
            row["attempts"],
            row["claimed_done"],
            row["check_passed"],
            agreement_words(row),
            row["false_claims"],
            used_words(row),
        ).rstrip()
        for failure in row["failures"]:
            yield f"  claimed done, but {failure_words(failure)}"


def agreement_words(row: Row) -> str:
    """Return how often claim and check agree; a dash where nothing can be compared."""
    if row["agreement"] is None:
        return "-"
    return f"{row['agreed']} of {row['compared']} ({row['agreement']:.0%})"


def failure_words(failure: Row) -> str:
    """Return one failure behind false claims: how often, its type, place and message."""
    where = f" at {one_line(failure['location'], 60)}" if failure["location"] else ""
    return f"{failure['count']}× {failure['error_type']}{where}: {one_line(failure['headline'], 100)}"


def used_words(row: Row) -> str:
    """Return the time at work, and the tokens and the cost if the agent reports them."""
    cost = f"${row['cost']:,.2f}" if row["cost"] else ""
    return ", ".join(filter(None, (span(row["seconds"]), tokens_of(row["tokens"]), cost)))
