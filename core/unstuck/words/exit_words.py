"""Exit codes and signals of a process in words. Pure."""

from __future__ import annotations

import signal

_SHELL_BASE = 128
_REASONS = {
    signal.SIGKILL: "out of memory?",
    signal.SIGSEGV: "invalid memory access",
    signal.SIGBUS: "invalid memory access",
    signal.SIGABRT: "it aborted itself",
    signal.SIGILL: "built for another processor?",
    signal.SIGPIPE: "nobody read its output",
    signal.SIGXCPU: "its limit of processor time is used up",
    signal.SIGXFSZ: "its limit of file size is used up",
}
_BY_SHELL = (*_REASONS, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def signal_words(number: int) -> str:
    """Return a signal that ended a process, with its usual reason: ``killed by signal 9: out of memory?``."""
    reason = _REASONS.get(number)  # type: ignore[call-overload]
    return f"killed by signal {number}" + (f": {reason}" if reason else "")


def exit_words(code: int) -> str:
    """Return an exit code in words; one above 128 may be a shell's word for a signal that ended its program."""
    number = code - _SHELL_BASE
    return f"exit code {code} ({signal_words(number)})" if number in _BY_SHELL else f"exit code {code}"
