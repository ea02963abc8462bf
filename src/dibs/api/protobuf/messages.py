"""Message classes of protobuf, made from the schema when the first such body comes.

The field numbers stand in the tables of `api.schema` with everything else of a field, so there is
no second description to keep in step (no .proto files, no generated code). Parsing is the
library's: bounded in depth, and what it doesn't know it skips.
"""

from __future__ import annotations

from functools import cache

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from dibs.api.schema import reading
from dibs.api.schema.shapes import ListOf, MapOf, Record, Scalar, Shape

_File = descriptor_pb2.FileDescriptorProto
_Message = descriptor_pb2.DescriptorProto
_Field = descriptor_pb2.FieldDescriptorProto

_PACKAGE = "dibs"
_TYPES = {
    "string": _Field.TYPE_STRING,
    "bool": _Field.TYPE_BOOL,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "double": _Field.TYPE_DOUBLE,
    "bytes": _Field.TYPE_BYTES,
}
# What is a scalar in JSON and a message here.
_MESSAGES: dict[str, tuple[tuple[int, str, int], ...]] = {
    "Quantity": ((1, "string", _Field.TYPE_STRING),),
    "Time": ((1, "seconds", _Field.TYPE_INT64), (2, "nanos", _Field.TYPE_INT32)),
    "MicroTime": ((1, "seconds", _Field.TYPE_INT64), (2, "nanos", _Field.TYPE_INT32)),
    "IntOrString": (
        (1, "type", _Field.TYPE_INT64),
        (2, "intVal", _Field.TYPE_INT32),
        (3, "strVal", _Field.TYPE_STRING),
    ),
    "Raw": ((1, "raw", _Field.TYPE_BYTES),),
    "FieldsV1": ((1, "raw", _Field.TYPE_BYTES),),
    "TypeMeta": ((1, "apiVersion", _Field.TYPE_STRING), (2, "kind", _Field.TYPE_STRING)),
}
_BOX = "Strings"
_ENVELOPE = "Unknown"


def envelope() -> Message:
    """Return an empty `runtime.Unknown`: typeMeta, raw, contentEncoding, contentType."""
    return _class(_ENVELOPE)()


def empty(record: Record) -> Message:
    return _class(_called(record))()


@cache
def _class(name: str) -> type[Message]:
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    file = _File(name="dibs.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field, type_ in fields:
            message.field.add(name=field, number=number, type=type_, label=_Field.LABEL_OPTIONAL)
    box = file.message_type.add(name=_BOX)
    box.field.add(name="items", number=1, type=_Field.TYPE_STRING, label=_Field.LABEL_REPEATED)
    _add_envelope(file)
    known: set[str] = set()
    for record in reading.kinds().values():
        _add(file, record, known)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add_envelope(file: _File) -> None:
    message = file.message_type.add(name=_ENVELOPE)
    message.field.add(
        name="typeMeta", number=1, type=_Field.TYPE_MESSAGE, label=_Field.LABEL_OPTIONAL,
        type_name=f".{_PACKAGE}.TypeMeta",
    )  # fmt: skip
    for number, name, type_ in (
        (2, "raw", _Field.TYPE_BYTES),
        (3, "contentEncoding", _Field.TYPE_STRING),
        (4, "contentType", _Field.TYPE_STRING),
    ):
        message.field.add(name=name, number=number, type=type_, label=_Field.LABEL_OPTIONAL)


def _called(record: Record) -> str:
    return record.name.replace(".", "_")


def _add(file: _File, record: Record, known: set[str]) -> None:
    name = _called(record)
    if name in known:
        return
    known.add(name)
    message = file.message_type.add(name=name)
    for part in record.parts:
        if part.number is None:
            continue
        field = message.field.add(name=f"f{part.number}", number=part.number)
        field.label = _Field.LABEL_OPTIONAL
        shape: Shape = part.shape
        match shape:
            case ListOf(item) if not shape.is_boxed:
                field.label = _Field.LABEL_REPEATED
                _type(file, field, item, known)
            case MapOf(item):
                field.label = _Field.LABEL_REPEATED
                field.type = _Field.TYPE_MESSAGE
                field.type_name = f".{_PACKAGE}.{name}.{_entry(message, part.number)}"
                _type(file, message.nested_type[-1].field[1], item, known)
            case _:
                _type(file, field, shape, known)


def _entry(message: _Message, number: int) -> str:
    """Protobuf's form of a map: a list of messages of key and value."""
    entry = message.nested_type.add(name=f"F{number}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL)
    return entry.name


def _type(file: _File, field: _Field, shape: Shape, known: set[str]) -> None:
    match shape:
        case Scalar(name) if name in _TYPES:
            field.type = _TYPES[name]
            return
        case Scalar(name):
            target = name
        case Record():
            _add(file, shape, known)
            target = _called(shape)
        case ListOf():
            assert shape.is_boxed
            target = _BOX
        case _:
            raise AssertionError(shape)
    field.type = _Field.TYPE_MESSAGE
    field.type_name = f".{_PACKAGE}.{target}"
