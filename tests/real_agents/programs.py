"""The real programs: what is installed, and what each needs to speak to a model on this machine alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.real_agents.environments import environment

__all__ = ["ADAPTERS", "AIDER", "CLINE", "PROGRAMS", "Program", "install", "prepare"]

INSTALL_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An agent's package, of ``python`` or of npm; ``arguments`` are what a run of it has to be given here beyond its
    preset."""

    name: str
    package: str
    version: str
    prepare: Callable[[Path, str], Mapping[str, str]]
    arguments: tuple[str, ...] = ()
    python: bool = False


def install(program: Program, folder: Path, environ: Mapping[str, str]) -> tuple[Path | None, str]:
    """The directory of its executables, and its version; None and the reason where it cannot be installed."""
    if program.python:
        wanted = f"{program.package}=={program.version}"
        try:
            return environment(folder / program.name, wanted, environ=environ, limited=False), program.version
        except (AssertionError, subprocess.TimeoutExpired) as error:
            return None, str(error)
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        return None, "npm is not installed"
    place = folder / program.name
    place.mkdir(parents=True, exist_ok=True)
    bin = place / "node_modules" / ".bin"
    if not (bin / program.name).exists():
        wanted = f"{program.package}@{program.version}"
        command = [npm, "install", "--prefix", str(place), "--no-audit", "--no-fund", "--loglevel=error", wanted]
        try:
            done = subprocess.run(command, env=dict(environ), capture_output=True, text=True, timeout=INSTALL_S)
        except subprocess.TimeoutExpired:
            return None, f"{wanted} was not installed within {INSTALL_S} s"
        if done.returncode or not (bin / program.name).exists():
            return None, f"{wanted} cannot be installed: {done.stderr.strip()[-300:]}"
    found = json.loads((place / "node_modules" / program.package / "package.json").read_text("utf-8"))["version"]
    return bin, found


def prepare(program: Program, home: Path, url: str, bin: Path) -> dict[str, str]:
    """A clean environment in which the program knows nothing but ``home`` and the model at ``url``."""
    node = Path(shutil.which("node") or "/usr/bin/node").parent
    tools = [str(Path(shutil.which(tool) or f"/usr/bin/{tool}").parent) for tool in ("git", "sh")]
    path = os.pathsep.join(dict.fromkeys([str(bin), str(node), *tools, "/usr/bin", "/bin"]))
    home.mkdir(parents=True, exist_ok=True)
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TERM": "xterm-256color", **program.prepare(home, url)}


def _claude(home: Path, url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "no-key-at-all",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _codex(home: Path, url: str) -> dict[str, str]:
    folder = home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        'model = "scripted"\n'
        'model_provider = "scripted"\n'
        "[model_providers.scripted]\n"
        'name = "scripted"\n'
        f'base_url = "{url}/v1"\n'
        'env_key = "SCRIPTED_KEY"\n'
        'wire_api = "responses"\n'
        "request_max_retries = 1\n"
        "stream_max_retries = 1\n"
        "supports_websockets = false\n"
        "[analytics]\n"
        "enabled = false\n",
        encoding="utf-8",
    )
    return {"CODEX_HOME": str(folder), "SCRIPTED_KEY": "none"}


def _gemini(home: Path, url: str) -> dict[str, str]:
    folder = home / ".gemini"
    folder.mkdir(exist_ok=True)
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    (folder / "settings.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_NO_RELAUNCH": "true"}


def _qwen(home: Path, url: str) -> dict[str, str]:
    folder = home / ".qwen"
    folder.mkdir(exist_ok=True)
    # With its own mark of the newest version: otherwise its first start writes the file anew.
    settings = {"privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}, "$version": 4}
    (folder / "settings.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}


def _opencode(home: Path, url: str) -> dict[str, str]:
    config = home / "opencode.json"
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "scripted"}},
    }
    settings = {
        # Without its schema its first start writes the file anew.
        "$schema": "https://opencode.ai/config.json",
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "autoupdate": False,
        "share": "disabled",
    }
    config.write_text(json.dumps(settings), encoding="utf-8")
    return {"OPENCODE_CONFIG": str(config), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _pi(home: Path, url: str) -> dict[str, str]:
    folder = home / ".pi" / "agent"
    folder.mkdir(parents=True, exist_ok=True)
    model = {"id": "scripted", "name": "scripted", "contextWindow": 100_000, "maxTokens": 1_000}
    provider = {"baseUrl": f"{url}/v1", "apiKey": "none", "api": "openai-completions", "models": [model]}
    (folder / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}), encoding="utf-8")
    return {"PI_OFFLINE": "1"}


def _cline(home: Path, url: str) -> dict[str, str]:
    return {
        "CLINE_URL": f"{url}/v1",  # for `cline auth`, which a test runs
        # Over ACP it takes a key of another provider only from here.
        "CLINE_API_KEY": "none",
        "CLINE_PROVIDER": "openai-compatible",
        "CLINE_MODEL": "scripted",
    }


def _aider(home: Path, url: str) -> dict[str, str]:
    return {"OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": "none", "AIDER_MODEL": "openai/scripted"}


PROGRAMS: Mapping[str, Program] = {
    program.name: program
    for program in (
        Program(
            name="claude",
            package="@anthropic-ai/claude-code",
            version="2.1.197",
            prepare=_claude,
            arguments=("--allowedTools", "Bash"),
        ),
        Program(name="codex", package="@openai/codex", version="0.169.0", prepare=_codex),
        Program(
            name="gemini",
            package="@google/gemini-cli",
            version="0.61.0",
            prepare=_gemini,
            arguments=("--yolo", "--model", "gemini-2.5-flash"),
        ),
        Program(
            name="qwen",
            package="@qwen-code/qwen-code",
            version="0.15.10",
            prepare=_qwen,
            arguments=("--auth-type", "openai", "--yolo"),
        ),
        Program(name="opencode", package="opencode-ai", version="1.18.33", prepare=_opencode),
        Program(
            name="pi",
            package="@mariozechner/pi-coding-agent",
            version="0.73.1",
            prepare=_pi,
            arguments=("--provider", "scripted", "--model", "scripted"),
        ),
    )
}

CLINE = Program(name="cline", package="cline", version="3.0.65", prepare=_cline)
AIDER = Program(name="aider", package="aider-chat", version="0.86.2", prepare=_aider, python=True)
"""These two continue no session, so they are walked apart from the others."""
ADAPTERS: Mapping[str, Program] = {
    program.name: program
    for program in (
        Program(
            name="claude-agent-acp",
            package="@agentclientprotocol/claude-agent-acp",
            version="0.101.0",
            prepare=_claude,
        ),
        Program(name="codex-acp", package="@agentclientprotocol/codex-acp", version="2.6.0", prepare=_codex),
    )
}
"""Programs that speak the Agent Client Protocol for an agent that does not."""
