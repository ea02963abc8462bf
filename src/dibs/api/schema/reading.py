"""Tables → records. One table a group-version; a table may be `like` another but for some types.

    model io.k8s.api.core.v1          what OpenAPI puts before its types
    serves v1                         the group-version of its kinds
    kind Pod -- words                 a type that is served; others: `type X [atomic|list]`
      2 containers []Container required map(name) patch(merge:name) -- words

A field has its protobuf number (`-` none), name (`~` embedded), type (`[]` list, `{}` map, `?`
pointer; `core.` and `meta.` name the table) and marks. A broken table is a bug.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources

from dibs.api.schema.shapes import Field, Kinds, ListOf, MapOf, Record, Scalar, Shape

_SCALARS = frozenset(
    ("string", "bool", "int32", "int64", "double", "bytes", "Quantity", "Time", "MicroTime",
     "IntOrString", "Raw", "FieldsV1")
)  # fmt: skip
_ELSEWHERE = {"core": "core_v1", "meta": "meta_v1"}


def record_of(group_version: str, kind: str) -> Record | None:
    """Return the record of a kind ("resource.k8s.io/v1", "ResourceClaim"), or None."""
    return kinds().get((group_version, kind))


def type_of(table: str, name: str) -> Record:
    """Return a type that is no kind: ("meta_v1", "ListMeta")."""
    return _tables()[table].records[name]


@cache
def kinds() -> Kinds:
    """Return every kind of every table by group-version and name.

    Those of meta/v1 (DeleteOptions, Status) stand under "v1", as kubectl names them.
    """
    return {
        (record.group_version, record.kind): record
        for table in _tables().values()
        for record in table.records.values()
        if record.group_version is not None
    }


# --- the lines -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Type:
    """As written: the marks of a type and the lines of its fields."""

    is_kind: bool
    marks: tuple[str, ...]
    doc: str
    lines: tuple[str, ...]


@dataclass(slots=True)
class _Table:
    model: str
    serves: str
    types: dict[str, _Type]
    records: dict[str, Record] = field(default_factory=dict)


@cache
def _tables() -> dict[str, _Table]:
    folder = resources.files("dibs.api.schema") / "tables"
    texts = {
        entry.name.removesuffix(".txt"): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".txt")
    }
    tables: dict[str, _Table] = {}
    for name in sorted(texts, key=lambda name: ("\nlike " in texts[name], name)):
        tables[name] = _read(texts[name], tables)
    for table in tables.values():
        _declare(table)
    for table in tables.values():
        for name, record in table.records.items():
            _fill(record, table.types[name], table, tables)
    for table in tables.values():
        for record in table.records.values():
            _flatten(record)
    return tables


def _read(text: str, tables: dict[str, _Table]) -> _Table:
    table = _Table("", "v1", {})
    like: _Table | None = None
    written: dict[str, list[str]] = {}
    heads: dict[str, tuple[str, list[str], str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("  "):
            written[name].append(line.strip())
            continue
        head, _, doc = line.partition(" -- ")
        words = head.split()
        match words:
            case ["model", model]:
                table.model = model
            case ["serves", group_version]:
                table.serves = group_version
            case ["like", other]:
                like = tables[other]
            case ["kind" | "type", name, *marks]:
                written[name] = []
                heads[name] = (words[0], marks, doc)
            case []:
                pass
            case _:
                raise AssertionError(line)
    if like:
        table.types = {
            name: replace(inherited, is_kind=False) for name, inherited in like.types.items()
        }
    for name, (what, marks, doc) in heads.items():
        old = table.types.get(name)
        table.types[name] = _Type(
            what == "kind",
            tuple(marks),
            doc or (old.doc if old else ""),
            _with_words(written[name], old) if written[name] or not old else old.lines,
        )
    return table


def _with_words(lines: list[str], old: _Type | None) -> tuple[str, ...]:
    """What a `like` table doesn't explain anew means what it meant in the other."""
    words = {line.split()[1]: line.partition(" -- ")[2] for line in old.lines} if old else {}
    return tuple(
        line if " -- " in line or not words.get(line.split()[1])
        else f"{line} -- {words[line.split()[1]]}"
        for line in lines
    )  # fmt: skip


# --- the records ---------------------------------------------------------------------------------


def _declare(table: _Table) -> None:
    for name, written in table.types.items():
        table.records[name] = Record(
            f"{table.model}.{name}",
            written.doc,
            "atomic" in written.marks,
            table.serves if written.is_kind else None,
            name if written.is_kind else "",
        )


def _fill(record: Record, written: _Type, table: _Table, tables: dict[str, _Table]) -> None:
    for line in written.lines:
        head, _, doc = line.partition(" -- ")
        number, name, type_, *marks = head.split()
        record.parts.append(_field(name, number, type_, _marks(marks), doc, table, tables))


def _marks(marks: list[str]) -> dict[str, str]:
    """`map(a,b)` and `default="x"` by their names; a bare mark is ""."""
    parsed = (re.fullmatch(r"(\w+)(?:\((.*)\)|=(.*))?", mark) for mark in marks)
    return {mark[1]: mark[2] or mark[3] or "" for mark in parsed if mark}


def _field(
    name: str, number: str, type_: str, marks: dict[str, str], doc: str,
    table: _Table, tables: dict[str, _Table],
) -> Field:  # fmt: skip
    shape = _shape(type_.removesuffix("?"), table, tables)
    match shape:
        case ListOf() if "map" in marks:
            shape = replace(shape, kind="map", keys=tuple(marks["map"].split(",")))
        case ListOf() if "set" in marks:
            shape = replace(shape, kind="set")
        case MapOf() if "atomic" in marks:
            shape = replace(shape, is_atomic=True)
    strategies, _, merge_key = marks.get("patch", "").partition(":")
    return Field(
        "" if name == "~" else name,
        None if number == "-" else int(number),
        shape,
        is_pointer=type_.endswith("?"),
        is_required="required" in marks,
        is_atomic="atomic" in marks,
        is_always="always" in marks or "required" in marks,
        default=json.loads(marks["default"]) if "default" in marks else None,
        enum=tuple(marks["enum"].split("|")) if "enum" in marks else (),
        strategies=tuple(strategies.split(",")) if strategies else (),
        merge_key=merge_key,
        doc=doc,
    )


def _shape(type_: str, table: _Table, tables: dict[str, _Table]) -> Shape:
    if type_.startswith("[]"):
        return ListOf(_shape(type_[2:], table, tables))
    if type_.startswith("{}"):
        return MapOf(_shape(type_[2:], table, tables))
    if type_ in _SCALARS:
        return Scalar(type_)
    where, _, name = type_.rpartition(".")
    home = tables[_ELSEWHERE[where]] if where else table
    if "list" in home.types[name].marks:
        return ListOf(Scalar("string"), is_boxed=True)
    return home.records[name]


def _flatten(record: Record) -> None:
    """Show the fields of embedded structs as JSON does: beside the others."""
    for part in record.parts:
        if part.name:
            record.fields[part.name] = part
        else:
            assert isinstance(part.shape, Record)
            if not part.shape.fields:
                _flatten(part.shape)
            record.fields.update(part.shape.fields)
