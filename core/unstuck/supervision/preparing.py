"""Before an attempt: its tree, its checkpoint, what is set back, what was gathered, and the text it is told.

Every step can be done twice: a run that was killed in the middle does it again.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import aiofiles

from unstuck.contract import Capabilities, Guidance
from unstuck.diagnosis import Cause
from unstuck.errors import WorkspaceError
from unstuck.escalation.prompts import Brief, compose, set_back
from unstuck.escalation.report import format_stuck_question, stuck_report
from unstuck.escalation.research import research_targets
from unstuck.record import events as e
from unstuck.record.state import TaskRow
from unstuck.supervision.asking import open_gate
from unstuck.supervision.core import Core
from unstuck.supervision.learning import (
    answered_before,
    insights_before,
    keep_rules,
    remember_answers,
    remember_insights,
)
from unstuck.supervision.touching import consequences, used_by_rung
from unstuck.supervision.verification import Check
from unstuck.text import Clean, admit, one_line
from unstuck.workspace.checkpoints import Plan
from unstuck.workspace.gather import gather, surroundings

__all__ = [
    "ask",
    "first_guidance",
    "prepare",
    "research",
    "restore",
    "save",
    "save_good",
    "save_held",
    "set_up",
    "setup_problem",
    "tree_ready",
]


_NAMED = 50


async def tree_ready(core: Core, row: TaskRow) -> Path:
    """Make the task's work tree, save it as the baseline, and return where in it the agent works.

    What has come to the run's branch since the tree was made is brought in before the task's first attempt, and again
    when the ground under it was mended.
    """
    stale = row.attempts == 0 or row.saved_at < core.head.run.restored
    if row.task.isolation == "worktree" and core.worktrees is not None:
        tree = await core.worktrees.create(row.id)
        if stale:
            await core.worktrees.refresh(row.id, f"{row.id}: so far")
    else:
        tree = core.root
    if stale:
        await _checkpoint(core, row, tree, "baseline", purpose="baseline")
    else:
        await _take_up(core, row, tree)
    workdir = core.workdir(tree)
    workdir.mkdir(parents=True, exist_ok=True)
    return workdir


async def set_up(core: Core, row: TaskRow, workdir: Path) -> Clean:
    """Run the plan's ``setup`` once in a fresh work tree. Why the attempt cannot start; empty where it can.

    A setup that fails on the untouched base as well is nobody's fault: the run is blocked until the ground is mended.
    """
    trees = core.worktrees
    if not core.setup or row.task.isolation != "worktree" or trees is None or trees.is_set_up(row.id):
        return Clean("")
    done = await core.verifier.check(core.setup, tree=workdir, label=f"{row.id}.{row.attempts + 1}.setup")
    passed = done.exit_code == 0
    if passed:
        # What was set up is part of what every attempt starts from.
        await _checkpoint(core, row, core.tree_of(row), "baseline", purpose="baseline")
        trees.mark_set_up(row.id)
    core.append(
        e.SetupFinished(
            passed=passed,
            seconds=round(done.seconds, 3),
            command=core.setup,
            exit_code=done.exit_code,
            output=done.output,
            evidence=Clean("") if passed else done.evidence,
        ),
        task=row.id,
    )
    if passed:
        return Clean("")
    if core.setup_fails is not None and await core.setup_fails():
        if core.row(row.id).state == "ready":
            event = e.InfrastructureBlocked(issue=setup_problem(core.setup, done), reported_by=row.id)
            core.append(event, task=row.id)
        return Clean("")
    return admit(f"{setup_problem(core.setup, done)}\n{done.evidence}", limit=4_000)


def setup_problem(setup: str, done: Check) -> Clean:
    """What to say of a ``setup`` that did not do its work, in one line."""
    said = next((line for line in reversed(done.text.splitlines()) if line.strip()), done.problem or "it said nothing")
    code = "" if done.exit_code is None else f" (exit {done.exit_code})"
    return admit(f"setup failed{code}: {one_line(setup)[:150]}: {one_line(said)}", limit=500)


async def _checkpoint(core: Core, row: TaskRow, tree: Path, reason: str, *, purpose: str) -> None:
    """Save the tree; where that cannot be done the run goes on and the record says so."""
    works = True if purpose == "baseline" else False if purpose == "good" or reason == "ask" else None
    try:
        saved = await core.checkpoints(tree).create(reason, run=core.run, task=row.id, works=works)
        progress = await _progress(core, row, tree) if reason == "progress" else ()
    except WorkspaceError as error:
        event = e.CheckpointCreated(id="none", reason=admit(f"not possible: {error}", limit=500), purpose=purpose)  # type: ignore[arg-type]
    else:
        event = e.CheckpointCreated(
            id=saved.id,
            reason=reason,
            files=saved.files,
            not_covered=tuple(one_line(path) for path in saved.not_covered[:_NAMED]),
            ignored=saved.ignored_count,
            progress=progress,
            purpose=purpose,  # type: ignore[arg-type]
        )
    core.append(event, task=row.id, attempt=row.attempt)


async def _take_up(core: Core, row: TaskRow, tree: Path) -> None:
    """Save what others have left in the tree while this task waited: only its own work is ever taken back."""
    store = core.checkpoints(tree)
    if store.worker() != row.id:
        with suppress(WorkspaceError):
            await store.create("taken up again", run=core.run, task=row.id, works=True)


async def save_good(core: Core, row: TaskRow) -> None:
    """The check has just passed: what is there now is the last known good."""
    await _checkpoint(core, row, core.tree_of(row), "good", purpose="good")


async def _progress(core: Core, row: TaskRow, tree: Path) -> tuple[str, ...]:
    """What has been done since the baseline, a file a line, for a session that knows nothing of it."""
    if row.baseline in ("", "none"):
        return ()
    done = {"change": "changed", "return": "deleted", "disappear": "added"}
    plan = await core.checkpoints(tree).plan(row.baseline)
    return tuple(f"{done[change.status]} {one_line(change.path)}" for change in plan.changes[:_NAMED])


async def _changed(core: Core, row: TaskRow) -> tuple[str, ...]:
    """The same, where it can be found out at all."""
    try:
        return await _progress(core, row, core.tree_of(row))
    except WorkspaceError:
        return ()


async def save(core: Core, row: TaskRow, reason: str) -> None:
    """The checkpoint that the directive asks for."""
    await _checkpoint(core, row, core.tree_of(row), reason, purpose="directive")


async def save_asked(core: Core, row: TaskRow) -> None:
    """The checkpoint of what a person is asked about."""
    await _checkpoint(core, row, core.tree_of(row), "ask", purpose="question")


async def save_held(core: Core, gate: str) -> None:
    """The checkpoint of what a person is asked about while the agent stands still; once for each question.

    Whoever holds the agent waits for this, so nothing is changed in between, whatever is answered meanwhile.
    """
    asked = core.head.gates[gate].gate
    if not asked.attempt or asked.standing not in ("held", "frozen") or "checkpoint" in asked.context:
        return
    row = core.row(asked.task)
    try:
        await save_asked(core, row)
    except OSError as error:
        event = e.CheckpointCreated(id="none", reason=one_line(f"not possible: {error}"), purpose="question")
        core.append(event, task=row.id, attempt=row.attempt)


async def run_command(core: Core, row: TaskRow, command: str) -> None:
    """Run what the user's own settings name for this failure, in the task's tree."""
    tree = core.workdir(core.tree_of(row))
    done = await core.verifier.check(command, tree=tree, label=f"{row.attempt or row.id}.resolve", again=False)
    said = f"exit code {done.exit_code}" if done.exit_code is not None else done.problem
    note = f"unstuck has run `{one_line(command)}` here ({said})."
    if done.exit_code != 0 and done.evidence:
        note += f" It printed:\n{done.evidence}"
    event = e.CommandRan(
        command=admit(command, limit=2_000),
        exit_code=done.exit_code,
        seconds=round(done.seconds, 3),
        output=done.output,
        output_at=done.output_at,
        note=admit(note, limit=4_000),
    )
    core.append(event, task=row.id, attempt=row.attempt)


async def restore(core: Core, row: TaskRow, can: Capabilities) -> None:
    """Set back what the task wrote, as the directive asks; past a share of the tree only with a yes."""
    directive = row.directive
    assert directive is not None
    target = row.good if directive.restore == "good" else row.baseline
    why = ""
    if not can.may_restore:
        why = "they are not set back without a yes."
    elif not target or target == "none" or directive.saved == "none":
        why = "there is no checkpoint to go back to."
    elif core.repository is None:
        why = "without git nothing is set back."
    if not why:
        try:
            why = await _set_back(core, row, target)
        except WorkspaceError as error:
            why = str(error)
    if why:
        note = admit(f"The files are as you left them: {why}", limit=500)
        core.append(e.RestoreDone(target="", note=note), task=row.id, attempt=row.attempt)


async def _set_back(core: Core, row: TaskRow, target: str) -> str:
    """Restore and record it, or ask first; returns why it may not be."""
    store = core.checkpoints(core.tree_of(row))
    own = await store.written_by(row.id, target)
    if own is not None and not own:
        return "others have worked on them since."
    paths = own or ()
    plan = await store.plan(target, paths=paths)
    if not plan.is_within(core.settings.restore_share):
        said = _permission(core, row, plan)
        if said != "allow":
            return "setting them back was not allowed." if said else ""
    done = await store.restore(target, run=core.run, paths=paths)
    broken = row.directive is not None and row.directive.restore == "good"
    said = set_back([(change.status, change.path) for change in done.changes], broken=broken)
    if own is not None:
        said += "\nWhat others wrote in this tree stays."
    event = e.RestoreDone(
        target=target,
        safety=done.safety.id,
        changed=len(done.changes),
        note=admit(said, limit=2_000),
    )
    core.append(event, task=row.id, attempt=row.attempt)
    return ""


def _permission(core: Core, row: TaskRow, plan: Plan) -> str:
    """What was answered to the question whether so much may be set back; empty where it has only now been asked."""
    key = f"restore {row.attempt}"
    for asked in core.head.gates.values():
        if (asked.gate.type, asked.gate.task, asked.gate.key) == ("permission", row.id, key) and asked.gate.answer:
            return asked.gate.answer.choice
    if not core.may_ask:
        return "deny"
    lost = [one_line(change.path) for change in plan.changes if change.status != "return"]
    problem = f"{len(lost)} of {plan.files} files would be overwritten or removed to set the tree back"
    context = {
        "task_id": row.id,
        "agent_id": row.task.agent or row.task.agent_type,
        "problem": problem,
        "checkpoint": plan.checkpoint,
        "paths": lost[:_NAMED],
    }
    open_gate(core, "permission", task=row.id, key=key, context=context)
    return ""


async def research(core: Core, row: TaskRow) -> None:
    """Gather what can be found without a model."""
    diagnosis, tree = row.diagnosis, core.tree_of(row)
    location = diagnosis.signature.location if diagnosis else None
    headline = diagnosis.headline if diagnosis else ""
    near = await surroundings(tree, location)
    targets = research_targets(
        diagnosis.cause if diagnosis else Cause.SIMPLE_LOGIC,
        headline,
        file=near.file,
        imports=near.imports,
        files=near.files,
        approach=next(reversed(row.climb.failed_approaches), ""),
    )
    found = await gather(tree, location=location, headline=headline, targets=targets, environ=core.environ)
    insights = tuple(admit(f"{insight.source}:\n{insight.text}", limit=5_000) for insight in found)
    event = e.ResearchDone(insights=insights, targets=tuple(one_line(str(target)) for target in targets))
    core.append(event, task=row.id, attempt=row.attempt)
    remember_insights(core, row, insights)


async def ask(core: Core, row: TaskRow) -> None:
    """Write the stuck report and open the stuck gate."""
    directive = row.directive
    assert directive is not None
    touches = tuple(other.id for other in core.head.tasks.values() if row.id in other.task.needs)
    saved = directive.saved if directive.saved != "none" else ""
    before = await _before(core, row)
    report = stuck_report(
        row.id,
        row.climb,
        row.diagnosis,
        reason=directive.reason,
        checkpoint=saved,
        touches=touches,
        files=await _changed(core, row),
        tokens=used_by_rung(core.head, row.id),
        consequences=consequences(core.head, row),
    )
    name = f"reports/{row.attempt or row.id}.md"
    path = core.folder / name
    path.parent.mkdir(exist_ok=True, mode=0o700)
    async with aiofiles.open(path, "w", encoding="utf-8") as file:
        await file.write(report.markdown())
    signature = row.diagnosis.identity if row.diagnosis else ""
    context = {
        "task_id": row.id,
        "agent_id": row.task.agent or row.task.agent_type,
        "problem": report.summary,
        "location": report.location,
        "attempts": report.attempts,
        "analysis": report.analysis,
        "insights": [insight.splitlines()[0] for insight in report.insights if insight],
        "approaches": list(report.approaches),
        "checkpoint": saved,
        "touches": list(touches),
        "files": list(report.files),
        "tokens": dict(report.tokens),
        "consequences": list(report.consequences),
        "question": format_stuck_question(report),
        "signature": signature,
        "baseline": before,
    }
    if signature:
        remember_answers(core, row, "failed", about=signature)
    if learnt := answered_before(core, signature):
        context["learnt"] = learnt
    open_gate(core, "stuck", task=row.id, key="stuck", context=context, report=name)


async def _before(core: Core, row: TaskRow) -> str:
    """Whether what fails failed before the agent came, for the one task of a command; empty where nobody can say.

    Its check is its goal and may fail beforehand, so this decides nothing: it is for the person who is asked.
    """
    failed = row.check is not None and row.check.result == "failed"
    if core.head.run.kind != "command" or not failed or core.baseline_check is None:
        return ""
    if not core.head.run.baseline:
        await core.baseline_check()
    run = core.head.run
    if run.baseline == "passed":
        return "passes on the last commit: it came with this work, or with changes that are not committed"
    if run.baseline != "failed" or row.diagnosis is None:
        return ""
    same = run.baseline_identity == row.diagnosis.identity
    return f"fails on the last commit {'in the same way' if same else 'in another way'}: it did before this work"


def first_guidance(core: Core, row: TaskRow, can: Capabilities) -> Guidance:
    """What the first attempt is told."""
    brief = Brief(prompt=row.task.prompt, check=row.task.verify or "", signals=can.signals)
    text = compose(brief, core.settings.prompts)
    return Guidance(attempt="", number=0, level="first", text=text, workdir=Path())


def prepare(core: Core, row: TaskRow, can: Capabilities) -> None:
    """Compose the next attempt's guidance and record it."""
    directive = row.directive
    assert directive is not None
    if directive.level == "first":
        _same_again(core, row, can)
        return
    climb = row.climb
    keep_rules(core, directive.answers)
    human = directive.level == "human"
    session = row.session if can.resume and not directive.fresh else None
    # A session that is resumed remembers what it was told; a new one has to hear it again.
    gathered = directive.level in ("research", "human") or session is None
    known = insights_before(core, row) if gathered or climb.directives <= 1 else ()
    brief = Brief(
        prompt=row.task.prompt,
        level=directive.level,
        hint=directive.hint,
        approach=directive.approach,
        answer=_answer_text(directive.answer, directive.approach) if human else "",
        advice=() if session else tuple(said for said in climb.advice if said != directive.answer),
        diagnosis=row.diagnosis,
        evidence=row.check.evidence if row.check else "",
        repeats=climb.repeats,
        failed=climb.failed_approaches,
        insights=(*known, *(climb.insights if gathered else ())),
        restored="\n\n".join(filter(None, (directive.restored_note, directive.ran))),
        progress=directive.progress,
        check=row.task.verify or "",
        signals=can.signals,
    )
    core.append(
        e.DirectivePrepared(
            level=directive.level,
            text=compose(brief, core.settings.prompts),
            approach=admit(directive.approach, limit=2_000) if directive.approach else None,
            session=session,
            answers=directive.answers,
        ),
        task=row.id,
    )


def _answer_text(answer: str, approach: str) -> str:
    if approach:
        return "Try again with the approach below."
    return answer or "Try again with a different approach."


def _same_again(core: Core, row: TaskRow, can: Capabilities) -> None:
    """The last attempt's words once more: it was not its work that failed."""
    last = core.head.attempts.get(row.attempt)
    guidance = last.guidance if last is not None else first_guidance(core, row, can)
    core.append(
        e.DirectivePrepared(
            level=guidance.level, text=guidance.text, approach=guidance.approach, session=guidance.session
        ),
        task=row.id,
    )
