"""Trees to typed objects, with every fault at once, and objects to trees of any served version.

Whatever version was read, the object is v1; faults are told in the paths of the version that was
written. Rules of the API (limits, required fields) are `rules`', not asked here, and defaults are
`defaults`'. A good tree takes the quick way through msgspec; any other is read again with care.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from dibs.model import codec_kind, codec_read, codec_write, kinds, versions
from dibs.model.codec_shapes import folding, record
from dibs.model.faults import Fault
from dibs.model.kinds import Kind, Known
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity


@dataclass(frozen=True, slots=True)
class Decoded:
    """`object` is None when the kind is not ours (`is_foreign`) or nothing could be made of it.

    Faulty fields are left out of `object`, which is usable for all else. `api_version` and `kind`
    are as written.
    """

    object: Known | None
    faults: tuple[Fault, ...] = ()
    api_version: str = ""
    kind: str = ""
    is_foreign: bool = False


def decode(tree: object, *, api_version: str = "", kind: str = "") -> Decoded:
    """Read one object; the keywords are what a typed list says of its items. Raises nothing."""
    named = codec_kind.identify(tree, api_version, kind)
    if named.kind is None or not isinstance(tree, dict):
        faults = tuple(replace(fault, subject=_subject(named.name, tree)) for fault in named.faults)
        return Decoded(None, faults, named.api_version, named.name, named.is_foreign)
    body = {key: value for key, value in tree.items() if key not in ("apiVersion", "kind")}
    item, found = _read(named.kind, named.version, body)
    faults = named.faults + found
    if faults:
        subject = _subject(named.name, tree)
        faults = tuple(replace(fault, subject=subject) for fault in faults)
    return Decoded(None if named.faults else item, faults, named.api_version, named.name)


def _read(kind: Kind, version: str, body: dict[str, object]) -> tuple[Known, tuple[Fault, ...]]:
    try:
        return _quick(kind, version, body), ()
    # A lone half of a surrogate pair in a text is no UTF-8 for msgspec.
    except (msgspec.ValidationError, UnicodeEncodeError, versions.OtherShape):
        pass
    reader = codec_read.Reader(version)
    clean = reader.read(record(kind.struct, version), body, "")
    assert isinstance(clean, dict)
    tree = versions.up(kind.name, version, clean)
    return msgspec.convert(tree, kind.struct, dec_hook=_amount), tuple(reader.faults)


def _quick(kind: Kind, version: str, body: dict[str, object]) -> Known:
    tree: object = versions.up(kind.name, version, body)
    if fold := folding(record(kind.struct)):
        tree = fold(tree)
    return msgspec.convert(tree, kind.struct, dec_hook=_amount)


def _amount(type_: type, value: object) -> Quantity:
    assert type_ is Quantity
    return codec_read.amount(value)


def _subject(kind: str, tree: object) -> str:
    """`ResourceClaim default/train`, as far as the tree says so."""
    metadata = tree.get("metadata") if isinstance(tree, dict) else None
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or metadata.get("generateName") or ""
    namespace = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{kind} {namespace}{name}".strip()


def encode(item: Known, version: str = "") -> dict[str, object]:
    """Return the tree of `item` in a version of its kind ("" the newest), as the API writes it.

    Raises Mistake when the kind has no such version.
    """
    kind = kinds.of(item)
    version = version or kind.versions[0]
    if version not in kind.versions:
        raise Mistake(
            f"{kind.name} has no version {version}",
            value=version,
            remedy=f"choose one of {', '.join(kind.versions)}",
        )
    tree = codec_write.tree_of(record(kind.struct), item)
    head = {"apiVersion": kind.api_version(version), "kind": kind.name}
    return {**head, **versions.down(kind.name, version, tree)}
