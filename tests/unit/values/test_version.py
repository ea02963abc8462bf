"""Versions: upstream's recorded answers, precedence, what is printed is read back."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dibs.values.version import NotAVersion, Semver

numbers = some.integers(0, 2**64 - 1)
words = some.sampled_from(("a", "A", "-", "rc", "0a", "x-1", "alpha", "1-", "Z9"))
parts = some.lists(some.integers(0, 99).map(str) | words, max_size=4)


@some.composite
def texts(draw: some.DrawFn) -> str:
    core = f"{draw(numbers)}.{draw(numbers)}.{draw(numbers)}"
    pre, build = draw(parts), draw(parts)
    return core + ("-" + ".".join(pre) if pre else "") + ("+" + ".".join(build) if build else "")


def test_answers_are_upstreams(shared: Path) -> None:
    lines = (shared / "vectors" / "semver.jsonl").read_text().splitlines()
    wrong = [line for line in map(json.loads, lines) if not agrees(line)]
    assert len(lines) > 100
    assert wrong == []


def agrees(line: dict[str, object]) -> bool:
    if "compare" in line:
        left, right = Semver.parse(str(line["left"])), Semver.parse(str(line["right"]))
        return left.compare(right) == line["compare"]
    text = str(line["input"])
    strict, normalized = answer(text, normalize=False), answer(text, normalize=True)
    return strict == line["strict"] and normalized == line["normalized"]


def answer(text: str, *, normalize: bool) -> dict[str, object]:
    try:
        read = Semver.parse(text, normalize)
    except NotAVersion as refused:
        return {"valid": False, "error": str(refused)}
    return {
        "valid": True,
        "version": str(read),
        "major": read.major,
        "minor": read.minor,
        "patch": read.patch,
    }


def test_precedence() -> None:
    ordered = [
        "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta",
        "1.0.0", "1.0.1-rc", "1.0.1", "1.10.0", "2.0.0",
    ]  # fmt: skip
    for low, high in pairwise(map(Semver.parse, ordered)):
        assert low < high <= high
        assert high > low >= low


def test_builds_do_not_count() -> None:
    one, other = Semver.parse("1.2.3+a"), Semver.parse("1.2.3+b")
    assert one == other
    assert hash(one) == hash(other)
    assert one != "1.2.3"


@pytest.mark.parametrize(
    ("text", "read"), [("v1.2", "1.2.0"), ("580.95.05", "580.95.5"), ("000", "0.0.0")]
)
def test_the_forgiving_form(text: str, read: str) -> None:
    assert str(Semver.parse(text, normalize=True)) == read
    with pytest.raises(NotAVersion):
        Semver.parse(text)


@given(texts())
def test_what_is_printed_is_read_back(text: str) -> None:
    read = Semver.parse(text)
    assert str(read) == text
    assert Semver.parse(text, normalize=True) == read


@given(texts().map(Semver.parse), texts().map(Semver.parse))
def test_order_is_total(one: Semver, other: Semver) -> None:
    assert (one < other) + (one == other) + (one > other) == 1
    assert one.compare(other) == -other.compare(one)
    assert one != other or hash(one) == hash(other)


@given(some.text(), some.booleans())
def test_no_text_breaks_the_reader(text: str, normalize: bool) -> None:
    with suppress(NotAVersion):
        assert str(Semver.parse(text, normalize))
