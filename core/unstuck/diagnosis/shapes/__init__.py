"""The shapes in which tools print failures: one table, the surest first."""

from __future__ import annotations

from unstuck.diagnosis.context import CONTEXT_GATES
from unstuck.diagnosis.gates import Either, Gates
from unstuck.diagnosis.shapes import blocks, docker, elixir, plain, pytests, python, scripts, stacks, tcl, testers
from unstuck.diagnosis.shapes.finding import Finding, Shape, place
from unstuck.diagnosis.shapes.located import LOCATED
from unstuck.diagnosis.shapes.plain import PLAIN
from unstuck.diagnosis.shapes.rules import Rule, first_that_fits

__all__ = ["RULES", "SHAPES", "SUREST", "Finding", "Rule", "Shape", "first_that_fits", "place"]

# The surest of all, which is what most of the outputs are that are seen here.
SUREST = Shape(
    100,
    Either("\nFAILED ", "\nE  ", "\nERROR", "test session starts", "\nImportError while"),
    pytests.failing_test,
)
SHAPES: Gates[Shape] = Gates(
    (
        Shape(92, Either(".exs:", "** (", "└─ "), elixir.elixir),
        Shape(92, Either("Failed test"), testers.perl_test),
        Shape(91, Either(") Failure:", ") Error:"), testers.minitest),
        Shape(91, Either("\nFailed example:"), testers.doctest),
        Shape(91, Either("\nnot ok ", " not ok "), scripts.tap),
        Shape(90, Either(" at ", "❯ "), scripts.stack),
        Shape(90, Either('File "', python.TITLE), python.traceback),
        Shape(90, Either("panicked at"), stacks.rust_panic),
        Shape(89, Either(python.FATAL_TITLE), python.fatal),
        Shape(88, Either("panic: ", "--- FAIL: ", "\nfatal error: "), stacks.go),
        Shape(86, Either("…Exception…", "\tat ", "Caused by: "), stacks.java),
        Shape(86, Either("in `", "in '"), blocks.ruby),
        Shape(86, Either("…Sanitizer: "), blocks.sanitizer),
        Shape(85, Either("INTERNALERROR> "), pytests.internal_error),
        Shape(84, Either(" - error: "), blocks.pyright),
        Shape(84, Either("terminate called", "libc++abi: "), blocks.terminated),
        Shape(84, Either("    while executing\n", "    invoked from within\n"), tcl.tcl),
        Shape(83, Either("\nCMake Error at "), blocks.cmake),
        Shape(82, Either("--> "), blocks.pointed),
        Shape(82, Either("\n  on ", "│   on "), blocks.terraform),
        Shape(82, Either("\nIn "), blocks.shellcheck),
        Shape(81, Either("\nERROR in "), blocks.webpack),
        Shape(80, Either("error  ", "✖  ", ":\n  "), blocks.listed),
        Shape(71, CONTEXT_GATES, plain.context_exhausted),
        Shape(62, Either(docker.NOT_BUILT), docker.docker),
        Shape(62, Either("\nNode.js v"), scripts.thrown),
    )
)
RULES: Gates[Rule] = Gates(sorted((*LOCATED, *PLAIN), key=lambda rule: -rule.weight))
