"""Bodies in Kubernetes' protobuf → the tree that the same object has in JSON.

kubectl sends some requests so and doesn't try JSON after a 415. A body is four magic bytes and a
`runtime.Unknown`, which names the kind and holds the object. A zero in a field that is no pointer
and no struct is absence, as it is when Go writes JSON.
Source: k8s.io/apimachinery, runtime.Unknown; the field numbers of k8s.io/api.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec
from google.protobuf.message import DecodeError, Message

from dibs.api.patches.refused import Refused, bad_request
from dibs.api.protobuf import messages
from dibs.api.schema import reading
from dibs.api.schema.shapes import Field, ListOf, MapOf, Record, Scalar, Shape

Tree = dict[str, Any]

MAGIC = b"k8s\x00"
CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
# Two bytes can make one value: a body that is nothing else would fill the memory.
MAX_VALUES = 300_000

_META = "io.k8s.apimachinery."
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decode(body: bytes, api_version: str = "", kind: str = "") -> Tree:
    """Return the object in `body`, with `apiVersion` and `kind`.

    The two arguments say what it is when the body doesn't. Raises Refused (400).
    """
    if not body.startswith(MAGIC):
        raise _malformed("it doesn't begin with the four bytes k8s\\0")
    envelope: Any = _parsed(messages.envelope(), body[len(MAGIC) :])
    api_version = _text(envelope.typeMeta.apiVersion) or api_version
    kind = _text(envelope.typeMeta.kind) or kind
    encoding, content_type = _text(envelope.contentEncoding), _text(envelope.contentType)
    if encoding or content_type not in ("", CONTENT_TYPE):
        raise _malformed(f"its content is {content_type or 'protobuf'} {encoding}".rstrip())
    record = reading.record_of(api_version, kind) or _of_meta(kind)
    if record is None:
        raise bad_request(f'no kind "{kind}" is registered for version "{api_version}"')
    tree = _Reader().record(_parsed(messages.empty(record), envelope.raw), record)
    return {"apiVersion": api_version, "kind": kind, **tree}


def _of_meta(kind: str) -> Record | None:
    """client-go names DeleteOptions and its kin in the group-version of what it deletes."""
    record = reading.record_of("v1", kind)
    return record if record and record.name.startswith(_META) else None


def _parsed(message: Message, data: bytes) -> Message:
    try:
        message.ParseFromString(data)
    except DecodeError as fault:
        raise _malformed(str(fault)) from None
    return message


def _text(value: str | bytes) -> str:
    """The library leaves a text that is not UTF-8 as bytes."""
    if isinstance(value, bytes):
        raise _malformed(f"the text {value[:40]!r} is not UTF-8")
    return value


def _malformed(why: str) -> Refused:
    return bad_request(f"the body is no Kubernetes protobuf: {why}")


@cache
def _by_number(record: Record) -> Mapping[int, Field]:
    return {part.number: part for part in record.parts if part.number is not None}


class _Reader:
    """Turns messages into trees and counts what it makes."""

    def __init__(self) -> None:
        self.values = 0

    def record(self, message: Message, record: Record) -> Tree:
        tree: Tree = {}
        parts = _by_number(record)
        for descriptor, value in message.ListFields():
            part = parts[descriptor.number]
            if not part.name:
                assert isinstance(part.shape, Record)
                tree |= self.record(value, part.shape)
                continue
            made = self.value(value, part.shape)
            is_zero = not part.is_pointer and not isinstance(part.shape, Record) and _is_zero(made)
            if made is not None and not is_zero:
                tree[part.name] = made
        return tree

    def value(self, value: Any, shape: Shape) -> Any:
        """None is absence: a time that is none."""
        self.values += 1
        if self.values > MAX_VALUES:
            raise bad_request(f"the body has more than {MAX_VALUES} values")
        match shape:
            case Record():
                return self.record(value, shape)
            case ListOf(item):
                items = value.items if shape.is_boxed else value
                return [self.value(each, item) for each in items]
            case MapOf(item):
                return {_text(key): self.value(value[key], item) for key in value}
            case Scalar(name):
                return _scalar(value, name)


def _is_zero(value: Any) -> bool:
    return value in ("", 0, [], {}) or value is False


def _scalar(value: Any, name: str) -> Any:
    match name:
        case "string":
            return _text(value)
        case "bytes":
            return base64.b64encode(value).decode()
        case "Quantity":
            return _text(value.string)
        case "Time":
            return _time(value, with_micros=False)
        case "MicroTime":
            return _time(value, with_micros=True)
        case "IntOrString":
            return _text(value.strVal) if value.type else value.intVal
        case "Raw" | "FieldsV1":
            return _json(value.raw)
        case _:
            return value


def _time(value: Any, *, with_micros: bool) -> str | None:
    if not value.seconds and not value.nanos:
        return None
    try:
        moment = _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    except OverflowError:
        raise _malformed(f"{value.seconds} seconds since 1970 is no time") from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if with_micros else "%Y-%m-%dT%H:%M:%SZ")


def _json(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _malformed("an embedded object is no JSON") from None
