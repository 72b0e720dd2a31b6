"""The commands by group, with what each does, and the examples of their helps. Imports no command."""

from __future__ import annotations

from collections.abc import Sequence

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
        "export": "Export a run as an OpenTelemetry trace.",
        "review": "Review past sessions of your agents: loops, failures, claims.",
        "truth": "Compare what agents claimed with what their checks found.",
        "what-if": "Compare past runs under other settings: what would differ.",
        "signatures": "List the failures of this project and what solved them.",
        "diagnose": "Diagnose a failure from a file or standard input.",
    },
    "Decide": {
        "answer": "Answer an open question, from any terminal.",
        "web": "Serve runs as a page: read and answer from a phone or a browser.",
        "fleet": "Show and answer runs of other machines, over a NATS server.",
        "memory": "List, explain, promote or delete what unstuck remembers.",
        "permissions": "List or revoke what you have allowed agents to do.",
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
        "schema": "Print the JSON Schema of what a command prints.",
        "completion": "Print the completion script of a shell.",
        "help": "Print the help of a command.",
    },
}
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
OLD_NAMES = {"verify": "fsck"}
HIDDEN = ("serve",)
"""Commands that programs start and no person."""

_EXAMPLES = {
    "run": (
        "run plan.yaml",
        'run --check "pytest -q" --agent claude "fix the tests"',
        'run --check "pytest -q" -- my-agent --now',
        "run --resume last",
        "run plan.yaml --fleet",
    ),
    "watch": ("watch", 'watch --check "pytest -q"', "watch --host build1 --host ann@build2"),
    "replay": ("replay last",),
    "demo": ("demo", "demo --speed 2"),
    "runs": ("runs", "runs --days", "runs --json"),
    "show": ("show", "show last --json", "show last --recovery"),
    "recap": ("recap last",),
    "schema": ("schema", "schema show"),
    "export": ("export --otlp", "export --otlp last --endpoint http://collector:4318"),
    "events": ("events last --follow", "events --type gate_opened --since 10m", "events --decided-without-me"),
    "review": ("review --since 7d", "review --agent claude --json", "review session.jsonl"),
    "truth": ("truth", "truth --all"),
    "what-if": (
        "what-if --set max_retries=2",
        "what-if --set window_size=4 --all",
        "what-if --set window_size=4 session.jsonl",
    ),
    "signatures": ("signatures",),
    "diagnose": ("diagnose pytest.log", "diagnose --json < pytest.log"),
    "answer": (
        'answer g3-1a2b show-me "keep the old name as an alias"',
        "answer g3-1a2b retry",
        'answer g3-1a2b skip "not needed"',
    ),
    "web": ("web", "web last --qr", "web --read-only", "web link", "web sessions --revoke all"),
    "memory": ("memory list", "memory promote 1f0c9a"),
    "memory list": ("memory list --kind rule", "memory list --json"),
    "memory approaches": ("memory approaches", "memory approaches 3f2a", "memory approaches --json"),
    "memory forget": ("memory forget 1f0c9a",),
    "memory promote": ("memory promote 1f0c9a",),
    "fleet": ("fleet up --host box1 --person anna", "fleet join tls://server:4222 --creds box1.json"),
    "fleet up": ("fleet up --host box1 --person anna", "fleet up --listen 10.0.0.5:4222 --address 10.0.0.5"),
    "fleet join": ("fleet join tls://server:4222 --creds box1.json", "fleet join", "fleet join --foreground"),
    "fleet leave": ("fleet leave",),
    "fleet status": ("fleet status", "fleet status --json"),
    "fleet hosts": ("fleet hosts", "fleet hosts --json"),
    "fleet doctor": ("fleet doctor", "fleet doctor --json"),
    "fleet revoke": ("fleet revoke box1",),
    "fleet answer": ('fleet answer box1 g3-1a2b retry "keep the old name"',),
    "fleet work": (
        "fleet work --agent claude",
        "fleet work --slots 2 --label gpu --agent 'fix=python3 fix.py {prompt_file}'",
    ),
    "fleet trust": ("fleet trust", "fleet trust UAXK7...", "fleet trust --remove UAXK7..."),
    "fleet drain": ("fleet drain build1", "fleet drain build1 --undo"),
    "checkpoints": ('checkpoints create -m "before I tidy up"', "checkpoints list"),
    "checkpoints list": ("checkpoints list", "checkpoints list --json"),
    "checkpoints create": ("checkpoints create", 'checkpoints create -m "before I tidy up"'),
    "checkpoints show": ("checkpoints show chk-20261122-143000",),
    "checkpoints diff": (
        "checkpoints diff chk-20261122-143000",
        "checkpoints diff chk-20261122-143000 chk-20261122-150000 --file src",
    ),
    "checkpoints restore": (
        "checkpoints restore chk-20261122-143000",
        "checkpoints restore chk-20261122-143000 --file src/price.py --yes",
    ),
    "checkpoints undo": ("checkpoints undo",),
    "permissions": ("permissions list", 'permissions revoke "make test *"'),
    "permissions list": ("permissions list", "permissions list --json"),
    "permissions revoke": ('permissions revoke "make test *"',),
    "delete": ("delete 20261122-143000", "delete --all"),
    "fsck": ("fsck last", "fsck last --json"),
    "config": ("config show", "config edit"),
    "config show": ("config show", "config show failure_handler", "config show --json"),
    "config path": ("config path", "config path --here"),
    "config edit": ("config edit", "config edit --here"),
    "config validate": ("config validate", "config validate --json"),
    "doctor": ("doctor", "doctor --json"),
    "hooks": ("hooks install claude", "hooks status"),
    "hooks install": ("hooks install claude", "hooks install codex --here --yes"),
    "hooks remove": ("hooks remove claude",),
    "hooks status": ("hooks status", "hooks status claude --json"),
    "mcp": ("mcp install claude",),
    "mcp install": ("mcp install claude", "mcp install codex --here --yes"),
    "mcp remove": ("mcp remove claude",),
    "mcp status": ("mcp status", "mcp status --json"),
    "completion": ("completion bash >> ~/.bashrc", "completion fish > ~/.config/fish/completions/unstuck.fish"),
    "help": ("help run", "help hooks install"),
}


def module_of(name: str) -> str:
    """Return the module of a command."""
    return f"unstuck_tui.cli.{name.replace('-', '_')}"


def path_of(words: Sequence[str]) -> str:
    """Return the command and sub-command that an argument list begins with, as they are typed."""
    longest = next((n for n in (2, 1) if len(words) >= n and " ".join(words[:n]) in _EXAMPLES), 0)
    return " ".join(("unstuck", *words[:longest]))


def examples_of(name: str) -> str:
    """The block of examples at the end of a command's help, laid out as click keeps it."""
    return "\n".join(("\b", "Examples:", *(f"  unstuck {line}" for line in _EXAMPLES[name])))
