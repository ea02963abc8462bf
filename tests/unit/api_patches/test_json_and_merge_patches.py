"""RFC 7386 and RFC 6902, by the examples of the RFCs and at the edges."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.api.patches import plain, steps
from dibs.api.patches.refused import Refused

# RFC 7386, appendix A, as far as both sides are objects.
MERGES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("tree", "patch", "then"), MERGES)
def test_merge(tree: dict[str, Any], patch: dict[str, Any], then: dict[str, Any]) -> None:
    before = json.dumps(tree)
    assert plain.merge(tree, patch) == then
    assert json.dumps(tree) == before


@pytest.mark.parametrize("patch", [[], "x", None, 1])
def test_a_merge_patch_is_a_mapping(patch: object) -> None:
    with pytest.raises(Refused) as refused:
        plain.merge({}, patch)
    assert refused.value.code == 400


STEPS: list[tuple[dict[str, Any], list[Any], dict[str, Any]]] = [
    ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "q"}], {"foo": "bar", "baz": "q"}),
    ({"foo": ["a", "c"]}, [{"op": "add", "path": "/foo/1", "value": "b"}],
     {"foo": ["a", "b", "c"]}),
    ({"foo": ["a"]}, [{"op": "add", "path": "/foo/-", "value": "b"}], {"foo": ["a", "b"]}),
    ({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
    ({"a": 1}, [{"op": "replace", "path": "/a", "value": None}], {"a": None}),
    ({"a": {"x": 1}, "b": {}}, [{"op": "move", "from": "/a/x", "path": "/b/y"}],
     {"a": {}, "b": {"y": 1}}),
    ({"a": {"x": 1}}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": {"x": 1}, "b": {"x": 1}}),
    ({"a/b": 1, "m~n": 2}, [{"op": "test", "path": "/a~1b", "value": 1},
                            {"op": "remove", "path": "/m~0n"}], {"a/b": 1}),
    ({"a": 1}, [{"op": "test", "path": "/a", "value": 1.0}], {"a": 1}),
    # As upstream: null is what a missing field is.
    ({"a": 1}, [{"op": "test", "path": "/b", "value": None}], {"a": 1}),
    ({"a": 1}, [], {"a": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("tree", "operations", "then"), STEPS)
def test_json_patch(tree: dict[str, Any], operations: list[Any], then: dict[str, Any]) -> None:
    before = json.dumps([tree, operations])
    assert steps.json_patch(tree, operations) == then
    assert json.dumps([tree, operations]) == before


REFUSED: list[tuple[Any, int, str]] = [
    ({}, 400, "must be a list"),
    (["x"], 400, "operation 0 of the JSON patch is no mapping"),
    ([{"op": "explode", "path": "/a"}], 400, "operation 0"),
    ([{"path": "/a"}], 400, "operation 0"),
    ([{"op": "add", "path": "/a"}], 400, "value"),
    ([{"op": "add", "path": 5, "value": 1}], 400, "path"),
    ([{"op": "move", "path": "/a"}], 400, "from"),
    ([{"op": "add", "path": "a", "value": 1}], 422, "start with /"),
    ([{"op": "test", "path": "/a", "value": 2}], 422, "testing path /a failed"),
    # true is not 1.
    ([{"op": "test", "path": "/a", "value": True}], 422, "testing path /a failed"),
    ([{"op": "test", "path": "/none", "value": 1}], 422, "testing path /none failed"),
    ([{"op": "test", "path": "/a", "value": None}], 422, "testing path /a failed"),
    ([{"op": "test", "path": "/none/x", "value": None}], 422, "testing path /none/x failed"),
    ([{"op": "copy", "from": "/none", "path": "/b"}], 422, "nothing is at /none"),
    ([{"op": "copy", "from": "none", "path": "/b"}], 422, "start with /"),
    ([{"op": "remove", "path": "/none"}], 422, "does not apply"),
    ([{"op": "remove", "path": "/list/5"}], 422, "does not apply"),
    ([{"op": "add", "path": "/none/x", "value": 1}], 422, "does not apply"),
    ([{"op": "move", "from": "/list", "path": "/list/0"}], 422, "own children"),
    ([{"op": "replace", "path": "", "value": 5}], 422, "leaves no object"),
    ([{"op": "test", "path": "/a", "value": 1}] * 10_001, 413, "maximum operations"),
]


@pytest.mark.parametrize(("operations", "code", "told"), REFUSED, ids=range(len(REFUSED)))
def test_a_patch_that_is_refused(operations: Any, code: int, told: str) -> None:
    with pytest.raises(Refused) as refused:
        steps.json_patch({"a": 1, "list": [1]}, operations)
    assert refused.value.code == code
    assert told in refused.value.message


def test_copies_of_copies_are_stopped() -> None:
    """Each step doubles the object: 30 of them would be a terabyte."""
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/{number}"} for number in range(30)]
    with pytest.raises(Refused, match="copies of the JSON patch exceed"):
        steps.json_patch({"a": {"text": "x" * 1000}}, doubling)


def test_an_object_built_too_deep_is_refused() -> None:
    wrap = [
        {"op": "add", "path": "/b", "value": {}},
        {"op": "move", "from": "/a", "path": "/b/x"},
        {"op": "move", "from": "/b", "path": "/a"},
    ]
    with pytest.raises(Refused, match="deep"):
        steps.json_patch({"a": 1}, wrap * 1000)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)
_OBJECT = st.dictionaries(st.sampled_from("ab"), _JSON)
_PATH = st.lists(st.sampled_from(["a", "b", "0", "-", "01", "~"]), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)


@pytest.mark.slow
@given(
    _OBJECT,
    st.lists(
        st.fixed_dictionaries(
            {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])},
            optional={"path": _PATH, "from": _PATH, "value": _JSON},
        )
        | _JSON,
        max_size=3,
    ),
)
def test_no_operations_make_it_fall(tree: dict[str, Any], operations: list[Any]) -> None:
    before = json.dumps(tree)
    with contextlib.suppress(Refused):
        steps.json_patch(tree, operations)
    assert json.dumps(tree) == before


@pytest.mark.slow
@given(_OBJECT, _OBJECT)
def test_a_merge_is_done_once(tree: dict[str, Any], patch: dict[str, Any]) -> None:
    once = plain.merge(tree, patch)
    assert plain.merge(once, patch) == once
