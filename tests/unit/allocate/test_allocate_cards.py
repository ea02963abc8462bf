"""Cards cut into partitions: the search skips alike cards, the brute-force oracle doesn't.

Worlds as awkward as needed to tell them apart: cards that differ in one device, in what is held,
in the order in which they are listed; requests that are equal and requests that are not.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dibs.model.objects import Device, DeviceRequest
from dibs.testing import builders as b
from dibs.testing import engine, oracle
from dibs.testing.question import Question

# Profile, slices, first memory slice: what a card of four slices can be cut into.
CUTS = (("1g", 1, 0), ("1g", 1, 1), ("1g", 1, 2), ("1g", 1, 3), ("2g", 2, 0), ("2g", 2, 2))
CUTS += (("3g", 3, 0), ("3g", 3, 1))
ROOT = "gpu.example.com/root"


def partition(card: int, cut: tuple[str, int, int]) -> Device:
    profile, size, first = cut
    memory = {f"m{at}": "1" for at in range(first, first + size)}
    return b.device(
        f"{card}-{profile}-{first}",
        profile=profile,
        root=f"r{card % 2}",
        draws=[b.draw(f"card-{card}", slices=str(size), **memory)],
    )


@st.composite
def questions(draw: st.DrawFn) -> Question:
    cards = range(draw(st.integers(1, 3)))
    cut = [
        partition(card, cut)
        for card in cards
        for cut in draw(st.sampled_from([CUTS, CUTS, CUTS[2:], CUTS[:-1]]))
    ]
    devices = draw(st.permutations(cut)) if draw(st.booleans()) else cut
    sizes = [draw(st.sampled_from(["4", "4", "3"])) for _ in cards]
    sets = [
        b.counter_set(f"card-{card}", slices=size, m0="1", m1="1", m2="1", m3="1")
        for card, size in zip(cards, sizes, strict=True)
    ]
    slices = (
        b.resource_slice(name="cards", node="node-a", of=2, counters=sets),
        b.resource_slice(*devices, name="devices", node="node-a", of=2),
    )
    held = draw(st.lists(st.sampled_from([device.name for device in devices]), max_size=2))
    holder = b.allocated(b.claim("held"), *(b.pick(name, pool="node-a") for name in held))
    requests = draw(st.lists(wishes(), min_size=1, max_size=4))
    named = [
        b.request(f"r{number}", *each[0], count=each[1]) for number, each in enumerate(requests)
    ]
    return Question(
        id="cards",
        node=b.node("node-a"),
        slices=slices,
        classes=(b.device_class("gpu"),),
        claims=claims(named, draw(st.integers(0, 2))),
        allocated=(holder,),
    )


@st.composite
def wishes(draw: st.DrawFn) -> tuple[tuple[str, ...], int]:
    profile = draw(st.sampled_from(["1g", "1g", "2g", "3g", ""]))
    where = f'device.attributes["gpu.example.com"].profile == "{profile}"'
    return ((where,) if profile else ()), draw(st.integers(1, 2))


def claims(requests: list[DeviceRequest], kind: int):  # type: ignore[no-untyped-def]
    if kind == 2 and len(requests) > 1:
        return (b.claim("one", *requests[:1]), b.claim("two", *requests[1:]))
    constraints = [b.match(ROOT)] if kind == 1 else []
    return (b.claim("one", *requests, constraints=constraints),)


@pytest.mark.slow
@given(questions())
def test_alike_cards_are_skipped_without_missing_the_first_fit(question: Question) -> None:
    right = oracle.answer(question, steps=3_000)
    assume(right.outcome != "timeout")
    mine = engine.answer(question)
    assert (mine.outcome, mine.allocations) == (right.outcome, right.allocations)
