"""The commands by group, with what each does, and the examples of their helps. Imports no command."""

from __future__ import annotations

GROUPS = {
    "Run": {
        "run": "Run a plan, a task or one command under supervision.",
        "watch": "Supervise agents that run in their own terminals.",
        "replay": "Replay a run, step by step.",
        "demo": "Run a demo: scripted agents in a real repository.",
    },
    "Look": {
        "runs": "List the runs of this project.",
        "show": "Show one run: its tasks, attempts and open questions.",
        "recap": "Tell what happened in a run, in at most ten lines.",
        "events": "Print or follow the event log of a run.",
        "review": "Review past sessions of your agents: loops, failures, claims.",
        "truth": "Compare what agents claimed with what their checks found.",
        "signatures": "List the failures of this project and what solved them.",
        "diagnose": "Diagnose a failure from a file or standard input.",
    },
    "Decide": {
        "answer": "Answer an open question, from any terminal.",
        "memory": "List, promote or delete what unstuck remembers.",
    },
    "Files": {
        "checkpoints": "List, create, compare and restore checkpoints.",
        "delete": "Delete a run, or all data of unstuck in this project.",
        "fsck": "Check the event log of a run.",
    },
    "Set up": {
        "config": "Show, edit and validate your settings.",
        "doctor": "Check the installation; report problems and file locations.",
        "hooks": "Install, remove and check the hooks of your agents.",
        "mcp": "Serve agents over MCP, and install the server.",
        "completion": "Print the completion script of a shell.",
        "help": "Print the help of a command.",
    },
}
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
OLD_NAMES = {"verify": "fsck"}

_EXAMPLES = {
    "run": (
        "run plan.yaml",
        'run --check "pytest -q" --agent claude "fix the tests"',
        'run --check "pytest -q" -- my-agent --now',
        "run --resume last",
    ),
    "watch": ("watch", 'watch --check "pytest -q"'),
    "replay": ("replay last",),
    "demo": ("demo", "demo --speed 2"),
    "runs": ("runs", "runs --days", "runs --json"),
    "show": ("show", "show last --json", "show last --recovery"),
    "recap": ("recap last",),
    "events": ("events last --follow", "events --type gate_opened --since 10m", "events --decided-without-me"),
    "review": ("review --since 7d", "review --agent claude --json", "review session.jsonl"),
    "truth": ("truth", "truth --all"),
    "signatures": ("signatures",),
    "diagnose": ("diagnose pytest.log", "diagnose --json < pytest.log"),
    "answer": (
        'answer g3-1a2b show-me "keep the old name as an alias"',
        "answer g3-1a2b retry",
        'answer g3-1a2b skip "not needed"',
    ),
    "memory": ("memory list",),
    "checkpoints": ("checkpoints list",),
    "delete": ("delete 20261122-143000", "delete --all"),
    "fsck": ("fsck last", "fsck last --json"),
    "config": ("config show", "config show failure_handler", "config edit", "config validate --json"),
    "doctor": ("doctor", "doctor --json"),
    "hooks": ("hooks install claude", "hooks status"),
    "mcp": ("mcp install claude",),
    "completion": ("completion bash >> ~/.bashrc", "completion fish > ~/.config/fish/completions/unstuck.fish"),
    "help": ("help run", "help hooks install"),
}


def examples_of(name: str) -> str:
    """The block of examples at the end of a command's help, laid out as click keeps it."""
    return "\n".join(("\b", "Examples:", *(f"  unstuck {line}" for line in _EXAMPLES[name])))
