"""`&&`, `||`, `? :`, `==`, `!=` and `in` over constants: what does not evaluate all its operands,
or is so frequent that it has closures of its own.

Error absorption: `false && error` is false and `error || true` is true, in either order; a value
that is not bool counts as an error. Source: the CEL specification, "logical operators".
"""

from __future__ import annotations

from collections.abc import Sequence

from dibs.cel import prices, runtime
from dibs.cel.code import Code, Evaluate, Run
from dibs.cel.libraries import standard
from dibs.cel.runtime import CostLimitExceeded, EvaluationError, Value


def chain(terms: Sequence[Evaluate], decisive: bool) -> Evaluate:
    """`a && b && …` (`decisive` false) or `a || b || …` (true): the first such value decides."""
    terms = tuple(terms)
    neutral = not decisive

    def run(run: Run) -> Value:
        failed: EvaluationError | None = None
        for term in terms:
            try:
                value = term(run)
            except CostLimitExceeded:
                raise
            except EvaluationError as error:
                failed = failed or error
                continue
            if value is decisive:
                return decisive
            if value is not neutral:
                failed = failed or runtime.no_overload()
        if failed is not None:
            raise failed
        return neutral

    return run


def ternary(condition: Evaluate, truthy: Evaluate, falsy: Evaluate) -> Code:
    """The branch not taken is neither evaluated nor charged."""

    def run(run: Run) -> Value:
        chosen = condition(run)
        if chosen is True:
            return truthy(run)
        if chosen is False:
            return falsy(run)
        raise runtime.no_overload()

    return Code(run, run, is_ternary=True)


def equality(left: Code, right: Code, *, is_equal: bool) -> Evaluate:
    """`left == right`, or `!=`. Both sides are evaluated whatever happens."""
    if right.is_constant and type(right.value) is str:
        return _equals_text(left.run, right.value, is_equal)
    first, second = left.run, right.run
    compare = runtime.equal if is_equal else standard.not_equal
    price = prices.equality if is_equal else prices.difference

    def run(run: Run) -> Value:
        try:
            one = first(run)
        except CostLimitExceeded:
            raise
        except EvaluationError:
            run.charge(price(None, _other(run, second)))
            raise
        try:
            other = second(run)
        except CostLimitExceeded:
            raise
        except EvaluationError:
            run.charge(price(one, None))
            raise
        run.charge(price(one, other))
        return compare(one, other)

    return run


def _other(run: Run, second: Evaluate) -> Value:
    """The right side's charges are due although the left has failed."""
    try:
        return second(run)
    except CostLimitExceeded:
        raise
    except EvaluationError:
        return None


def _equals_text(first: Evaluate, text: str, is_equal: bool) -> Evaluate:
    size = len(text)
    charge = prices.tenth(size)
    compare = runtime.equal if is_equal else standard.not_equal
    price = prices.equality if is_equal else prices.difference

    def run(run: Run) -> Value:
        try:
            value = first(run)
        except EvaluationError:
            run.charge(prices.tenth(min(1, size)))
            raise
        if type(value) is str:
            length = len(value)
            run.charge(charge if length >= size else prices.tenth(length))
            return (value == text) is is_equal
        run.charge(price(value, text))
        return compare(value, text)

    return run


_HASHABLE = frozenset((bool, int, runtime.UInt, float, str))


def can_be_set(items: Value) -> bool:
    """Say whether a constant list is looked up rather than searched."""
    return type(items) is tuple and all(type(item) in _HASHABLE for item in items)


def membership(wanted: Evaluate, items: tuple[Value, ...]) -> Evaluate:
    """`x in [constants]`: one look-up, charged nothing beyond x."""
    members = frozenset(map(runtime.key_of, items))

    def run(run: Run) -> Value:
        value = wanted(run)
        if type(value) not in _HASHABLE:
            return False
        return runtime.key_of(value) in members

    return run
