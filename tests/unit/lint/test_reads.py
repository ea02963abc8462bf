"""What an expression reads, and what it compares that with."""

from __future__ import annotations

import pytest

from dibs.cel import parse
from dibs.lint import reads

D = 'device.attributes["d.example.com"]'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{D}.a", [("attributes", "d.example.com", "a", False, None)]),
        (f'{D}["a"]', [("attributes", "d.example.com", "a", False, None)]),
        ("device.capacity.d.a", [("capacity", "d", "a", False, None)]),
        (f"has({D}.a)", [("attributes", "d.example.com", "a", True, None)]),
        (f'"a" in {D}', [("attributes", "d.example.com", "a", True, None)]),
        (f"{D}.?a.orValue(1) == 1", [("attributes", "d.example.com", "a", True, None)]),
        (f'{D}[?"a"].orValue(1) == 1', [("attributes", "d.example.com", "a", True, None)]),
        (f'{D}.a == "x"', [("attributes", "d.example.com", "a", False, ("==", "x"))]),
        (f"5 < {D}.a", [("attributes", "d.example.com", "a", False, (">", 5))]),
        (f"{D}.a == {D}.b", [("attributes", "d.example.com", n, False, None) for n in "ab"]),
        (f'{D} == "x"', [("attributes", "d.example.com", "", False, ("==", "x"))]),
        ('device.driver == "x"', []),
        (f"{D}.a.exists(x, x == 1)", [("attributes", "d.example.com", "a", False, None)]),
    ],
)
def test_reads(text: str, expected: list[object]) -> None:
    found = reads.reads(parse.parse(text))
    assert [
        (
            read.shelf,
            read.domain,
            read.name,
            read.is_test,
            read.comparison and (read.comparison.operator, read.comparison.value),
        )
        for read in found
    ] == expected
