"""Sets of fields: the laws of their arithmetic, and FieldsV1 as others write it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.api.patches import fieldsets
from dibs.api.patches.fieldsets import MEMBER, SELF, Fields

_ELEMENTS = st.sampled_from(["f:a", "f:b", 'k:{"name":"a"}', 'v:"x"', "i:1"])


def _pruned(fields: Fields) -> Fields:
    """Without branches that hold no member."""
    result: Fields = {}
    for name, below in fields.items():
        if name == SELF:
            result[SELF] = {}
        elif kept := _pruned(below):
            result[name] = kept
    return result


_SETS = st.recursive(
    st.just(MEMBER),
    lambda inner: st.dictionaries(_ELEMENTS, inner, min_size=1, max_size=3).flatmap(
        lambda below: st.sampled_from([below, {SELF: {}, **below}])
    ),
    max_leaves=8,
).filter(lambda fields: SELF not in fields) | st.just({})


def _members(fields: Fields) -> set[fieldsets.Path]:
    return set(fieldsets.paths(fields))


@pytest.mark.slow
@given(_SETS, _SETS)
def test_arithmetic_is_that_of_sets_of_paths(one: Fields, other: Fields) -> None:
    ones, others = _members(one), _members(other)
    assert _members(fieldsets.union(one, other)) == ones | others
    assert _members(fieldsets.intersection(one, other)) == ones & others
    assert _members(fieldsets.difference(one, other)) == ones - others


@pytest.mark.slow
@given(_SETS, _SETS)
def test_results_have_no_empty_branches(one: Fields, other: Fields) -> None:
    for result in (
        fieldsets.union(one, other),
        fieldsets.intersection(one, other),
        fieldsets.difference(one, other),
    ):
        assert _pruned(result) == result


@pytest.mark.slow
@given(_SETS)
def test_writing_and_reading_is_the_same_set(fields: Fields) -> None:
    assert fieldsets.decode(fieldsets.encode(fields)) == fields


@pytest.mark.slow
@given(_SETS)
def test_membership(fields: Fields) -> None:
    for path in _members(fields):
        assert fieldsets.has(fields, path)
        assert not fieldsets.has(fields, (*path, "f:nothing"))


def test_keys_may_be_written_in_any_order_and_with_blanks() -> None:
    theirs = {"f:x": {'k:{ "protocol": "TCP", "containerPort": 80}': {".": {}, "f:name": {}}}}
    assert fieldsets.encode(fieldsets.decode(theirs)) == {
        "f:x": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:name": {}}}
    }


def test_elements_of_the_future_are_dropped() -> None:
    assert fieldsets.decode({"q:new": {}, "f:a": {}}) == {"f:a": MEMBER}


@pytest.mark.parametrize(
    "tree", [[], {"a": {}}, {"k:5": {}}, {"k:{": {}}, {"v:{": {}}, {"i:x": {}}, {"f:a": 1}]
)
def test_what_is_no_set_is_told(tree: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        fieldsets.decode(tree)


def test_depth_is_bounded() -> None:
    tree: dict[str, Any] = {}
    for _ in range(5000):
        tree = {"f:a": tree}
    with pytest.raises(ValueError, match="not a set"):
        fieldsets.decode(tree)


def test_paths_read_as_kubectl_prints_them() -> None:
    path = ("f:spec", "f:containers", 'k:{"containerPort":80,"protocol":"TCP"}', "f:image")
    assert fieldsets.shown(path) == '.spec.containers[containerPort=80,protocol="TCP"].image'
    assert (
        fieldsets.shown(("f:metadata", "f:finalizers", 'v:"a/b"')) == '.metadata.finalizers[="a/b"]'
    )
