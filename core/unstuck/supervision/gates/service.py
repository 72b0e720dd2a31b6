"""Gates of a run, opened and closed with one record each; the first answer wins."""

from __future__ import annotations

from typing import Any

from unstuck.contract import CONTRADICTED, Actor, Answer, Capabilities, Gate, GateTypeName, Standing
from unstuck.errors import AnswerRefused, GateClosed, GateUnknown
from unstuck.escalation.prompts import answer_to
from unstuck.eventlog import events as e
from unstuck.eventlog.log.journal import Journal
from unstuck.eventlog.memory.permission_file import keep_rules
from unstuck.supervision.context.context import RunContext
from unstuck.supervision.gates.gate_timers import start_timer
from unstuck.supervision.gates.gate_types import CHOICES, accept, asked_by_agent, gate_id
from unstuck.text import admit

UNATTENDED_LIMIT = 20
"""The number of answers in a row by rules and timers to questions of one task that came back."""
_LEADS_ON = ("stuck", "loop_detected", "question", "remediation", "integration", "disk")
_STANDING: dict[str, Standing] = {"step": "held", "freeze": "frozen", "none": "runs_on"}


def standing_of(can: Capabilities) -> Standing:
    """Return the standing of a live agent with these capabilities while a question about it is open."""
    return _STANDING[can.hold]


def open_gate(
    core: RunContext,
    gate_type: GateTypeName,
    *,
    task: str,
    key: str,
    context: dict[str, Any],
    attempt: str = "",
    standing: Standing = "",
    report: str = "",
    found: tuple[int, Answer] | None = None,
    choices: tuple[str, ...] = (),
    stood: float = 0.0,
    actor: Actor = "policy",
) -> str:
    """Open a gate and apply the answer rules; returns its id, or that of the same gate already open.

    ``standing`` is the live agent's state meanwhile. ``found`` is the answer that the rules gave: a request uses
    a rule up. ``choices`` are those of the gate's type unless given. ``stood`` is the number of seconds the agent was
    suspended already. No rule and no timer answers a gate of a person (``actor``). ``context`` names the checkpoint of
    the files (``checkpoint``, or ``saved`` where a checkpoint is the subject), or the reason why there is
    none (``not_saved``).
    """
    for row in core.head.open_gates():
        if (row.gate.task, row.gate.type, row.gate.key) == (task, gate_type, key):
            return row.id
    gate = gate_id(len(core.head.gates) + 1, core.run)
    event = e.GateOpened(
        gate=gate,
        type=gate_type,
        key=key,
        context=context,
        choices=choices or CHOICES[gate_type],
        attempt_id=attempt,
        report=report,
        standing=standing,
        stood_s=round(stood, 3),
    )
    core.append(event, task=task, attempt=attempt, actor=actor)
    if actor == "human":
        return gate
    if not apply_policy(core, core.head.gates[gate].gate, found) and not _is_enough(core, event.type, task):
        start_timer(core, core.head.gates[gate].gate)
    return gate


def apply_policy(core: RunContext, gate: Gate, found: tuple[int, Answer] | None = None) -> bool:
    """Answer ``gate`` by rule; False where no rule fits."""
    if found is None and not _is_enough(core, gate.type, gate.task):
        found = core.policy(gate)
    if found is None:
        return False
    rule, answer = found
    try:
        answer_gate(core.journal, gate.id, answer, via="rule", actor="policy", rule=rule)
    except AnswerRefused:
        return False  # such as the fifth of two options: the gate stays open
    return True


def _is_enough(core: RunContext, gate_type: GateTypeName, task: str) -> bool:
    """True where rules and timers have answered such questions of ``task`` in a row up to the limit."""
    if gate_type not in _LEADS_ON:
        return False
    asked = [row for row in core.head.gates_of(task) if row.gate.type == gate_type]
    given = [row.by for row in asked if row.status in ("answered", "sent", "delivered")][-UNATTENDED_LIMIT:]
    return len(given) == UNATTENDED_LIMIT and "human" not in given


def answer_gate(
    journal: Journal, gate: str, answer: Answer, *, via: str, actor: Actor = "human", rule: int | None = None
) -> Gate:
    """Close ``gate`` with ``answer``, which came in by ``via`` (see ``GateAnswered``).

    Raises GateUnknown, GateClosed, AnswerRefused; then nothing has changed.
    """
    row = journal.head.gates.get(gate)
    if row is None:
        raise GateUnknown(gate)
    if row.status != "open":
        raise GateClosed(gate, row.by or "the supervisor", row.closed)
    answer, effect = accept(row.gate, answer)
    if answer.scope == "always":
        _keep_permission(row.gate)
    task = journal.head.tasks.get(row.gate.task)
    goes_on = task is not None and task.state == "waiting" and effect in ("prepare", "tell", "stop")
    said = answer_to(asked_by_agent(row.gate), answer.text)
    event = e.GateAnswered(
        gate=gate,
        choice=answer.choice,
        text=answer.text,
        number=answer.number,
        scope=answer.scope,
        effect=effect,
        rule=rule,
        climb=task.climb.answered(answer.choice, said) if task is not None and goes_on else None,
        via=via,
    )
    journal.append(event, task=row.gate.task, attempt=row.gate.attempt or "", actor=actor)
    if row.gate.type == "question":
        response = e.DivineResponseReceived(task_id=row.gate.task, response=answer.text or admit(answer.choice))
        journal.append(response, task=row.gate.task, actor=actor)
    if answer.choice == "choose" and row.gate.context.get("error_type") == CONTRADICTED:
        _settle_others(journal, row.gate)
    return journal.head.gates[gate].gate


def _keep_permission(gate: Gate) -> None:
    """Keep the permission of ``gate`` for always. Raises AnswerRefused, so that nothing is promised and not kept."""
    try:
        keep_rules(gate.context["rules"])
    except OSError as error:
        raise AnswerRefused(f"the permission cannot be kept for always: {error}") from error


def _settle_others(journal: Journal, answered: Gate) -> None:
    """Withdraw the same question of other tasks: their check is run again under the answer that was given."""
    for row in journal.head.open_gates():
        context = row.gate.context
        if (context.get("error_type"), context.get("check")) == (CONTRADICTED, answered.context.get("check")):
            reason = f"the same check was answered for {answered.task}"
            journal.append(e.GateWithdrawn(gate=row.id, reason=reason), task=row.gate.task, actor="policy")
