"""Runs tests/cases/allocate/*.yaml: one world, one node, the claims of one Pod, one answer.

`then` is one of: `picked` {claim: [request device, …]} with, if given, `results` (fields of the
results, in order), `config` and `selector` of the only claim; `refused`, `error`: parts of the
message; `noes` {request: {text: how many devices}} counts the reasons of a refusal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from allocate_questions import question

from dibs.allocate import allocator
from dibs.allocate.outcome import Allocated, Failed, Outcome, Refused
from dibs.cli import conform
from dibs.model import codec
from dibs.model.objects import AllocationResult, ResourceClaim, ResourceClaimStatus
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply

FOLDER = Path(__file__).parents[2] / "cases" / "allocate"


def cases() -> Iterator[object]:
    for file in sorted(FOLDER.glob("*.yaml")):
        text = file.read_text()
        assert "KEP-" in text.partition("\n")[0], f"{file.name} names no KEP in its first line"
        for case in yaml.safe_load(text):
            yield pytest.param(case, id=f"{file.stem}: {case['name']}")


@pytest.mark.parametrize("case", list(cases()))
def test_case(case: Mapping[str, Mapping[str, object]]) -> None:
    outcome = decided(case["given"])
    then = dict(case["then"])
    if "error" in then:
        assert isinstance(outcome, Failed), outcome
        assert str(then["error"]) in outcome.message
    elif "picked" in then:
        assert isinstance(outcome, Allocated), outcome
        check_allocated(case["given"], outcome, then)
    else:
        assert isinstance(outcome, Refused), outcome
        check_refused(outcome, then)


def decided(given: Mapping[str, object]) -> Outcome:
    asked = conform.read(question(given))
    options = allocator.Options(
        strict=bool(given.get("strict", True)),
        order="packed" if given.get("order") == "packed" else "first-fit",
        share_id=lambda claim, number: f"share-{number + 1}",
    )
    supply = Supply.of(asked.slices, asked.features)
    ledger = Ledger.of(asked.allocated, asked.features)
    return allocator.allocate(asked.node, asked.claims, supply, ledger, asked.classes, options)


def check_allocated(
    given: Mapping[str, object], outcome: Allocated, then: Mapping[str, object]
) -> None:
    claims = given["claims"]
    assert isinstance(claims, dict)
    found = dict(zip(claims, outcome.allocations, strict=True))
    picked = {
        claim: [f"{each.request} {each.device}" for each in allocation.devices.results]
        for claim, allocation in found.items()
    }
    assert picked == then["picked"]
    tree = as_tree(outcome.allocations[0])
    if "results" in then:
        assert isinstance(then["results"], list)
        results = tree["devices"]["results"]
        assert len(results) == len(then["results"])
        for result, wanted in zip(results, then["results"], strict=True):
            assert {key: result.get(key) for key in wanted} == wanted
    if "config" in then:
        config = [
            {
                "source": each["source"],
                "requests": each.get("requests", []),
                "what": each["opaque"]["parameters"]["what"],
            }
            for each in tree["devices"].get("config", [])
        ]
        assert config == then["config"]
    if "selector" in then:
        assert tree.get("nodeSelector") == then["selector"]


def check_refused(outcome: Refused, then: Mapping[str, object]) -> None:
    assert str(then["refused"]) in outcome.note
    if "pools" in then:
        assert [fault.text for fault in outcome.pools] == then["pools"]
    if "noes" in then:
        noes = {
            ask.request: dict(Counter(no.reason.text for no in ask.noes)) for ask in outcome.asks
        }
        assert noes == then["noes"]


def as_tree(allocation: AllocationResult) -> dict[str, dict[str, list[dict[str, object]]]]:
    tree = codec.encode(ResourceClaim(status=ResourceClaimStatus(allocation=allocation)))
    status = tree["status"]
    assert isinstance(status, dict)
    found: dict[str, dict[str, list[dict[str, object]]]] = status["allocation"]
    return found
