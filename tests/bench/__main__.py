"""Run the benchmarks: ``python -m tests.bench [NAME…]`` prints medians and ratios; nothing here can fail a build.

A module ``bench_NAME.py`` beside this file has ``benches()``, which gives ``Bench`` values; one without it prints its
own table when it is run. Ratios are taken within one run and in turns: absolute times mean little on a busy machine.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from bench_kit import Bench  # noqa: E402


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


def measure(name: str) -> None:
    """Print the rows of one module."""
    module = importlib.import_module(f"bench_{name}")
    if not hasattr(module, "benches"):
        subprocess.run([sys.executable, str(HERE / f"bench_{name}.py")], check=False)
        return
    for bench in module.benches():
        try:
            print(run(bench), flush=True)
        except Exception as error:
            # One row that cannot be measured must not hide the others.
            print(f"  {bench.name}: not measured: {type(error).__name__}: {error}", flush=True)


def main(wanted: list[str]) -> int:
    """Run the named benchmark modules, or all of them; 2 where a name is unknown."""
    names = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py") if path.stem != "bench_kit")
    if unknown := [name for name in wanted if name not in names]:
        print(f"no such benchmark: {', '.join(unknown)} (known: {', '.join(names)})", file=sys.stderr)
        return 2
    for name in wanted or names:
        print(f"{name}: median, least … most", flush=True)
        try:
            measure(name)
        except Exception as error:
            # One part that cannot be measured must not hide the others.
            print(f"  not measured: {type(error).__name__}: {error}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
