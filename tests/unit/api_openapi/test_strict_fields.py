"""Unknown and repeated fields, in the words of the API server."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.api.openapi import strict
from dibs.api.patches.refused import Refused
from dibs.api.schema import reading
from dibs.api.schema.shapes import Record


def _record(version: str, kind: str) -> Record:
    record = reading.record_of(version, kind)
    assert record is not None
    return record


CASES: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("v1", "Pod", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, []),
    ("v1", "Pod", {"spec": {"containers": [{"name": "a", "imagge": "b"}]}},
     ['unknown field "spec.containers[0].imagge"']),
    ("v1", "Pod", {"metadata": {"labels": {"anything": "goes"}}}, []),
    ("v1", "Pod", {"metadata": {"nmae": "a"}, "sepc": {}},
     ['unknown field "metadata.nmae"', 'unknown field "sepc"']),
    ("v1", "Pod", {"spec": {"apiVersion": "v1"}}, ['unknown field "spec.apiVersion"']),
    ("resource.k8s.io/v1", "ResourceClaim",
     {"spec": {"devices": {"requests": [{"name": "a", "deviceClassName": "b"}]}}},
     ['unknown field "spec.devices.requests[0].deviceClassName"']),
    ("resource.k8s.io/v1beta1", "ResourceClaim",
     {"spec": {"devices": {"requests": [{"name": "a", "deviceClassName": "b"}]}}}, []),
    ("resource.k8s.io/v1", "DeviceClass",
     {"spec": {"config": [{"opaque": {"driver": "d", "parameters": {"what": {"ever": 1}}}}]}}, []),
    ("resource.k8s.io/v1", "ResourceSlice",
     {"spec": {"devices": [{"name": "a", "attributes": {"b": {"text": "c"}}}]}},
     ['unknown field "spec.devices[0].attributes.b.text"']),
    # Of the wrong type: somebody else's fault to tell.
    ("v1", "Pod", {"spec": [1], "metadata": "x"}, []),
]  # fmt: skip


@pytest.mark.parametrize(("version", "kind", "tree", "told"), CASES)
def test_unknown_fields(version: str, kind: str, tree: dict[str, Any], told: list[str]) -> None:
    assert strict.unknown_fields(tree, _record(version, kind)) == told


def test_not_more_are_told_than_anybody_reads() -> None:
    tree = {f"x{number}": 1 for number in range(1000)}
    assert len(strict.unknown_fields(tree, _record("v1", "Pod"))) == strict.MAX_TOLD


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1, "a": 2}', ['duplicate field "a"']),
        ('{"spec": {"x": [{"y": 1, "y": 1}]}}', ['duplicate field "spec.x[0].y"']),
        ('{"a": {"b": 1}, "c": {"b": 1}}', []),
        ('{"a\\u0022": 1}', []),
    ],
)
def test_repeated_fields(text: str, told: list[str]) -> None:
    tree, duplicates = strict.parse_json(text.encode())
    assert duplicates == told
    assert tree == json.loads(text)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b'{"a": \xff}', b"[" * 5000 + b"]" * 5000, b"nan", b'"\\ud800"']
)
def test_what_is_no_json_is_refused(content: bytes) -> None:
    with pytest.raises(Refused) as refused:
        strict.parse_json(content)
    assert refused.value.code == 400


@given(st.binary(max_size=60))
def test_no_bytes_make_it_fall(content: bytes) -> None:
    with contextlib.suppress(Refused):
        strict.parse_json(content)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_JSON)
def test_any_tree_can_be_walked(tree: Any) -> None:
    strict.unknown_fields({"spec": tree, "metadata": tree}, _record("v1", "Pod"))
