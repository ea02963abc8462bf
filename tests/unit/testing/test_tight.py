"""Tight questions: the same for the same seed, valid, half of them possible, with all features."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from dibs.model.rules import check
from dibs.testing import engine, oracle, tight
from dibs.testing.question import Question, tree
from dibs.testing.tight import MEDIUM, SMALL, Size

FEATURES = (
    "allNodes",
    "perDeviceNodeSelection",
    "nodeSelector",
    "bindingConditions",
    "consumesCounters",
    "compatibilityGroups",
    "valueFrom",
    "allowMultipleAllocations",
    "validValues",
    "validRange",
    "consumedCapacity",
    "taints",
    "tolerations",
    "firstAvailable",
    "adminAccess",
    "matchAttribute",
    "distinctAttribute",
    "derivedAttributes",
    "ints",
    '"All"',
)


def questions(count: int, size: Size = SMALL) -> list[Question]:
    return [tight.question(seed, size) for seed in range(count)]


def test_the_same_seed_gives_the_same_question() -> None:
    assert tight.question(3) == tight.question(3)
    assert tight.question(3) != tight.question(4)
    assert tight.question(3).slices != tight.question(3, MEDIUM).slices


@pytest.mark.parametrize("size", [SMALL, MEDIUM], ids=["small", "medium"])
def test_the_api_server_would_take_it(size: Size) -> None:
    for question in questions(40, size):
        objects = (*question.slices, *question.classes, *question.claims, *question.allocated)
        assert not [fault for each in objects for fault in check.validate(each)]


@pytest.mark.slow
def test_about_half_can_be_satisfied() -> None:
    outcomes = Counter(engine.answer(each).outcome for each in questions(300))
    assert 0.35 <= outcomes["allocated"] / 300 <= 0.6
    assert outcomes["refused"] >= 100


@pytest.mark.slow
def test_few_are_decided_at_a_glance() -> None:
    """The shortest way to a yes is some ten steps; many need a few times as many, yes or no."""
    outcomes = Counter(oracle.answer(each, steps=25).outcome for each in questions(150))
    assert outcomes["timeout"] >= 30


@pytest.mark.slow
def test_every_feature_is_in_many() -> None:
    texts = [json.dumps(tree(each)) for each in questions(300)]
    found = {feature: sum(feature in text for text in texts) for feature in FEATURES}
    assert not {feature: count for feature, count in found.items() if count < 10}
