"""Bodies made up from the schema, half of them spoilt: each is refused, or served ever after.

Anything but a Failure is a bug. What is stored can be read in every version, as an object, as a
row of a table, and in a watch.
"""

from __future__ import annotations

import asyncio
import copy
import json
import random
from dataclasses import replace
from typing import Any

import pytest

from dibs.api import deletes, kinds, patching, storage, tables, writes
from dibs.api.calls import Call, DeleteOptions, Tree, WriteOptions
from dibs.api.cells import Moment
from dibs.api.failures import Failure
from dibs.api.kinds import Resource
from dibs.api.patching import Patch
from dibs.api.plane import Plane
from dibs.api.schema import reading
from dibs.api.schema.shapes import ListOf, MapOf, Record, Shape
from dibs.testing import apiserver

JUNK: tuple[Any, ...] = (
    None, 0, -1, 2**31, 2**63, 1.5, True, "", "x", "a" * 300, "1Gi", "\0", "é", [], {}, [None],
    {"a": None}, {"a": 1}, "-",
)  # fmt: skip
SCALARS: dict[str, tuple[Any, ...]] = {
    "string": ("a", "b-c", "gpu.example.com", "X_", ""),
    "bool": (True, False),
    "int32": (0, 1, 5, -1),
    "int64": (0, 1, 5, -1),
    "double": (1.5,),
    "bytes": ("YWJj",),
    "Quantity": ("1", "1Gi", "500m", 5, "-1"),
    "Time": ("2026-01-31T12:00:00Z",),
    "MicroTime": ("2026-01-31T12:00:00.000000Z",),
    "IntOrString": (1, "a"),
    "Raw": ({"k": 1},),
    "FieldsV1": ({},),
}
POINTERS = (
    "", "/metadata", "/metadata/labels/a", "/spec", "/status", "/kind", "/data/a", "/x/y",
    "/spec/containers/-", "/spec/devices/requests/0/exactly",
)  # fmt: skip
KEPT = [each for each in kinds.RESOURCES if each.is_kept]


class Maker:
    """Makes bodies; the same seed, the same bodies."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def of(self, shape: Shape, depth: int = 0) -> Any:
        chance = self.chance
        if depth and chance.random() < 0.04:
            return chance.choice(JUNK)
        match shape:
            case Record():
                return self.record(shape, depth)
            case ListOf(item):
                return [self.of(item, depth + 1) for _ in range(chance.choice((0, 1, 1, 2)))]
            case MapOf(item):
                keys = chance.sample(("a", "cpu", "x.example.com/y"), chance.choice((0, 1, 2)))
                return {key: self.of(item, depth + 1) for key in keys}
            case _:
                return chance.choice(SCALARS[shape.name])

    def record(self, shape: Record, depth: int) -> Tree:
        made: Tree = {}
        for name, field in shape.fields.items():
            is_in = field.is_required or self.chance.random() < max(0.08, 0.5 - 0.08 * depth)
            if name != "managedFields" and is_in and depth < 8:
                wanted = self.chance.choice(field.enum) if field.enum else None
                made[name] = wanted or self.of(field.shape, depth + 1)
        return made

    def body(self, resource: Resource, version: str) -> Tree:
        record = reading.record_of(resource.api_version(version), resource.kind)
        assert record
        made = self.record(record, 0)
        metadata = made.get("metadata")
        kept = metadata if isinstance(metadata, dict) and self.chance.random() < 0.5 else {}
        for name in ("namespace", "resourceVersion", "uid"):
            kept.pop(name, None)
        return {**made, "metadata": {**kept, "name": self.name()}}

    def name(self) -> str:
        return self.chance.choice(("a", "b-c"))

    def spoilt(self, value: Any) -> Any:
        """Return a copy in which something is missing, null or of another type."""
        chance = self.chance
        match value:
            case dict():
                kept = {key: self.spoilt(each) for key, each in value.items()}
                for key in [key for key in kept if chance.random() < 0.08]:
                    kept[key] = chance.choice(JUNK)
                if chance.random() < 0.03:
                    kept["$patch"] = chance.choice(("delete", "replace", "merge", "junk", 5))
                return kept
            case list():
                return [
                    chance.choice(JUNK) if chance.random() < 0.05 else self.spoilt(each)
                    for each in value
                ]
            case _:
                return copy.copy(value)

    def steps(self) -> Any:
        verbs = ("add", "remove", "replace", "test", "move", "copy", "zap")
        return [
            {
                "op": self.chance.choice(verbs),
                "path": self.chance.choice(POINTERS),
                "from": self.chance.choice(POINTERS),
                "value": self.chance.choice(JUNK),
            }
            for _ in range(self.chance.choice((1, 2, 3)))
        ]


async def step(plane: Plane, make: Maker) -> None:
    """One request of any kind."""
    chance = make.chance
    resource = chance.choice(KEPT)
    version = chance.choice(resource.versions)
    call = Call("create", resource, version, "default" if resource.namespaced else "")
    validation = chance.choice(("Strict", "Warn", "Ignore"))
    options = WriteOptions(False, validation, chance.choice(("", "me", "kubectl")), True)
    tree = make.body(resource, version)
    one = replace(call, name=tree["metadata"]["name"])
    if resource.has_status and chance.random() < 0.3:
        one = replace(one, subresource="status")
    stored = plane.store.get(storage.key_of(resource, call.namespace, one.name))
    live = json.loads(storage.served(resource, version, stored)) if stored else tree
    match chance.choice(("create", "create", "update", "merge", "strategic", "apply", "json", "x")):
        case "create":
            await writes.create(plane, call, make.spoilt(tree) if stored else tree, options)
        case "update":
            await writes.update(plane, one, make.spoilt(live), options)
        case "merge":
            sent = Patch(patching.MERGE, make.spoilt(live))
            await patching.patch(plane, one, sent, options)
        case "strategic":
            sent = Patch(patching.STRATEGIC, make.spoilt(tree))
            await patching.patch(plane, one, sent, options)
        case "apply":
            head = {"apiVersion": resource.api_version(version), "kind": resource.kind}
            await patching.patch(plane, one, Patch(patching.APPLY, {**tree, **head}), options)
        case "json":
            await patching.patch(plane, one, Patch(patching.JSON, make.steps()), options)
        case _:
            how = DeleteOptions(propagation=chance.choice((None, "Foreground", "Background")))
            await deletes.delete(plane, replace(one, subresource=""), how)


def read_back(plane: Plane) -> int:
    """Read everything in every form; return how many objects there are."""
    count = 0
    for resource in KEPT:
        for entry in plane.store.page(kinds.kept_in(resource).qualified).entries:
            count += 1
            for version in resource.versions:
                served = json.loads(storage.served(resource, version, entry))
                assert served["apiVersion"] == resource.api_version(version)
                assert served["metadata"]["resourceVersion"] == str(entry.mod_revision)
            call = Call("list", resource, resource.stored_version)
            tables.table(call, [storage.tree_of(entry)], Moment(0), "Object", {})
    return count


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_each_body_is_refused_or_served(seed: int) -> None:
    async def play() -> None:
        make = Maker(seed)
        refusals: list[Failure] = []
        async with apiserver.in_memory() as plane:
            for _ in range(400):
                try:
                    await step(plane, make)
                except Failure as failure:
                    refusals.append(failure)
            assert read_back(plane) > 4
        assert all(400 <= each.code < 500 for each in refusals)
        # Else nothing but refusals was tried.
        assert len(refusals) < 360

    asyncio.run(play())
