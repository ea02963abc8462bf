"""Which objects a document holds, and which kind and version each says it is.

A kind that is not ours is foreign, which is no fault; a slip of the pen, a version that is gone or
none at all is one. What the object holds is `codec`'s.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from dibs.model import kinds, paths
from dibs.model.codec_hints import shown
from dibs.model.faults import Fault, FaultKind
from dibs.model.kinds import GROUP, Kind
from dibs.values import nearest


class Named(NamedTuple):
    """`faults` are there if the kind cannot be used; `kind` may be known all the same."""

    kind: Kind | None
    version: str
    api_version: str
    name: str
    faults: tuple[Fault, ...] = ()
    is_foreign: bool = False


_GONE_KINDS = (
    "ResourceClass", "PodSchedulingContext", "ResourceClaimParameters", "ResourceClassParameters",
)  # fmt: skip
_GONE_VERSIONS = ("v1alpha1", "v1alpha2", "v1alpha3")


def identify(tree: object, api_version: str, name: str) -> Named:
    if not isinstance(tree, dict):
        what, remedy = shown(tree), ""
        if isinstance(tree, list):
            what = f"a list of {len(tree)}"
            remedy = "wrap objects as {apiVersion: v1, kind: List, items: […]}"
        message = f"a manifest is a mapping with apiVersion and kind, this is {what}"
        return Named(None, "", "", "", (Fault(FaultKind.KIND, "", message, tree, remedy),))
    api_version = tree.get("apiVersion") or api_version
    name = tree.get("kind") or name
    for key, text in (("apiVersion", api_version), ("kind", name)):
        if not isinstance(text, str):
            mistyped = Fault(FaultKind.TYPE, key, f"expected text, found {shown(text)}", text)
            return Named(None, "", "", "", (mistyped,))
    if missing := _missing(api_version, name, "items" in tree):
        return Named(None, "", api_version, name, (missing,))
    group, _, version = api_version.rpartition("/")
    kind = kinds.BY_NAME.get((group, name))
    if kind is None:
        return _of_no_kind(group, api_version, name)
    if version in kind.versions:
        return Named(kind, version, api_version, name)
    known = ", ".join(kind.versions)
    message = f"{api_version} {name} is not known; {name} is served in {known}"
    if version in _GONE_VERSIONS:
        message = f"{api_version} {name} is no longer served by Kubernetes"
    remedy = f"write it as {kind.api_version(kind.versions[0])}"
    fault = Fault(FaultKind.VERSION, "apiVersion", message, api_version, remedy)
    # Read all the same, for its other faults.
    return Named(kind, _likely_version(kind, tree), api_version, name, (fault,))


def _missing(api_version: str, name: str, has_items: bool) -> Fault | None:
    if not name:
        message = "no kind" if api_version else "neither apiVersion nor kind"
        remedy = "a manifest begins with both, for example apiVersion: resource.k8s.io/v1"
        if has_items:
            # kubectl writes the kind of a List below its items.
            remedy = "it has items: if it is a List that was cut off, dump it again"
        return Fault(FaultKind.KIND, "", message, remedy=remedy)
    if api_version:
        return None
    ours = [kind for kind in kinds.KINDS if kind.name == name]
    remedy = f"write apiVersion: {ours[0].api_version(ours[0].versions[0])}" if ours else ""
    return Fault(FaultKind.VERSION, "", f"no apiVersion for {name}", remedy=remedy)


def _of_no_kind(group: str, api_version: str, name: str) -> Named:
    """Foreign, or a slip of the pen."""
    ours = [kind for kind in kinds.KINDS if kind.group == GROUP]
    names = [kind.name for kind in ours]
    if group == GROUP:
        message = f"{GROUP} has no kind {name}"
        remedy = nearest.question(name, names)
        if name in _GONE_KINDS:
            message, remedy = f"{name} is gone from {GROUP}", "use DeviceClass and ResourceClaim"
        return Named(
            None, "", api_version, name, (Fault(FaultKind.KIND, "kind", message, name, remedy),)
        )
    if name in names and (not group or nearest.names(group, [GROUP])):
        meant = ours[names.index(name)]
        message = f"{api_version} has no kind {name}"
        remedy = f"write apiVersion: {meant.api_version(meant.versions[0])}"
        fault = Fault(FaultKind.VERSION, "apiVersion", message, api_version, remedy)
        return Named(None, "", api_version, name, (fault,))
    return Named(None, "", api_version, name, is_foreign=True)


def _likely_version(kind: Kind, tree: dict[str, Any]) -> str:
    """The version whose shape is nearest, for a tree of one that is gone."""
    spec = tree.get("spec")
    devices = spec.get("devices") if isinstance(spec, dict) else None
    devices = devices if isinstance(devices, list) else []
    is_beta = any(isinstance(device, dict) and "basic" in device for device in devices)
    return "v1beta1" if kind.name == "ResourceSlice" and is_beta else kind.versions[0]


# A dump that is as large as a file may be has fewer.
MAX_ITEMS = 1_000_000


class Member(NamedTuple):
    """One object of a document; `path` is "" or `items[3]`. The rest is what `decode` takes."""

    path: str
    tree: object
    api_version: str = ""
    kind: str = ""


def members(tree: object) -> tuple[tuple[Member, ...], tuple[Fault, ...]]:
    """Return the objects of a document: itself, or the items of List and of every <Kind>List.

    Items of a typed list need not say what they are.
    """
    if not isinstance(tree, dict) or not _is_list(tree):
        return (Member("", tree),), ()
    items, kind, api_version = tree.get("items"), tree["kind"], tree.get("apiVersion")
    if items is None:
        return (), ()
    if not isinstance(items, list):
        message = f"expected a list, found {shown(items)}"
        return (), (Fault(FaultKind.TYPE, "items", message, items, subject=kind),)
    if len(items) > MAX_ITEMS:
        message = f"a list of {len(items)} objects; at most {MAX_ITEMS} are read"
        remedy = "split it into several files"
        return (), (Fault(FaultKind.TYPE, "items", message, remedy=remedy, subject=kind),)
    inherited = kind.removesuffix("List")
    of_all = api_version if inherited and isinstance(api_version, str) else ""
    found: list[Member] = []
    faults: list[Fault] = []
    for at, item in enumerate(items):
        path = paths.entry("items", at)
        if isinstance(item, dict) and _is_list(item):
            inner, more = members(item)
            found += [part._replace(path=paths.joined(path, part.path)) for part in inner]
            faults += [replace(fault, path=paths.joined(path, fault.path)) for fault in more]
        else:
            found.append(Member(path, item, of_all, inherited))
    return tuple(found), tuple(faults)


def _is_list(tree: dict[str, Any]) -> bool:
    kind = tree.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and "spec" not in tree
