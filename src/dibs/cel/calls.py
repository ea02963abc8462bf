"""Calls: operands evaluated and charged as upstream does it, the overload chosen, the call made.

With one or two operands both are evaluated whatever happens, and the call is charged; with more,
or where several overloads fit, the first failing operand ends it, and the call is free unless it
was the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dibs.cel import dispatch, prices
from dibs.cel.code import Code, Evaluate, Run
from dibs.cel.declare import Overload
from dibs.cel.prices import Price
from dibs.cel.runtime import CostLimitExceeded, EvaluationError, Value
from dibs.cel.types import Type

# Functions that upstream defines as a whole and not by overload: they evaluate both operands.
_WHOLE = frozenset(("@in", "size", "contains", "matches", "startsWith", "endsWith"))
_WITH_PATTERN = frozenset(("matches", "find", "findAll"))
# Reading a constant text once is enough; the charge is made each time.
_SETTLED = frozenset(
    ("quantity", "isQuantity", "semver", "isSemver", "ip", "isIP", "cidr", "isCIDR", "url", "isURL")
)


def of(
    function: str,
    overloads: tuple[Overload, ...],
    operands: Sequence[Code],
    given: Sequence[Type],
) -> Code:
    """Compile a call. `given` are the static types of the operands."""
    call = dispatch.dispatcher(function, overloads, given)
    price = prices.of_call(function, overloads)
    is_whole = len(overloads) == 1 or function in _WHOLE or not function[0].isalpha()
    if function in _WITH_PATTERN and type(operands[1].value) is str:
        is_whole = False
    if len(operands) == 1:
        made = _unary(call, operands[0].run, price)
    elif len(operands) == 2 and is_whole:
        made = _binary(call, operands[0], operands[1], price)
    elif not operands:
        made = _free_of_operands(call)
    else:
        made = _in_turn(call, tuple(operand.run for operand in operands), price)
    if function in _SETTLED and all(operand.is_constant for operand in operands):
        return Code.of(_settled(made))
    return Code.of(made)


def _settled(made: Evaluate) -> Evaluate:
    """Make the call now, and from then on only charge for it; one that fails, fails each time."""
    trial = Run({}, 0)
    try:
        value = made(trial)
    except EvaluationError:
        return made
    cost = trial.cost
    if cost == 1:

        def run_for_one(run: Run) -> Value:
            run.cost += 1
            return value

        return run_for_one

    def run(run: Run) -> Value:
        run.charge(cost)
        return value

    return run


# --- operands and charge --------------------------------------------------------------------------


def _unary(call: Callable[..., Value], operand: Evaluate, price: Price) -> Evaluate:
    if price is prices.UNIT:

        def run_for_one(run: Run) -> Value:
            try:
                value = operand(run)
            except EvaluationError:
                run.cost += 1
                raise
            run.cost += 1
            return call(value)

        return run_for_one

    def run(run: Run) -> Value:
        try:
            value = operand(run)
        except CostLimitExceeded:
            raise
        except EvaluationError:
            _charge_failed(run, price, (None,))
            raise
        return _made(run, call, (value,), price)

    return run


def _binary(call: Callable[..., Value], left: Code, right: Code, price: Price) -> Evaluate:
    first, second = left.run, right.run
    if price is prices.UNIT:
        if right.is_constant:
            return _unit_with_constant(call, first, right.value)

        def run_for_one(run: Run) -> Value:
            try:
                one = first(run)
            except EvaluationError as error:
                _evaluate_too(run, second, error)
                run.cost += 1
                raise
            try:
                other = second(run)
            except EvaluationError:
                run.cost += 1
                raise
            run.cost += 1
            return call(one, other)

        return run_for_one

    def run(run: Run) -> Value:
        try:
            one = first(run)
        except EvaluationError as error:
            other = _evaluate_too(run, second, error)
            _charge_failed(run, price, (None, other))
            raise
        try:
            other = second(run)
        except CostLimitExceeded:
            raise
        except EvaluationError:
            _charge_failed(run, price, (one, None))
            raise
        return _made(run, call, (one, other), price)

    return run


def _unit_with_constant(call: Callable[..., Value], first: Evaluate, other: Value) -> Evaluate:
    def run(run: Run) -> Value:
        try:
            one = first(run)
        except EvaluationError:
            run.cost += 1
            raise
        run.cost += 1
        return call(one, other)

    return run


def _free_of_operands(call: Callable[..., Value]) -> Evaluate:
    def run(run: Run) -> Value:
        run.cost += 1
        return call()

    return run


def _in_turn(call: Callable[..., Value], operands: tuple[Evaluate, ...], price: Price) -> Evaluate:
    """The first operand that fails ends it; if it is the last, the call is charged all the same."""
    *before, last = operands

    def run(run: Run) -> Value:
        values = [operand(run) for operand in before]
        try:
            values.append(last(run))
        except CostLimitExceeded:
            raise
        except EvaluationError:
            _charge_failed(run, price, [*values, None])
            raise
        return _made(run, call, values, price)

    return run


def _evaluate_too(run: Run, operand: Evaluate, error: EvaluationError) -> Value:
    """The other operand's charges are due although the first has failed."""
    if isinstance(error, CostLimitExceeded):
        raise error
    try:
        return operand(run)
    except CostLimitExceeded:
        raise
    except EvaluationError:
        return None


def _made(run: Run, call: Callable[..., Value], values: Sequence[Value], price: Price) -> Value:
    if price.of_operands is not None:
        run.charge(price.of_operands(values))
        return call(*values)
    if price.of_result is None:
        run.cost += 1
        return call(*values)
    try:
        result = call(*values)
    except CostLimitExceeded:
        raise
    except EvaluationError:
        run.charge(price.of_result(values, None))
        raise
    run.charge(price.of_result(values, result))
    return result


def _charge_failed(run: Run, price: Price, values: Sequence[Value]) -> None:
    if price.of_operands is not None:
        run.charge(price.of_operands(values))
    elif price.of_result is not None:
        run.charge(price.of_result(values, None))
    else:
        run.cost += 1
