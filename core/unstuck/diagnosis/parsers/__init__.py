"""The shapes in which tools print failures: one table, the surest first."""

from __future__ import annotations

from unstuck.diagnosis.matching.context_window import CONTEXT_LITERALS
from unstuck.diagnosis.matching.prefilter import Literals, Prefilter
from unstuck.diagnosis.parsers import (
    docker,
    elixir,
    java_go_rust,
    javascript,
    minitest_tap_doctest,
    multiline,
    plain_lines,
    pytest_report,
    python,
    tcl,
)
from unstuck.diagnosis.parsers.base import Finding, Shape, place
from unstuck.diagnosis.parsers.line_rules import Rule, first_that_fits
from unstuck.diagnosis.parsers.located_lines import LOCATED
from unstuck.diagnosis.parsers.plain_lines import PLAIN

__all__ = ["RULES", "SHAPES", "SUREST", "Finding", "Rule", "Shape", "first_that_fits", "place"]

# The surest of all, which is what most of the outputs are that are seen here.
SUREST = Shape(
    100,
    Literals("\nFAILED ", "\nE  ", "\nERROR", "test session starts", "\nImportError while"),
    pytest_report.failing_test,
)
SHAPES: Prefilter[Shape] = Prefilter(
    (
        Shape(92, Literals(".exs:", "** (", "└─ "), elixir.elixir),
        Shape(92, Literals("Failed test"), minitest_tap_doctest.perl_test),
        Shape(91, Literals(") Failure:", ") Error:"), minitest_tap_doctest.minitest),
        Shape(91, Literals("\nFailed example:"), minitest_tap_doctest.doctest),
        Shape(91, Literals("\nnot ok ", " not ok "), javascript.tap),
        Shape(90, Literals(" at ", "❯ "), javascript.stack),
        Shape(90, Literals('File "', python.TITLE), python.traceback),
        Shape(90, Literals("panicked at"), java_go_rust.rust_panic),
        Shape(89, Literals(python.FATAL_TITLE), python.fatal),
        Shape(88, Literals("panic: ", "--- FAIL: ", "\nfatal error: "), java_go_rust.go),
        Shape(86, Literals("…Exception…", "\tat ", "Caused by: "), java_go_rust.java),
        Shape(86, Literals("in `", "in '"), multiline.ruby),
        Shape(86, Literals("…Sanitizer: "), multiline.sanitizer),
        Shape(85, Literals("INTERNALERROR> "), pytest_report.internal_error),
        Shape(84, Literals(" - error: "), multiline.pyright),
        Shape(84, Literals("terminate called", "libc++abi: "), multiline.terminated),
        Shape(84, Literals("    while executing\n", "    invoked from within\n"), tcl.tcl),
        Shape(83, Literals("\nCMake Error at "), multiline.cmake),
        Shape(82, Literals("--> "), multiline.pointed),
        Shape(82, Literals("\n  on ", "│   on "), multiline.terraform),
        Shape(82, Literals("\nIn "), multiline.shellcheck),
        Shape(81, Literals("\nERROR in "), multiline.webpack),
        Shape(80, Literals("error  ", "✖  ", ":\n  "), multiline.listed),
        Shape(71, CONTEXT_LITERALS, plain_lines.context_exhausted),
        Shape(62, Literals(docker.NOT_BUILT), docker.docker),
        Shape(62, Literals("\nNode.js v"), javascript.thrown),
    )
)
RULES: Prefilter[Rule] = Prefilter(sorted((*LOCATED, *PLAIN), key=lambda rule: -rule.weight))
