"""Node selectors, operator by operator."""

from __future__ import annotations

import pytest

from dibs.model.meta import LabelSelectorRequirement as Need
from dibs.model.meta import NodeSelector, NodeSelectorTerm
from dibs.supply import node_selectors
from dibs.testing import builders as b
from dibs.values.mistake import Mistake


def selects(*needs: Need, fields: tuple[Need, ...] = (), **labels: str) -> bool:
    selector = NodeSelector((NodeSelectorTerm(needs, fields),))
    return node_selectors.matches(selector, b.node("node-a", **labels))


@pytest.mark.parametrize(
    ("need", "labels", "expected"),
    [
        (Need("zone", "In", ("a", "b")), {"zone": "b"}, True),
        (Need("zone", "In", ("a", "b")), {"zone": "c"}, False),
        (Need("zone", "In", ("a", "")), {}, False),
        (Need("zone", "NotIn", ("a",)), {"zone": "b"}, True),
        (Need("zone", "NotIn", ("a",)), {"zone": "a"}, False),
        (Need("zone", "NotIn", ("a",)), {}, True),
        (Need("zone", "Exists"), {"zone": ""}, True),
        (Need("zone", "Exists"), {}, False),
        (Need("zone", "DoesNotExist"), {}, True),
        (Need("zone", "DoesNotExist"), {"zone": "a"}, False),
        (Need("gen", "Gt", ("3",)), {"gen": "4"}, True),
        (Need("gen", "Gt", ("4",)), {"gen": "4"}, False),
        (Need("gen", "Gt", ("4",)), {"gen": "many"}, False),
        (Need("gen", "Gt", ("-5",)), {"gen": "-4"}, False),  # "-5" is no label value
        (Need("gen", "Lt", ("4",)), {"gen": "3"}, True),
        (Need("gen", "Lt", ("4",)), {}, False),
    ],
)
def test_operators(need: Need, labels: dict[str, str], expected: bool) -> None:
    if need.values == ("-5",):
        with pytest.raises(Mistake):
            selects(need, **labels)
        return
    assert selects(need, **labels) is expected


def test_terms_are_alternatives_and_needs_all_count() -> None:
    needs = (Need("zone", "In", ("a",)), Need("rack", "Exists"))
    assert selects(*needs, zone="a", rack="1")
    assert not selects(*needs, zone="a")
    either = NodeSelector(tuple(NodeSelectorTerm((need,)) for need in needs))
    assert node_selectors.matches(either, b.node("n", rack="1"))


def test_an_empty_term_matches_nothing() -> None:
    assert not selects()
    assert not node_selectors.matches(NodeSelector(), b.node("n"))


def test_fields_know_the_name_only() -> None:
    assert selects(fields=(Need("metadata.name", "In", ("node-a",)),))
    assert not selects(fields=(Need("metadata.name", "NotIn", ("node-a",)),))
    assert selects(fields=(Need("metadata.uid", "NotIn", ("x",)),))


@pytest.mark.parametrize(
    "need",
    [
        Need("zone", "In"),
        Need("zone", "NotIn"),
        Need("zone", "Exists", ("a",)),
        Need("zone", "DoesNotExist", ("a",)),
        Need("gen", "Gt", ("1", "2")),
        Need("gen", "Lt", ("few",)),
        Need("gen", "Lt", ("99999999999999999999",)),
        Need("gen", "Lt", ("1_0",)),
        Need("zone", "near", ("a",)),
        Need("zo ne", "Exists"),
        Need("zone", "In", ("no label!",)),
    ],
)
def test_what_is_malformed_is_a_mistake_even_beside_a_term_that_matches(need: Need) -> None:
    sound = NodeSelectorTerm((Need("kubernetes.io/hostname", "Exists"),))
    selector = NodeSelector((sound, NodeSelectorTerm((need,))))
    with pytest.raises(Mistake, match="invalid node selector"):
        node_selectors.matches(selector, b.node("n"))


def test_the_node_an_allocation_is_pinned_to() -> None:
    here = NodeSelector((NodeSelectorTerm(match_fields=(Need("metadata.name", "In", ("n",)),)),))
    assert node_selectors.pinned_node(here) == "n"
    assert node_selectors.pinned_node(None) is None
    assert node_selectors.pinned_node(b.nodes_with("zone", "a")) is None


@pytest.mark.parametrize(
    ("needs", "text"),
    [
        ((Need("zone", "In", ("b",)), Need("spot", "DoesNotExist")), "zone=b,!spot"),
        ((Need("zone", "In", ("a", "b")),), "zone in (a, b)"),
        ((Need("zone", "NotIn", ("a",)), Need("gpu", "Exists")), "zone!=a,gpu"),
        (
            (Need("zone", "NotIn", ("a", "b")), Need("size", "Gt", ("3",))),
            "zone notin (a, b),size>3",
        ),
        ((), "no node"),
    ],
)
def test_in_short(needs: tuple[Need, ...], text: str) -> None:
    assert node_selectors.text_of(NodeSelector((NodeSelectorTerm(needs),))) == text
