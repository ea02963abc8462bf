"""Objects and the bytes they are stored as; one object's bytes as a client gets them.

An object is stored as JSON in its stored version, with apiVersion, kind and metadata first and
without its resourceVersion, which is the revision at which it was written. To serve it, the head
is exchanged and the revision put in: no object is decoded for a list.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from dibs.api import convert, kinds
from dibs.api.calls import Tree
from dibs.api.kinds import Resource
from dibs.model import codec
from dibs.model.kinds import Known
from dibs.store.records import Entry, Event, Key

Kept = TypeVar("Kept", Tree, Known)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict).decode


def key_of(resource: Resource, namespace: str, name: str) -> Key:
    return Key(kinds.kept_in(resource).qualified, namespace if resource.namespaced else "", name)


# What one object may take, patches and all. Source: etcd, 1.5 MiB; bodies may have 3 MiB.
MOST_BYTES = 3 * 2**20


def to_bytes(tree: Tree) -> bytes:
    """Return what is stored of a tree in its stored version."""
    metadata = {key: tree["metadata"][key] for key in tree["metadata"] if key != "resourceVersion"}
    head = {"apiVersion": tree["apiVersion"], "kind": tree["kind"], "metadata": metadata}
    return _encode({**head, **{key: tree[key] for key in tree if key not in head}})


class Reader:
    """Entries as trees, and as objects of the model; the latest ones kept decoded.

    Owned by the server; the key is the revision an entry was written at, so nothing in it can be
    out of date; bounded by `size`. Nobody changes a tree that came from here.
    """

    def __init__(self, size: int = 4096) -> None:
        self.size = size
        self._trees: OrderedDict[int, Tree] = OrderedDict()
        self._items: OrderedDict[int, Known] = OrderedDict()

    def tree(self, entry: Entry) -> Tree:
        """Return the stored tree, with its resourceVersion."""
        found = self._trees.get(entry.mod_revision)
        if found is None:
            found = tree_of(entry)
            self._keep(self._trees, entry.mod_revision, found)
        return found

    def item(self, entry: Entry) -> Known:
        """Return the object that the tree of an entry is, of a kind that the model has."""
        found = self._items.get(entry.mod_revision)
        if found is None:
            found = codec.decode(self.tree(entry)).object
            assert found is not None, "what is stored can be read"
            self._keep(self._items, entry.mod_revision, found)
        return found

    def written(self, event: Event, tree: Tree, item: Known | None = None) -> Tree:
        """Return the tree that was written, with its resourceVersion, and keep it: everybody who
        watches will ask for it. `item` is the same, but for what the server adds to metadata.
        """
        metadata = {**tree["metadata"], "resourceVersion": str(event.revision)}
        found = {**tree, "metadata": metadata}
        if event.after is not None:
            self._keep(self._trees, event.revision, found)
            if item is not None:
                self._keep(self._items, event.revision, _completed(item, metadata))
        return found

    def item_of(self, tree: Tree) -> Known:
        """Return the object that a tree is which came from here, or from a write."""
        revision = int(tree["metadata"]["resourceVersion"])
        found = self._items.get(revision) if self._trees.get(revision) is tree else None
        if found is None:
            found = codec.decode(tree).object
            assert found is not None, "what was written can be read"
        return found

    def _keep(self, kept: OrderedDict[int, Kept], revision: int, found: Kept) -> None:
        kept[revision] = found
        if len(kept) > self.size:
            kept.popitem(last=False)


def _completed(item: Known, metadata: Tree) -> Known:
    owners = tuple(metadata.get("managedFields") or ())
    known = msgspec.structs.replace(
        item.metadata, resource_version=metadata["resourceVersion"], managed_fields=owners
    )
    return msgspec.structs.replace(item, metadata=known)


def tree_of(entry: Entry) -> Tree:
    """Return the stored tree with its resourceVersion."""
    tree: Tree = _decode(entry.value)
    tree["metadata"]["resourceVersion"] = str(entry.mod_revision)
    return _up_to_date(entry.key.resource, tree)


def _up_to_date(place: str, tree: Tree) -> Tree:
    """What an earlier dibs stored may be of a version that was the newest then."""
    resource = kinds.kept_at(place)
    found = tree["apiVersion"]
    if resource is None or found == resource.api_version():
        return tree
    return convert.up(resource, found.rpartition("/")[2], tree)


# --- bytes to serve -------------------------------------------------------------------------------


def served(resource: Resource, version: str, entry: Entry) -> bytes:
    """Return the JSON of an object in a version."""
    stored = _head(resource, resource.stored_version)
    if not convert.looks_as_stored(resource, version) or not entry.value.startswith(stored):
        return _encode(convert.down(resource, version, tree_of(entry)))
    number = b'"resourceVersion":"%d",' % entry.mod_revision
    return b"".join((_head(resource, version), number, entry.value[len(stored) :]))


def bookmark(resource: Resource, version: str, revision: int, ends_initial: bool) -> bytes:
    """Return the object of a bookmark: a revision, and whether all that was there has been sent."""
    metadata: Tree = {"resourceVersion": str(revision)}
    if ends_initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    head = {"kind": resource.kind, "apiVersion": resource.api_version(version)}
    return _encode({**head, "metadata": metadata})


_HEADS: dict[tuple[str, str, str], bytes] = {}


def _head(resource: Resource, version: str) -> bytes:
    """`{"apiVersion":"v1","kind":"Pod","metadata":{`, after which something follows: the name."""
    key = (resource.group, resource.kind, version)
    if key not in _HEADS:
        head = {"apiVersion": resource.api_version(version), "kind": resource.kind, "metadata": {}}
        _HEADS[key] = _encode(head)[:-2]
    return _HEADS[key]


def list_bytes(
    resource: Resource,
    version: str,
    items: Iterator[bytes],
    metadata: dict[str, object],
) -> bytes:
    """Return the JSON of a list of objects that are JSON already."""
    head = {
        "kind": f"{resource.kind}List",
        "apiVersion": resource.api_version(version),
        "metadata": metadata,
    }
    return b"".join((_encode(head)[:-1], b',"items":[', b",".join(items), b"]}"))
