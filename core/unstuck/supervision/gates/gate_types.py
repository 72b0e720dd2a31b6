"""Gate types: the choices of each, the effect of an answer, and the in-memory ``GateManager``."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, get_args

from unstuck.arguments import checked
from unstuck.contract import AGENT, ANSWER_LIMIT, CHECK, DENIED, QUOTA, Actor, Answer, Gate, GateTypeName, Scope
from unstuck.errors import AnswerRefused, ArgumentError, GateClosed, GateUnknown
from unstuck.text import Clean, admit

Effect = Literal[
    "prepare", "skipped", "abandoned", "recheck", "integrate", "go_on", "tell", "stop", "remediate", "halt",
]  # fmt: skip

STUCK_CHOICES = ("show_me", "skip", "abandon", "retry")
"""The choices of a ``stuck`` gate without a check to run: that of an agent at work, or of no run."""
CHOICES: dict[str, tuple[str, ...]] = {
    "stuck": (*STUCK_CHOICES, "check"),
    "loop_detected": (*STUCK_CHOICES, "continue"),
    "timeout": ("extend", "continue", "stop", "retry", "skip", "abandon"),
    "question": ("choose", "show_me", "skip", "abandon"),
    "permission": ("allow", "deny"),
    "remediation": ("retry", "skip", "abandon"),
    "integration": ("retry", "skip", "abandon"),
    "disk": ("retry", "skip", "abandon"),
    "budget": ("extend", "stop"),
    "recovery": ("continue", "retry", "done", "skip", "abandon", "adopt", "stop"),
}
ASKED = "asked "
"""The prefix of the key of a question that an agent asks in a call; a hash of the question follows."""
SURVIVOR_CHOICES = ("adopt", "stop", "skip", "abandon")
"""The choices of a ``recovery`` gate about an orphan."""


class GateType(str, Enum):
    """The types of question."""

    STUCK = "stuck"
    TIMEOUT = "timeout"
    LOOP_DETECTED = "loop_detected"
    QUESTION = "question"
    PERMISSION = "permission"
    REMEDIATION = "remediation"
    BUDGET = "budget"
    INTEGRATION = "integration"
    RECOVERY = "recovery"
    DISK = "disk"


_NAMES: dict[str, GateTypeName] = {kind.value: kind.value for kind in GateType}


def gate_id(number: int, run: str) -> str:
    """Return the id of the ``number``-th gate of ``run``: short, and different in every run."""
    return f"g{number}-{_suffix(run)}"


@lru_cache(maxsize=16)
def _suffix(run: str) -> str:
    return hashlib.sha256(run.encode()).hexdigest()[:4]


def accept(gate: Gate, answer: Answer) -> tuple[Answer, Effect]:
    """Return ``answer`` as it is recorded, with its effect. Raises AnswerRefused.

    The dialog, the socket, the files of answers and the command line all judge an answer by this.
    """
    answer = replace(answer, text=admitted(answer.text))
    check_answer(gate, answer)
    effect = effect_of(gate, answer)
    if answer.choice == "choose" and not answer.text:
        options = gate.context.get("options") or ()
        answer = replace(answer, text=admit(options[int(answer.number or 1) - 1], limit=ANSWER_LIMIT))
    return answer, effect


def check_answer(gate: Gate, answer: Answer) -> None:
    """Raise AnswerRefused unless ``answer`` is complete and a choice of ``gate``."""
    spoken = str(answer.choice).replace("_", "-")[:40]
    if answer.choice not in gate.choices:
        allowed = ", ".join(choice.replace("_", "-") for choice in gate.choices)
        raise AnswerRefused(f"{spoken} is not an answer to {gate.id} ({gate.type}); it takes: {allowed}")
    if answer.scope not in get_args(Scope):
        raise AnswerRefused(f"{spoken} is for once, pattern, task, run or always")
    if answer.scope in ("run", "always") or (answer.choice in ("allow", "choose") and answer.scope != "once"):
        _check_grant(gate, answer, spoken)
    if answer.choice == "show_me" and not answer.text.strip():
        raise AnswerRefused(f"show-me needs a text: unstuck answer {gate.id} show-me TEXT")
    if answer.choice == "retry" and answer.text and not answer.text.strip():
        raise AnswerRefused("the approach is blank: write one, or leave it out")
    if gate.type == "recovery" and answer.choice == "retry" and answer.text:
        raise AnswerRefused("retry takes no words here: the attempt begins again with what it was told")
    if answer.choice in ("show_me", "retry") and answer.scope != "once":
        _check_rule(gate, answer)
    if answer.number is not None and not math.isfinite(answer.number):
        raise AnswerRefused(f"{spoken} needs a number, not {answer.number}")
    if answer.choice == "extend" and not (answer.number and answer.number > 0):
        what, such = ("number", "50000") if gate.type == "budget" and gate.key != "time" else ("duration", "15m")
        raise AnswerRefused(f"extend needs a {what} above zero: unstuck answer {gate.id} extend {such}")
    if answer.choice == "choose":
        count = len(gate.context.get("options") or ())
        number = answer.number or 0
        if number != int(number) or not 1 <= number <= count:
            raise AnswerRefused(f"choose needs a number from 1 to {count}" if count else f"{gate.id} has no options")
        takes = gate.context.get("text_for") == number
        if takes and not answer.text.strip():
            raise AnswerRefused(
                f"option {int(number)} needs a text: unstuck answer {gate.id} choose {int(number)} TEXT"
            )
        if answer.text and not takes:
            raise AnswerRefused(f"option {int(number)} takes no text")


def admitted(text: str) -> Clean:
    """Return the admitted text of an answer. Raises AnswerRefused where it is too long or nothing of it is left.

    An answer is never cut, and a text without printable characters does not count as no text.
    """
    if len(text) > ANSWER_LIMIT:
        raise AnswerRefused(f"an answer has at most {ANSWER_LIMIT:,} characters; this one has {len(text):,}")
    told = admit(text, limit=ANSWER_LIMIT)
    if text.strip() and not told.strip():
        raise AnswerRefused("the answer contains only control characters: write words")
    return told


def _check_grant(gate: Gate, answer: Answer, spoken: str) -> None:
    """Raise AnswerRefused unless the answer can give a permission for longer."""
    if answer.scope == "pattern" or not gives_permission(gate, answer):
        raise AnswerRefused(f"{spoken} does not hold for {answer.scope} here: only a permission for calls does")


def gives_permission(gate: Gate, answer: Answer) -> bool:
    """Return whether ``answer`` gives the permission rules of ``gate``."""
    if gate.type == "permission":
        return answer.choice == "allow" and bool(gate.context.get("rules"))
    return answer.choice == "choose" and grant(gate) != 0 and answer.number == grant(gate)


def call_of(gate: Gate) -> tuple[str, str]:
    """Return the tool and the text of the call that ``gate`` is about; empty where it is about none."""
    if gate.type == "permission":
        return str(gate.context.get("tool", "")), str(gate.context.get("problem", ""))
    rules = gate.context.get("rules") or ("",)
    return "" if str(rules[0]).endswith("(*)") else "bash", str(gate.context.get("call", ""))


def _check_rule(gate: Gate, answer: Answer) -> None:
    """Raise AnswerRefused unless the answer can become a rule: it needs text and a known failure."""
    spoken = answer.choice.replace("_", "-")
    if answer.scope != "pattern":
        raise AnswerRefused(f"{spoken} is for once, or for every such failure (--for pattern)")
    if gate.type not in ("stuck", "loop_detected") or not (
        gate.context.get("signature") or gate.context.get("error_signature")
    ):
        raise AnswerRefused(f"{gate.id} is not about a known failure: leave out --for pattern")
    if not answer.text.strip():
        raise AnswerRefused(f"{spoken} needs a text: unstuck answer {gate.id} {spoken} TEXT")


def asked_by_agent(gate: Gate) -> str:
    """Return the agent's own question of ``gate``; empty where the agent did not ask."""
    own = gate.type == "question" and (gate.key in ("blocked", "needs_guidance") or gate.key.startswith(ASKED))
    return str(gate.context.get("question", "")) if own else ""


def grant(gate: Gate) -> int:
    """Return the option of ``gate`` that grants its permission rules; 0 without one."""
    return 1 if gate.key == DENIED and gate.context.get("rules") else 0


def effect_of(gate: Gate, answer: Answer) -> Effect:
    """Return the effect of ``answer``. Raises AnswerRefused where the pair has none."""
    match gate.type, answer.choice:
        case "remediation", "abandon":
            return "halt"
        case "remediation", "retry" | "skip":
            return "remediate"
        case "disk", "abandon" if not gate.task:
            return "halt"
        case "disk", "retry" | "skip" if not gate.task:
            return "go_on"
        case _, "skip":
            return "skipped"
        case _, "abandon":
            return "abandoned"
        case "stuck", "check":
            return "recheck"
        case "integration", "retry" if gate.task and answer.text:
            return "prepare"
        case "integration", "retry":
            return "integrate"
        case "timeout", "extend" | "continue":
            return "go_on"
        case "timeout", "stop" | "retry":
            return "stop"
        case "recovery", "adopt":
            return "go_on"
        case "recovery", "stop":
            return "stop"
        case "recovery", "continue":
            return "go_on"
        case "recovery", "retry":
            return "prepare"
        case "recovery", "done":
            return "recheck"
        case "budget", "extend":
            return "go_on"
        case "budget", "stop":
            return "stop"
        case _, "continue" | "allow":
            return "go_on"
        case "permission", "deny" if not gate.attempt:
            return "go_on"  # without the permission
        case "question", "choose" if gate.key == CHECK:
            return "recheck"
        case "question", "choose" if gate.key in (QUOTA, AGENT) or (
            gate.key == DENIED and answer.number == grant(gate)
        ):
            return "go_on"
        case _, "show_me" | "retry" | "choose" | "deny":
            return "tell" if gate.attempt else "prepare"
    raise AnswerRefused(f"{answer.choice} has no effect on a question of type {gate.type}")


class GateManager:
    """Questions in memory, for callers that use the detector or the monitor alone.

    Example::

        gates = GateManager()
        id = await gates.create_gate("stuck", task_id="t", agent_id="a", context={"problem": "401"})
        answer = await gates.wait(id)
    """

    def __init__(self) -> None:
        self._gates: dict[str, Gate] = {}
        self._answered: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._open: dict[tuple[str, GateTypeName], str] = {}
        self._then: dict[str, list[Callable[[Answer], object]]] = {}

    @checked
    async def create_gate(
        self,
        gate_type: str,
        *,
        task_id: str,
        agent_id: str,
        project_id: str | None = None,
        context: Mapping[str, Any],
    ) -> str:
        """Open a question, or return the id of the open one of this task and type."""
        if (name := _NAMES.get(gate_type)) is None:
            raise ArgumentError(f"GateManager.create_gate: gate_type is none of {', '.join(_NAMES)}: {gate_type!r:.60}")
        if waiting := self._open.get((task_id, name)):
            return waiting
        gate = Gate(
            id=gate_id(len(self._gates) + 1, ""),
            type=name,
            task=task_id,
            key=agent_id,
            context={**context, **({"project_id": project_id} if project_id else {})},
            choices=STUCK_CHOICES if name == "stuck" else CHOICES[name],
        )
        self._gates[gate.id] = gate
        self._open[task_id, name] = gate.id
        return gate.id

    def open_gates(self) -> tuple[Gate, ...]:
        """The open questions, oldest first."""
        return tuple(self._gates[id] for id in self._open.values())

    @checked
    def is_open(self, gate_id: str) -> bool:
        """Return True while the question is open; False for an unknown one."""
        gate = self._gates.get(gate_id)
        return gate is not None and gate.status == "open"

    @checked
    async def answer(self, gate: str, answer: Answer, actor: Actor = "human") -> Gate:
        """Answer a question. Raises GateUnknown, GateClosed, AnswerRefused."""
        current = self._gates.get(gate)
        if current is None:
            raise GateUnknown(gate)
        if current.status != "open":
            raise GateClosed(gate, current.by or "policy", "earlier")
        check_answer(current, answer)
        self._gates[gate] = replace(current, status="answered", answer=answer, by=actor)
        del self._open[current.task, current.type]
        if (answered := self._answered.pop(gate, None)) is not None:
            answered.set()
        for then in self._then.pop(gate, ()):
            then(answer)
        return self._gates[gate]

    @checked
    def when_answered(self, gate_id: str, then: Callable[[Answer], object]) -> None:
        """Call ``then`` with the answer, at once where it is there already. Raises GateUnknown.

        Thousands of questions cost less so than with a task that waits for each.
        """
        current = self._gates.get(gate_id)
        if current is None:
            raise GateUnknown(gate_id)
        if current.answer is not None:
            then(current.answer)
        else:
            self._then.setdefault(gate_id, []).append(then)

    @checked
    async def wait(self, gate_id: str) -> Answer:
        """Wait for the answer. Raises GateUnknown."""
        current = self._gates.get(gate_id)
        if current is None:
            raise GateUnknown(gate_id)
        if current.status == "open":
            await self._answered[gate_id].wait()
        answer = self._gates[gate_id].answer
        assert answer is not None
        return answer
