"""The shapes in which tools print failures: one table, the surest first."""

from __future__ import annotations

from unstuck.diagnosis.matching.context_window import CONTEXT_GATES
from unstuck.diagnosis.matching.prefilter import Either, Gates
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
    Either("\nFAILED ", "\nE  ", "\nERROR", "test session starts", "\nImportError while"),
    pytest_report.failing_test,
)
SHAPES: Gates[Shape] = Gates(
    (
        Shape(92, Either(".exs:", "** (", "└─ "), elixir.elixir),
        Shape(92, Either("Failed test"), minitest_tap_doctest.perl_test),
        Shape(91, Either(") Failure:", ") Error:"), minitest_tap_doctest.minitest),
        Shape(91, Either("\nFailed example:"), minitest_tap_doctest.doctest),
        Shape(91, Either("\nnot ok ", " not ok "), javascript.tap),
        Shape(90, Either(" at ", "❯ "), javascript.stack),
        Shape(90, Either('File "', python.TITLE), python.traceback),
        Shape(90, Either("panicked at"), java_go_rust.rust_panic),
        Shape(89, Either(python.FATAL_TITLE), python.fatal),
        Shape(88, Either("panic: ", "--- FAIL: ", "\nfatal error: "), java_go_rust.go),
        Shape(86, Either("…Exception…", "\tat ", "Caused by: "), java_go_rust.java),
        Shape(86, Either("in `", "in '"), multiline.ruby),
        Shape(86, Either("…Sanitizer: "), multiline.sanitizer),
        Shape(85, Either("INTERNALERROR> "), pytest_report.internal_error),
        Shape(84, Either(" - error: "), multiline.pyright),
        Shape(84, Either("terminate called", "libc++abi: "), multiline.terminated),
        Shape(84, Either("    while executing\n", "    invoked from within\n"), tcl.tcl),
        Shape(83, Either("\nCMake Error at "), multiline.cmake),
        Shape(82, Either("--> "), multiline.pointed),
        Shape(82, Either("\n  on ", "│   on "), multiline.terraform),
        Shape(82, Either("\nIn "), multiline.shellcheck),
        Shape(81, Either("\nERROR in "), multiline.webpack),
        Shape(80, Either("error  ", "✖  ", ":\n  "), multiline.listed),
        Shape(71, CONTEXT_GATES, plain_lines.context_exhausted),
        Shape(62, Either(docker.NOT_BUILT), docker.docker),
        Shape(62, Either("\nNode.js v"), javascript.thrown),
    )
)
RULES: Gates[Rule] = Gates(sorted((*LOCATED, *PLAIN), key=lambda rule: -rule.weight))
