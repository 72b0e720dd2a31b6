"""Other programs on recorded histories, run by the Python that has one of them installed.

``loops NAME`` reads histories of calls from standard input and prints the ids that the detector NAME reports.
``checkpoint ROOT ROUNDS`` prints the milliseconds of each checkpoint of stepback.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Call = dict[str, Any]
Calls = list[Call]


def unwedge(calls: Calls) -> bool:
    """Its tier without a model: any action but to continue."""
    from unwedge.adapters.generic import turn_from_command  # type: ignore[import-not-found]
    from unwedge.guard import Guard  # type: ignore[import-not-found]

    guard = Guard("Make the check pass.", None)
    turns = (turn_from_command(n, c["command"], c["output"], failed=c["failed"]) for n, c in enumerate(calls, 1))
    return any(guard.on_turn(turn).decision.action.value not in ("continue", "flag") for turn in list(turns))


def openhands_sdk(calls: Calls) -> bool:
    """Its stuck detector after each call; a failed call is an error of the tool, and its nudge counts."""
    from openhands.sdk.conversation.stuck_detector import StuckDetector  # type: ignore[import-not-found]
    from openhands.sdk.event import ActionEvent, AgentErrorEvent, ObservationEvent  # type: ignore[import-not-found]
    from openhands.sdk.llm import MessageToolCall, TextContent  # type: ignore[import-not-found]
    from openhands.sdk.tool.schema import Action, Observation  # type: ignore[import-not-found]

    class Did(Action):  # type: ignore[misc]
        command: str

    class Saw(Observation):  # type: ignore[misc]
        output: str

    class Conversation:
        def __init__(self) -> None:
            self.events: list[object] = []

        def active_branch(self, limit: int) -> list[object]:
            return self.events[-limit:]

    state = Conversation()
    detector = StuckDetector(state)
    for number, one in enumerate(calls):
        name, key = one["tool"], f"call{number}"
        told = MessageToolCall(
            id=key, name=name, arguments=json.dumps({"command": one["command"]}), origin="completion"
        )
        did = ActionEvent(
            thought=[TextContent(text="")],
            action=Did(command=one["command"]),
            tool_name=name,
            tool_call_id=key,
            tool_call=told,
            llm_response_id=key,
        )
        result = {"tool_name": name, "tool_call_id": key}
        saw = (
            AgentErrorEvent(error=one["output"], **result)
            if one["failed"]
            else ObservationEvent(observation=Saw(output=one["output"]), action_id=did.id, **result)
        )
        state.events += [did, saw]
        if detector.is_stuck() or detector.get_action_error_nudge():
            return True
    return False


def loopguard(calls: Calls) -> bool:
    """Its decorator, as it comes: the same arguments more than three times within a minute."""
    import loopguard as package  # type: ignore[import-not-found]

    @package.loopguard
    def call(tool: str, command: str) -> None:
        pass

    return _raises(package.LoopDetectedError, call, calls)


def loopguard_runtime(calls: Calls) -> bool:
    """Its detectors and policy, fed as its handler for LangChain does: any decision but to continue."""
    from loopguard.guard import default_detectors  # type: ignore[import-not-found]
    from loopguard.monitor import Monitor  # type: ignore[import-not-found]
    from loopguard.runner import tool_signature  # type: ignore[import-not-found]

    monitor = Monitor(detectors=default_detectors())
    for one in calls:
        name, arguments = one["tool"], {"command": one["command"]}
        sign, text = tool_signature(name, arguments), one["output"].strip().replace("\n", " ")[:160]
        did = f"{'error' if one['failed'] else 'observed'}: {text}"
        monitor.observe("agent", f"decided: {name}", sign, last_tool=name, last_args=arguments)
        monitor.observe("tools", did, f"result:{text}", last_result=text)
    return any(decision.action.value != "continue" for decision in monitor.decisions)


def loop_guardrail(calls: Calls) -> bool:
    """Its controller, as it comes: any decision but to allow."""
    from loop_guardrail import ToolCallGuardrailController  # type: ignore[import-not-found]

    guard, decisions = ToolCallGuardrailController(), []
    for one in calls:
        arguments = {"command": one["command"]}
        decisions += [
            guard.before_call(one["tool"], arguments),
            guard.after_call(one["tool"], arguments, one["output"], one["failed"]),
        ]
    return any(decision.action != "allow" for decision in decisions)


def agent_loop_guard(calls: Calls) -> bool:
    """Its guard, as it comes: any decision but to continue."""
    from loop_guard.guard import LoopGuard  # type: ignore[import-not-found]

    guard = LoopGuard()
    decisions = [guard.check(one["tool"], one["command"], one["output"]) for one in calls]
    return any(one.action.name != "CONTINUE" for one in decisions)


def savi_loop_guard(calls: Calls) -> bool:
    """Its guard, as it comes, with a call every ten seconds."""
    from loop_guard import CallEvent, LoopGuard  # type: ignore[import-not-found]

    guard, began = LoopGuard(), datetime(2026, 1, 1, tzinfo=UTC)
    for number, one in enumerate(calls):
        moment = began + timedelta(seconds=10 * number)
        guard.record(CallEvent(span_id=str(number), agent_id="agent", timestamp=moment, tool_call=one["tool"]))
        if guard.check():
            return True
    return False


def agentguard47(calls: Calls) -> bool:
    """Its loop guard, as it comes."""
    from agentguard import LoopDetected, LoopGuard  # type: ignore[import-not-found]

    guard = LoopGuard()
    return _raises(LoopDetected, lambda tool, command: guard.check(tool, {"command": command}), calls)


def agent_supra(calls: Calls) -> bool:
    """Its rules after each call, without the reports of tests, which its agents send themselves."""
    from agent_supra.detector import evaluate  # type: ignore[import-not-found]
    from agent_supra.sdk import error_fingerprint, fingerprint  # type: ignore[import-not-found]

    events: list[dict[str, Any]] = []
    for number, one in enumerate(calls, 1):
        data = {"tool": one["tool"], "args_fp": fingerprint(one["command"]), "ok": not one["failed"]}
        if one["failed"]:
            data["error_fp"] = error_fingerprint(one["output"])
        events.append({"event_id": str(number), "seq": number, "type": "tool.finished", "data": data})
        if evaluate(events):
            return True
    return False


def _raises(error: type[Exception], call: Callable[[str, str], object], calls: Calls) -> bool:
    try:
        for one in calls:
            call(one["tool"], one["command"])
    except error:
        return True
    return False


DETECTORS: Mapping[str, Callable[[Calls], bool]] = {
    "unwedge": unwedge,
    "openhands-sdk": openhands_sdk,
    "loopguard": loopguard,
    "loopguard-runtime": loopguard_runtime,
    "loop-guardrail": loop_guardrail,
    "agent-loop-guard": agent_loop_guard,
    "savi-loop-guard": savi_loop_guard,
    "agentguard47": agentguard47,
    "agent-supra": agent_supra,
}


def main(wanted: list[str]) -> None:
    logging.disable()
    if wanted[0] == "loops":
        histories = json.load(sys.stdin)
        detector = DETECTORS[wanted[1]]
        print(json.dumps([id for id, calls in histories.items() if detector(calls)]))
        return
    from stepback.engine import Engine  # type: ignore[import-not-found]

    engine, root = Engine(Path(wanted[1])), Path(wanted[1])
    for turn in range(int(wanted[2]) + 1):
        for file in sorted(root.glob("part_*/file_0.py")):
            file.write_text(f"TURN = {turn}\n")
        began = time.perf_counter()
        engine.checkpoint(f"turn {turn}")
        if turn:
            print(1e3 * (time.perf_counter() - began))


if __name__ == "__main__":
    main(sys.argv[1:])
