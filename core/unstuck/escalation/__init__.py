"""What to do next: precedence, the ladder, alternatives, prompts and the stuck report. Pure functions over values."""

from unstuck.escalation.alternatives import alternatives
from unstuck.escalation.climb import Climb
from unstuck.escalation.levels import EscalationLevel, Limits
from unstuck.escalation.precedence import (
    AskQuestion,
    BackOff,
    Block,
    Decision,
    Direct,
    Facts,
    Finish,
    Halt,
    Redispatch,
    decide,
)
from unstuck.escalation.prompts import Brief, compose
from unstuck.escalation.report import StuckReport, format_stuck_question, stuck_report

__all__ = [
    "AskQuestion",
    "BackOff",
    "Block",
    "Brief",
    "Climb",
    "Decision",
    "Direct",
    "EscalationLevel",
    "Facts",
    "Finish",
    "Halt",
    "Limits",
    "Redispatch",
    "StuckReport",
    "alternatives",
    "compose",
    "decide",
    "format_stuck_question",
    "stuck_report",
]
