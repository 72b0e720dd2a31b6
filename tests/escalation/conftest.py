"""Failures in a word, for the decisions that follow them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from unstuck.contract import Report
from unstuck.diagnosis.classification.causes import Approach
from unstuck.diagnosis.enums import Cause, ErrorCategory, FailureType
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose
from unstuck.diagnosis.signatures.signature import FailureSignature
from unstuck.escalation.ladder_state import Climb
from unstuck.escalation.precedence import Facts
from unstuck.text import Clean

WAYS = (Approach("use a table", "built_in", 0.4), Approach("write it by hand", "built_in", 0.4))


def a_failure(
    name: str = "boom",
    *,
    cause: Cause = Cause.SIMPLE_LOGIC,
    failure_type: FailureType = FailureType.VERIFICATION_FAILED,
    category: ErrorCategory = ErrorCategory.AGENT_FAILURE,
    **metadata: str,
) -> Diagnosis:
    """A diagnosis whose identity follows from ``name``."""
    found = diagnose(f"ValueError: {name}", exit_code=1)
    assert found is not None
    signature: FailureSignature = replace(found.signature, metadata={**found.signature.metadata, **metadata})
    return replace(
        found, signature=signature, cause=cause, failure_type=failure_type, category=category, headline=Clean(name)
    )


def some_facts(**changes: Any) -> Facts:
    """A failed check of an agent that ended well, with two ways to pivot to."""
    given: dict[str, Any] = {
        "check": "failed",
        "report": Report(exit_code=0),
        "diagnosis": a_failure(),
        "climb": Climb(),
        "alternatives": WAYS,
    }
    return Facts(**{**given, **changes})


@pytest.fixture
def failure() -> Callable[..., Diagnosis]:
    """Makes diagnoses."""
    return a_failure


@pytest.fixture
def facts() -> Callable[..., Facts]:
    """Makes facts."""
    return some_facts
