"""The quick look says yes only where the slow ones find nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from dibs.api import flawless, shape
from dibs.api.openapi import strict
from dibs.api.schema import reading
from dibs.model import codec, kinds
from dibs.testing import anything

SLIPS: tuple[Any, ...] = (None, True, 0, 1.5, 2**40, "text", [], {}, ["x"], {"x": 1})
KINDS = [kind for kind in kinds.KINDS if reading.record_of(kind.api_version("v1"), kind.name)]


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with each of its keys."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(items):
        yield tree, key
        if isinstance(value, dict | list):
            yield from places(value)


def slipped(chance: random.Random, tree: dict[str, Any]) -> dict[str, Any]:
    """With a value or two of another type, or a field that isn't there or shouldn't be."""
    for _ in range(chance.randint(0, 2)):
        inside, key = chance.choice(list(places(tree)))
        if isinstance(inside, dict) and chance.random() < 0.5:
            del inside[key]
            if chance.random() < 0.5:
                inside[f"{key}x"] = 1
        else:
            inside[key] = chance.choice(SLIPS)
    return tree


def drawn(seed: int) -> tuple[Any, dict[str, Any]]:
    chance = random.Random(seed)
    kind = chance.choice(KINDS)
    record = reading.record_of(kind.api_version("v1"), kind.name)
    item = anything.drawn(chance, kind.struct)
    tree = codec.encode(item, "v1")
    # What a file may say, and null where the API writes it for nothing, is gone first.
    assert record is not None
    clean = shape.fit(record, tree).tree
    return record, slipped(chance, clean)


@pytest.mark.parametrize("part", range(8))
def test_a_yes_is_right(part: int) -> None:
    fitting = whole = 0
    for seed in range(part * 40, part * 40 + 40):
        record, tree = drawn(seed)
        if not flawless.is_fitting(record, tree):
            continue
        fitting += 1
        faults: list[str] = []
        fields = {key: value for key, value in tree.items() if key not in ("apiVersion", "kind")}
        assert shape._record(record, fields, "", faults) == fields
        assert faults == []
        assert strict.unknown_fields(tree, record) == []
        if flawless.is_whole(record, tree):
            whole += 1
            assert list(shape._missing(record, tree, "")) == []
        else:
            assert list(shape._missing(record, tree, "")) != []
    # It may say no too often, but then it would be for nothing.
    assert fitting >= 3


def test_what_is_missing_is_seen() -> None:
    record = reading.record_of("v1", "Pod")
    assert record is not None
    pod = {"spec": {"containers": [{"image": "x"}]}}
    assert flawless.is_fitting(record, pod)
    assert not flawless.is_whole(record, pod)
    assert flawless.is_whole(record, {"spec": {"containers": [{"name": "x", "image": "x"}]}})
