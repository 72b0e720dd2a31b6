"""Loop detection: identical failures, repeated steps, repeated approaches. Pure: no I/O."""

from __future__ import annotations

from unstuck.detection.loop_detector import GateOpener, LoopDetector
from unstuck.detection.similarity import is_circular_fix, keywords, similarity

__all__ = ["GateOpener", "LoopDetector", "is_circular_fix", "keywords", "similarity"]
