"""Parsers of tools in one table, the surest first."""

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
    placed_nearby,
    plain_lines,
    pytest_report,
    python,
    r_haskell,
    tcl,
)
from unstuck.diagnosis.parsers.base import Finding, OutputParser, place
from unstuck.diagnosis.parsers.line_rules import Rule, first_match
from unstuck.diagnosis.parsers.located_lines import LOCATED
from unstuck.diagnosis.parsers.plain_lines import PLAIN

__all__ = ["PARSERS", "RULES", "SUREST", "Finding", "OutputParser", "Rule", "first_match", "place"]

# The surest parser, for the most frequent output.
SUREST = OutputParser(
    100,
    Literals("\nFAILED ", "\nE  ", "\nERROR", "test session starts", "\nImportError while"),
    pytest_report.failing_test,
)
PARSERS: Prefilter[OutputParser] = Prefilter(
    (
        OutputParser(92, Literals(".exs:", "** (", "└─ "), elixir.elixir),
        OutputParser(92, Literals("Failed test"), minitest_tap_doctest.perl_test),
        OutputParser(91, Literals(") Failure:", ") Error:"), minitest_tap_doctest.minitest),
        OutputParser(91, Literals("\nFailed example:"), minitest_tap_doctest.doctest),
        OutputParser(91, Literals("\nError compiling Cython file:"), placed_nearby.cython),
        OutputParser(91, Literals("in test file ", "in file "), placed_nearby.bats),
        OutputParser(91, Literals("\nnot ok ", " not ok "), javascript.tap),
        OutputParser(90, Literals(" at ", "❯ "), javascript.stack),
        OutputParser(90, Literals('File "', python.TITLE), python.traceback),
        OutputParser(90, Literals("panicked at"), java_go_rust.rust_panic),
        OutputParser(89, Literals(python.FATAL_TITLE), python.fatal),
        OutputParser(88, Literals(multiline.LUA_ASSERT), multiline.lua_assertion),
        OutputParser(88, Literals("panic: ", "--- FAIL: ", "\nfatal error: "), java_go_rust.go),
        OutputParser(86, Literals("…Exception…", "\tat ", "Caused by: "), java_go_rust.java),
        OutputParser(86, Literals("in `", "in '"), multiline.ruby),
        OutputParser(86, Literals("\nFatal error: exception "), placed_nearby.ocaml_exception),
        OutputParser(86, Literals("…Sanitizer: "), multiline.sanitizer),
        OutputParser(85, Literals("INTERNALERROR> "), pytest_report.internal_error),
        OutputParser(84, Literals(" - error: "), multiline.pyright),
        OutputParser(84, Literals("terminate called", "libc++abi: "), multiline.terminated),
        OutputParser(84, Literals("    while executing\n", "    invoked from within\n"), tcl.tcl),
        OutputParser(84, Literals(r_haskell.CALL_STACK), r_haskell.haskell_error),
        OutputParser(83, Literals("\nCMake Error at "), multiline.cmake),
        OutputParser(
            83, Literals("Error: ", "Error (", "…: error:", ", line ", "\nError --"), placed_nearby.placed_above
        ),
        OutputParser(83, Literals("import cycle not allowed"), placed_nearby.import_cycle),
        OutputParser(82, Literals("--> ", "┌─ ", "╭▸ "), multiline.pointed),
        OutputParser(82, Literals("─[", "-["), placed_nearby.boxed),
        OutputParser(82, Literals("[ERROR] "), placed_nearby.esbuild),
        OutputParser(82, Literals("\nError: "), placed_nearby.sass),
        OutputParser(82, Literals("\n>> Issue: ["), placed_nearby.bandit),
        OutputParser(82, Literals("\n  on ", "│   on "), multiline.terraform),
        OutputParser(82, Literals("\nIn "), multiline.shellcheck),
        OutputParser(81, Literals("\nERROR in "), multiline.webpack),
        OutputParser(80, Literals("error  ", "✖  ", ":\n  ", "] FAIL\n", "──\n"), multiline.listed),
        OutputParser(80, Literals(" ^ "), placed_nearby.htmlhint),
        OutputParser(72, Literals(r_haskell.HALTED), r_haskell.r_error),
        OutputParser(71, CONTEXT_LITERALS, plain_lines.context_exhausted),
        OutputParser(62, Literals(docker.NOT_BUILT), docker.docker),
        OutputParser(62, Literals("\nNode.js v"), javascript.thrown),
    )
)
RULES: Prefilter[Rule] = Prefilter(sorted((*LOCATED, *PLAIN), key=lambda rule: -rule.weight))
