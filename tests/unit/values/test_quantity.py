"""Quantities: upstream's recorded answers, arithmetic, order laws, hostile texts."""

from __future__ import annotations

import copy
import json
import pickle
import time
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dibs.values.quantity import NotAQuantity, Quantity

SUFFIXES = ("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

# A few digits or many: either form in which Kubernetes holds a number.
digits = some.integers(-(10**4), 10**4) | some.integers(-(10**21), 10**21)
fractions = some.sampled_from(("", ".", ".0", ".5", ".250", ".000000001", ".123456789012"))
exponents = some.integers(-12, 40).map(lambda power: f"e{power}")
written = some.builds(
    lambda number, fraction, suffix: f"{number}{fraction}{suffix}",
    digits,
    fractions,
    some.sampled_from(SUFFIXES) | exponents,
)
quantities = written.map(Quantity.parse)


def value(quantity: Quantity) -> Fraction:
    """The number, from the canonical text by way of the standard library."""
    text = str(quantity)
    for suffix, factor in (
        *((f"{letter}i", 1024**place) for place, letter in enumerate("KMGTPE", start=1)),
        *((letter, 1000**place) for place, letter in enumerate("kMGTPE", start=1)),
        *((letter, Fraction(1, 1000**place)) for place, letter in enumerate("mun", start=1)),
    ):
        if text.endswith(suffix):
            return Fraction(text.removesuffix(suffix)) * Fraction(factor)
    return Fraction(text)


# --- upstream's answers --------------------------------------------------------------------------


def test_answers_are_upstreams(shared: Path) -> None:
    lines = (shared / "vectors" / "quantity.jsonl").read_text().splitlines()
    wrong = [line["input"] for line in map(loaded, lines) if answer(line["input"]) != line]
    assert len(lines) > 200
    assert wrong == []


def loaded(line: str) -> dict[str, Any]:
    """Whole floats are written without a point, and rounded to 17 digits."""
    read: dict[str, Any] = json.loads(line)
    return read | ({"float": float(read["float"])} if "float" in read else {})


def answer(text: str) -> dict[str, object]:
    try:
        read = Quantity.parse(text)
    except NotAQuantity as refused:
        return {"input": text, "valid": False, "error": str(refused)}
    return {
        "input": text,
        "valid": True,
        "value": decimal(value(read)),
        "canonical": str(read),
        "string": read.as_written,
        "format": read.format,
        "is_integer": read.is_integer(),
        "as_integer": read.as_int() if read.is_integer() else None,
        "float": read.approximate_float(),
        "sign": read.sign(),
    }


def decimal(number: Fraction) -> str:
    """`1500000` billionths as `0.0015`."""
    billionths = number * 10**9
    assert billionths.denominator == 1
    digits = str(abs(billionths.numerator)).rjust(10, "0")
    text = f"{digits[:-9]}.{digits[-9:]}".rstrip("0").rstrip(".")
    return f"-{text}" if number < 0 else text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("40Gi", "40Gi"),
        ("1536Mi", "1536Mi"),
        ("2048Mi", "2Gi"),
        ("1.5Gi", "1536Mi"),
        ("1.1Ki", "1126400m"),
        ("0.1n", "1n"),
        ("1e3", "1e3"),
        ("16Ei", "9223372036854775807"),
        ("Mi", "0"),
        ("1e4294967299", "1e3"),
        # Kubernetes prints 1, for want of a suffix beyond E.
        ("1000E", "1000E"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize("text", ["40GB", "1K", "", " 1", "1 Gi", "1e1.5", "1.2.3", "Pi", "1n3"])
def test_refused(text: str) -> None:
    with pytest.raises(NotAQuantity):
        Quantity.parse(text)


@pytest.mark.parametrize(
    ("text", "is_integer", "is_whole"),
    [
        ("1", True, True),
        ("1.0", False, True),
        ("1000m", False, True),
        ("1.5k", True, True),
        ("10Ti", True, True),
        ("100Ti", False, True),
        ("1Pi", False, True),
        ("500m", False, False),
        ("1234567890123456789", False, True),
    ],
)
def test_integer_is_a_matter_of_spelling(text: str, is_integer: bool, is_whole: bool) -> None:
    read = Quantity.parse(text)
    assert (read.is_integer(), read.is_whole()) == (is_integer, is_whole)
    if not is_integer:
        with pytest.raises(ValueError, match="cannot convert value to integer"):
            read.as_int()


# --- arithmetic ----------------------------------------------------------------------------------


def test_a_sum_keeps_the_finer_scale() -> None:
    half = Quantity.parse("500m")
    assert half.plus(half) == Quantity.of(1)
    assert not half.plus(half).is_integer()
    assert Quantity.parse("1Gi").minus(Quantity.parse("1Gi")).sign() == 0
    assert Quantity.parse("1Gi").plus(1).as_int() == 2**30 + 1


def test_nothing_takes_the_format_of_what_is_added() -> None:
    assert str(Quantity.of(0).plus(Quantity.parse("2Gi"))) == "2Gi"
    assert str(Quantity.parse("2Gi").minus(Quantity.of(0))) == "2Gi"


@given(quantities, quantities)
def test_sums_are_exact(left: Quantity, right: Quantity) -> None:
    assert value(left.plus(right)) == value(left) + value(right)
    assert value(left.minus(right)) == value(left) - value(right)


@given(quantities)
def test_rounding_up_is_away_from_zero_and_within_64_bits(read: Quantity) -> None:
    for rounded, unit in ((read.rounded_up(), 1), (read.milli_rounded_up(), Fraction(1, 1000))):
        exact = value(read) / unit
        away = -(-abs(exact) // 1) * (1 if exact >= 0 else -1)
        assert rounded == max(-(2**63), min(2**63 - 1, away))


@given(quantities)
def test_exact_thousandths(read: Quantity) -> None:
    milli = value(read) * 1000
    fits = milli.denominator == 1 and -(2**63) <= milli < 2**63
    assert read.exact_milli() == (milli.numerator if fits else None)


# --- laws ----------------------------------------------------------------------------------------


@given(quantities)
def test_what_is_printed_is_read_back(read: Quantity) -> None:
    for text in (str(read), read.as_written):
        again = Quantity.parse(text)
        assert again == read
        assert str(again) == str(read)


@given(quantities, quantities)
def test_order_and_equality_are_by_number(left: Quantity, right: Quantity) -> None:
    one, other = value(left), value(right)
    assert (left < right) == (one < other)
    assert (left <= right) == (one <= other)
    assert (left == right) == (one == other)
    assert (left > right) == (one > other)
    assert one != other or hash(left) == hash(right)


@given(
    some.lists(
        some.builds(
            lambda digits, power: Quantity.parse(f"{digits}e{power}"),
            some.integers(-999, 999),
            some.integers(-20, 2**31 - 1),
        )
    )
)
def test_huge_exponents_are_ordered(read: list[Quantity]) -> None:
    ordered = sorted(read)
    for low, high in pairwise(ordered):
        assert low <= high
        assert not low > high
        assert (low == high) == (hash(low) == hash(high))
        assert Quantity.parse(str(low)) == low


@given(some.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    with suppress(NotAQuantity):
        assert Quantity.parse(text).as_written


# --- what is hostile, and what is shared ---------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "1e100000000",
        "-1e2147483647",
        "1e-2147483648",
        "9" * 1000 + "E",
        "0" * 1040 + "x",
        "1" * 10**6,
        "1234567890123456789e2000000000",
    ],
)
def test_a_hostile_text_costs_nothing(text: str) -> None:
    start = time.perf_counter()
    try:
        read = Quantity.parse(text)
    except NotAQuantity:
        pass
    else:
        other = Quantity.parse("1")
        assert (read > other) != (read <= other)
        assert len(str(read.plus(other))) < 2500
        assert len(str(read.minus(read.plus(read)))) < 2500
        assert read.minus(read).sign() == 0
        assert abs(read.rounded_up()) <= 2**63
        assert isinstance(read.approximate_float(), float)
        assert not read.is_integer()
    assert time.perf_counter() - start < 0.05


def test_beyond_reach_the_small_is_lost() -> None:
    huge = Quantity.parse("1e100000000")
    assert huge.plus(1) == huge
    assert huge > Quantity.parse("9e99999999")
    assert huge.minus(huge) == Quantity.of(0)


def test_a_quantity_never_changes() -> None:
    read = Quantity.parse("40Gi")
    with pytest.raises(AttributeError):
        read.format = "DecimalSI"
    assert copy.deepcopy(read) == read
    assert pickle.loads(pickle.dumps(read)).as_written == "40Gi"
    assert repr(read) == "Quantity('40Gi')"
    assert read != "40Gi"


@pytest.mark.parametrize(
    ("left", "right", "product"),
    [("2", "500m", "1"), ("3Gi", "2", "6Gi"), ("1n", "500m", "1n"), ("-1n", "500m", "-1n"),
     ("0", "7", "0"), ("9223372036854775807", "2", "18446744073709551614"),
     ("1.5", "1.5", "2250m")],
)  # fmt: skip
def test_products(left: str, right: str, product: str) -> None:
    found = Quantity.parse(left).times(Quantity.parse(right))
    assert found == Quantity.parse(product)
    assert str(found) == str(Quantity.parse(product))
