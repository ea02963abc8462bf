"""Which type may stand where another is wanted, and what its parameters then are.

`dyn` and `any` go with everything. A `Bindings` maps type parameters to types; every question
either extends it or leaves it as it was. Source: the CEL specification, "gradual type checking".
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence

from dibs.cel import types
from dibs.cel.types import Type

Bindings = Mapping[Type, Type]

ERROR = Type("!error!")

_PRIMITIVE = frozenset(
    (types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES, Type("type"))
)
_NOT_NULLABLE = frozenset(("list", "map", "type"))
_OPEN = frozenset(("dyn", "any", ERROR.name))


def is_dynamic(each: Type) -> bool:
    """True for `dyn` and `any`, whose values may be of any type."""
    return each.name == "dyn" or each.name == "any"


def is_open(each: Type) -> bool:
    return each.name in _OPEN


def assignable(
    bindings: Bindings, given: Iterable[Type], wanted: Sequence[Type]
) -> Bindings | None:
    """Say whether `given` fit `wanted` pairwise; the bindings under which they do, or None."""
    given = tuple(given)
    is_plain = True
    for one, other in zip(given, wanted, strict=True):
        # Most overloads are ruled out here, by the name of one plain type.
        if one.params or other.params or one.is_parameter or other.is_parameter:
            is_plain = False
        elif one.name != other.name and not go_together(one, other):
            return None
    if is_plain:
        return bindings
    found = dict(bindings)
    return found if _all_fit(found, given, wanted) else None


def _all_fit(bindings: dict[Type, Type], given: Sequence[Type], wanted: Sequence[Type]) -> bool:
    if len(given) != len(wanted):
        return False
    return all(_fits(bindings, one, other) for one, other in zip(given, wanted, strict=True))


def _fits(bindings: dict[Type, Type], given: Type, wanted: Type) -> bool:
    if wanted.is_parameter:
        valid, is_bound = _substitutes(bindings, given, wanted)
        if valid or is_bound:
            return valid
    if given.is_parameter:
        return _substitutes(bindings, wanted, given)[0]
    if given.name != wanted.name:
        return go_together(given, wanted)
    # A type is a type: what it is the type of plays no part.
    return given.name == "type" or _all_fit(bindings, given.params, wanted.params)


def go_together(given: Type, wanted: Type) -> bool:
    """Whether two types of different names may stand for each other."""
    if is_open(given) or is_open(wanted):
        return True
    if given.name == "null":
        return _is_nullable(wanted)
    return wanted.name == "null" and _is_nullable(given)


def _is_nullable(each: Type) -> bool:
    return each not in _PRIMITIVE and each.name not in _NOT_NULLABLE


def _substitutes(bindings: dict[Type, Type], given: Type, parameter: Type) -> tuple[bool, bool]:
    """(may `given` stand for `parameter`, was the parameter bound before)."""
    if given == parameter:
        return True, True
    bound = bindings.get(parameter)
    if bound is None:
        if _occurs(bindings, parameter, given):
            return False, False
        bindings[parameter] = given
        return True, False
    if given == bound:
        return True, True
    if not _fits(bindings, given, bound):
        return False, True
    wider = most_general(given, bound)
    if not _occurs(bindings, parameter, wider):
        bindings[parameter] = wider
    return True, True


def _occurs(bindings: Bindings, parameter: Type, within: Type) -> bool:
    if parameter == within:
        return True
    if within.is_parameter:
        bound = bindings.get(within)
        return bound is not None and _occurs(bindings, parameter, bound)
    return any(_occurs(bindings, parameter, each) for each in within.params)


def most_general(one: Type, other: Type) -> Type:
    """The wider of two types that go together."""
    return one if _is_no_narrower(one, other) else other


def _is_no_narrower(one: Type, other: Type) -> bool:
    if is_dynamic(one) or one.is_parameter:
        return True
    if is_dynamic(other) or other.is_parameter or one.name != other.name:
        return False
    if one.name == "type":
        return True
    if len(one.params) != len(other.params):
        return False
    return all(_is_no_narrower(*pair) for pair in zip(one.params, other.params, strict=True))


def substitute(bindings: Bindings, each: Type, *, closed: bool = False) -> Type:
    """Replace bound parameters; with `closed`, those not bound become `dyn`."""
    if each.is_parameter:
        bound = bindings.get(each)
        if bound is not None:
            return substitute(bindings, bound, closed=closed)
        return types.DYN if closed else each
    if not each.params:
        return each
    params = tuple(substitute(bindings, param, closed=closed) for param in each.params)
    return each if all(map(operator.is_, params, each.params)) else Type(each.name, params)


def close(bindings: Bindings, found: Mapping[int, Type]) -> dict[int, Type]:
    """All types with no parameter left in them; what many share is closed once."""
    done: dict[int, Type] = {}

    def closed(each: Type) -> Type:
        if not each.params and not each.is_parameter:
            return each
        known = done.get(id(each))
        if known is None:
            if each.is_parameter:
                bound = bindings.get(each)
                known = types.DYN if bound is None else closed(bound)
            else:
                known = Type(each.name, tuple(map(closed, each.params)))
            done[id(each)] = known
        return known

    return {number: closed(each) for number, each in found.items()}
