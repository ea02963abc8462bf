"""v1beta1 and v1: the same objects in two shapes, for trees and for paths. v1beta2 is v1.

Only the shape is changed; what a missing field means is `defaults`'. Trees are never changed in
place: aliases of YAML may share them.
Source: conversion of resource.k8s.io; KEP-4381 (v1beta1), KEP-4816 (`exactly`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

Tree = dict[str, object]

_CLAIM_KINDS = ("ResourceClaim", "ResourceClaimTemplate")
# The fields of a v1beta1 request that make it an exact one.
_EXACT = (
    "deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations",
    "capacity", "derivedAttributes",
)  # fmt: skip


class OtherShape(ValueError):
    """The tree is not of the version it claims."""


def up(kind: str, version: str, tree: Tree) -> Tree:
    """Return a tree of `version` in the shape of v1. Raises OtherShape."""
    if version != "v1beta1":
        return tree
    if kind == "ResourceSlice":
        return _at(tree, ("spec",), _slice_up)
    if kind in _CLAIM_KINDS:
        return _at(tree, _devices_of(kind), lambda devices: _each(devices, "requests", _request_up))
    return tree


def down(kind: str, version: str, tree: Tree) -> Tree:
    """Return a tree of v1 in the shape of `version`."""
    if version != "v1beta1":
        return tree
    if kind == "ResourceSlice":
        return _at(tree, ("spec",), lambda spec: _each(spec, "devices", _device_down))
    if kind in _CLAIM_KINDS:
        return _at(
            tree, _devices_of(kind), lambda devices: _each(devices, "requests", _request_down)
        )
    return tree


def _devices_of(kind: str) -> tuple[str, ...]:
    return ("spec", "devices") if kind == "ResourceClaim" else ("spec", "spec", "devices")


def _at(tree: Tree, steps: tuple[str, ...], change: Callable[[Tree], Tree]) -> Tree:
    """Return the tree with the mapping at `steps` changed, if there is one."""
    if not steps:
        return change(tree)
    inner = tree.get(steps[0])
    if not isinstance(inner, dict):
        return tree
    return {**tree, steps[0]: _at(inner, steps[1:], change)}


def _each(tree: Tree, name: str, change: Callable[[Tree], Tree]) -> Tree:
    items = tree.get(name)
    if not isinstance(items, list):
        return tree
    return {**tree, name: [change(item) if isinstance(item, dict) else item for item in items]}


def _slice_up(spec: Tree) -> Tree:
    spec = _each(spec, "devices", _device_up)
    # Plain values in v1beta1, pointers in v1: the zero value there is absence here.
    return {
        name: value
        for name, value in spec.items()
        if not (name == "nodeName" and value == "") and not (name == "allNodes" and value is False)
    }


def _device_up(device: Tree) -> Tree:
    basic = device.get("basic")
    if basic is None:
        basic = {}
    if not isinstance(basic, dict) or "name" in basic or device.keys() - {"name", "basic"}:
        raise OtherShape
    return {**{name: device[name] for name in device if name == "name"}, **basic}


def _device_down(device: Tree) -> Tree:
    basic = {name: value for name, value in device.items() if name != "name"}
    return {**{name: device[name] for name in device if name == "name"}, "basic": basic}


def _request_up(request: Tree) -> Tree:
    if "exactly" in request:
        raise OtherShape
    exact = {name: request[name] for name in _EXACT if name in request}
    kept = {name: value for name, value in request.items() if name not in exact}
    # Go's zero values do not count as set, an empty list does.
    is_exact = any(value not in ("", 0, None) or value is False for value in exact.values())
    return {**kept, "exactly": exact} if is_exact else kept


def _request_down(request: Tree) -> Tree:
    exact = request.get("exactly")
    kept = {name: value for name, value in request.items() if name != "exactly"}
    return {**kept, **exact} if isinstance(exact, dict) else kept


# --- paths ---------------------------------------------------------------------------------------

_V1_EXACT = re.compile(r"^((?:spec\.)?spec\.devices\.requests\[\d+\])\.exactly\b")
_V1_DEVICE = re.compile(r"^(spec\.devices\[\d+\])\.(?!name\b)")
_BETA_EXACT = re.compile(rf"^((?:spec\.)?spec\.devices\.requests\[\d+\])\.(?={'|'.join(_EXACT)}\b)")
_BETA_DEVICE = re.compile(r"^(spec\.devices\[\d+\])\.basic\b")


def written(kind: str, version: str, path: str) -> str:
    """Return a path of v1 as `version` has it: `…requests[0].exactly.count` → `…[0].count`."""
    if version != "v1beta1":
        return path
    if kind == "ResourceSlice":
        return _V1_DEVICE.sub(r"\1.basic.", path)
    return _V1_EXACT.sub(r"\1", path) if kind in _CLAIM_KINDS else path


def in_v1(kind: str, version: str, path: str) -> str:
    """Return a path of `version` as v1 has it."""
    if version != "v1beta1":
        return path
    if kind == "ResourceSlice":
        return _BETA_DEVICE.sub(r"\1", path)
    return _BETA_EXACT.sub(r"\1.exactly.", path) if kind in _CLAIM_KINDS else path
