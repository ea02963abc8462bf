"""Which type may stand where another is wanted, and what its parameters then are.

`dyn` and `any` go with everything. A `Bindings` maps type parameters to types; every question
either extends it or leaves it as it was. Source: the CEL specification, "gradual type checking".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dibs.cel import types
from dibs.cel.types import Type

Bindings = Mapping[Type, Type]

ERROR = Type("!error!")

_PRIMITIVE = frozenset(
    (types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES, Type("type"))
)
_NOT_NULLABLE = frozenset(("list", "map", "type"))


def is_dynamic(each: Type) -> bool:
    """True for `dyn` and `any`, whose values may be of any type."""
    return each == types.DYN or each == types.ANY


def is_open(each: Type) -> bool:
    return is_dynamic(each) or each == ERROR


def assignable(
    bindings: Bindings, given: Iterable[Type], wanted: Sequence[Type]
) -> Bindings | None:
    """Say whether `given` fit `wanted` pairwise; the bindings under which they do, or None."""
    found = dict(bindings)
    given = tuple(given)
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
    if given == wanted or is_open(given) or is_open(wanted):
        return True
    if given == types.NULL:
        return _is_nullable(wanted)
    if wanted == types.NULL:
        return _is_nullable(given)
    if given.name != wanted.name:
        return False
    # A type is a type: what it is the type of plays no part.
    return given.name == "type" or _all_fit(bindings, given.params, wanted.params)


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
    bound = bindings.get(each)
    if bound is not None:
        return substitute(bindings, bound, closed=closed)
    if each.is_parameter:
        return types.DYN if closed else each
    if not each.params:
        return each
    params = tuple(substitute(bindings, param, closed=closed) for param in each.params)
    return each if params == each.params else Type(each.name, params)
