"""Unstuck: supervise coding agents, notice when one is stuck, escalate, and ask once, well.

Everything public is here and is imported when it is first used, so that importing the package costs next to nothing.
The events of a run are in :mod:`unstuck.events`, the client of a live run in :mod:`unstuck.client`.
"""

# ruff: noqa: I001
from __future__ import annotations

from unstuck.version import __version__ as __version__

TYPE_CHECKING = False  # type checkers take it for true by its name, and typing need not be imported for it

# Type checkers and editors read these imports; the table below says the same to a running program.
# fmt: off
if TYPE_CHECKING:
    from unstuck.client import Client as Client
    from unstuck.clock import Clock as Clock
    from unstuck.contract import (
        Agent as Agent, Answer as Answer, Capabilities as Capabilities, Denial as Denial, Directive as Directive,
        Gate as Gate, Guidance as Guidance, Observation as Observation, Observer as Observer, Outcome as Outcome,
        Receipt as Receipt, Report as Report, Task as Task, TaskSession as TaskSession, Verdict as Verdict,
    )
    from unstuck.detection import LoopDetector as LoopDetector, is_circular_fix as is_circular_fix
    from unstuck.diagnosis.classification.categories import classify_error as classify_error
    from unstuck.diagnosis.classification.causes import (
        Approach as Approach, Execution as Execution, Failure as Failure, HandlerResult as HandlerResult,
        classify_cause as classify_cause,
    )
    from unstuck.diagnosis.classification.failure_types import classify_failure as classify_failure
    from unstuck.diagnosis.classification.hints import ErrorAnalysis as ErrorAnalysis, analyze_error as analyze_error
    from unstuck.diagnosis.enums import (
        Cause as Cause, ErrorCategory as ErrorCategory, ErrorType as ErrorType, FailureType as FailureType,
    )
    from unstuck.diagnosis.model import Diagnosis as Diagnosis
    from unstuck.diagnosis.pipeline import diagnose as diagnose
    from unstuck.diagnosis.signatures.signature import (
        FailureSignature as FailureSignature, extract_failure_signature as extract_failure_signature,
    )
    from unstuck.errors import (
        AgentNotFound as AgentNotFound, AgentUnusable as AgentUnusable, AnswerRefused as AnswerRefused,
        ArgumentError as ArgumentError,
        ChannelError as ChannelError,
        CheckpointUnknown as CheckpointUnknown, DeliveryRefused as DeliveryRefused, GateClosed as GateClosed,
        GateError as GateError, GateUnknown as GateUnknown, GitError as GitError,
        IntegrationConflict as IntegrationConflict, LaggedBehind as LaggedBehind, NoReply as NoReply,
        PlanError as PlanError, ProjectError as ProjectError, ProjectLocked as ProjectLocked,
        RecordDamaged as RecordDamaged, RecordError as RecordError, RecordWriteFailed as RecordWriteFailed,
        SettingsError as SettingsError, SystemFailed as SystemFailed, TreeTooLarge as TreeTooLarge,
        UnstuckError as UnstuckError, UsageError as UsageError, WorkspaceError as WorkspaceError,
    )
    from unstuck.escalation.limits import EscalationLevel as EscalationLevel, Limits as Limits
    from unstuck.escalation.stuck_report import StuckReport as StuckReport
    from unstuck.eventlog.envelope import Record as Record
    from unstuck.eventlog.state import State as State
    from unstuck.settings.models import Settings as Settings
    from unstuck.supervision.gates.gate_types import GateManager as GateManager, GateType as GateType
    from unstuck.supervision.run.coordinator import Coordinator as Coordinator
    from unstuck.supervision.run.embedded import (
        AttemptResult as AttemptResult, Result as Result, supervise as supervise, supervise_sync as supervise_sync,
    )
    from unstuck.supervision.run.open_questions import Question as Question
    from unstuck.supervision.run.supervisor import Supervisor as Supervisor
    from unstuck.supervision.standalone.checkpoint_manager import CheckpointManager as CheckpointManager
    from unstuck.supervision.standalone.error_handlers import (
        handle_agent_failure as handle_agent_failure, handle_configuration_error as handle_configuration_error,
        handle_infrastructure_error as handle_infrastructure_error, handle_transient_error as handle_transient_error,
        handle_unrecoverable_error as handle_unrecoverable_error,
    )
    from unstuck.supervision.standalone.failure_handler import FailureHandler as FailureHandler
    from unstuck.supervision.standalone.timeout_monitor import TimeoutMonitor as TimeoutMonitor
    from unstuck.text import Clean as Clean, admit as admit
    from unstuck.workspace.checkpoints.checkpoint_index import Checkpoint as Checkpoint
    from unstuck.workspace.checkpoints.manager import Restored as Restored

_PUBLIC = {
    "unstuck.client": "Client",
    "unstuck.clock": "Clock",
    "unstuck.contract": (
        "Agent Answer Capabilities Denial Directive Gate Guidance Observation Observer Outcome Receipt Report "
        "Task TaskSession Verdict"
    ),
    "unstuck.detection": "LoopDetector is_circular_fix",
    "unstuck.diagnosis.classification.categories": "classify_error",
    "unstuck.diagnosis.classification.causes": "Approach Execution Failure HandlerResult classify_cause",
    "unstuck.diagnosis.classification.failure_types": "classify_failure",
    "unstuck.diagnosis.classification.hints": "ErrorAnalysis analyze_error",
    "unstuck.diagnosis.enums": "Cause ErrorCategory ErrorType FailureType",
    "unstuck.diagnosis.model": "Diagnosis",
    "unstuck.diagnosis.pipeline": "diagnose",
    "unstuck.diagnosis.signatures.signature": "FailureSignature extract_failure_signature",
    "unstuck.errors": (
        "AgentNotFound AgentUnusable AnswerRefused ArgumentError ChannelError CheckpointUnknown DeliveryRefused "
        "GateClosed GateError GateUnknown GitError IntegrationConflict LaggedBehind NoReply PlanError ProjectError "
        "ProjectLocked RecordDamaged RecordError RecordWriteFailed SettingsError SystemFailed TreeTooLarge "
        "UnstuckError UsageError WorkspaceError"
    ),
    "unstuck.escalation.limits": "EscalationLevel Limits",
    "unstuck.escalation.stuck_report": "StuckReport",
    "unstuck.eventlog.envelope": "Record",
    "unstuck.eventlog.state": "State",
    "unstuck.settings.models": "Settings",
    "unstuck.supervision.gates.gate_types": "GateManager GateType",
    "unstuck.supervision.run.coordinator": "Coordinator",
    "unstuck.supervision.run.embedded": "AttemptResult Result supervise supervise_sync",
    "unstuck.supervision.run.open_questions": "Question",
    "unstuck.supervision.run.supervisor": "Supervisor",
    "unstuck.supervision.standalone.checkpoint_manager": "CheckpointManager",
    "unstuck.supervision.standalone.error_handlers": (
        "handle_agent_failure handle_configuration_error handle_infrastructure_error handle_transient_error "
        "handle_unrecoverable_error"
    ),
    "unstuck.supervision.standalone.failure_handler": "FailureHandler",
    "unstuck.supervision.standalone.timeout_monitor": "TimeoutMonitor",
    "unstuck.text": "Clean admit",
    "unstuck.workspace.checkpoints.checkpoint_index": "Checkpoint",
    "unstuck.workspace.checkpoints.manager": "Restored",
}
# fmt: on

if not TYPE_CHECKING:
    _modules = {name: module for module, names in _PUBLIC.items() for name in names.split()}
    __all__ = [*sorted(_modules), "__version__"]  # noqa: PLE0604

    def __getattr__(name: str) -> object:
        if name not in _modules:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        value = globals()[name] = getattr(importlib.import_module(_modules[name]), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*__all__, *globals()})
