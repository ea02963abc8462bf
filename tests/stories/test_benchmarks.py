"""The page of figures is what the kept results say, and the measured clusters are sound."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench import cases, clusters, report

from dibs.model import codec
from dibs.model.rules import check

RESULTS = [json.loads(path.read_text()) for path in sorted(report.RESULTS.glob("*.json"))]


def test_the_page_is_made_of_the_results() -> None:
    assert report.PAGE.read_text() == report.page(RESULTS)


def test_every_benchmark_has_a_result() -> None:
    assert {each["name"] for each in RESULTS} == {case.name for case in cases.ALL}


@pytest.mark.slow
def test_measured_clusters_are_valid() -> None:
    for tree in clusters.dump(4, 2, held=3)["items"]:
        decoded = codec.decode(tree)
        assert not decoded.faults
        assert decoded.object is not None
        assert not check.validate(decoded.object)


@pytest.mark.slow
def test_cases_measure(tmp_path: Path) -> None:
    """Those in this process, on a small cluster: their own assertions see to the outcome."""
    bench = cases.Bench(tmp_path, runs=1, nodes=3, devices=2)
    for measure in (cases.one_claim, cases.one_of_many(3, 2), cases.requests_on(3, 2)):
        assert measure(bench).clock_s > 0
