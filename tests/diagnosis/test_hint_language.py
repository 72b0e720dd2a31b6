"""Hints in the words of the language at hand."""

from __future__ import annotations

import pytest

from unstuck.diagnosis.pipeline import diagnose

# Outputs with what their hint has to say, and what it must not.
TOLD = [
    ("./main.go:3:1: invalid character U+0023 '#'\n", "Read the reported line", ("None", "nil", "convert")),
    ("# parts\n./main.go:3:26: undefined: foo\n", "Declare or import the name", ("None", "undefined", "convert")),
    ('./main.go:4:26: cannot use "two" (untyped string constant) as int value\n', "correct the declaration", ("None",)),
    ("main.go:5:32: x.size undefined (type []int has no field or method size)\n", "name is spelt", ("None", "may be")),
    ("parts.c:1:22: error: 'missing' undeclared (first use in this function)\n", "Declare or import", ("None",)),
    ("parts.c:3:9: error: incompatible types when returning type 'char *'\n", "correct the declaration", ("None",)),
    (
        "error[E0425]: cannot find value `missing` in this scope\n --> lib.rs:1:21\n",
        "Declare or import",
        ("None", "undefined"),
    ),
    ("error[E0308]: mismatched types\n --> lib.rs:2:21\n", "correct the declaration", ("None", "undefined")),
    ("App.java:3: error: cannot find symbol\n  symbol:   variable foo\n", "Declare or import", ("None",)),
    ("src/a.ts(3,5): error TS2304: Cannot find name 'foo'.\n", "Declare or import", ("None",)),
    ("a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.\n", "undefined or null", ("None",)),
    ("src/a.ts(5,2): error TS2339: Property 'x' does not exist on type 'Y'.\n", "undefined or null", ("None",)),
    (
        'Traceback (most recent call last):\n  File "a.py", line 2, in f\nTypeError: can only concatenate str\n',
        "handle None, or",
        ("undefined",),
    ),
    (
        "Traceback (most recent call last):\n  File \"a.py\", line 2, in f\nAttributeError: 'NoneType' has no 'x'\n",
        "it may be None",
        ("undefined",),
    ),
    ("app.rb:3:in `x': undefined method `y' for nil:NilClass (NoMethodError)\n", "it may be nil", ("None",)),
    ("TypeError: it does not fit\n", "Look at the value: convert it", ("None", "undefined", "at this line")),
    ("Segmentation fault (core dumped)\n", "Find the pointer or the index", ("at this line",)),
]  # fmt: skip


@pytest.mark.parametrize(("output", "advice", "never"), TOLD, ids=[told[0].strip().splitlines()[0] for told in TOLD])
def test_a_hint_speaks_the_language(output: str, advice: str, never: tuple[str, ...]) -> None:
    """A hint fits the language of the file, and points at a line only if one is known."""
    found = diagnose(output, exit_code=1)
    assert found is not None
    assert advice in found.fix_hint
    assert [word for word in never if word in found.fix_hint] == []
