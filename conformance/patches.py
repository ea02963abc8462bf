"""Patches and owners, asked of dibs and of the published Go libraries (`patching/`).

Random objects of the kinds that the schema knows are patched in random ways; a story is a few
writes to one object by several managers, applied, forced and updated. Each step starts from what
upstream came to, so that one difference doesn't breed others. What must be equal: the object, who
owns which field, and the words of a conflict.

    make patching && python conformance/patches.py --stories 2000 --patches 2000
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from answerers import Answerer

from dibs.api.patches import fieldsets, plain, serverside, steps, strategic
from dibs.api.patches.refused import Refused
from dibs.api.schema import reading
from dibs.api.schema.shapes import Field, ListOf, MapOf, Record, Scalar, Shape

Tree = dict[str, Any]

# Where `make patching` puts it.
BUILT = Path(__file__).parents[1] / "build" / "patching"

KINDS = (
    ("v1", "Pod"),
    ("v1", "Node"),
    ("v1", "ConfigMap"),
    ("v1", "ServiceAccount"),
    ("v1", "ResourceQuota"),
    ("resource.k8s.io/v1", "ResourceClaim"),
    ("resource.k8s.io/v1", "ResourceSlice"),
    ("resource.k8s.io/v1", "DeviceClass"),
    ("resource.k8s.io/v1", "DeviceTaintRule"),
    ("resource.k8s.io/v1beta1", "ResourceClaim"),
    ("scheduling.k8s.io/v1beta1", "Workload"),
    ("scheduling.k8s.io/v1beta1", "PodGroup"),
    ("coordination.k8s.io/v1", "Lease"),
)
MANAGERS = ("kubectl", "ann", "bob")
NOW = "2026-01-01T00:00:00Z"

# What only dibs knows (KEP-5941), and what Go's types write in a way of their own.
_SKIPPED = frozenset(
    {"managedFields", "requestPolicy", "valueFrom", "nodeInfo", "daemonEndpoints", "divisor"}
)


# --- objects by their schema ---------------------------------------------------------------------


def some_object(chance: random.Random, version: str, kind: str, share: float) -> Tree:
    record = reading.record_of(version, kind)
    assert record
    tree = _record(chance, record, share, 0)
    metadata = {
        "name": "x",
        "namespace": "default",
        **_some(chance, record.fields["metadata"].shape, share, 1, ("labels", "annotations",
                "finalizers", "ownerReferences")),
    }  # fmt: skip
    return {**tree, "apiVersion": version, "kind": kind, "metadata": metadata}


def _some(
    chance: random.Random, shape: Shape, share: float, depth: int, names: tuple[str, ...]
) -> Tree:
    assert isinstance(shape, Record)
    return {
        name: _value(chance, shape.fields[name].shape, shape.fields[name], share, depth)
        for name in names
        if chance.random() < share
    }


def _record(chance: random.Random, record: Record, share: float, depth: int) -> Tree:
    tree: Tree = {}
    for name, field in record.fields.items():
        if name in _SKIPPED or (depth == 0 and name == "metadata"):
            continue
        wanted = share / (1 + depth / 2) / max(1, len(record.fields) / 8)
        if field.is_required or chance.random() < max(wanted, 0.9 if depth == 0 else 0):
            tree[name] = _value(chance, field.shape, field, share, depth + 1)
    return tree


def _value(
    chance: random.Random, shape: Shape, field: Field | None, share: float, depth: int
) -> Any:
    match shape:
        case Record():
            return _record(chance, shape, share, depth)
        case ListOf(item):
            items = [_value(chance, item, field, share, depth) for _ in range(chance.randint(1, 3))]
            return _told_apart(chance, items, shape, field)
        case MapOf(item):
            names = chance.sample("abc", chance.randint(1, 3))
            return {name: _value(chance, item, None, share, depth) for name in names}
        case Scalar(name):
            return _scalar(chance, name, field)


def _told_apart(
    chance: random.Random, items: list[Any], shape: ListOf, field: Field | None
) -> list[Any]:
    keys = set(shape.keys) | ({field.merge_key} if field and field.merge_key else set())
    seen: set[str] = set()
    kept = []
    for item in items:
        if isinstance(item, dict) and isinstance(shape.item, Record):
            for key in sorted(keys):
                inner = shape.item.fields[key]
                if inner.default is None or chance.random() < 0.8:
                    item[key] = _value(chance, inner.shape, inner, 0, 0)
            told = json.dumps([item.get(key) for key in sorted(keys)]) if keys else ""
        else:
            told = json.dumps(item) if shape.kind == "set" or (field and field.strategies) else ""
        if told and told in seen:
            continue
        seen.add(told)
        kept.append(item)
    return kept


def _scalar(chance: random.Random, name: str, field: Field | None) -> Any:
    if field and field.enum:
        return chance.choice(field.enum)
    match name:
        case "bool":
            return True
        case "int32" | "int64":
            return chance.randint(1, 3)
        case "double":
            return 1.5
        case "bytes":
            return chance.choice(("YQ==", "Yg=="))
        case "Quantity":
            return chance.choice(("1", "2", "1Gi"))
        case "Time":
            return chance.choice(("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"))
        case "MicroTime":
            return chance.choice(("2026-01-01T00:00:00.000000Z", "2026-01-02T00:00:00.000000Z"))
        case "IntOrString":
            return chance.choice((80, "http"))
        case "Raw":
            return chance.choice(({"a": 1}, {"a": 2, "b": {"c": "x"}}, {"b": [1, 2]}))
        case _:
            return chance.choice("abc")


# --- comparing -----------------------------------------------------------------------------------


_ZEROS = (None, {}, [], "", 0, False, "0")


def without_zeros(tree: Any) -> Any:
    """Without the texts and numbers that Go's structs have where nothing was said.

    In lists they stay: a list that is owned as a whole is compared as a whole.
    """
    if not isinstance(tree, dict):
        return tree
    return {
        name: without_zeros(value)
        for name, value in tree.items()
        if value not in ("", 0) or isinstance(value, bool)
    }


def without_nulls(tree: Any) -> Any:
    """Null in a new item of a list: upstream leaves it to decoding."""
    match tree:
        case dict():
            return {name: without_nulls(value) for name, value in tree.items() if value is not None}
        case list():
            return [without_nulls(item) for item in tree]
        case _:
            return tree


def plainly(tree: Any) -> Any:
    """Without what Go's types write or leave out on their own: null, empty, UIDs, times."""
    match tree:
        case dict():
            values = {name: plainly(value) for name, value in tree.items()}
            return {name: value for name, value in values.items() if value not in _ZEROS}
        case list():
            return [plainly(item) for item in tree]
        case _:
            return tree


def leaves(tree: Any, at: str = "") -> set[str]:
    """`path=value` of everything that holds nothing else."""
    match tree:
        case dict() if tree:
            return set().union(*(leaves(part, f"{at}.{name}") for name, part in tree.items()))
        case list() if tree:
            parts = (leaves(part, f"{at}[{index}]") for index, part in enumerate(tree))
            return set().union(*parts)
        case _:
            return {f"{at}={json.dumps(tree)}"}


def owned(tree: Tree) -> set[str]:
    """`manager operation version subresource: path` for every field that somebody owns."""
    return {
        " ".join(each.get(name) or "-" for name in ("manager", "operation", "apiVersion",
                                                    "subresource"))
        + f": {fieldsets.shown(path)}"
        for each in tree.get("metadata", {}).get("managedFields") or []
        for path in fieldsets.paths(fieldsets.decode(each["fieldsV1"]))
    }  # fmt: skip


def bare(tree: Tree) -> Tree:
    metadata = {
        name: value
        for name, value in tree.get("metadata", {}).items()
        if name not in ("managedFields", "uid")
    }
    return {**tree, "metadata": metadata}


# --- stories -------------------------------------------------------------------------------------


def some_story(chance: random.Random) -> list[Tree]:
    version, kind = chance.choice(KINDS)
    share = chance.choice((0.4, 0.8, 1.0))
    first = some_object(chance, version, kind, share)
    story = []
    for _ in range(chance.randint(2, 5)):
        again = some_object(chance, version, kind, share)
        body = mixed(chance, first, again) if chance.random() < 0.8 else again
        story.append(
            {
                "verb": chance.choice(("apply", "apply", "update")),
                "manager": chance.choice(MANAGERS),
                "force": chance.random() < 0.4,
                "subresource": "status" if chance.random() < 0.1 else "",
                "object": body,
            }
        )
        first = body
    return story


def mixed(chance: random.Random, one: Any, other: Any) -> Any:
    """Something between two objects: most of `one`, some of `other`, some of neither."""
    if isinstance(one, dict) and isinstance(other, dict):
        result = {}
        for name in [*one, *(name for name in other if name not in one)]:
            if name in ("apiVersion", "kind", "metadata"):
                result[name] = one[name] if name != "metadata" else mixed_metadata(
                    chance, one[name], other[name])  # fmt: skip
            elif name in one and name in other:
                result[name] = mixed(chance, one[name], other[name])
            elif name in one or chance.random() < 0.4:
                result[name] = copy.deepcopy(one.get(name, other.get(name)))
        return result
    return copy.deepcopy(one if chance.random() < 0.6 else other)


def mixed_metadata(chance: random.Random, one: Tree, other: Tree) -> Tree:
    rest = {name: value for name, value in (one | other).items() if chance.random() < 0.7}
    return {**rest, "name": "x", "namespace": "default"}


def check_story(oracle: Answerer, story: list[Tree]) -> Iterator[str]:
    answer = oracle.ask({"op": "story", "steps": story})
    live: Tree | None = None
    for index, (step, said) in enumerate(zip(story, answer["steps"], strict=True)):
        try:
            ours, refusal = _write(live, step, said.get("object")), None
        except Refused as refused:
            ours, refusal = None, refused
        if "object" not in said:
            told = said.get("status", {}).get("message") or said["error"]
            if refusal is None:
                yield f"step {index}: upstream refuses: {told}"
            elif refusal.code == 409 and refusal.message != told:
                yield f"step {index}: {refusal.message!r} is {told!r}"
            elif refusal.code == 409:
                causes = [[each["message"], each["field"]] for each in
                          said["status"]["details"]["causes"]]  # fmt: skip
                if sorted(causes) != sorted([each.message, each.field] for each in refusal.causes):
                    yield f"step {index}: causes differ"
            continue
        if ours is None:
            yield f"step {index}: dibs refuses: {refusal}"
        else:
            here, there = leaves(plainly(bare(ours))), leaves(plainly(bare(said["object"])))
            if here != there:
                yield f"step {index}: here {here - there}, upstream {there - here}"
            one, other = owned(ours), owned(said["object"])
            if one != other:
                yield f"step {index}: owned here {one - other}, upstream {other - one}"
        live = without_zeros(said["object"])


def _write(live: Tree | None, step: Tree, theirs: Tree | None) -> Tree:
    options = {"manager": step["manager"], "now": NOW, "subresource": step["subresource"]}
    if step["verb"] == "apply":
        return serverside.apply(live, step["object"], force=step["force"], **options)
    new = bare(without_zeros(theirs or step["object"]))
    return serverside.track(live, new, **options)


# --- patches -------------------------------------------------------------------------------------


def some_patch(chance: random.Random) -> Tree:
    version, kind = chance.choice(KINDS)
    share = chance.choice((0.4, 0.8, 1.0))
    old = some_object(chance, version, kind, share)
    new = some_object(chance, version, kind, share)
    how = chance.choice(("strategic", "strategic", "merge"))
    patch = {name: value for name, value in new.items() if name not in ("apiVersion", "kind")}
    patch["metadata"].pop("name", None)
    record = reading.record_of(version, kind)
    return {"op": how, "object": old, "patch": spoiled(chance, patch, how, old, record)}


_PLACES = ("/a", "/a/b", "/a/b/0", "/a/b/1", "/a/b/-", "/a/b/9", "/a/b/2/c", "/d", "/e", "/e/f", "")
_VALUES = (1, "x", True, None, {"c": "x"}, [1, 2])


def some_steps(chance: random.Random) -> Tree:
    """A JSON patch on a small object. Negative indices are left out: they are upstream's own."""
    operations = []
    for _ in range(chance.randint(1, 4)):
        operation: Tree = {
            "op": chance.choice(("add", "remove", "replace", "test", "move", "copy")),
            "path": chance.choice(_PLACES),
        }
        if operation["op"] in ("add", "replace", "test"):
            operation["value"] = chance.choice(_VALUES)
        if operation["op"] in ("move", "copy"):
            # The whole document may be copied by the RFC, and not upstream.
            operation["from"] = chance.choice(_PLACES[:-1])
            operation["path"] = chance.choice(_PLACES[:-1])
        operations.append(operation)
    document = {"a": {"b": [1, 2, {"c": "x"}]}, "d": None, "e": {"f": "x"}}
    return {"op": "json", "object": document, "patch": operations}


def spoiled(chance: random.Random, patch: Any, how: str, old: Any, shape: Any) -> Any:
    """With nulls and directives here and there."""
    match patch:
        case dict():
            result: Tree = {}
            fields = shape.fields if isinstance(shape, Record) else {}
            before = old if isinstance(old, dict) else {}
            for name, value in patch.items():
                field = fields.get(name)
                if field and isinstance(field.shape, Scalar) and field.shape.name == "Raw":
                    continue
                if chance.random() < 0.05 and name not in ("metadata",):
                    result[name] = None
                    continue
                inner = field.shape if field else None
                if isinstance(inner, ListOf):
                    result |= _list_patch(chance, name, value, how, before.get(name), field)
                else:
                    result[name] = spoiled(chance, value, how, before.get(name), inner)
            if how == "strategic" and chance.random() < 0.03 and isinstance(shape, Record):
                result["$patch"] = chance.choice(("replace", "delete"))
            if how == "strategic" and chance.random() < 0.05 and isinstance(shape, Record):
                result["$retainKeys"] = [name for name in result if name[0] != "$"]
            return result
        case _:
            return patch


def _list_patch(
    chance: random.Random, name: str, value: list[Any], how: str, old: Any, field: Field
) -> Tree:
    shape = field.shape
    assert isinstance(shape, ListOf)
    if how != "strategic" or "merge" not in field.strategies:
        return {name: value}
    olds = old if isinstance(old, list) else []
    result: Tree = {}
    if not field.merge_key:
        if chance.random() < 0.3:
            # Which of the two comes first is left to chance upstream.
            gone = [each for each in "abc" if each not in value]
            result[f"$deleteFromPrimitiveList/{name}"] = gone
        result[name] = value
        order = [*dict.fromkeys([*value, *olds])]
    else:
        key = field.merge_key
        items = [spoiled(chance, item, how, {}, shape.item) for item in value]
        for item, source in zip(items, value, strict=True):
            item[key] = source.setdefault(key, "a")
            item.pop("$patch", None)
            if "$retainKeys" in item:
                item["$retainKeys"] = [each for each in item if each[0] != "$"]
        if chance.random() < 0.2 and olds:
            items.append({"$patch": "delete", key: chance.choice(olds).get(key, "a")})
        if chance.random() < 0.05:
            items.insert(0, {"$patch": "replace"})
        result[name] = items
        keys = [item[key] for item in items if "$patch" not in item]
        keys += [item[key] for item in olds if item.get(key) not in (None, *keys)]
        order = [{key: each} for each in keys]
    if chance.random() < 0.3:
        result[f"$setElementOrder/{name}"] = order
    return result


# Upstream replaces and copies what has been removed, and adds no whole document.
_BY_THE_RFC = ("can't replace a non-existent", "nothing is at")
_WHOLE = 'doc is missing path: ""'


def check_patch(oracle: Answerer, asked: Tree) -> Iterator[str]:
    said = oracle.ask(asked)
    try:
        match asked["op"]:
            case "strategic":
                record = reading.record_of(asked["object"]["apiVersion"], asked["object"]["kind"])
                assert record
                ours: Tree | None = strategic.strategic(asked["object"], asked["patch"], record)
            case "json":
                ours = steps.json_patch(asked["object"], asked["patch"])
            case _:
                ours = plain.merge(asked["object"], asked["patch"])
    except Refused as refused:
        ours = None
        if "error" not in said and not any(words in str(refused) for words in _BY_THE_RFC):
            yield f"dibs refuses: {refused}"
    if ours is None:
        return
    if "error" in said:
        if _WHOLE not in said["error"]:
            yield f"upstream refuses: {said['error']}"
    elif without_nulls(ours) != without_nulls(said["object"]):
        here, there = leaves(without_nulls(ours)), leaves(without_nulls(said["object"]))
        yield f"here {here - there}, upstream {there - here}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--oracle", default=str(BUILT))
    parser.add_argument("--stories", type=int, default=500)
    parser.add_argument("--patches", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3)
    options = parser.parse_args()
    wrong = 0
    with contextlib.closing(Answerer([options.oracle])) as oracle:
        for what, count in (("story", options.stories), ("patch", options.patches)):
            for number in range(options.seed, options.seed + count):
                chance = random.Random(f"{what}-{number}")
                if what == "story":
                    asked: Any = some_story(chance)
                    found = list(check_story(oracle, asked))
                else:
                    asked = some_patch(chance) if number % 4 else some_steps(chance)
                    found = list(check_patch(oracle, asked))
                if found:
                    wrong += 1
                    if wrong <= options.show:
                        print(f"{what} {number}: {found[0]}\n{json.dumps(asked)}\n")
    print(f"{options.stories} stories, {options.patches} patches: {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
