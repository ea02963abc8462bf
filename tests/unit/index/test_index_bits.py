"""Sets as integers, and counts in planes: each against counting one by one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.index import bits

SIZE = 12
SETS = st.integers(0, 2**SIZE - 1)
MANY = st.lists(SETS, max_size=9)
AMOUNTS = st.lists(st.tuples(st.integers(0, 40), SETS), max_size=6)
FEW = settings(max_examples=40)


def counts(planes: bits.Planes) -> list[int]:
    return [bits.at(planes, number) for number in range(SIZE)]


def one_by_one(sets: list[int]) -> list[int]:
    return [sum(each >> number & 1 for each in sets) for number in range(SIZE)]


@FEW
@given(SETS)
def test_a_set_is_its_numbers(members: int) -> None:
    numbers = list(bits.numbers(members))
    assert numbers == [number for number in range(SIZE) if members >> number & 1]
    assert bits.of(numbers, SIZE) == members
    if numbers:
        assert bits.first(members) == numbers[0]


@FEW
@given(MANY)
def test_counting_is_adding_up(sets: list[int]) -> None:
    assert counts(bits.count(sets)) == one_by_one(sets)


@FEW
@given(AMOUNTS)
def test_a_tally_is_the_sum_of_its_amounts(amounts: list[tuple[int, int]]) -> None:
    expected = [sum(amount for amount, each in amounts if each >> n & 1) for n in range(SIZE)]
    assert counts(bits.tally(amounts, SIZE)) == expected


@FEW
@given(MANY, MANY)
def test_a_sum_less_one_part_is_the_other(left: list[int], right: list[int]) -> None:
    total = bits.plus(bits.count(left), bits.count(right))
    assert counts(total) == one_by_one([*left, *right])
    assert counts(bits.minus(total, bits.count(right))) == one_by_one(left)


@FEW
@given(MANY, SETS, st.integers(0, 10))
def test_who_has_enough(sets: list[int], members: int, least: int) -> None:
    found = bits.at_least(bits.count(sets), least, members)
    enough = [number for number, each in enumerate(one_by_one(sets)) if each >= least]
    assert found == bits.of(enough, SIZE) & members


@FEW
@given(MANY, SETS)
def test_who_has_least(sets: list[int], members: int) -> None:
    found = bits.smallest(bits.count(sets), members)
    mine = [one_by_one(sets)[number] for number in bits.numbers(members)]
    least = min(mine, default=0)
    fewest = [n for n in bits.numbers(members) if one_by_one(sets)[n] == least]
    assert found == bits.of(fewest, SIZE)
