"""The shapes in which tools print failures: one table, the surest first."""

from __future__ import annotations

from unstuck.diagnosis.context import CONTEXT_GATES
from unstuck.diagnosis.gates import Gates, either
from unstuck.diagnosis.shapes import blocks, docker, elixir, plain, pytests, python, scripts, stacks, testers
from unstuck.diagnosis.shapes.finding import Finding, Shape, place
from unstuck.diagnosis.shapes.located import LOCATED
from unstuck.diagnosis.shapes.plain import PLAIN
from unstuck.diagnosis.shapes.rules import Rule, first_that_fits

__all__ = ["RULES", "SHAPES", "Finding", "Rule", "Shape", "first_that_fits", "place"]

SHAPES: Gates[Shape] = Gates(
    (
    Shape(100, either("\nE  ", "\nFAILED ", "\nERROR", "test session starts", "\nImportError while"), pytests.failing_test),
    Shape(92, either(".exs:", "** (", "└─ "), elixir.elixir),
    Shape(92, either("Failed test"), testers.perl_test),
    Shape(91, either(") Failure:", ") Error:"), testers.minitest),
    Shape(91, either("\nFailed example:"), testers.doctest),
    Shape(91, either("\nnot ok ", " not ok "), scripts.tap),
    Shape(90, either(" at ", "❯ "), scripts.stack),
    Shape(90, either('File "', python.TITLE), python.traceback),
    Shape(90, either("panicked at"), stacks.rust_panic),
    Shape(88, either("panic: ", "--- FAIL: ", "\nfatal error: "), stacks.go),
    Shape(86, either("…Exception…", "\tat ", "Caused by: "), stacks.java),
    Shape(86, either("in `", "in '"), blocks.ruby),
    Shape(86, either("…Sanitizer: "), blocks.sanitizer),
    Shape(85, either("INTERNALERROR> "), pytests.internal_error),
    Shape(84, either(" - error: "), blocks.pyright),
    Shape(84, either("terminate called", "libc++abi: "), blocks.terminated),
    Shape(83, either("\nCMake Error at "), blocks.cmake),
    Shape(82, either("--> "), blocks.pointed),
    Shape(82, either("\n  on ", "│   on "), blocks.terraform),
    Shape(82, either("\nIn "), blocks.shellcheck),
    Shape(81, either("\nERROR in "), blocks.webpack),
    Shape(80, either("error  ", "✖  ", ":\n  "), blocks.listed),
    Shape(71, CONTEXT_GATES, plain.context_exhausted),
    Shape(62, either(docker.NOT_BUILT), docker.docker),
)
)
RULES: Gates[Rule] = Gates(sorted((*LOCATED, *PLAIN), key=lambda rule: -rule.weight))
