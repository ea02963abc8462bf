"""The page of figures is what the kept results say; cases measure both sides, or say why not."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench import cases, clusters, figures, page, plots, telling
from bench.case import Bench, Case, Ours, Theirs
from bench.cases import everyday, filling, hard, sizes, upstream
from bench.clock import Runs, Took
from bench.figures import Figure
from bench.peer import Peer

from dibs.model import codec
from dibs.model.rules import check

KEPT = figures.kept(case.name for case in cases.ALL)
CASE = Case("some", "hard", "ms", "something", measure=lambda bench: Ours(Took(0.002, 0.002, 5)))
COMPARED = replace(CASE, peer=lambda bench: Theirs(Took(0.004, None, 5)), goal=3)


def test_the_page_is_made_of_the_results() -> None:
    assert page.PAGE.read_text() == page.page(KEPT, page.FINDINGS.read_text())


def test_every_benchmark_has_a_result_and_no_result_is_of_nothing() -> None:
    names = [case.name for case in cases.ALL]
    assert len(set(names)) == len(names)
    assert {path.stem for path in figures.RESULTS.glob("*.json")} == set(names)


def test_every_curve_has_its_plot() -> None:
    for section in plots.CURVES:
        assert (page.PAGE.parent / plots.NAME.format(section)).is_file()


def test_a_figure_has_both_sides_and_their_ratio(tmp_path: Path) -> None:
    told = record(COMPARED, Bench(tmp_path, peer=program(tmp_path, "true")))
    assert (told["dibs"], told["peer"], told["ratio"], told["n"]) == (2.0, 4.0, 0.5, 5)
    assert telling.peer(told) == "4 ms"
    assert telling.ratio(told) == "2.0× faster"
    assert telling.verdict(told) == "met"


def test_without_the_peer_the_rest_is_measured(tmp_path: Path) -> None:
    told = record(COMPARED, Bench(tmp_path, peer=Peer(tmp_path / "nothing")))
    assert (told["dibs"], told["peer"], told["ratio"]) == (2.0, None, None)
    assert telling.peer(told) == "not measured"
    assert telling.ratio(told) == "–"


def test_a_peer_that_is_cut_is_told_as_that(tmp_path: Path) -> None:
    endless = replace(COMPARED, peer=lambda bench: Theirs(Took(10, None, 1, is_finished=False)))
    told = record(endless, Bench(tmp_path, peer=program(tmp_path, "true")))
    assert telling.peer(told) == "> 10 s, not finished"
    assert telling.ratio(told) == "> 5,000× faster"


def test_the_peer_is_told_its_limit(tmp_path: Path) -> None:
    """It gets the limit with each task, and what it says of it comes back."""
    script = (
        "cat > given.json\n"
        'echo \'[{"outcome": "timeout", "finished": false, "count": 0, "seconds": [0.5]}]\''
    )
    peer = program(tmp_path, f"cd {tmp_path}\n{script}")
    case = hard.requests_on(3, 2)
    bench = Bench(tmp_path, runs=Runs(1, 0.5), peer=peer)
    found = case.theirs(bench)
    assert found is not None
    assert not found.took.is_finished
    assert '"limit_s":0.5' in (tmp_path / "given.json").read_text()


def test_a_peer_that_disagrees_is_no_peer(tmp_path: Path) -> None:
    """A time for another answer is no time to compare with."""
    answer = '[{"outcome": "allocated", "finished": true, "count": 1, "seconds": [0.5]}]'
    peer = program(tmp_path, f"cat > /dev/null; echo '{answer}'")
    with pytest.raises(AssertionError, match="the peer says allocated"):
        hard.requests_on(3, 2).theirs(Bench(tmp_path, peer=peer))


def test_amounts_are_told_in_the_unit_that_reads_best() -> None:
    assert telling.amount(1830, "µs") == "1.83 ms"
    assert telling.amount(0.25, "ms") == "250 µs"
    assert telling.amount(1234, "claims/s") == "1,234 claims/s"


def test_plots_are_not_drawn_without_what_draws_them(tmp_path: Path) -> None:
    drawn = plots.draw(KEPT, tmp_path)
    assert drawn == bool(list(tmp_path.iterdir()))


@pytest.mark.slow
def test_measured_clusters_are_valid() -> None:
    for tree in clusters.dump(4, 2, held=3)["items"]:
        decoded = codec.decode(tree)
        assert not decoded.faults
        assert decoded.object is not None
        assert not check.validate(decoded.object)


SMALL = (
    everyday.half_full(3, 2),
    everyday.nearly_full(3, 2),
    everyday.mig("3g", 2, goal=1),
    hard.requests_on(3, 2),
    hard.devices_of(3, 2),
    hard.mig_mix(1),
    hard.mig_full(1),
    hard.match(2),
    hard.distinct(3),
    hard.capacity(3),
    hard.match_alone(2),
    *(upstream.steady(kind, state, 3, 4) for kind in upstream.CLAIMS for state in ("half", "full")),
    upstream.prioritized(3, 2),
    upstream.backtracking(),
    upstream.partitionable(2, 3),
    upstream.consumable(2, 4),
    upstream.lists(3, 4),
    sizes.of_nodes(3, 2),
    sizes.of_devices(2, 3),
    sizes.of_requests(2, 2, 4),
    filling.case(2, 3),
)


@pytest.mark.slow
@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_cases_measure(case: Case, tmp_path: Path) -> None:
    """On small worlds: their own assertions see to the outcome."""
    assert case.ours(Bench(tmp_path, Runs(1, 0.001))).took.clock_s > 0


def record(case: Case, bench: Bench) -> dict[str, Any]:
    return Figure(case, case.ours(bench), case.theirs(bench), "a machine").record()


def program(folder: Path, script: str) -> Peer:
    path = folder / "peer"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Peer(path)
