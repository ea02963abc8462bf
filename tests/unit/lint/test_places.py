"""The place in the file that a caret inside an expression means, for each way to write a text."""

from __future__ import annotations

import io

import pytest

from dibs.client import dump
from dibs.lint import check, places

HEAD = (
    "kind: DeviceClass\napiVersion: resource.k8s.io/v1\nmetadata: {name: c}\nspec:\n  selectors:\n"
)

# `?` is where the finding must point: the operator that has no overload.
PLAIN = "  - cel:\n      expression: device.driver ?== 1\n"
SINGLE = "  - cel:\n      expression: 'device.driver ?== 1'\n"
DOUBLE = '  - cel:\n      expression: "device.driver ?== 1"\n'
FLOW = '  - {cel: {expression: "device.driver ?== 1"}}\n'
LITERAL = "  - cel:\n      expression: |\n        true &&\n          device.driver ?== 1\n"
LITERAL_STRIPPED = "  - cel:\n      expression: |-\n        device.driver ?== 1\n"
FOLDED = "  - cel:\n      expression: >-\n        device.driver ?== 1\n"
BELOW = "  - cel:\n      expression:\n        device.driver ?== 1\n"
SECOND = "  - cel: {expression: 'true'}\n  - cel:\n      expression: device.driver ?== 1\n"
# Where the value and the file differ in letters, the value's beginning is named.
ESCAPED = '  - cel:\n      expression: ?"device.driver == \\u0031"\n'
FOLDED_LINES = "  - cel:\n      expression: ?>-\n        true &&\n        device.driver == 1\n"


@pytest.mark.parametrize(
    "written",
    [
        PLAIN,
        SINGLE,
        DOUBLE,
        FLOW,
        LITERAL,
        LITERAL_STRIPPED,
        FOLDED,
        BELOW,
        SECOND,
        ESCAPED,
        FOLDED_LINES,
    ],
)
@pytest.mark.parametrize("before", ["", "kind: Node\napiVersion: v1\nmetadata: {name: one}\n---\n"])
def test_place(before: str, written: str) -> None:
    text = before + HEAD + written
    upto = text[: text.index("?")]
    meant = upto.count("\n") + 1, len(upto) - upto.rfind("\n")
    loaded = dump.load(["-"], stdin=io.BytesIO(text.replace("?", "").encode()))
    (found,) = check.check(loaded)
    assert (found.line, found.column) == meant
    line, caret = found.excerpt
    assert line[caret.index("^") :].startswith("== ")


@pytest.mark.parametrize("length", [1, 60, 120, 121, 5000])
@pytest.mark.parametrize("where", [0.0, 0.01, 0.5, 0.99])
def test_long_lines_are_cut_around_the_spot(length: int, where: float) -> None:
    offset = int(length * where)
    text = "a" * offset + "!" + "a" * (length - offset)
    line, caret = places.excerpt("true &&\n" + text, offset + len("true &&\n"))
    assert line[len(caret) - 1] == "!"
    assert len(line) <= places.WIDTH + len("……")
    assert (line == text) == (len(text) <= places.WIDTH)
