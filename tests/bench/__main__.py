"""Run the benchmarks: ``python -m tests.bench [NAME…]`` prints medians and ratios; nothing here can fail a build.

A module ``bench_NAME.py`` beside this file has ``benches()``, which gives ``Bench`` values; one without it prints its
own table when it is run. Ratios are taken within one run and in turns: absolute times mean little on a busy machine.
How long each row and each part took is printed beside it, since the whole has to stay short enough to be run.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from bench_kit import Bench, processor_time  # noqa: E402


def run(bench: Bench) -> str:
    """One row: the median, the range, the ratio and the budget."""
    measured, compared = [], []
    for _ in range(bench.rounds):
        measured.append(bench.measure())
        if bench.against:
            compared.append(bench.against())
    middle = median(measured)
    row = f"  {bench.name:<52} {middle:>12,.2f} {bench.unit:<8} {min(measured):>12,.2f} … {max(measured):<12,.2f}"
    if compared:
        row += f" ratio {middle / max(median(compared), 1e-12):>7.2f}"
    return f"{row}  budget {bench.budget}" if bench.budget else row


def taken(action: Callable[[], object]) -> str:
    """Return in words how long ``action`` took, and how much processor time it used with its processes."""
    begun, used = time.monotonic(), processor_time()
    action()
    return f"{time.monotonic() - begun:.1f} s, {processor_time() - used:.1f} s of processor time"


def measure(name: str) -> None:
    """Print the rows of one module."""
    module = importlib.import_module(f"bench_{name}")
    if not hasattr(module, "benches"):
        subprocess.run([sys.executable, str(HERE / f"bench_{name}.py")], check=False)
        return
    before = time.monotonic()
    for bench in module.benches():
        try:
            row = run(bench)
        except Exception as error:
            # One row that cannot be measured must not hide the others.
            row = f"  {bench.name}: not measured: {type(error).__name__}: {error}"
        # With what was set up for it since the row before.
        print(f"{row}  [{-before + (before := time.monotonic()):.1f} s]", flush=True)


def part(name: str) -> None:
    """Measure one module, and print what it took."""
    print(f"{name}: median, least … most", flush=True)
    try:
        print(f"  {name} took {taken(lambda: measure(name))}", flush=True)
    except Exception as error:
        # One part that cannot be measured must not hide the others.
        print(f"  not measured: {type(error).__name__}: {error}", flush=True)


def main(wanted: list[str]) -> int:
    """Run the named benchmark modules, or all of them; 2 where a name is unknown."""
    names = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py") if path.stem != "bench_kit")
    if unknown := [name for name in wanted if name not in names]:
        print(f"no such benchmark: {', '.join(unknown)} (known: {', '.join(names)})", file=sys.stderr)
        return 2
    chosen = wanted or names
    whole = taken(lambda: [part(name) for name in chosen])
    print(f"{len(chosen)} parts took {whole}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
