"""Questions for the cases: what a case leaves out gets the usual value.

A pool is written as its devices; a claim as its requests, or its whole `spec.devices`; what is
held as {claim: [device, …]}. The rest is as in Kubernetes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dibs.cli import conform
from dibs.supply import records

DRIVER = "gpu.example.com"
NODE = "node-a"

Tree = dict[str, object]

_ALL = dict.fromkeys(conform.FEATURES, True)


def question(given: Mapping[str, object]) -> Tree:
    """The conformance question of a case's `given`."""
    node = given.get("node") or {}
    assert isinstance(node, dict)
    slices = given.get("slices") or [{"devices": given.get("devices", [])}]
    assert isinstance(slices, list)
    classes = given.get("classes") or {"gpu": ['device.driver == "gpu.example.com"'], "any": []}
    claims = given["claims"]
    held = given.get("held") or {}
    assert isinstance(classes, dict)
    assert isinstance(claims, dict)
    assert isinstance(held, dict)
    return {
        "id": "case",
        "features": {**_ALL, **dict.fromkeys(_names(given.get("without")), False)},
        "node": {
            "metadata": {"name": NODE, "labels": node},
            "status": {"declaredFeatures": _names(given.get("declares"))},
        },
        "slices": [_slice(number, each) for number, each in enumerate(slices)],
        "classes": [_class(name, each) for name, each in classes.items()],
        "claims": [_claim(name, each) for name, each in claims.items()],
        "allocated": [_holder(name, each) for name, each in held.items()],
    }


def device(written: object) -> Tree:
    """A name, or {name: {attributes…}} where plain values become typed attributes."""
    if isinstance(written, str):
        return {"name": written}
    assert isinstance(written, dict)
    ((name, fields),) = written.items()
    tree: Tree = {"name": name, **(fields or {})}
    attributes = tree.get("attributes")
    if isinstance(attributes, dict):
        tree["attributes"] = {key: _attribute(value) for key, value in attributes.items()}
    capacity = tree.get("capacity")
    if isinstance(capacity, dict):
        tree["capacity"] = {
            key: value if isinstance(value, dict) else {"value": str(value)}
            for key, value in capacity.items()
        }
    return tree


def _attribute(value: object) -> Tree:
    match value:
        case bool():
            return {"bool": value}
        case int():
            return {"int": value}
        case str():
            return {"string": value}
        case [str(), *_]:
            return {"strings": value}
    assert isinstance(value, dict)
    return value


def _slice(number: int, written: object) -> Tree:
    assert isinstance(written, dict)
    spec = dict(written)
    pool = {"name": NODE, "generation": 1, "resourceSliceCount": 1, **spec.pop("pool", {})}
    where = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
    place = {} if any(key in spec for key in where) else {"nodeName": NODE}
    devices = [device(each) for each in spec.pop("devices", [])]
    name = spec.pop("name", f"slice-{number}")
    spec = {"driver": DRIVER, "pool": pool, "devices": devices, **place, **spec}
    return {"metadata": {"name": name}, "spec": spec}


def _class(name: str, written: object) -> Tree:
    spec = written if isinstance(written, dict) else {"selectors": _selectors(written)}
    return {"metadata": {"name": name}, "spec": spec}


def _claim(name: str, written: object) -> Tree:
    wanted = written if isinstance(written, dict) and "requests" in written else None
    if wanted is None:
        wanted = {"requests": written if isinstance(written, list) else [written]}
    requests = wanted["requests"]
    assert isinstance(requests, list)
    devices = {
        **wanted,
        "requests": [_request(number, each) for number, each in enumerate(requests)],
    }
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"devices": devices}}


def _request(number: int, written: object) -> Tree:
    """{class, count, all, where, …} or {first: {sub: {…}}}; the name is r0, r1 … if not given."""
    fields = dict(written) if isinstance(written, dict) else {}
    name = fields.pop("name", f"r{number}")
    first = fields.pop("first", None)
    if isinstance(first, dict):
        subs = [{"name": sub, **_ask(dict(each or {}))} for sub, each in first.items()]
        return {"name": name, "firstAvailable": subs}
    return {"name": name, "exactly": _ask(fields)}


def _ask(fields: Tree) -> Tree:
    ask: Tree = {"deviceClassName": fields.pop("class", "gpu")}
    if fields.pop("all", False):
        ask["allocationMode"] = "All"
    if where := fields.pop("where", None):
        ask["selectors"] = _selectors(where)
    if amounts := fields.pop("capacity", None):
        assert isinstance(amounts, dict)
        ask["capacity"] = {"requests": {key: str(value) for key, value in amounts.items()}}
    return {**ask, **fields}


def _selectors(written: object) -> list[object]:
    return [{"cel": {"expression": text}} for text in _names(written)]


def _holder(name: str, written: object) -> Tree:
    """[device, …], or {devices, drawn: {device: {counter set: …}}, share, wants: {capacity: …}}."""
    fields: dict[str, Any] = written if isinstance(written, dict) else {"devices": written}
    results = [_result(each) for each in fields["devices"]]
    share = {"shareID": fields["share"]} if "share" in fields else {}
    drawn = [
        {"driver": DRIVER, "pool": NODE, "device": device, **share, "counterSets": sets}
        for device, sets in fields.get("drawn", {}).items()
    ]
    annotations = {records.ANNOTATION: json.dumps(drawn)} if drawn else {}
    wish = {"name": "r0", "exactly": _ask({"capacity": fields.get("wants")})}
    return {
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"devices": {"requests": [wish]}},
        "status": {"allocation": {"devices": {"results": results}}},
    }


def _result(written: object) -> Tree:
    """A device of the usual pool, or a whole result."""
    fields = {"device": written} if isinstance(written, str) else written
    assert isinstance(fields, dict)
    return {"request": "r0", "driver": DRIVER, "pool": NODE, **fields}


def _names(written: object) -> Sequence[str]:
    if written is None:
        return ()
    return (written,) if isinstance(written, str) else [str(each) for each in list(written)]  # type: ignore[call-overload]
