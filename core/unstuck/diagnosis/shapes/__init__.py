"""The shapes in which tools print failures: one table, the surest first."""

from __future__ import annotations

from unstuck.diagnosis.context import CONTEXT_GATES
from unstuck.diagnosis.shapes import blocks, docker, elixir, plain, pytests, python, scripts, stacks, testers
from unstuck.diagnosis.shapes.finding import Finding, Shape, place
from unstuck.diagnosis.shapes.located import LOCATED
from unstuck.diagnosis.shapes.plain import PLAIN
from unstuck.diagnosis.shapes.rules import Rule, first_that_fits

__all__ = ["RULES", "SHAPES", "Finding", "Rule", "Shape", "first_that_fits", "place"]

SHAPES: tuple[Shape, ...] = (
    Shape(100, ("\nE  ", "\nFAILED ", "\nERROR", "test session starts", "\nImportError while"), pytests.failing_test),
    Shape(92, (".exs:", "** (", "└─ "), elixir.elixir),
    Shape(92, ("Failed test",), testers.perl_test),
    Shape(91, (") Failure:", ") Error:"), testers.minitest),
    Shape(91, ("\nFailed example:",), testers.doctest),
    Shape(91, ("\nnot ok ", " not ok "), scripts.tap),
    Shape(90, (" at ", "❯ "), scripts.stack),
    Shape(90, ('File "', python.TITLE), python.traceback),
    Shape(90, ("panicked at",), stacks.rust_panic),
    Shape(88, ("panic: ", "--- FAIL: ", "\nfatal error: "), stacks.go),
    Shape(86, ("Exception", "\tat ", "Caused by: "), stacks.java),
    Shape(86, ("in `", "in '"), blocks.ruby),
    Shape(86, ("Sanitizer: ",), blocks.sanitizer),
    Shape(85, ("INTERNALERROR> ",), pytests.internal_error),
    Shape(84, (" - error: ",), blocks.pyright),
    Shape(84, ("terminate called", "libc++abi: "), blocks.terminated),
    Shape(83, ("\nCMake Error at ",), blocks.cmake),
    Shape(82, ("--> ",), blocks.pointed),
    Shape(82, ("\n  on ", "│   on "), blocks.terraform),
    Shape(82, ("\nIn ",), blocks.shellcheck),
    Shape(81, ("\nERROR in ",), blocks.webpack),
    Shape(80, ("error  ", "✖  ", ":\n  "), blocks.listed),
    Shape(71, CONTEXT_GATES, plain.context_exhausted),
    Shape(62, (docker.NOT_BUILT,), docker.docker),
)
RULES: tuple[Rule, ...] = tuple(sorted((*LOCATED, *PLAIN), key=lambda rule: -rule.weight))
