"""Selectors from a seed: a small grammar of the selector language, by the types of its parts.

Each rule is a type, a template and the types of what goes into its braces; `$` is a name that the
template binds for its last part. Now and then a part of another type is put in, so that what
doesn't compile is asked too. A `Part` keeps its shape, so that it can be made smaller.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ATTRIBUTES = 'device.attributes["gpu.example.com"]'
CAPACITY = 'device.capacity["gpu.example.com"]'

# One in so many parts is of another type than it should be.
WRONG = 60

# (template, types of its parts, type of the name that it binds, or "").
Rule = tuple[str, tuple[str, ...], str]


def _rules(*rules: str) -> tuple[Rule, ...]:
    """Read "{bool} && {bool}", and "{strings}.all($, {bool}) | string" that binds a string."""
    found = []
    for written in rules:
        text, _, bound = written.partition(" | ")
        pieces = text.replace("}", "{").split("{")
        found.append(("{}".join(pieces[::2]), tuple(pieces[1::2]), bound.strip()))
    return tuple(found)


LEAVES: Mapping[str, tuple[str, ...]] = {
    "bool": (
        *("true", "false", f"{ATTRIBUTES}.ecc", f"has({ATTRIBUTES}.model)"),
        *(f'"memory" in {CAPACITY}', "device.allowMultipleAllocations", f"has({ATTRIBUTES}.none)"),
    ),
    "int": (
        "0",
        "1",
        "7",
        f"{ATTRIBUTES}.index",
        "(-3)",
        "9223372036854775807",
        f"{ATTRIBUTES}.none",
    ),
    "string": (
        *('"a"', f"{ATTRIBUTES}.model", '"A100"', "device.driver", '"a,b,c"', '""'),
        *('"1.2.3"', '"40Gi"', '"ü→"', 'device.attributes["other.example.com"].model'),
    ),
    "strings": ('["a", "b"]', "[]", '["A100", "H100", "a"]', f"{ATTRIBUTES}.names"),
    "ints": ("[1, 2, 3]", "[7]", f"{ATTRIBUTES}.links", "lists.range(4)"),
    "quantity": (
        *('quantity("40Gi")', 'quantity("1500m")', 'quantity("0")', f"{CAPACITY}.memory"),
        *(f"{CAPACITY}.cores", f"{CAPACITY}.none"),
    ),
    "semver": ('semver("1.2.3")', 'semver("2.0.0-rc.1")', f"{ATTRIBUTES}.version"),
    "optional": (
        *(f"{ATTRIBUTES}.?model", f"{ATTRIBUTES}.?none", f"{ATTRIBUTES}[?{ATTRIBUTES}.model]"),
        *('optional.of("a")', "optional.none()"),
    ),
    "pattern": ('"^a"', '"[AH]100"', '"^$"', '"(a|b)+"'),
}

RULES: Mapping[str, tuple[Rule, ...]] = {
    "bool": _rules(
        *("({bool} && {bool})", "({bool} || {bool})", "!({bool})", "({bool} ? {bool} : {bool})"),
        *("{string} == {string}", "{string} != {string}", "{int} == {int}", "{int} < {int}"),
        *("{int} >= {int}", "{string} < {string}", "{quantity} == {quantity}", "{ints} == {ints}"),
        *("{string} in {strings}", "{int} in {ints}", "{string}.startsWith({string})"),
        *("{string}.endsWith({string})", "{string}.contains({string})"),
        *("{string}.matches({pattern})", "{quantity}.compareTo({quantity}) >= 0"),
        *("{quantity}.isGreaterThan({quantity})", "{quantity}.isLessThan({quantity})"),
        *("{semver}.isLessThan({semver})", "{semver}.compareTo({semver}) == 0"),
        *("isQuantity({string})", "isSemver({string})", "{optional}.hasValue()"),
        *("{strings}.all($, {bool}) | string", "{strings}.exists($, {bool}) | string"),
        *("{ints}.exists_one($, {bool}) | int", "{ints}.all($, {bool}) | int"),
        *("sets.contains({strings}, {strings})", "sets.intersects({ints}, {ints})"),
        *("sets.equivalent({strings}, {strings})", "cel.bind($, {string}, {bool}) | string"),
        *("{ints}.isSorted()", f"{ATTRIBUTES}.names.includes({{string}})"),
        *(f"{ATTRIBUTES}.model.includes({{string}})", f"{ATTRIBUTES}.links.includes({{int}})"),
        "{quantity}.isInteger()",
    ),
    "int": _rules(
        *(
            "({int} + {int})",
            "({int} - {int})",
            "({int} * {int})",
            "({int} / {int})",
            "({int} % {int})",
        ),
        *("-({int})", "size({string})", "{strings}.size()", "{string}.indexOf({string})"),
        *("{quantity}.asInteger()", "{quantity}.sign()", "{semver}.major()", "{ints}.sum()"),
        *("{ints}.max()", "{ints}[{int}]", "({bool} ? {int} : {int})", "int({string})"),
        "{strings}.indexOf({string})",
    ),
    "string": _rules(
        *("({string} + {string})", "{string}.lowerAscii()", "{string}.upperAscii()"),
        *("{string}.replace({string}, {string})", "{string}.substring({int})", "{string}.trim()"),
        *("string({int})", "{strings}.join({string})", "({bool} ? {string} : {string})"),
        *("{optional}.orValue({string})", "{strings}[{int}]", "{string}.charAt({int})"),
        "{string}.find({pattern})",
    ),
    "strings": _rules(
        *("[{string}, {string}]", "{string}.split({string})", "({strings} + {strings})"),
        *("{strings}.filter($, {bool}) | string", "{strings}.map($, {string}) | string"),
        *("{strings}.distinct()", "{strings}.sort()", "{strings}.slice(0, {int})"),
        *("{string}.findAll({pattern})", "{ints}.map($, {string}) | int"),
    ),
    "ints": _rules(
        *("[{int}, {int}]", "({ints} + {ints})", "{ints}.filter($, {bool}) | int"),
        *("{ints}.map($, {int}) | int", "{ints}.distinct()", "{strings}.map($, {int}) | string"),
        *("{ints}.reverse()", "{ints}.map($, {bool}, {int}) | int"),
    ),
    "quantity": _rules(
        *("{quantity}.add({quantity})", "{quantity}.sub({quantity})", "{quantity}.add({int})"),
        *("quantity({string})", "({bool} ? {quantity} : {quantity})"),
    ),
    "semver": _rules("semver({string})", "({bool} ? {semver} : {semver})"),
    "optional": _rules(
        "optional.of({string})",
        "{optional}.or({optional})",
        "{optional}.optMap($, {string}) | string",
    ),
    "pattern": (),
}


@dataclass(frozen=True, slots=True)
class Part:
    """An expression of one type: a template and what stands in its braces."""

    type: str
    template: str
    parts: tuple[Part, ...] = ()

    def __str__(self) -> str:
        return self.template.format(*self.parts) if self.parts else self.template

    def smaller(self) -> Iterator[Part]:
        """The same with one thing less: a part in place of the whole, or a leaf."""
        yield from (part for part in self.parts if part.type == self.type)
        if self.parts:
            yield from (Part(self.type, leaf) for leaf in LEAVES[self.type][:2])
        for number, part in enumerate(self.parts):
            for less in part.smaller():
                others = (*self.parts[:number], less, *self.parts[number + 1 :])
                yield Part(self.type, self.template, others)


def expression(seed: int) -> Part:
    """The boolean expression of this seed."""
    chance = random.Random(f"expression {seed}")
    return _part(chance, "bool", chance.choice((1, 2, 2, 3, 3, 4)), {})


def device(seed: int) -> dict[str, Any]:
    """A device of the conformance protocol: one in eight lacks each attribute."""
    chance = random.Random(f"device {seed}")
    attributes = {
        "model": {"string": chance.choice(("A100", "a", ""))},
        "index": {"int": chance.choice((0, 1, 7))},
        "ecc": {"bool": chance.random() < 0.5},
        "version": {"version": chance.choice(("1.2.3", "2.0.0-rc.1"))},
        "names": {"strings": chance.choice((["a"], ["b", "A100"], ["a", "b", "c"]))},
        "links": {"ints": chance.choice(([1], [3, 1, 2], [7, 7]))},
    }
    kept = {name: value for name, value in attributes.items() if chance.random() > 0.12}
    capacity = {"memory": {"value": chance.choice(("40Gi", "80Gi", "1500m"))}}
    if chance.random() < 0.5:
        capacity["cores"] = {"value": "4"}
    return {
        "driver": "gpu.example.com",
        "allowMultipleAllocations": chance.random() < 0.3,
        "attributes": kept,
        "capacity": capacity,
    }


def _part(
    chance: random.Random, type_: str, depth: int, names: Mapping[str, Sequence[str]]
) -> Part:
    if chance.randrange(WRONG) == 0:
        return Part(type_, str(_part(chance, chance.choice(sorted(LEAVES)), 0, names)))
    rules = RULES[type_]
    if depth == 0 or not rules or chance.random() < 0.15:
        bound = names.get(type_, ())
        # What was bound is used, or else it needn't have been.
        if bound and chance.random() < 0.5:
            return Part(type_, chance.choice(bound))
        return Part(type_, _leaf(chance, LEAVES[type_]))
    template, types, binds = chance.choice(rules)
    name = f"x{depth}"
    inside = {**names, binds: (*names.get(binds, ()), name)} if binds else names
    parts = tuple(
        # The list that a macro goes over doesn't see its name.
        _part(chance, each, depth - 1, inside if number or "cel.bind" in template else names)
        for number, each in enumerate(types)
    )
    return Part(type_, template.replace("$", name), parts)


def _leaf(chance: random.Random, leaves: Sequence[str]) -> str:
    """The first ones are likelier: the last ones mostly fail."""
    return leaves[min(chance.randrange(len(leaves)), chance.randrange(len(leaves)))]
