"""Answers as bytes: an object, a list, a Table, metadata alone, a Status; JSON or YAML; gzip.

Lists are joined from stored bytes; only Tables and metadata look into objects.
"""

from __future__ import annotations

import asyncio
import zlib
from dataclasses import dataclass, field, replace

import msgspec
import yaml

from dibs.api import failures, holders, storage, tables
from dibs.api.calls import Call, Tree, Written
from dibs.api.cells import Moment
from dibs.api.failures import Failure
from dibs.api.plane import Plane
from dibs.api.reads import Listed
from dibs.api.server.negotiation import JSON, PLAIN, Accepted
from dibs.api.tables import Include
from dibs.store.records import Entry

# What is smaller is sent as it is; what is larger is compressed beside the loop.
_WORTH_ZIPPING, _WORTH_A_THREAD = 128 * 1024, 512 * 1024
_GZIP = 31
_MOST_WARNINGS = 20
SERVER = ("Server", "dibs")

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    body: bytes
    type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """How the client wants to see objects."""

    accepted: Accepted = PLAIN
    include: Include = "Metadata"


def of_tree(tree: Tree, code: int = 200, wish: Wish = Wish()) -> Answer:
    return _finished(_encode(tree), code, wish)


def of_failure(failure: Failure) -> Answer:
    headers = {}
    if failure.details and failure.details.retry_after_s:
        headers["Retry-After"] = str(failure.details.retry_after_s)
    if failure.code == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="dibs"'
    return Answer(failure.code, _encode(failures.status(failure)), JSON, headers)


def of_entry(plane: Plane, call: Call, entry: Entry, wish: Wish) -> Answer:
    if wish.accepted.form == "object":
        return _finished(storage.served(call.resource, call.version, entry), 200, wish)
    return of_tree(shown(plane, call, [plane.reader.tree(entry)], wish, {}), 200, wish)


def of_written(plane: Plane, call: Call, written: Written, wish: Wish) -> Answer:
    code = 201 if written.created else 200
    if wish.accepted.form == "partial":
        answer = of_tree(tables.partial(written.tree), code, wish)
    else:
        answer = of_tree(written.tree, code, wish)
    return replace(answer, warnings=written.warnings)


def of_list(plane: Plane, call: Call, listed: Listed, wish: Wish) -> Answer:
    if wish.accepted.form == "object":
        resource, version = call.resource, call.version
        items = (storage.served(resource, version, entry) for entry in listed.entries)
        return _finished(storage.list_bytes(resource, version, items, listed.metadata), 200, wish)
    trees = [plane.reader.tree(entry) for entry in listed.entries]
    if wish.accepted.form == "partial":
        tree: Tree = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": tables.API_VERSION,
            "metadata": listed.metadata,
            "items": [tables.partial(each) for each in trees],
        }
        return of_tree(tree, 200, wish)
    return of_tree(shown(plane, call, trees, wish, listed.metadata), 200, wish)


def shown(
    plane: Plane,
    call: Call,
    trees: list[Tree],
    wish: Wish,
    metadata: dict[str, object],
    *,
    with_columns: bool = True,
) -> Tree:
    """Return stored trees as a Table, or the metadata of the one there is."""
    if wish.accepted.form == "partial":
        [tree] = trees
        return tables.partial(tree)
    if not metadata and trees:
        metadata = {"resourceVersion": trees[0]["metadata"]["resourceVersion"]}
    moment = Moment(plane.world.now(), holders.of(plane.store))
    return tables.table(call, trees, moment, wish.include, metadata, with_columns=with_columns)


def _finished(body: bytes, code: int, wish: Wish) -> Answer:
    if wish.accepted.is_yaml:
        text = yaml.dump(msgspec.json.decode(body), Dumper=yaml.CSafeDumper, allow_unicode=True)
        body = text.encode()
    return Answer(code, body, wish.accepted.type if wish.accepted.form != "discovery" else JSON)


def headers(answer: Answer) -> list[tuple[str, str]]:
    """Return the headers but for those of length and encoding."""
    found = [("Content-Type", answer.type), ("Cache-Control", "no-cache, private"), SERVER]
    found += answer.headers.items()
    for text in answer.warnings[:_MOST_WARNINGS]:
        found.append(("Warning", f'299 - "{_quoted(text)}"'))
    return found


def _quoted(text: str) -> str:
    plain = "".join(each if each.isprintable() else " " for each in text[:500])
    ascii_only = plain.encode("ascii", "backslashreplace").decode()
    return ascii_only.replace("\\", "\\\\").replace('"', '\\"')


async def zipped(body: bytes, accepts: str) -> bytes | None:
    """Return the body compressed, None when it isn't worth it or not wanted."""
    if len(body) < _WORTH_ZIPPING or "gzip" not in accepts:
        return None
    if len(body) < _WORTH_A_THREAD:
        return _zip(body)
    return await asyncio.get_running_loop().run_in_executor(None, _zip, body)


def _zip(body: bytes) -> bytes:
    # Level 1: on JSON it saves nearly as much as 6 in a quarter of the time.
    packer = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
    return packer.compress(body) + packer.flush()
