"""The check of a task, run by the supervisor; a failure counts only after a second run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from unstuck.clock import Clock
from unstuck.contract import CheckResult
from unstuck.errors import AgentNotFound, system_failure
from unstuck.eventlog.storage.text_files import read_ends
from unstuck.processes import Launch, clean_environment, run
from unstuck.text import Clean, admit

READ_LIMIT = 1_000_000
_EVIDENCE_LIMIT = 4_000
_NOT_FOUND = (126, 127)
# Exit codes of runners that found no test: 5 of pytest and unittest, 1 of most others.
_NO_TESTS = (1, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Result of a check. ``text`` is its admitted output, ``output`` the raw file and ``output_at`` the bytes of it.

    ``contradicted``: it ended with 0, and a runner's closing line says otherwise. ``flaked``: it failed, with
    ``first_text`` as its output, and passed when it was run again without a change.
    """

    result: CheckResult
    command: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    output: str = ""
    output_at: tuple[int, int] = (0, 0)
    text: Clean = Clean("")
    problem: Clean = Clean("")
    flaked: bool = False
    first_exit_code: int | None = None
    first_text: Clean = Clean("")

    @property
    def evidence(self) -> Clean:
        """The end of the output, short enough for the log."""
        return admit(self.text[-_EVIDENCE_LIMIT:], limit=_EVIDENCE_LIMIT)


def settled(check: Check, rule: Literal["", "failed", "passed"]) -> Check:
    """Return ``check`` with the result of ``rule`` where its output contradicts its exit code."""
    return replace(check, result=rule) if rule and check.result == "contradicted" else check


class Verifier:
    """Runs checks. ``folder`` holds their raw output, ``timeout`` is seconds per run."""

    def __init__(self, folder: Path, *, clock: Clock, timeout: float, limit: int, environ: Mapping[str, str]) -> None:
        self._folder, self._clock, self._timeout, self._limit = folder, clock, timeout, limit
        self._environ = environ

    def with_variables(self, more: Mapping[str, str]) -> Verifier:
        """Return one whose checks get ``more`` variables."""
        environ = {**self._environ, **more}
        return Verifier(self._folder, clock=self._clock, timeout=self._timeout, limit=self._limit, environ=environ)

    async def check(
        self, command: str | None, *, tree: Path, label: str, again: bool = True, within: float | None = None
    ) -> Check:
        """Run ``command`` in ``tree`` for at most ``within`` seconds, and once more after a failure."""
        if not command:
            return Check(result="none")
        first = await self._once(command, tree, f"{label}.check", within)
        if first.result not in ("failed", "contradicted") or not again:
            return first
        second = await self._once(command, tree, f"{label}.check-again")
        if second.result == "passed":
            return replace(
                second,
                seconds=first.seconds + second.seconds,
                flaked=True,
                first_exit_code=first.exit_code,
                first_text=first.text,
            )
        return second

    async def _once(self, command: str, tree: Path, name: str, within: float | None = None) -> Check:
        limit = self._timeout if within is None else min(within, self._timeout)
        output = self._folder / f"{name}.log"
        launch = Launch(
            command=("sh", "-c", command),
            cwd=tree,
            environment=clean_environment(self._environ),
            output=output,
            limit=self._limit,
        )
        try:
            output.unlink(missing_ok=True)
            done = await run(launch, timeout=limit, clock=self._clock)
        except TimeoutError:
            problem = admit(f"the check took longer than {limit:g} s: {command}", limit=500)
            return Check(result="could_not_run", command=command, problem=problem, output=output.name)
        except (AgentNotFound, OSError) as error:
            if (failure := system_failure(error)) is not None:
                raise failure from error
            return Check(result="could_not_run", command=command, problem=admit(str(error), limit=500))
        text = await read_output(output)
        code = done.code if done.code is not None else -(done.signal or 1)
        result, problem = _judged(command, code, text)
        return Check(
            result=result,
            command=command,
            exit_code=code,
            seconds=done.seconds,
            output=output.name,
            output_at=(done.start, done.end),
            text=text,
            problem=problem,
        )


def _judged(command: str, code: int, text: str) -> tuple[CheckResult, Clean]:
    from unstuck.diagnosis.parsing.run_summary import contradiction, ran_nothing
    from unstuck.supervision.checks.check_command import is_direct

    if code in _NOT_FOUND:
        last = text.strip().splitlines()[-1:] or ["command not found"]
        return "could_not_run", admit(f"the check does not exist or may not be run: {command} ({last[0]})", limit=500)
    if code == 0:
        said = contradiction(text, trusted=is_direct(command))
        return (
            ("contradicted", admit(f"the check exited with 0 but {said}", limit=500)) if said else ("passed", Clean(""))
        )
    if (code in _NO_TESTS or code > 100) and ran_nothing(text):
        return "could_not_run", admit(f"the check ran no test at all: {command}", limit=500)
    return "failed", Clean("")


async def read_output(path: Path) -> Clean:
    """The admitted text of a raw output file: all of it, or head and tail of a large one; empty when it is missing."""
    return admit(await read_ends(path, READ_LIMIT), limit=READ_LIMIT)


def detect_check(tree: Path) -> str:
    """Return the likely check of this project, for an offer; empty when none is found."""
    candidates = (
        ("pytest -q", ("pytest.ini", "conftest.py", "tests/conftest.py")),
        ("cargo test", ("Cargo.toml",)),
        ("go test ./...", ("go.mod",)),
        ("npm test", ("package.json",)),
        ("pytest -q", ("pyproject.toml", "setup.py", "tests")),
        ("make test", ("Makefile",)),
    )
    return next((check for check, files in candidates if any((tree / file).exists() for file in files)), "")
