"""The words of Unstuck with their meanings: one source for the screen's help and for the page of the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Term(NamedTuple):
    """A word with its meaning. ``also``: older names in JSON, options and the event log, each in backquotes.

    With ``on_screen``, the help of the screen explains it.
    """

    word: str
    meaning: str
    also: str = ""
    on_screen: bool = False


GLOSSARY: Mapping[str, tuple[Term, ...]] = {
    "Run and task": (
        Term(
            "run",
            "One call of `unstuck run`, `watch` or `demo`, from its start to its end. It has an id such as "
            "`20261121-221710`.",
        ),
        Term("plan", "A YAML file with tasks and the agents that work on them."),
        Term("task", "One piece of work with a prompt and, usually, a check."),
        Term("attempt", "One start of an agent for a task."),
        Term("claim", "What an agent says about its work at the end of an attempt: done, not done, or unknown."),
        Term("agent", "A program that does the work, such as Claude Code. Any command can be an agent."),
        Term("session", "An agent's own conversation. A retry continues it; a new approach starts a new one."),
        Term(
            "check",
            "The command that decides whether a task is done.",
            "`check`, `--check`; `verify` in the Python API and the event log",
            on_screen=True,
        ),
        Term(
            "baseline",
            "The state before any agent works. A failing baseline check means that the project was broken before.",
        ),
        Term("result", "The changes of a task that passed its check."),
        Term("worktree", "A second directory of the same git repository. Parallel tasks each have one.", "`tree`"),
    ),
    "Failure and escalation": (
        Term("failure", "A check that did not pass, or an agent that ended with an error."),
        Term(
            "signature",
            "The identity of a failure: the same one again has the same signature, so the two *match*.",
            on_screen=True,
        ),
        Term(
            "escalation level",
            "How far Unstuck has gone for one failure: retry, new approach, research, asked you.",
            "`level`, `rung`",
        ),
        Term("retry", "The same approach again, with a hint.", on_screen=True),
        Term(
            "new approach",
            "The files go back to a checkpoint, and a new session tries another idea.",
            "`pivot`",
            on_screen=True,
        ),
        Term("research", "Unstuck collects the code around the failure for the next attempt.", on_screen=True),
        Term("research finding", "One piece of information from research.", "`insight`"),
        Term("failover", "Another agent goes on with a task instead of a question or a long wait.", "`agent_replaced`"),
        Term("loop", "An agent repeats the same steps without progress.", "`loop_detected`"),
        Term("memory", "What Unstuck remembers about a repository: approaches, findings, your answers, rules."),
    ),
    "You and the run": (
        Term(
            "question",
            "What Unstuck asks a person: nothing is left to try, or a decision is yours. It has a type, choices and an "
            "id.",
            "`gate`",
            on_screen=True,
        ),
        Term("answer", "What you, a rule or a timer chose."),
        Term("rule", "An answer that applies without asking you again."),
        Term("actor", "Who or what decided: human, rule, timer, policy or agent."),
        Term("takeover", "You edit files in a task's worktree by hand while its agent waits.", "`handed_over`"),
        Term("paused", "The run waits for answers and has no live process. Its exit code is 3.", "`run_parked`"),
        Term("suspended", "An agent that is stopped by a signal until you answer.", "`frozen`", on_screen=True),
        Term("held", "An agent that waits inside its next tool call until you answer.", on_screen=True),
        Term("attached screen", "Another screen on the same run."),
        Term("skip", "Leave a task out for now. Unstuck offers it again when you resume the run.", on_screen=True),
        Term("abandon", "End a task without a result. Its files are kept.", on_screen=True),
    ),
    "Files and processes": (
        Term(
            "checkpoint",
            "Saved files of a worktree that you can restore. Unstuck saves them before anything risky.",
            on_screen=True,
        ),
        Term("last passing checkpoint", "The newest checkpoint whose check passed."),
        Term("event log", "The file `events.jsonl`: every event of a run, one a line."),
        Term("supervisor", "The `unstuck` process of a run."),
        Term("orphan", "An agent process that outlived its supervisor."),
        Term("stop report", "The list of processes that a stop ended.", "`stop_receipt`"),
        Term("status line", "A line `UNSTUCK {…}` that an agent prints about itself."),
    ),
    "Several machines": (
        Term("host", "A machine whose runs are shown elsewhere. Its event log is the truth for its runs."),
        Term("link", "The connection of a screen with one host, over `ssh` or a fleet's server."),
        Term("copy", "A host's event log as another machine keeps it, line by line. Each line was checked."),
        Term("cut off", "A host that is not heard. Its tasks are `UNKNOWN`, and its questions take no answers."),
        Term("fleet", "Hosts and people that share a NATS server: hosts publish there, and people read and answer."),
        Term("forwarder", "The process that publishes a host's event logs to its fleet, and hears the answers."),
        Term("key", "What a host, a person or a viewer signs with in a fleet. A viewer may only read."),
    ),
}
