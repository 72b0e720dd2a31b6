"""Subjects and streams of a fleet.

| subject | holds |
|---|---|
| ``unstuck.event.HOST.LOG`` | lines of a log, in order |
| ``unstuck.host.HOST`` | the last words of a host: versions, where its logs end, what it has refused |
| ``$KV.unstuck_answers.HOST.LOG.QUESTION.TRY`` | the first answer to a question; the server takes no second one |
| ``unstuck.ask.HOST`` | requests to a host, such as lines that the stream does not have any more |
| ``$KV.unstuck_plans.>`` | plans that many machines work, see ``unstuck.fleet.shared_plan.entries`` |
| ``$O.unstuck_files.C.NAME.ID`` | pieces of a git bundle that NAME has sent |
"""

from __future__ import annotations

from typing import Any

PROTOCOL = 1
"""The version that both sides have to speak. A reader passes over what it does not know in one of its own version."""

EVENTS, HOSTS, ANSWERS = "UNSTUCK_EVENTS", "UNSTUCK_HOSTS", "KV_unstuck_answers"
PLANS, FILES = "KV_unstuck_plans", "OBJ_unstuck_files"
PLANS_PREFIX = "$KV.unstuck_plans"
DIRECT = "$JS.API.DIRECT.GET"
NEW = "unstuck.new.>"
"""Subject of the server's word that a message of events is on its disk."""
EVERY = "unstuck.event.>"
START, END = "Unstuck-Start", "Unstuck-End"
"""Headers of events: the positions in the log before and after the lines."""
MESSAGE_ID, EXPECTED = "Nats-Msg-Id", "Nats-Expected-Last-Subject-Sequence"
KEPT_S = 30 * 86_400
"""Seconds that entries and files of shared plans are kept after their last change."""
TRIES = 20
"""Largest number of answers to a question that a host looks at; all but the last were refused."""


def events(host: str, log: str = ">") -> str:
    return f"unstuck.event.{host}.{log}"


def host(name: str) -> str:
    return f"unstuck.host.{name}"


def ask(name: str) -> str:
    return f"unstuck.ask.{name}"


def answers(host: str, log: str = "", gate: str = "", number: int = 0) -> str:
    return f"$KV.unstuck_answers.{host}.{f'{log}.{gate}.{number}' if log else '>'}"


def files(name: str, id: str = ">") -> str:
    return f"$O.unstuck_files.C.{name}.{id}"


def streams(*, max_bytes: int, replicas: int = 1) -> tuple[dict[str, Any], ...]:
    """Return the configurations of the streams."""
    common = {"storage": "file", "allow_direct": True, "num_replicas": replicas, "retention": "limits"}
    once = {"max_msgs_per_subject": 1}
    kept = {"max_age": KEPT_S * 1_000_000_000}
    return (
        {
            **common,
            "name": EVENTS,
            "subjects": [EVERY],
            "max_bytes": max_bytes,
            "discard": "old",
            "republish": {"src": EVERY, "dest": "unstuck.new.>", "headers_only": True},
        },
        {**common, **once, "name": HOSTS, "subjects": [host("*")], "discard": "old"},
        # The server itself refuses a second message on a subject, and takes none back.
        {
            **common,
            **once,
            "name": ANSWERS,
            "subjects": ["$KV.unstuck_answers.>"],
            "discard": "new",
            "discard_new_per_subject": True,
            "deny_delete": True,
            "max_bytes": max_bytes,
        },
        # Full, the server says so: a claim that it forgot would be worked twice.
        {**common, **once, **kept, "name": PLANS, "subjects": [f"{PLANS_PREFIX}.>"], "discard": "new"},
        {
            **common,
            **kept,
            "name": FILES,
            "subjects": ["$O.unstuck_files.C.>"],
            "discard": "new",
            "max_bytes": max_bytes,
        },
    )
