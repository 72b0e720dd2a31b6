"""Families of projects with several things to fix: what a project looks like with so many of them left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["FAMILIES", "MOST", "Family"]

MOST = 5
"""As many things there are to fix in a project at most."""

Files = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Family:
    """Projects that ``tools`` check with ``command``. ``files`` gives them for the numbers of the things that are left.

    ``unseen``: no rule was written with its output in view. ``imports``: some of the things are missing imports, which
    ask for another approach at once where nothing is known of the check before the task.
    """

    name: str
    tools: tuple[str, ...]
    command: str
    files: Callable[[frozenset[int]], Files]
    last_first: bool = False
    unseen: bool = False
    imports: bool = False

    def left(self, count: int) -> Files:
        """The files with ``count`` things left to fix."""
        fixed = range(MOST)[count:] if self.last_first else range(MOST)[: MOST - count]
        return self.files(frozenset(range(MOST)) - frozenset(fixed))


def _lines(wrong: tuple[str, ...], right: tuple[str, ...], left: frozenset[int], between: str = "\n") -> str:
    return between.join(wrong[number] if number in left else right[number] for number in range(MOST)) + "\n"


def _python_parts(left: frozenset[int]) -> str:
    return "\n\n".join(
        f"def part_{number}(value):\n    return value {'-' if number in left else '+'} {number + 1}"
        for number in range(MOST)
    )


def _pytest(left: frozenset[int]) -> Files:
    tests = "\n\n".join(
        f"def test_part_{number}():\n    assert parts.part_{number}(3) == {4 + number}" for number in range(MOST)
    )
    return {"parts.py": _python_parts(left) + "\n", "test_parts.py": f"import parts\n\n\n{tests}\n"}


def _unittest(left: frozenset[int]) -> Files:
    tests = "\n".join(
        f"    def test_part_{number}(self):\n        self.assertEqual(parts.part_{number}(3), {4 + number})\n"
        for number in range(MOST)
    )
    head = "import unittest\n\nimport parts\n\n\nclass Parts(unittest.TestCase):\n"
    return {"parts.py": _python_parts(left) + "\n", "test_parts.py": head + tests}


def _collection(left: frozenset[int]) -> Files:
    wrong = (
        "def value(:\n    return 1\n",
        "import nothing_of_that_name\n\n\ndef value():\n    return 1\n",
        "START = missing + 1\n\n\ndef value():\n    return 1\n",
        "def value():\nreturn 1\n",
        "from json import no_such_name\n\n\ndef value():\n    return 1\n",
    )
    right = "def value():\n    return 1\n"
    files = {f"part_{number}.py": wrong[number] if number in left else right for number in range(MOST)}
    return files | {
        f"test_part_{number}.py": f"import part_{number}\n\n\ndef test_it():\n    assert part_{number}.value() == 1\n"
        for number in range(MOST)
    }


_TYPED = (
    "def length(text: str) -> int:\n    return {0}\n",
    "def double(number: int) -> int:\n    return number * {1}\n",
    "def first(numbers: list[int]) -> int:\n    return numbers{2}\n",
    "def name() -> str:\n    return {3}\n",
    "def greet(who: str) -> str:\n    return 'hello ' + {4}\n",
)
_TYPED_WRONG = ("text", "'2'", "", "7", "5")
_TYPED_RIGHT = ("len(text)", "2", "[0]", "'seven'", "who")


def _typed(number: int, left: frozenset[int]) -> str:
    values = (_TYPED_WRONG if number in left else _TYPED_RIGHT)[number]
    return _TYPED[number].replace(f"{{{number}}}", values)


def _mypy(left: frozenset[int]) -> Files:
    return {"app.py": "\n\n".join(_typed(number, left) for number in range(MOST))}


def _mypy_files(left: frozenset[int]) -> Files:
    wrong = (
        "import part_one\n\nprint(part_one.nothing)\n",
        "from part_two import missing\n\nprint(missing)\n",
        "def size() -> int:\n    return 'one'\n",
        "import no_such_library\n\nprint(no_such_library)\n",
        "print(undefined_name)\n",
    )
    right = ("import part_one\n\nprint(part_one.one)\n", "import part_two\n\nprint(part_two)\n")
    right = (*right, "def size() -> int:\n    return 1\n", "print('no library')\n", "print('a name')\n")
    files = {f"use_{number}.py": (wrong if number in left else right)[number] for number in range(MOST)}
    return files | {"part_one.py": "one = 1\n", "part_two.py": "two = 2\n"}


def _typescript(left: frozenset[int]) -> Files:
    wrong = (
        "export const a: number = 'one';",
        "export function b(x: number): string { return x; }",
        "export const c = undefinedName + 1;",
        "export const d: { size: number } = { length: 3 };",
        "export const e = 'text'.noSuchMethod();",
    )
    right = (
        "export const a: number = 1;",
        "export function b(x: number): string { return String(x); }",
        "export const c = 1 + 1;",
        "export const d: { size: number } = { size: 3 };",
        "export const e = 'text'.trim();",
    )
    return {"app.ts": _lines(wrong, right, left)}


def _typescript_files(left: frozenset[int]) -> Files:
    files = {f"part{number}.ts": f"export const part{number}: number = {number};\n" for number in range(MOST)}
    for number in range(MOST):
        path = f"./gone{number}" if number in left else f"./part{number}"
        files[f"use{number}.ts"] = (
            f"import {{ part{number} }} from '{path}';\nexport const use{number} = part{number};\n"
        )
    return files


_RUST_WRONG = (
    "pub fn a() -> i32 { missing }",
    'pub fn b() -> i32 { "two" }',
    "pub fn c(v: Vec<i32>) -> usize { v.size() }",
    "pub fn d(v: Vec<i32>) -> Vec<i32> { let w = v; v.len(); w }",
    "pub fn e() -> String { unknown_function() }",
)
_RUST_RIGHT = (
    "pub fn a() -> i32 { 1 }",
    "pub fn b() -> i32 { 2 }",
    "pub fn c(v: Vec<i32>) -> usize { v.len() }",
    "pub fn d(v: Vec<i32>) -> Vec<i32> { v }",
    "pub fn e() -> String { String::new() }",
)


def _rustc(left: frozenset[int]) -> Files:
    return {"lib.rs": _lines(_RUST_WRONG, _RUST_RIGHT, left)}


def _cargo_test(left: frozenset[int]) -> Files:
    parts = "".join(
        f"pub fn part_{number}(x: i32) -> i32 {{ x {'-' if number in left else '+'} {number + 1} }}\n"
        for number in range(MOST)
    )
    tests = "".join(
        f"    #[test] fn adds_{number}() {{ assert_eq!(part_{number}(3), {4 + number}); }}\n" for number in range(MOST)
    )
    return {"lib.rs": f"{parts}#[cfg(test)] mod tests {{\n    use super::*;\n{tests}}}\n"}


_C_WRONG = (
    "int a(void) { return missing; }",
    "int b(void) { struct point p; return 2; }",
    "int c(int x) { return x.size; }",
    "int d(void) { return 1 }",
    "int *e(void) { return undeclared_pointer; }",
)
_C_RIGHT = (
    "int a(void) { return 1; }",
    "int b(void) { return 2; }",
    "int c(int x) { return x; }",
    "int d(void) { return 1; }",
    "int *e(void) { return 0; }",
)


def _c(left: frozenset[int]) -> Files:
    return {
        "parts.c": _lines(_C_WRONG, _C_RIGHT, left),
        "Makefile": "all: parts.o\n\nparts.o: parts.c\n\tgcc -c parts.c\n",
    }


def _go(left: frozenset[int]) -> Files:
    wrong = (
        "func a() int { return missing }",
        'func b() int { return "two" }',
        "func c(x []int) int { return x.size }",
        "func d() (int, error) { return 1 }",
        "func e() string { return unknown() }",
    )
    right = (
        "func a() int { return 1 }",
        "func b() int { return 2 }",
        "func c(x []int) int { return len(x) }",
        "func d() (int, error) { return 1, nil }",
        'func e() string { return "" }',
    )
    rest = "func main() {\n\ta()\n\tb()\n\tc(nil)\n\td()\n\te()\n}\n"
    return {
        "go.mod": "module parts\n\ngo 1.19\n",
        "main.go": "package main\n\n" + _lines(wrong, right, left) + "\n" + rest,
    }


def _go_test(left: frozenset[int]) -> Files:
    parts = "".join(
        f"func part{number}(x int) int {{ return x {'-' if number in left else '+'} {number + 1} }}\n"
        for number in range(MOST)
    )
    tests = "".join(
        f"func TestPart{number}(t *testing.T) {{\n\tif got := part{number}(3); got != {4 + number} {{\n"
        f'\t\tt.Errorf("part{number}(3) = %d, want {4 + number}", got)\n\t}}\n}}\n'
        for number in range(MOST)
    )
    return {
        "go.mod": "module parts\n\ngo 1.19\n",
        "parts.go": f"package parts\n\n{parts}",
        "parts_test.go": f'package parts\n\nimport "testing"\n\n{tests}',
    }


def _eslint(left: frozenset[int]) -> Files:
    wrong = ("unknownA();", "const b = 1;", "if (a = 1) { a(); }", "debugger;", "unknownE = 5;")
    right = (
        "globalThis.A = 1;",
        "globalThis.b = 1;",
        "if (a === 1) { a(); }",
        "globalThis.d = 1;",
        "globalThis.E = 5;",
    )
    rules = '"no-undef": "error", "no-unused-vars": "error", "no-cond-assign": "error", "no-debugger": "error"'
    config = f"export default [{{ languageOptions: {{ globals: {{ globalThis: true }} }}, rules: {{ {rules} }} }}];\n"
    return {"app.js": "let a = globalThis.a;\n" + _lines(wrong, right, left), "eslint.config.mjs": config}


def _own_runner(left: frozenset[int]) -> Files:
    lines = "".join(
        f'echo "FAIL part_{number}: want {4 + number}, got {2 - number}"\n'
        if number in left
        else f'echo "ok part_{number}"\n'
        for number in range(MOST)
    )
    end = f'echo "{len(left)} of {MOST} tests failed"\nexit {1 if left else 0}\n'
    return {"run_tests.sh": lines + end, "Makefile": "test:\n\t@sh run_tests.sh\n"}


def _quiet_runner(left: frozenset[int]) -> Files:
    """A runner that says only what failed, in a sentence, and nothing in the end."""
    lines = "".join(
        f'echo "test failed: part_{number}(3) = {2 - number}, want {4 + number}"\n' for number in sorted(left)
    )
    return {"run_tests.sh": f"{lines}exit {1 if left else 0}\n", "Makefile": "test:\n\t@sh run_tests.sh\n"}


def _first_failure(left: frozenset[int]) -> Files:
    """A runner that goes on until the first failure."""
    lines = "".join(
        f'echo "part_{number}: expected {4 + number} but got {2 - number}"; exit 1\n'
        if number in left
        else f'echo "ok part_{number}"\n'
        for number in range(MOST)
    )
    return {"run_tests.sh": lines, "Makefile": "test:\n\t@sh run_tests.sh\n"}


def _node_test(left: frozenset[int]) -> Files:
    parts = "".join(
        f"exports.part{number} = (x) => x {'-' if number in left else '+'} {number + 1};\n" for number in range(MOST)
    )
    tests = "".join(
        f"test('part {number}', () => assert.strictEqual(parts.part{number}(3), {4 + number}));\n"
        for number in range(MOST)
    )
    needs = (("test", "node:test"), ("assert", "node:assert"), ("parts", "./parts.js"))
    head = "".join(f"const {name} = require('{module}');\n" for name, module in needs)
    package = '{"name": "parts", "version": "1.0.0", "scripts": {"test": "node --test parts.test.js"}}\n'
    return {"parts.js": parts, "parts.test.js": head + tests, "package.json": package}


FAMILIES: tuple[Family, ...] = (
    Family("pytest", ("pytest",), "pytest -q -p no:cacheprovider", _pytest),
    Family("pytest-collection", ("pytest",), "pytest -q -p no:cacheprovider", _collection, imports=True),
    Family("mypy", ("mypy",), "mypy app.py", _mypy, last_first=True),
    Family("tsc", ("tsc",), "tsc --noEmit --pretty false --strict app.ts", _typescript),
    Family("rustc", ("rustc",), "rustc --crate-type lib --emit metadata lib.rs", _rustc),
    Family("gcc", ("gcc",), "gcc -fsyntax-only parts.c", _c),
    Family("gcc-make", ("gcc", "make"), "make", _c, last_first=True),
    Family("go", ("go",), "go build -o /dev/null .", _go),
    Family("eslint", ("eslint",), "eslint app.js", _eslint, last_first=True),
    Family("make-own", ("make",), "make test", _own_runner),
    Family("unittest", ("python3",), "python3 -B -m unittest", _unittest, last_first=True, unseen=True),
    Family("pytest-first", ("pytest",), "pytest -q -x -p no:cacheprovider", _pytest, unseen=True),
    Family("mypy-files", ("mypy",), "mypy .", _mypy_files, unseen=True),
    Family(
        "tsc-imports", ("tsc",), "tsc --noEmit --pretty false --strict use0.ts use1.ts use2.ts use3.ts use4.ts",
        _typescript_files, unseen=True, imports=True,
    ),
    Family("rust-test", ("rustc",), "rustc --test -o parts lib.rs && ./parts", _cargo_test, unseen=True),
    Family("go-test", ("go",), "go test ./...", _go_test, last_first=True, unseen=True),
    Family("node-test", ("node",), "node --test parts.test.js", _node_test, unseen=True),
    Family("npm-test", ("npm", "node"), "npm test", _node_test, last_first=True, unseen=True),
    Family("make-quiet", ("make",), "make test", _quiet_runner, unseen=True),
    Family("make-first", ("make",), "make test", _first_failure),
)  # fmt: skip
