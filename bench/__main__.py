"""`python -m bench [--quick] [--only NAME] [--write]`: measure, print, and write the docs.

Standard output has one JSON object a figure; the table and progress go to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from bench import cases, clock, report
from bench.cases import Bench, Case
from bench.report import Figure


def main() -> None:
    options = _options()
    chosen = [case for case in cases.ALL if _is_wanted(case, options)]
    if not chosen:
        names = ", ".join(case.name for case in cases.ALL)
        sys.exit(f"no benchmark is named {options.only}; there are: {names}")
    machine = clock.machine()
    with tempfile.TemporaryDirectory(prefix="dibs-bench.") as folder:
        bench = Bench(Path(folder), runs=1 if options.quick else options.runs)
        figures = [_measured(case, bench, machine) for case in chosen]
    print(report.table(figures), file=sys.stderr)
    if options.write:
        report.write(figures)


def _measured(case: Case, bench: Bench, machine: str) -> Figure:
    if sys.stderr.isatty():
        print(f"{case.name} …", end="\r", file=sys.stderr, flush=True)
    figure = Figure(case, case.measure(bench), None, bench.runs, machine)
    print(json.dumps(figure.record(), ensure_ascii=False), flush=True)
    return figure


def _is_wanted(case: Case, options: argparse.Namespace) -> bool:
    if options.only:
        return any(part in case.name for part in options.only.split(","))
    return not (options.quick and case.is_slow)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run each, without the slow ones")
    parser.add_argument("--only", metavar="NAME", help="names, or parts of them, with commas")
    parser.add_argument("--runs", type=int, default=5, help="how often each runs (default: 5)")
    parser.add_argument(
        "--write", action="store_true", help="write bench/results and docs/benchmarks.md"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
