"""The shapes in which tools print failures, one reader each."""

from __future__ import annotations

from unstuck.diagnosis.shapes.compilers import CompilerShape
from unstuck.diagnosis.shapes.finding import Finding, Shape, place
from unstuck.diagnosis.shapes.plain import CONTEXT_EXHAUSTED, PlainShape
from unstuck.diagnosis.shapes.pytests import PytestShape
from unstuck.diagnosis.shapes.python import PythonShape
from unstuck.diagnosis.shapes.stacks import GoShape, JavaShape, RustPanicShape, ScriptShape

__all__ = ["CONTEXT_EXHAUSTED", "SHAPES", "Finding", "Shape", "place"]

SHAPES: tuple[type[Shape], ...] = (
    PytestShape,
    PythonShape,
    ScriptShape,
    JavaShape,
    GoShape,
    RustPanicShape,
    CompilerShape,
    PlainShape,
)
