"""Decision after an attempt: the check, its diagnosis, the one decision, and the integration of results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unstuck.contract import AGENT, CONTRADICTED, EDIT_CHECK, PROOF, QUOTA, WEAKENED, Capabilities, Report
from unstuck.diagnosis.enums import ErrorCategory, ErrorType
from unstuck.diagnosis.extent import UNKNOWN_EXTENT, Extent
from unstuck.diagnosis.failure_counts import extent_of, tests_in
from unstuck.diagnosis.model import Diagnosis
from unstuck.diagnosis.pipeline import diagnose, with_history
from unstuck.errors import IntegrationConflict, WorkspaceError
from unstuck.escalation.precedence import (
    AskQuestion,
    BackOff,
    Block,
    Direct,
    Finish,
    Halt,
    Redispatch,
)
from unstuck.eventlog import events as e
from unstuck.eventlog.event import MAX_PATHS_IN_EVENT
from unstuck.eventlog.state import TaskRow
from unstuck.supervision.checkpointing import checkpoint, hand_over, said_of, saved_before
from unstuck.supervision.checks.check import Check, settled
from unstuck.supervision.checks.check_command import repaired
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.context.next_step import pending_answer
from unstuck.supervision.gates.gate_types import CHOICES
from unstuck.supervision.gates.service import open_gate
from unstuck.supervision.memory.answer_memory import told_before
from unstuck.supervision.memory.failure_memory import (
    learn_anew,
    remember_failed,
    remember_flaky,
    remember_worked,
    ways_for,
)
from unstuck.supervision.outcome.agent_failure import (
    Ending,
    about_ending,
    ending_of,
    explains,
    failed_itself,
    files_of,
    has_worked,
    own_diagnosis,
    record_failure,
    surer,
)
from unstuck.supervision.outcome.check_environment import AVAILABLE_ELSEWHERE, UNAVAILABLE, disagreement, explained
from unstuck.supervision.outcome.decision_facts import decision_on, extent_with, facts_of, fails_on_baseline
from unstuck.supervision.outcome.failover import agents_tried, hand_on
from unstuck.supervision.outcome.halt import halt
from unstuck.supervision.outcome.own_approach import attempted
from unstuck.supervision.outcome.proof import end_cut_off, prove
from unstuck.supervision.outcome.weakened_checks import Weakened, decided_on, weakened_by
from unstuck.text import Clean, admit, one_line
from unstuck.workspace.worktrees.worktrees import Worktrees

_NO_REPORT = Report()


async def check(core: RunContext, row: TaskRow) -> None:
    """Run the task's check and record its result with the diagnosis. Raises WorkspaceError."""
    await end_cut_off(core, row)
    await hand_over(core, row, to_check=True)
    tree = core.workdir(core.tree_of(row))
    label = row.attempt or row.id
    report = (row.report if row.chosen != "check" else None) or _NO_REPORT
    files = await files_of(core, row) if failed_itself(report) else ""
    rules = core.head.run.check_rules
    done = settled(
        await core.verifier.check(row.task.verify, tree=tree, label=label),
        rules.get(row.task.verify or "", "" if core.may_ask else "failed"),
    )
    if done.flaked:
        _note_flaky(core, row, done)
    trouble, problem = "", done.problem
    if done.result == "could_not_run":
        trouble, problem = await explained(core, row, done)
    elif disagrees := disagreement(core, row, done):
        trouble, problem = AVAILABLE_ELSEWHERE, disagrees
    weakened = Weakened()
    if done.result == "passed":
        weakened = await weakened_by(core, row)
        done, trouble = decided_on(done, weakened, row, may_ask=core.may_ask)
        problem = done.problem
    if done.result == "passed":
        await checkpoint(core, row, "good", purpose="good")
        if core.settings.check_policy.prove:
            done, trouble = await prove(core, core.row(row.id), done)
            problem = done.problem
    ending = await ending_of(core, row, report, files, passed=done.result == "passed")
    diagnosis = await _diagnosis(core, row, done, report, ending)
    extent = _extent_after(core, row, done, diagnosis)
    best = extent_with(row, row.files) if row.climb.best == UNKNOWN_EXTENT else row.climb.best
    tried = await attempted(core, row, report, diagnosis, ending.files, progresses=extent.is_better_than(best))
    diagnosis = tried.labelled(diagnosis) if diagnosis else None
    core.append(
        e.CheckFinished(
            result=done.result,
            command=done.command,
            exit_code=done.exit_code,
            seconds=round(done.seconds, 3),
            output=done.output,
            output_at=done.output_at,
            problem=problem,
            trouble=trouble,
            diagnosis=diagnosis.as_dict() if diagnosis else None,
            evidence=done.evidence,
            circular=tried.circular,
            weakened=weakened.lines,
            protected=tuple(map(one_line, weakened.protected)),
            extent=extent,
            ending=ending.how,
            said=ending.said,
            untouched=ending.untouched,
            files=ending.files,
            approach=tried.approach,
            size=tried.size,
            tests=tests_in(done.text) if done.text else (0, 0),
            unread=report.unread and row.attempts == 1,
        ),
        task=row.id,
        attempt=row.attempt,
    )
    if done.result != "passed":
        record_failure(core, row, report)


def _note_flaky(core: RunContext, row: TaskRow, done: Check) -> None:
    """Record that the check failed and then passed without a change, with the test that did."""
    failure = diagnose(done.first_text, exit_code=done.first_exit_code or 1, root=str(core.tree_of(row)), phase="test")
    test, seen = remember_flaky(core, row, failure) if failure is not None else ("", 1)
    event = e.CheckFlaked(
        command=done.command, exit_code=done.first_exit_code, test=one_line(test or done.command, 200), seen=seen
    )
    core.append(event, task=row.id, attempt=row.attempt)


async def _diagnosis(core: RunContext, row: TaskRow, done: Check, report: Report, ending: Ending) -> Diagnosis | None:
    """Return the diagnosis: the agent's own failure where it explains the result, else the failure of the check."""
    if done.result == "passed":
        return None
    own = await own_diagnosis(core, row, report, ending)
    if own is not None and explains(own):
        return own
    if done.result in ("failed", "contradicted"):
        return surer(own, _failed_check(core, row, done))
    return own


def _extent_after(core: RunContext, row: TaskRow, done: Check, diagnosis: Diagnosis | None) -> Extent:
    """Return the extent of the check, unknown where the agent's own failure explains the result.

    An agent with a full context or without turns has worked until then, so the check describes its files.
    """
    if done.result != "failed" or diagnosis is None:
        return UNKNOWN_EXTENT
    if has_worked(diagnosis):
        return extent_of(done.text, _failed_check(core, row, done))
    return UNKNOWN_EXTENT if explains(diagnosis) else extent_of(done.text, diagnosis)


def _failed_check(core: RunContext, row: TaskRow, done: Check) -> Diagnosis | None:
    """Return the diagnosis of the check, compared with the failures that retries of this approach have answered.

    The very same failure uses up its escalation level; only a type's rule counts it. Other failures at
    its place say that the approach is wrong.
    """

    found = diagnose(
        done.text,
        exit_code=done.exit_code or 1,
        root=str(core.tree_of(row)),
        task_id=row.id,
        agent_id=row.task.agent,
        phase="test",
        at=core.clock.now(),
    )
    if found is None or not row.failures:
        return found
    counts_itself = found.error_type is ErrorType.TYPE_ERROR
    return with_history(found, (one for one in row.failures if counts_itself or one.identity != found.identity))


async def decide_next(core: RunContext, row: TaskRow, can: Capabilities) -> None:
    """Make the one decision that is due and record it, without an await between the facts and the record."""
    await hand_over(core, row)
    infrastructure = await _is_infrastructure(core, row)
    await learn_anew(core)
    row = core.row(row.id)
    if row.state != "undecided":
        return
    if row.diagnosis is None or row.diagnosis.category is not ErrorCategory.TRANSIENT:
        _note_passed(core, row)
        row = core.row(row.id)
    if answered := pending_answer(core.head, row):
        follow_answer(core, row, answered)
        return
    if row.chosen == "first":
        _begin_again(core, row)
        return
    facts = facts_of(
        core.head,
        row,
        alternatives=ways_for(core.memory, core.limits, row, core.clock.now()),
        learnt=told_before(core.memory, row),
        infrastructure=infrastructure,
        may_ask=core.may_ask,
        now=core.clock.now(),
    )
    match decision := decision_on(row, facts, core.limits):
        case Direct() | Redispatch() | Halt() | AskQuestion(error_type="agent_outage") if _does_not_pass(core, row):
            _escalate_transient(core, row)
        case _ if not row.chosen and hand_on(core, row, decision, facts):
            pass
        case Finish(status=status):
            if core.accept_unverified and row.task.isolation == "worktree" and not row.integrated:
                await integrate(core, row)
            else:
                _end(core, row, status)
        case AskQuestion() if not row.saved:
            # Saved first and decided again: the files of a question are always saved.
            await checkpoint(core, row, "ask", purpose="question")
        case AskQuestion():
            _ask_question(core, row, decision)
        case BackOff():
            _back_off(core, row, decision)
        case Direct():
            _direct(core, row, decision)
        case Redispatch():
            _redispatch(core, row, decision)
        case Block(issue=issue):
            core.append(e.InfrastructureBlocked(issue=admit(issue, limit=500), reported_by=row.id), task=row.id)
        case Halt(reason=reason, details=details):
            halt(core, row, reason, details)


def _back_off(core: RunContext, row: TaskRow, decision: BackOff) -> None:
    if decision.outage:
        event = e.OutageWait(
            error_type=decision.error_type,
            message=one_line(row.diagnosis.headline if row.diagnosis else "", 400),
            wait=decision.retry,
            delay_seconds=decision.delay,
            waited_seconds=row.climb.outage,
            limit_seconds=core.limits.outage_limit,
            climb=decision.climb,
        )
        core.append(event, task=row.id, attempt=row.attempt)
        return
    retry = e.TransientErrorRetry(
        error_type=decision.error_type,
        retry=decision.retry,
        delay_seconds=decision.delay,
        climb=decision.climb,
        quota=decision.quota,
        check_alone=not decision.quota and _failed_alone(core, row),
    )
    core.append(retry, task=row.id, attempt=row.attempt)


def _failed_alone(core: RunContext, row: TaskRow) -> bool:
    """Return whether the check failed after an attempt that ended well, in a tree that no other task uses."""
    report = row.report
    ended_well = report is not None and report.how == "ended" and not report.exit_code and report.error is None
    alone = row.task.isolation == "worktree" or len(core.head.tasks) == 1
    return ended_well and alone and row.check is not None and row.check.result == "failed"


async def _is_infrastructure(core: RunContext, row: TaskRow) -> bool:
    """Return True if the plan's shared check fails on the baseline with the very same signature.

    The base is looked at again when another task meets this failure, too: what was sound, or mended, may have broken.
    """
    failed = row.check is not None and row.check.result == "failed"
    if row.check is not None and row.check.result == "could_not_run" and row.check.trouble == UNAVAILABLE:
        # It runs nowhere, not even on the base: no task is at fault.
        return row.shared_verify and core.remediates
    if not (failed and row.shared_verify and row.diagnosis and core.baseline_check is not None):
        return False
    identity = row.diagnosis.identity
    met = any(
        other.id != row.id and other.shared_verify and other.state != "ended" and other.climb.signature == identity
        for other in core.head.tasks.values()
    )
    await core.baseline_check(identity if met else "")
    return fails_on_baseline(core.head, row)


def follow_answer(core: RunContext, row: TaskRow, gate: str, *, with_gate: str = "") -> None:
    """An answer given while the attempt ran goes into the next one, with those that an interrupted one was told.

    ``with_gate`` is another question whose answer is used up by this.
    """
    answer = core.head.gates[gate].answer
    assert answer is not None
    told_before = row.prepared.answers if row.prepared is not None else ()
    core.append(
        e.DirectiveIssued(
            level="human",
            line=0,
            climb=row.climb.answered(answer.choice, answer.text),
            answer=answer.text,
            approach=answer.text if answer.choice == "retry" else Clean(""),
            answers=(*told_before, gate, *([with_gate] if with_gate else [])),
            fresh=answer.choice == "retry",
        ),
        task=row.id,
        attempt=row.attempt,
    )


def _ask_question(core: RunContext, row: TaskRow, decision: AskQuestion) -> None:
    agent = row.task.agent or row.task.agent_type
    question = admit(decision.question, limit=4_000)
    report = row.report or _NO_REPORT
    core.append(e.ConfigurationError(task_id=row.id, error_type=decision.error_type), task=row.id)
    if decision.key == "needs_guidance":
        core.append(e.AgentSeeksGuidance(agent_id=agent, task_id=row.id, question=question), task=row.id, actor="agent")
    context = {
        "task_id": row.id,
        "agent_id": agent,
        "question": question,
        "options": list(decision.options),
        "context": report.context or "",
        "phase": report.phase or "",
        "error_type": decision.error_type,
        **({"call": decision.call, "rules": list(decision.rules)} if decision.call else {}),
        **({"weakened": list(row.check.weakened)} if row.check and row.check.weakened else {}),
        **about_ending(row),
        **(agents_tried(core, row) if decision.key in (AGENT, QUOTA) else {}),
        **(_about_check(row.task.verify or "") if decision.error_type == CONTRADICTED else {}),
        **(_about_changes(row) if decision.error_type == WEAKENED else {}),
        **said_of(row.saved),
    }
    choices = tuple(choice for choice in CHOICES["question"] if choice != "choose" or decision.options)
    open_gate(core, "question", task=row.id, key=decision.key, context=context, choices=choices)


def _about_changes(row: TaskRow) -> dict[str, Any]:
    """Facts for the decision about changed protected files."""
    check = row.check
    paths = [path for path in check.protected if path not in row.accepted] if check else []
    paths = paths or [PROOF] if row.proof is not None and row.proof.problem else paths
    return {"check": row.task.verify or "", "paths": paths}


def _about_check(command: str) -> dict[str, Any]:
    """Return the context of a question about a contradicted check; ``text_for`` is the option that takes a command."""
    return {"check": command, "text_for": EDIT_CHECK, "suggested": repaired(command)}


async def ask_to_go_on(core: RunContext, row: TaskRow) -> None:
    """Ask before work continues after a long wait for a quota: the person may be away."""
    saved = await saved_before(core, row)
    if core.row(row.id).state != "backoff":
        return
    context = {
        "task_id": row.id,
        "agent_id": row.task.agent or row.task.agent_type,
        "question": admit("The wait for the quota is over. Continue?", limit=500),
        "options": ["Continue"],
        "context": row.diagnosis.headline if row.diagnosis else "",
        "error_type": "rate_limit",
        **agents_tried(core, row),
        **saved,
    }
    open_gate(core, "question", task=row.id, key=QUOTA, context=context)


def _direct(core: RunContext, row: TaskRow, decision: Direct) -> None:
    remember_failed(core, row, decision.climb)
    core.append(
        e.DirectiveIssued(
            level=decision.level,
            line=decision.line,
            climb=decision.climb,
            hint=admit(decision.hint, limit=2_000),
            command=admit(decision.command, limit=2_000),
            approach=admit(decision.approach, limit=2_000),
            fresh=decision.fresh,
            restore=decision.restore,
            checkpoint=decision.checkpoint,
            reason=admit(decision.reason, limit=500),
            limit=_limit(core, decision),
            approaches=tuple(admit(way, limit=2_000) for way in decision.approaches),
        ),
        task=row.id,
        attempt=row.attempt,
    )


def _begin_again(core: RunContext, row: TaskRow) -> None:
    """Repeat the attempt for a person, without using up an escalation level."""
    event = e.DirectiveIssued(level="first", line=0, climb=row.climb, reason=admit("you wanted it again"))
    core.append(event, task=row.id, attempt=row.attempt)


def _limit(core: RunContext, decision: Direct) -> int:
    """Return the limit of this escalation level, to be shown beside its count."""
    limits = core.limits
    of = {"retry": limits.max_retries, "pivot": limits.max_pivots, "research": limits.max_research}
    return of.get(decision.level, 0) if decision.line == 10 else 0


def _does_not_pass(core: RunContext, row: TaskRow) -> bool:
    """Return True for a transient trouble that outlived its last retry and has not been reported yet."""
    transient = row.diagnosis is not None and row.diagnosis.category is ErrorCategory.TRANSIENT
    return transient and not row.climb.transient_over and row.climb.transient >= core.limits.transient_retries


def _escalate_transient(core: RunContext, row: TaskRow) -> None:
    event = e.TransientErrorEscalated(
        error_type=row.diagnosis.signature.error_type.value if row.diagnosis else "UNKNOWN",
        reason=f"still there after {row.climb.transient} retries",
        climb=replace(row.climb, transient_over=True, waited=0),
    )
    core.append(event, task=row.id, attempt=row.attempt)


def _note_passed(core: RunContext, row: TaskRow) -> None:
    """Record that the transient failure has passed."""
    if row.climb.waited:
        event = e.TransientErrorResolved(error_type=row.climb.waited_for, total_retries=row.climb.waited)
        core.append(event, task=row.id, attempt=row.attempt)


def _redispatch(core: RunContext, row: TaskRow, decision: Redispatch) -> None:
    core.append(
        e.AgentFailure(
            task_id=row.id,
            agent_type=row.task.agent_type,
            error_type=decision.error_type,
            attempt=decision.failures,
            climb=decision.climb,
        ),
        task=row.id,
        attempt=row.attempt,
    )


async def integrate(core: RunContext, row: TaskRow) -> None:
    """Merge the task's files into the run's branch; a conflict opens a gate."""
    if core.worktrees is None:
        core.append(e.ResultIntegrated(task_id=row.id, commit="none"), task=row.id)
        return
    try:
        commit = await core.worktrees.integrate(
            row.id, f"{row.id}: {row.task.prompt.splitlines()[0][:60] if row.task.prompt else ''}"
        )
        left = tuple(one_line(path) for path in (await core.worktrees.left_behind(row.id))[:MAX_PATHS_IN_EVENT])
    except IntegrationConflict as conflict:
        paths = [one_line(path) for path in conflict.paths]
        context: dict[str, Any] = {"paths": paths, "problem": admit(str(conflict), limit=2_000)}
    except WorkspaceError as error:
        context = {"paths": [], "problem": admit(str(error), limit=500)}
    else:
        core.append(e.ResultIntegrated(task_id=row.id, commit=commit or "unchanged", left=left), task=row.id)
        return
    if core.may_ask:
        context |= await saved_before(core, row)
        sides = await _sides(core.worktrees, row.id, context["paths"])
        if core.row(row.id).state != "judging":
            return
        # Where the person can resolve it, and what has to go in there.
        tree, branch = str(core.tree_of(row)), core.worktrees.branch
        context |= {"task_id": row.id, "tree": tree, "branch": branch, "answers": _what_answers_do(row.id, branch)}
        context |= sides
        open_gate(core, "integration", task=row.id, key="integration", context=context)
    else:
        halt(core, row, "integration_conflict", str(context["problem"]))


async def _sides(worktrees: Worktrees, task: str, paths: list[str]) -> dict[str, str]:
    """Return the changes of both sides in the files of a conflict; nothing where they cannot be found."""
    try:
        mine, theirs = await worktrees.sides(task, paths) if paths else ("", "")
    except WorkspaceError:
        return {}
    return {"mine": mine, "theirs": theirs}


def _what_answers_do(task: str, branch: str) -> dict[str, str]:
    return {
        "retry": f"you have merged it in the task's worktree (git merge {branch}): it is checked and brought to that "
        "branch again; with a text the agent merges it, and is given the text",
        "skip": "the result is left out; the task is offered again when you resume",
        "abandon": f"the result is left out; it stays on {branch.removesuffix('_run')}{task}",
    }


async def finish(core: RunContext, row: TaskRow) -> None:
    """End a task whose check passed and whose result is integrated."""
    _note_passed(core, row)
    remember_worked(core, row)
    _end(core, row, "unverified" if row.check is not None and row.check.result == "none" else "succeeded")


def _end(core: RunContext, row: TaskRow, status: str) -> None:
    core.append(e.TaskEnded(task_id=row.id, status=status), task=row.id, attempt=row.attempt)  # type: ignore[arg-type]
