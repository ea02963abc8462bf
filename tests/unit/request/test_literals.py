"""Constants that can't be read are named, with what to write instead."""

from __future__ import annotations

import pytest

from dibs.cel.parse import parse
from dibs.request import literals, selectors
from dibs.supply.pools import Supply
from dibs.testing import builders
from dibs.values.mistake import Mistake


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        ('quantity("40GB")', "write 40G (40×1000^3) or 40Gi (40×1024^3)"),
        ('quantity("40 GiB")', "write 40Gi"),
        ('quantity("8kb")', "write 8k (8×1000^1) or 8Ki (8×1024^1)"),
        ('quantity("lots")', "write a number with a unit of Kubernetes, as in 40Gi"),
        ('semver("12")', "write 12.0.0"),
        ('semver("v1.02")', "write 1.2.0"),
        ('semver("new")', "write major.minor.patch, as in 12.4.0"),
    ],
)
def test_named_with_a_remedy_that_can_be_read(call: str, remedy: str) -> None:
    text = f"1 == 1 && {call} == {call}"
    first, second = literals.unreadable(parse(text))
    assert (first.call, first.remedy) == (call, remedy)
    assert text[first.at] == text[second.at] == '"'


def test_what_can_be_read_is_left_alone() -> None:
    text = 'quantity("40Gi") == quantity(x) && semver("1.0.0") == semver("v1", true)'
    assert not list(literals.unreadable(parse(text)))


def test_the_error_of_a_selector_names_its_literal() -> None:
    selector = selectors.Selector.compile('quantity("40GB") == quantity("40G")')
    supply = Supply.of([builders.resource_slice(builders.device("a"), node="n")])
    (pool,) = supply.pools(builders.node("n"))
    with pytest.raises(Mistake) as caught:
        selector.matches(pool.candidates[0])
    assert caught.value.message.endswith(
        'quantity("40GB") can\'t be read; write 40G (40×1000^3) or 40Gi (40×1024^3)'
    )
