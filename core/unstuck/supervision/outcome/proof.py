"""Proof of a check that passed: it fails without the work, and it passes with the tests as they were."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from unstuck.contract import PROOF, WEAKENED, CheckResult
from unstuck.errors import WorkspaceError
from unstuck.eventlog import events as e
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.checks.check import Check, settled
from unstuck.supervision.checks.weakenings import is_test_file
from unstuck.supervision.context.context import RunContext
from unstuck.text import Clean, admit, one_line

# Caches of bytecode tell two versions of a file of one size apart by the whole second of its time.
_PAUSE_S = 1.1
_TELL = "Add a test that fails without your work, and leave the tests that are there as strong as they were."


async def prove(core: RunContext, row: TaskRow, check: Check) -> tuple[Check, str]:
    """``check``, which passed on the last checkpoint of ``row``, and its trouble once it was proved.

    The tree of the task holds other files meanwhile. What a person has accepted is not proved again.
    """
    if PROOF in row.accepted or row.baseline in ("", "none") or row.good in ("", "none"):
        return check, ""
    found = await _proof(core, row)
    if not found.problem:
        return check, ""
    problem = admit(f"the check passed, but it proves nothing: {found.problem}", limit=2_000)
    if core.may_ask and not row.refused:
        return replace(check, result="contradicted", problem=problem), WEAKENED
    return replace(check, result="failed", problem=problem, text=admit(f"{problem}. {_TELL}")), WEAKENED


async def end_cut_off(core: RunContext, row: TaskRow) -> None:
    """Put the task's files back that a proof had replaced when its supervisor ended. Raises WorkspaceError."""
    if row.proving is not None:
        checkpoint, named = row.proving
        differing = await core.checkpoints(core.tree_of(row)).changed(row.baseline, checkpoint)
        # The log has the names as text for people, which is not always how the disk spells them.
        texts = set(map(one_line, named))
        paths = [change.path for change in differing if one_line(change.path) in texts]
        await _set_back(core, row, checkpoint, paths)
        core.append(e.CheckProved(), task=row.id, attempt=row.attempt)


async def _proof(core: RunContext, row: TaskRow) -> e.CheckProved:
    store, before = core.checkpoints(core.tree_of(row)), row.baseline_check
    found = e.CheckProved()
    try:
        own = await store.written_by(row.id, row.baseline)
        changed = [change.path for change in await store.changed(row.baseline) if own is None or change.path in own]
        tests = [path for path in changed if is_test_file(path)]
        work = [path for path in changed if path not in tests]
        if not tests and before is not None and before.command == row.task.verify and before.result != "could_not_run":
            found = _found(without_work=before.result)
        elif not work:
            found = _found(without_work="passed")
        else:
            last = store.last_restore()
            # What the proof changes and puts back counts as this task's.
            saved = await store.create("proof", run=core.run, task=row.id, works=True)
            core.append(
                e.ProofStarted(checkpoint=saved.id, paths=tuple(map(one_line, changed))),
                task=row.id,
                attempt=row.attempt,
            )
            await core.journal.committed()
            try:
                old_tests: CheckResult = "none"
                if tests:
                    old_tests = await _with_old(core, row, tests, "old-tests")
                    await _set_back(core, row, saved.id, tests)
                found = _found(await _with_old(core, row, work, "without-work"), old_tests)
            finally:
                await _set_back(core, row, saved.id, changed)
                store.note_restore(last)
                await store.create("proof", run=core.run, task=row.id, works=False)
                core.append(found, task=row.id, attempt=row.attempt)
            return found
    except (WorkspaceError, OSError) as error:
        if core.row(row.id).proving is not None:
            raise  # the files are not back: they are no result
        found = e.CheckProved(note=one_line(f"it could not be proved: {error}", 500))
    core.append(found, task=row.id, attempt=row.attempt)
    return found


async def _with_old(core: RunContext, row: TaskRow, paths: Collection[str], name: str) -> CheckResult:
    """The result of the check once ``paths`` are as they were before the work."""
    tree = core.tree_of(row)
    await _set_back(core, row, row.baseline, paths)
    await core.clock.sleep(_PAUSE_S)
    label = f"{row.attempt or row.id}.{name}"
    done = await core.verifier.check(row.task.verify, tree=core.workdir(tree), label=label, again=False)
    return settled(done, core.head.run.check_rules.get(row.task.verify or "", "failed")).result


async def _set_back(core: RunContext, row: TaskRow, checkpoint: str, paths: Collection[str]) -> None:
    """Set those of ``paths`` back that differ from ``checkpoint``; a file that neither has is none to set back."""
    store = core.checkpoints(core.tree_of(row))
    differing = {change.path for change in await store.changed(checkpoint)}
    if wanted := differing.intersection(paths):
        await store.restore(checkpoint, run=core.run, paths=wanted)


def _found(without_work: CheckResult, old_tests: CheckResult = "none") -> e.CheckProved:
    if without_work == "could_not_run":
        return e.CheckProved(note=Clean("it could not be proved: the check could not run without the work"))
    problems = []
    if without_work == "passed":
        problems.append("it passes without the work, too")
    if old_tests not in ("passed", "none"):
        problems.append("it fails with the tests as they were")
    return e.CheckProved(without_work=without_work, old_tests=old_tests, problem=Clean("; ".join(problems)))
