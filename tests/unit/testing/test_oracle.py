"""The oracle against answers found by hand, and against upstream's where those are there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from dibs.cli import conform
from dibs.model.objects import AllocationResult, ResourceClaim
from dibs.testing import builders as build
from dibs.testing import oracle
from dibs.testing.question import Answer, Question

PCI = "resource.kubernetes.io/pcieRoot"
FOUR = [build.device(f"gpu-{n}", attributes={PCI: "ab"[n // 2]}, index=n) for n in range(4)]
CLASS = build.device_class("gpu", 'device.driver == "gpu.example.com"')


def question(*claims: ResourceClaim, **changes: object) -> Question:
    asked = Question(
        id="by hand",
        node=build.node("node-a"),
        slices=(build.resource_slice(*FOUR, node="node-a"),),
        classes=(CLASS,),
        claims=claims,
    )
    return replace(asked, **changes)  # type: ignore[arg-type]


def names(answer: Answer) -> list[list[str]]:
    return [[r.device for r in each.devices.results] for each in answer.allocations]


def test_the_first_devices_are_taken_in_order() -> None:
    answer = oracle.answer(question(build.claim("one", build.request("gpu", count=2))))
    assert names(answer) == [["gpu-0", "gpu-1"]]


def test_an_earlier_pick_gives_way_to_a_later_request() -> None:
    first = "device.attributes['gpu.example.com'].index < 2"
    only = "device.attributes['gpu.example.com'].index == 0"
    wanted = build.claim("both", build.request("a", first), build.request("b", only))
    assert names(oracle.answer(question(wanted))) == [["gpu-1", "gpu-0"]]


def test_a_constraint_moves_on_to_the_root_that_has_enough() -> None:
    held = build.allocated(build.claim("held"), build.pick("gpu-0", pool="node-a"))
    wanted = build.claim("pair", build.request("gpu", count=2), constraints=[build.match(PCI)])
    assert names(oracle.answer(question(wanted, allocated=(held,)))) == [["gpu-2", "gpu-3"]]


def test_the_second_alternative_comes_when_the_first_cannot() -> None:
    many = build.alternative("many", count=5)
    few = build.alternative("few", count=1)
    answer = oracle.answer(question(build.claim("any", build.first_available("gpu", many, few))))
    assert [r.request for r in answer.allocations[0].devices.results] == ["gpu/few"]


def test_five_of_four_is_refused() -> None:
    answer = oracle.answer(question(build.claim("five", build.request("gpu", count=5))))
    assert answer.outcome == "refused"


def test_an_unknown_class_is_an_error() -> None:
    wanted = build.claim("odd", build.request("gpu", device_class="tpu"))
    assert oracle.answer(question(wanted)).outcome == "error"


def test_a_budget_ends_the_search() -> None:
    wanted = build.claim("long", *(build.request(f"r{n}") for n in range(5)))
    assert oracle.answer(question(wanted), steps=50).outcome == "timeout"


def test_partitions_of_one_card_share_its_counters() -> None:
    parts = [build.device(f"part-{n}", draws=[build.draw("card", memory="40Gi")]) for n in range(3)]
    slices = (
        build.resource_slice(*parts, name="parts", node="node-a", of=2),
        build.resource_slice(
            name="card", node="node-a", of=2, counters=[build.counter_set("card", memory="80Gi")]
        ),
    )
    two = build.claim("two", build.request("gpu", count=2))
    three = build.claim("three", build.request("gpu", count=3))
    assert names(oracle.answer(question(two, slices=slices))) == [["part-0", "part-1"]]
    assert oracle.answer(question(three, slices=slices)).outcome == "refused"


def test_shares_add_up() -> None:
    card = build.device("gpu-0", memory="80Gi", shareable=True)
    slices = (build.resource_slice(card, node="node-a"),)
    half = build.request("gpu", capacity={"memory": "40Gi"})
    claims = [build.claim(f"claim-{n}", half) for n in range(3)]
    assert oracle.answer(question(*claims[:2], slices=slices)).outcome == "allocated"
    assert oracle.answer(question(*claims, slices=slices)).outcome == "refused"


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["bugs", "allocator"])
def test_it_agrees_with_upstream(shared: Path, corpus: str) -> None:
    """Every tenth question; all are agreed on, but some take a minute by brute force."""
    lines = (shared / "vectors" / f"{corpus}.jsonl").read_text().split("\n")
    differing = []
    for line in lines[:: 10 if len(lines) > 100 else 1]:
        if line:
            told = json.loads(line)
            answer = oracle.answer(typed(told["question"]), steps=3000)
            right = told.get("right") or told["answer"]
            if answer.outcome != "timeout" and not same(answer, right):
                differing.append(told["question"]["id"])
    assert not differing


def typed(tree: object) -> Question:
    read = conform.read(tree)
    classes = tuple(read.classes.values())
    return Question(
        read.id, read.node, read.slices, classes, read.claims, read.allocated, read.features
    )


def same(answer: Answer, right: dict[str, object]) -> bool:
    found = msgspec.convert(
        right.get("allocations") or [],
        tuple[AllocationResult, ...],
        dec_hook=lambda kind, value: kind.parse(value),
    )
    return answer.outcome == right["outcome"] and answer.allocations == found
