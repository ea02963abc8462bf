"""Laws of the selector language's values and functions, for whatever values fit."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dibs.cel import runtime
from dibs.cel.declare import Overload
from dibs.cel.libraries import ALL, addresses, conversions, formats, lists, strings, urls
from dibs.cel.runtime import EvaluationError, Value, texts, times
from dibs.cel.types import Type

OVERLOADS = [overload for library in ALL for overload in library.overloads]

SMALL_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
WORDS = st.sampled_from(
    (
        *("", "a", "1", "-1", "1.5Gi", "v1.2.3", "1.0.0-rc", "10.0.0.0/8", "::1", "1h", "uuid"),
        *("http://a:1/b?c=d", "%s %d", "%.3f%e", "[a-z]+", "(", "UTC", "Europe/Paris", "+01:00"),
        *("2020-01-01T00:00:00Z", "a,b", "\ud800", "é", "true", "0x1p3", "%"),
    )
)
TEXT = SMALL_TEXT | WORDS
INTS = st.integers(-3, 60) | st.integers(runtime.LEAST_INT, runtime.MOST_INT)
UINTS = st.integers(0, runtime.MOST_UINT).map(runtime.UInt)
DOUBLES = st.floats() | st.integers(-3, 3).map(float)
TIMESTAMPS = st.integers(times.LEAST_SECOND * times.SECOND, times.MOST_SECOND * times.SECOND).map(
    runtime.Timestamp
)
DURATIONS = INTS.map(runtime.Duration)
QUANTITIES = st.sampled_from(("0", "1", "1Ki", "1024", "500m", "0.5", "1e100000000", "-7G", "9Ei"))
VERSIONS = st.sampled_from(("0.0.0", "1.2.3", "1.2.3-rc.1", "1.2.3+b", "18446744073709551615.1.1"))
OPAQUE = {
    "kubernetes.Quantity": QUANTITIES.map(runtime.Quantity.parse),
    "kubernetes.Semver": VERSIONS.map(runtime.Semver.parse),
    "kubernetes.URL": st.sampled_from(("http://a", "/x?y=%20", "m:o")).map(urls.url),
    "net.IP": st.sampled_from(("1.2.3.4", "::1", "fe80::1")).map(addresses.ip),
    "net.CIDR": st.sampled_from(("10.1.0.0/8", "::/0", "1.2.3.4/32")).map(addresses.cidr),
    "kubernetes.NamedFormat": st.sampled_from(sorted(formats.CHECKS)).map(runtime.NamedFormat),
}
SCALARS = {
    "bool": st.booleans(),
    "int": INTS,
    "uint": UINTS,
    "double": DOUBLES,
    "string": TEXT,
    "bytes": st.binary(max_size=8),
    "null": st.none(),
    "timestamp": TIMESTAMPS,
    "duration": DURATIONS,
}
PLAIN = st.one_of(*SCALARS.values())
TRANSPARENT = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=4).map(tuple)
        | st.lists(st.tuples(PLAIN, inner), max_size=3).map(runtime.Map.of)
        | st.builds(runtime.Optional, inner)
    ),
    max_leaves=8,
)
ANYTHING = st.one_of(TRANSPARENT, *OPAQUE.values(), st.just(runtime.TypeValue("int")))


def values_of(expected: Type) -> st.SearchStrategy[Value]:
    """Values a parameter of that type takes; of a list or map only the first element is sure."""
    if expected.name in SCALARS:
        return SCALARS[expected.name]
    if expected.name in OPAQUE:
        return OPAQUE[expected.name]
    if expected.name == "list":
        uniform = st.lists(values_of(expected.params[0]), max_size=5)
        return st.tuples(uniform, st.lists(ANYTHING, max_size=1)).map(
            lambda pair: tuple(pair[0] + pair[1] if pair[0] else pair[0])
        )
    if expected.name == "map":
        key, value = map(values_of, expected.params)
        return st.lists(st.tuples(key, value), max_size=3).map(runtime.Map.of)
    if expected.name == "optional_type":
        return st.builds(runtime.Optional, values_of(expected.params[0])) | st.just(runtime.NONE)
    return ANYTHING


CALLS = st.sampled_from(OVERLOADS).flatmap(
    lambda overload: st.tuples(st.just(overload), st.tuples(*map(values_of, overload.params)))
)


@given(CALLS)
def test_a_function_returns_a_value_or_raises_an_evaluation_error(
    call: tuple[Overload, tuple[Value, ...]],
) -> None:
    overload, args = call
    assume(all(map(runtime.fits, args, overload.params)))
    try:
        result = overload.call(*args)
    except EvaluationError:
        return
    # A name for its type and a text for people exist, so it is a value of the language.
    assert runtime.type_name(result)
    assert isinstance(runtime.shown(result), str)
    if overload.result.name in runtime.CLASSES:
        assert type(result) in runtime.CLASSES[overload.result.name]
    if type(result) is int:
        assert runtime.LEAST_INT <= result <= runtime.MOST_INT
    if type(result) is runtime.UInt:
        assert 0 <= result <= runtime.MOST_UINT


@pytest.mark.parametrize("overload", OVERLOADS, ids=lambda overload: overload.id)
def test_every_function_is_called(overload: Overload) -> None:
    outcomes = []

    @settings(max_examples=10)
    @given(st.tuples(*map(values_of, overload.params)))
    def call(args: tuple[Value, ...]) -> None:
        try:
            outcomes.append(overload.call(*args))
        except EvaluationError as error:
            outcomes.append(error)

    call()
    assert outcomes


def test_ids_are_unique() -> None:
    ids = [overload.id for overload in OVERLOADS]
    assert len(ids) == len(set(ids))


@given(TRANSPARENT, TRANSPARENT)
def test_equality_is_symmetric(left: Value, right: Value) -> None:
    assert runtime.equal(left, right) == runtime.equal(right, left)


@given(TRANSPARENT)
def test_equality_is_reflexive_but_for_nan(value: Value) -> None:
    assume("nan" not in repr(value))
    assert runtime.equal(value, value)


@given(ANYTHING, ANYTHING)
def test_only_an_opaque_left_side_cannot_be_compared(left: Value, right: Value) -> None:
    if runtime.type_name(left) in OPAQUE and type(left) is not type(right) and right is not None:
        with pytest.raises(EvaluationError, match="no such overload"):
            runtime.equal(left, right)
    else:
        assert runtime.equal(left, right) in (True, False)


@given(st.sampled_from(list(SCALARS)).flatmap(lambda name: st.tuples(*[SCALARS[name]] * 3)))
def test_order_within_a_type_is_total(values: tuple[Value, Value, Value]) -> None:
    assume(values[0] is not None and not any(value != value for value in values))
    a, b, c = values
    assert runtime.compare(a, b) == -runtime.compare(b, a)
    assert (runtime.compare(a, b) == 0) == runtime.equal(a, b)
    if runtime.compare(a, b) <= 0 and runtime.compare(b, c) <= 0:
        assert runtime.compare(a, c) <= 0


@given(st.lists(INTS), st.lists(TEXT))
def test_sorting_sorts_and_loses_nothing(numbers: list[int], words: list[str]) -> None:
    for items in (tuple(numbers), tuple(words)):
        result = lists.sort(items)
        assert lists.is_sorted(result)
        assert sorted(result) == sorted(items)


@given(st.lists(ANYTHING, max_size=6).map(tuple))
def test_distinct_keeps_one_of_each(items: tuple[Value, ...]) -> None:
    result = lists.distinct(items)
    assert lists.distinct(result) == result
    assert all(runtime.contains(result, item) or "nan" in repr(item) for item in items) or any(
        runtime.type_name(item) in OPAQUE for item in items
    )


@given(st.lists(TEXT.filter(lambda text: "," not in text), min_size=1).map(tuple))
def test_split_undoes_join(items: tuple[str, ...]) -> None:
    assert strings.split(strings.join(items, ","), ",") == items


@given(DOUBLES)
def test_a_double_survives_its_text(number: float) -> None:
    back = conversions.double_of_string(texts.double_text(number))
    assert back == number or (math.isnan(back) and math.isnan(number))


@given(TIMESTAMPS)
def test_a_timestamp_survives_its_text(moment: runtime.Timestamp) -> None:
    assert times.parsed_timestamp(times.timestamp_text(moment)) == moment


@given(st.integers(-(2**52), 2**52).map(runtime.Duration))
def test_a_duration_survives_its_text(span: runtime.Duration) -> None:
    back = times.parsed_duration(times.duration_text(span))
    assert back is not None
    assert abs(back.nanoseconds - span.nanoseconds) <= 1


@given(SMALL_TEXT.filter(lambda text: "/" not in text))
def test_a_quoted_string_reads_back(text: str) -> None:
    assume(all(char >= " " or char in "\n\t\r\b\f" for char in text))
    assert json.loads(strings.quote(text)) == text
