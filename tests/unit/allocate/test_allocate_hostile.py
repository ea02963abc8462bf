"""No generated question is too hard: what is scarce is decided in few steps, or given up in time.

Steps stand for time: they don't depend on the machine. `python -m bench` and `make exact` tell
what a step takes.
"""

from __future__ import annotations

import pytest

from dibs.allocate import allocator
from dibs.allocate.allocator import Options
from dibs.allocate.outcome import Allocated, Outcome, Refused, TimedOut
from dibs.model.objects import DeviceRequest
from dibs.supply.ledger import Ledger
from dibs.supply.pools import Supply
from dibs.testing import builders as b
from dibs.testing import tight
from dibs.testing.question import Question

pytestmark = pytest.mark.slow

KIND = 'device.attributes["gpu.example.com"].kind'


def decide(question: Question, options: Options) -> Outcome:
    return allocator.allocate(
        question.node,
        question.claims,
        Supply.of(question.slices, question.features),
        Ledger.of(question.allocated, question.features),
        {each.metadata.name: each for each in question.classes},
        options,
    )


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_small_scarce_questions_take_few_steps(first: int) -> None:
    for seed in range(first, first + 50):
        outcome = decide(tight.question(seed, tight.SMALL), Options(budget=2_000, explain=False))
        assert not isinstance(outcome, TimedOut), seed


def test_what_is_too_hard_is_given_up() -> None:
    for seed in range(20):
        outcome = decide(tight.question(seed, tight.MEDIUM), Options(budget=200, explain=False))
        if isinstance(outcome, TimedOut):
            assert outcome.steps <= 200


@pytest.mark.parametrize("have", [31, 32])
@pytest.mark.parametrize("sharing", ["alone", "match", "capacity", "counters"])
def test_all_the_alternatives_a_claim_may_have(sharing: str, have: int) -> None:
    """32 requests of 8 alternatives each, whose selectors overlap, on as many devices or one
    less."""
    draws = [b.draw("card", slots="1")] if sharing == "counters" else []
    devices = [
        b.device(
            f"gpu-{n}",
            kind=n % 8,
            attributes={"x/side": 0},
            draws=draws,
            shareable=sharing == "capacity",
            capacity={"memory": "100"} if sharing == "capacity" else {},
        )
        for n in range(have)
    ]
    wanted = {"memory": "60"} if sharing == "capacity" else None
    requests: list[DeviceRequest] = [
        b.first_available(
            f"r{number}",
            *(
                b.alternative(f"a{way}", f"{KIND} >= {(number + way) % 8}", capacity=wanted)
                for way in range(8)
            ),
        )
        for number in range(32)
    ]
    slices = [b.resource_slice(*devices, node="node-a", name="devices", of=2)]
    sets = [b.counter_set("card", slots=str(have))]
    slices.append(b.resource_slice(node="node-a", name="sets", of=2, counters=sets))
    rules = [b.match("x/side")] if sharing == "match" else []
    claim = b.claim("all", *requests, constraints=rules)
    classes = (b.device_class("gpu"),)
    question = Question("all", b.node("node-a"), tuple(slices), classes, (claim,))
    outcome = decide(question, Options(budget=5_000, explain=False))
    assert isinstance(outcome, Allocated if have == 32 else Refused), outcome
