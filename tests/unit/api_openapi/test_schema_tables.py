"""The tables of the schema against the structs of the model, and against themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dibs.api import kinds as served
from dibs.api.schema import reading
from dibs.api.schema.shapes import Field, ListOf, MapOf, Record, Scalar, Shape
from dibs.model import codec_shapes, kinds

_SCALARS = {
    codec_shapes.Text: {"string", "Time", "MicroTime", "bytes", "IntOrString"},
    codec_shapes.Truth: {"bool"},
    codec_shapes.Amount: {"Quantity"},
}
_BITS = {32: "int32", 64: "int64"}


def _differences(model: codec_shapes.Shape, table: Shape, path: str) -> Iterator[str]:
    """What the model names and the table has otherwise; both ways where the model is complete."""
    match model, table:
        case codec_shapes.Anything(), _:
            return
        case codec_shapes.Record(), Record():
            for name, field in model.fields.items():
                if name in table.fields:
                    yield from _differences(field.shape, table.fields[name].shape, f"{path}.{name}")
                else:
                    yield f"{path}.{name} is not in the tables"
            if not model.is_open:
                yield from (f"{path}.{name} is not in the model"
                            for name in table.fields if name not in model.fields)  # fmt: skip
        case codec_shapes.ListOf(item), ListOf():
            yield from _differences(item, table.item, f"{path}[]")
        case codec_shapes.MapOf(item), MapOf():
            yield from _differences(item, table.item, f"{path}{{}}")
        case codec_shapes.Whole(bits), Scalar(name) if name == _BITS[bits]:
            return
        case _, Scalar(name) if name in _SCALARS.get(type(model), ()):
            return
        case _:
            yield f"{path}: {model} is not {table}"


@pytest.mark.parametrize(
    ("kind", "version"),
    [(kind, version) for kind in kinds.KINDS for version in kind.versions],
    ids=lambda value: getattr(value, "name", value),
)
def test_tables_agree_with_the_structs_of_the_model(kind: kinds.Kind, version: str) -> None:
    record = reading.record_of(kind.api_version(version), kind.name)
    assert record is not None
    model = codec_shapes.record(kind.struct, version)
    assert list(_differences(model, record, kind.name)) == []


def test_every_served_resource_and_door_has_a_record() -> None:
    for resource in served.RESOURCES:
        for version in resource.versions:
            assert reading.record_of(resource.api_version(version), resource.kind), resource
        for door in resource.subresources:
            if door.kind:
                version = served.group_version(door.group, door.version or resource.versions[0])
                assert reading.record_of(version, door.kind), door


def _all_records() -> Iterator[Record]:
    seen: set[str] = set()
    left = list(reading.kinds().values())
    while left:
        record = left.pop()
        if record.name in seen:
            continue
        seen.add(record.name)
        yield record
        left += [inner for part in record.parts if (inner := _inner(part.shape))]


def _inner(shape: Shape) -> Record | None:
    match shape:
        case Record():
            return shape
        case ListOf() | MapOf():
            return _inner(shape.item)
        case _:
            return None


def test_field_numbers_and_names_are_unique_and_keys_exist() -> None:
    for record in _all_records():
        numbers = [part.number for part in record.parts if part.number is not None]
        assert len(numbers) == len(set(numbers)), record.name
        names = [part.name for part in record.parts if part.name]
        assert len(names) == len(set(names)), record.name
        for field in record.fields.values():
            _check_keys(record, field)


def _check_keys(record: Record, field: Field) -> None:
    inner = _inner(field.shape)
    if isinstance(field.shape, ListOf):
        assert (field.shape.kind == "map") == bool(field.shape.keys), (record.name, field.name)
        assert set(field.shape.keys) <= set(inner.fields if inner else ()), field.name
    if field.merge_key and inner:
        assert field.merge_key in inner.fields, (record.name, field.name)
        assert "merge" in field.strategies, field.name


def test_every_field_of_resource_k8s_io_is_explained() -> None:
    silent = [
        f"{record.name}.{name}"
        for record in _all_records()
        if ".api.resource." in record.name or ".meta." in record.name
        for name, field in record.fields.items()
        if not field.doc
    ]
    assert silent == []


def test_v1beta1_differs_where_the_api_moved_fields() -> None:
    def requests(version: str) -> dict[str, Field]:
        claim = reading.record_of(f"resource.k8s.io/{version}", "ResourceClaim")
        assert claim is not None
        spec = _inner(claim.fields["spec"].shape)
        devices = _inner(spec.fields["devices"].shape) if spec else None
        request = _inner(devices.fields["requests"].shape) if devices else None
        assert request is not None
        return request.fields

    assert set(requests("v1")) == set(requests("v1beta2")) == {"name", "exactly", "firstAvailable"}
    assert {"deviceClassName", "count", "firstAvailable"} <= set(requests("v1beta1"))
    assert "exactly" not in requests("v1beta1")


def test_list_types_are_those_of_kubernetes() -> None:
    pod = reading.record_of("v1", "Pod")
    assert pod is not None
    spec = _inner(pod.fields["spec"].shape)
    assert spec is not None
    containers = spec.fields["containers"]
    assert isinstance(containers.shape, ListOf)
    assert (containers.shape.kind, containers.shape.keys) == ("map", ("name",))
    inner = _inner(containers.shape)
    assert inner is not None
    ports = inner.fields["ports"]
    assert isinstance(ports.shape, ListOf)
    assert (ports.shape.keys, ports.merge_key) == (("containerPort", "protocol"), "containerPort")
    tolerations = spec.fields["tolerations"].shape
    assert isinstance(tolerations, ListOf)
    assert tolerations.kind == "atomic"
    assert spec.fields["volumes"].strategies == ("merge", "retainKeys")
