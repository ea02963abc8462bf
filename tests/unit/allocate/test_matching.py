"""Matching wants with places says what trying all ways says."""

from __future__ import annotations

import random

import pytest

from dibs.allocate import matching
from dibs.allocate.matching import Layers, Want


@pytest.mark.parametrize("seed", range(20))
def test_wants_fit_exactly_when_some_way_meets_them(seed: int) -> None:
    chance = random.Random(seed)
    answers = set()
    for _ in range(100):
        count = chance.randint(1, 7)
        serves = [chance.choice((1, 1, 1, 2, 3)) for _ in range(count)]
        wants = [
            (chance.getrandbits(count), chance.randint(1, 3)) for _ in range(chance.randint(1, 5))
        ]
        right = met(wants, [place for place in range(count) for _ in range(serves[place])])
        assert matching.fits(wants, layers(serves)) == right, (wants, serves)
        answers.add(right)
    assert answers == {True, False}


def layers(serves: list[int]) -> Layers:
    if max(serves) == 1:
        return matching.ONCE
    return [
        (sum(1 << place for place, times in enumerate(serves) if times > layer), 1)
        for layer in range(max(serves))
    ]


def met(wants: list[Want], seats: list[int]) -> bool:
    """By moving whoever sits in the way, one at a time (Kuhn)."""
    guests = [places for places, wanted in wants for _ in range(wanted)]
    sits: dict[int, int] = {}

    def seat(guest: int, asked: set[int]) -> bool:
        for number, place in enumerate(seats):
            if guests[guest] >> place & 1 and number not in asked:
                asked.add(number)
                if number not in sits or seat(sits[number], asked):
                    sits[number] = guest
                    return True
        return False

    return all(seat(guest, set()) for guest in range(len(guests)))
