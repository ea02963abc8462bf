"""A layered mapping against a plain dict: the same items in the same order, and old values stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.values import layered
from dibs.values.layered import Layered

# Few keys, so that they are removed and come back; enough steps to merge the layers.
KEYS = st.integers(0, 40)
STEPS = st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers(0, 9))), max_size=120)


@given(st.dictionaries(KEYS, st.integers()), STEPS)
def test_it_is_a_dict_that_stays_as_it_was(
    start: dict[int, int], steps: list[tuple[int, int | None]]
) -> None:
    plain, value = dict(start), Layered(start)
    known = []
    went = set()
    for key, new in steps:
        known.append((value, dict(plain)))
        if new is None:
            plain.pop(key, None)
            value = value.minus(key)
            went.add(key)
        else:
            plain[key] = new
            value = value.plus(key, new)
        assert len(value) == len(plain)
        assert value.get(key) == plain.get(key)
        assert (key in value) == (key in plain)
    assert value == plain
    # What was there all along is in a dict's order.
    assert [key for key in value if key not in went] == [key for key in plain if key not in went]
    assert list(reversed(value)) == list(reversed(list(value.keys())))
    for old, items in known:
        assert old == items
        assert len(old) == len(items)


def by_value(value: tuple[int, int]) -> tuple[int, int]:
    return value


@given(st.dictionaries(KEYS, st.integers(0, 9)), STEPS, st.integers(1, 50))
def test_by_rank_it_is_sorted_whenever_it_is_read(
    start: dict[int, int], steps: list[tuple[int, int | None]], each: int
) -> None:
    plain = {key: (value, key) for key, value in start.items()}
    value = Layered(plain, by_value)
    for number, (key, new) in enumerate(steps):
        if new is None:
            plain.pop(key, None)
            value = value.minus(key)
        else:
            plain[key] = (new, key)
            value = value.plus(key, (new, key))
        if number % each == 0:
            assert list(value.values()) == sorted(plain.values())
    assert list(value.values()) == sorted(plain.values())
    assert value == plain


def test_union_is_many_at_once() -> None:
    assert dict(Layered({"a": 1}).union({"b": 2, "a": 3})) == {"a": 3, "b": 2}
    same = Layered({"a": 1})
    assert same.union({}) is same
    assert same.minus("b") is same


def test_many_forks_of_a_full_value_merge_its_layers_once() -> None:
    value = Layered(dict.fromkeys(range(1000), 0))
    for key in range(2000, 2000 + layered.FEW):
        value = value.plus(key, 1)
    one, other = value.plus(-1, 1), value.plus(-2, 1)
    assert one._layers.middle is other._layers.middle
    for key in range(3000, 5000):
        value = value.plus(key, 1)
    assert len(value._layers.middle) < 1000
    assert len(value) == 1000 + layered.FEW + 2000


def test_what_is_missing_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        Layered({"a": 1})["b"]
    assert Layered({"a": None}).get("a", 1) is None
    assert Layered({"a": None})["a"] is None


def test_equality_is_that_of_mappings() -> None:
    assert Layered({"a": 1}).plus("b", 2) == {"b": 2, "a": 1}
    assert Layered({"a": 1}) != Layered({"a": 2})
    assert Layered() != 3
