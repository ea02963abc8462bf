"""Records of the schema → component schemas of OpenAPI 3.0, with all they refer to.

What `kubectl explain` shows, what client generators read, what other tools merge by. Names, list
types and merge keys are those of Kubernetes, so that tools made for it find what they look for.
Source: OpenAPI 3.0; the x-kubernetes extensions of kube-openapi.
"""

from __future__ import annotations

from typing import Any

from dibs.api.schema import reading
from dibs.api.schema.shapes import Field, ListOf, MapOf, Record, Scalar, Shape

Tree = dict[str, Any]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
STATUS = f"{_META}.Status"
PATCH = f"{_META}.Patch"
JSON_PATCH = f"{_META}.JSONPatch"

_API_VERSION = "The group and version that the object is written in."
_KIND = "What the object is, in CamelCase."

# Scalars that have a name of their own.
_NAMED: dict[str, tuple[str, Tree]] = {
    "Quantity": (
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        {
            "description": "An amount: a number with one of the suffixes n u m k M G T P E "
            "(powers of 1000) or Ki Mi Gi Ti Pi Ei (powers of 1024), or an exponent. "
            "1500m is 1.5, 40Gi is 40 × 1024³.",
            "oneOf": [{"type": "string"}, {"type": "number"}],
        },
    ),
    "Time": (
        f"{_META}.Time",
        {
            "description": "A moment in whole seconds, as RFC 3339 has it.",
            "type": "string",
            "format": "date-time",
        },
    ),
    "MicroTime": (
        f"{_META}.MicroTime",
        {
            "description": "A moment in microseconds, as RFC 3339 has it.",
            "type": "string",
            "format": "date-time",
        },
    ),
    "IntOrString": (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {
            "description": "A number, or a name that stands for one.",
            "format": "int-or-string",
            "oneOf": [{"type": "integer"}, {"type": "string"}],
        },
    ),
    "Raw": (
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        {
            "description": "A JSON object that the API keeps and does not look into.",
            "type": "object",
        },
    ),
    "FieldsV1": (
        f"{_META}.FieldsV1",
        {
            "description": "A set of fields as a tree: f:<name> is a field, k:<keys> an item of "
            "a list by its keys, v:<value> a value of a set; an empty leaf is a member.",
            "type": "object",
        },
    ),
}
_PLAIN: dict[str, Tree] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}
_PATCHES: dict[str, Tree] = {
    PATCH: {
        "description": "What is to change: a part of the object.",
        "type": "object",
    },
    JSON_PATCH: {
        "description": "Operations of RFC 6902, in order.",
        "type": "array",
        "items": {"type": "object"},
    },
}


def reference(name: str) -> Tree:
    return {"$ref": f"#/components/schemas/{name}"}


class Components:
    """The schemas that one document needs; asking for one adds it and what is in it."""

    def __init__(self) -> None:
        self._schemas: dict[str, Tree] = {}

    def sorted(self) -> dict[str, Tree]:
        return dict(sorted(self._schemas.items()))

    def of_record(self, record: Record) -> Tree:
        if record.name not in self._schemas:
            # A place first: types may hold themselves.
            self._schemas[record.name] = {}
            self._schemas[record.name] = self._object(record)
        return reference(record.name)

    def of_list(self, record: Record) -> Tree:
        """The list that `record`'s kind is listed in."""
        name = f"{record.name}List"
        if name not in self._schemas:
            assert record.group_version is not None
            metadata = self.of_record(reading.type_of("meta_v1", "ListMeta"))
            self._schemas[name] = {
                "description": f"Several objects of kind {record.kind}.",
                "type": "object",
                "required": ["items"],
                "properties": {
                    "apiVersion": {"type": "string", "description": _API_VERSION},
                    "items": {"type": "array", "items": self.of_record(record)},
                    "kind": {"type": "string", "description": _KIND},
                    "metadata": metadata,
                },
                "x-kubernetes-group-version-kind": [
                    _kind(record.group_version, f"{record.kind}List")
                ],
            }
        return reference(name)

    def of_status(self) -> Tree:
        found = reading.record_of("v1", "Status")
        assert found
        return self.of_record(found)

    def of_patch(self, name: str) -> Tree:
        self._schemas[name] = _PATCHES[name]
        return reference(name)

    def _object(self, record: Record) -> Tree:
        schema: Tree = {"type": "object"}
        if record.doc:
            schema["description"] = record.doc
        properties = {name: self._property(field) for name, field in record.fields.items()}
        if record.kind:
            properties["apiVersion"] = {"type": "string", "description": _API_VERSION}
            properties["kind"] = {"type": "string", "description": _KIND}
        if properties:
            schema["properties"] = dict(sorted(properties.items()))
        if required := sorted(name for name, each in record.fields.items() if each.is_required):
            schema["required"] = required
        if record.is_atomic:
            schema["x-kubernetes-map-type"] = "atomic"
        if record.group_version is not None:
            schema["x-kubernetes-group-version-kind"] = [_kind(record.group_version, record.kind)]
        return schema

    def _property(self, field: Field) -> Tree:
        schema = self._shape(field.shape)
        if "$ref" in schema:
            # Beside $ref nothing counts.
            schema = {"allOf": [schema]}
        if field.doc:
            schema["description"] = field.doc
        if field.enum:
            target = schema["items"] if schema.get("type") == "array" else schema
            target["enum"] = list(field.enum)
        if field.default is not None:
            schema["default"] = field.default
        elif isinstance(field.shape, Record) and not field.is_pointer:
            schema["default"] = {}
        if field.is_always and isinstance(field.shape, ListOf | MapOf):
            schema["nullable"] = True
        if field.is_atomic:
            schema["x-kubernetes-map-type"] = "atomic"
        if field.strategies:
            schema["x-kubernetes-patch-strategy"] = ",".join(field.strategies)
        if field.merge_key:
            schema["x-kubernetes-patch-merge-key"] = field.merge_key
        return schema

    def _shape(self, shape: Shape) -> Tree:
        match shape:
            case Record():
                return self.of_record(shape)
            case ListOf():
                schema: Tree = {
                    "type": "array",
                    "items": self._shape(shape.item),
                    "x-kubernetes-list-type": shape.kind,
                }
                if shape.keys:
                    schema["x-kubernetes-list-map-keys"] = list(shape.keys)
                return schema
            case MapOf():
                schema = {"type": "object", "additionalProperties": self._shape(shape.item)}
                return schema | ({"x-kubernetes-map-type": "atomic"} if shape.is_atomic else {})
            case Scalar(name) if name in _NAMED:
                full, described = _NAMED[name]
                self._schemas[full] = described
                return reference(full)
            case Scalar(name):
                return dict(_PLAIN[name])


def _kind(group_version: str, kind: str) -> Tree:
    group, _, version = group_version.rpartition("/")
    return {"group": group, "kind": kind, "version": version}
