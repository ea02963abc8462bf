"""Reading what was written gives the same object: as a tree, as JSON text, as YAML text."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings

from dibs.client import dump
from dibs.model import codec, kinds
from dibs.model.kinds import Known
from dibs.testing.strategies import objects, worlds
from dibs.testing.worlds import EVERY_TRAIT, World

pytestmark = pytest.mark.slow


@settings(max_examples=settings().max_examples * 3)
@given(objects())
def test_decode_undoes_encode(item: Known) -> None:
    assert read(codec.encode(item)) == item


@given(objects())
def test_nothing_is_lost_in_json_text(item: Known) -> None:
    assert read(json.loads(json.dumps(codec.encode(item)))) == item


@given(worlds(EVERY_TRAIT))
def test_every_version_says_the_same(world: World) -> None:
    for item in everything(world):
        for version in kinds.of(item).versions:
            assert read(codec.encode(item, version)) == item


@pytest.mark.parametrize("output", ["yaml", "json"])
@given(world=worlds(EVERY_TRAIT))
def test_load_undoes_write(output: str, world: World) -> None:
    written = dump.write(everything(world), output)
    loaded = dump.load(["-"], stdin=io.BytesIO(written.encode()))
    assert not loaded.faults
    assert list(loaded.objects) == list(everything(world))


@pytest.mark.parametrize("output", ["yaml", "json"])
@given(item=objects())
def test_awkward_texts_survive(output: str, item: Known) -> None:
    loaded = dump.load(["-"], stdin=io.BytesIO(dump.write([item], output).encode()))
    assert not loaded.faults
    (found,) = loaded.objects
    # What names no namespace is read into "default".
    namespace = item.metadata.namespace or found.metadata.namespace
    metadata = msgspec.structs.replace(item.metadata, namespace=namespace)
    assert found == msgspec.structs.replace(item, metadata=metadata)


def test_real_slices_survive(shared: Path) -> None:
    """Files of real drivers, whichever version they are written in."""
    loaded = dump.load([str(shared / "slices")], stdin=io.BytesIO())
    assert len(loaded.objects) > 40
    for item in loaded.objects:
        assert read(codec.encode(item)) == item


def read(tree: object) -> Known | None:
    decoded = codec.decode(tree)
    assert not decoded.faults
    return decoded.object


def everything(world: World) -> list[Known]:
    return list(_everything(world))


def _everything(world: World) -> Iterator[Known]:
    yield from world.nodes
    yield from world.slices
    yield from world.classes
    yield from world.claims
    yield from world.held
