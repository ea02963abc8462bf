"""A purse answers as sums of exact quantities do, whatever is given, held and drawn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dibs.allocate import purses
from dibs.allocate.purses import Layout
from dibs.supply.identity import CounterId, CounterSetId, PoolId
from dibs.values.quantity import Quantity

OWNER = CounterSetId(PoolId("example.com", "pool"), "card")
NAMES = ("memory", "slices", "engines")
COUNTERS = tuple(CounterId(OWNER.pool, OWNER.name, name) for name in NAMES)
ZERO = Quantity.of(0)

few = st.sampled_from(["0", "1", "2", "3", "500m", "1n", "7", "40Gi", "1e100", "3e2500"])
amounts = few.map(Quantity.parse)
sets = st.fixed_dictionaries(dict.fromkeys(COUNTERS, amounts))
draws = st.dictionaries(st.sampled_from(COUNTERS), amounts, min_size=1)


@given(sets, sets, st.lists(draws, max_size=6))
def test_a_price_is_covered_where_every_counter_has_enough(
    given_: dict[CounterId, Quantity],
    held: dict[CounterId, Quantity],
    wanted: list[dict[CounterId, Quantity]],
) -> None:
    layout = Layout.of(OWNER, given_)
    left = {counter: amount.minus(held[counter]) for counter, amount in given_.items()}
    purse = layout.filled(left)
    for each in wanted:
        price = layout.price(each.items())
        # What can't be written out is nobody's to draw: see `purses.MOST`.
        fits = all(
            amount <= left[counter] and amount.exact_nano() is not None
            for counter, amount in each.items()
        )
        assert price.is_covered(purse) == fits
        if fits:
            purse -= price.amount
            left |= {counter: left[counter].minus(amount) for counter, amount in each.items()}
        else:
            assert layout.short(purse, price) in {counter.name for counter in each}
    for counter, amount in left.items():
        nano = amount.exact_nano()
        if nano is not None and nano < purses.MOST:
            assert layout.left(purse, counter.name) == max(nano, -1)


@given(sets, draws, draws)
def test_prices_of_one_set_are_joined_to_their_sum(
    given_: dict[CounterId, Quantity],
    one: dict[CounterId, Quantity],
    other: dict[CounterId, Quantity],
) -> None:
    layout = Layout.of(OWNER, given_)
    (price,) = purses.joined([layout.price(one.items()), layout.price(other.items())])
    fits = all(
        one.get(counter, ZERO).plus(other.get(counter, ZERO)) <= given_[counter]
        for counter in {**one, **other}
    )
    countable = all(each.exact_nano() is not None for each in (*one.values(), *other.values()))
    assert price.is_covered(layout.whole) == (fits and countable)
    assert price.owner == OWNER


def test_nothing_can_be_drawn_from_a_counter_that_is_overdrawn_not_even_nothing() -> None:
    layout = Layout.of(OWNER, dict.fromkeys(COUNTERS, Quantity.of(4)))
    left = {**dict.fromkeys(COUNTERS, Quantity.of(1)), COUNTERS[0]: Quantity.of(-1)}
    nothing = layout.price([(COUNTERS[0], ZERO)])
    assert not nothing.is_covered(layout.filled(left))
    assert layout.price([(COUNTERS[1], Quantity.of(1))]).is_covered(layout.filled(left))
