"""`python -m bench`: measure dibs and its peer, print, and write the docs.

Standard output, unless it is a terminal, has one JSON object a figure; the table and progress go
to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from bench import cases, clock, figures, page, profiling, table
from bench.case import Bench, Case
from bench.clock import Runs
from bench.figures import Figure
from bench.peer import BUILT, Peer


def main() -> None:
    options = _options()
    chosen = [case for case in cases.ALL if _is_wanted(case, options)]
    if not chosen:
        names = ", ".join(case.name for case in cases.ALL)
        sys.exit(f"no benchmark is named {options.only}; there are: {names}")
    with tempfile.TemporaryDirectory(prefix="dibs-bench.") as folder:
        bench = _bench(Path(folder), options)
        if options.profile:
            profiling.show([case for case in chosen if case.prepare is not None], bench)
            return
        _measure(chosen, bench, options)


def _measure(chosen: list[Case], bench: Bench, options: argparse.Namespace) -> None:
    to = table.console()
    if not bench.peer.is_there:
        to.print(f"the peer is not measured: {bench.peer.program} is not there; try: make oracle")
    machine = clock.machine()
    measured = []
    with table.progress(to) as progress:
        shown = progress.add_task("", total=len(chosen))
        for case in chosen:
            progress.update(shown, description=case.name, refresh=True)
            figure = Figure(case, case.ours(bench), case.theirs(bench), machine)
            measured.append(figure)
            if not sys.stdout.isatty():
                print(json.dumps(figure.record(), ensure_ascii=False), flush=True)
            progress.advance(shown)
            # At once, so that what has been measured is kept whatever comes.
            if options.write:
                figures.keep(figure)
    table.show(to, [figure.record() for figure in measured])
    if options.write:
        page.write()


def _bench(folder: Path, options: argparse.Namespace) -> Bench:
    peer = Peer(options.peer)
    if options.quick:
        return Bench(folder, Runs(1, min(options.limit, 1.0)), peer, instances=200)
    return Bench(folder, Runs(options.runs, options.limit), peer, options.instances)


def _is_wanted(case: Case, options: argparse.Namespace) -> bool:
    if options.only:
        return any(part == case.section or part in case.name for part in options.only.split(","))
    return not (options.quick and case.is_slow)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one run each, without the slow ones")
    parser.add_argument(
        "--only", metavar="NAME", help="names, parts of them, or sections, with commas"
    )
    parser.add_argument("--runs", type=int, default=5, help="samples at least (default: 5)")
    parser.add_argument(
        "--limit", type=float, default=10, metavar="S", help="seconds a task (default: 10)"
    )
    parser.add_argument(
        "--instances", type=int, default=10_000, help="random questions (default: 10000)"
    )
    parser.add_argument(
        "--peer", type=Path, default=BUILT, metavar="PATH", help="upstream's program, if not built"
    )
    parser.add_argument(
        "--profile", action="store_true", help="tell where the time goes, by room, in dibs alone"
    )
    parser.add_argument(
        "--write", action="store_true", help="write bench/results and docs/benchmarks.md"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
