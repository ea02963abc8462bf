"""Kubernetes' Quantity functions. Arithmetic and order are `values.quantity`'s.

Upstream calls a sum unequal to everything when it stands on the right of `==`, and comparing can
change an operand; here a quantity is its number wherever it stands (cel_findings §7, defects).
"""

from __future__ import annotations

import operator

from dibs.cel.declare import Library, function, member
from dibs.cel.runtime import EvaluationError, Quantity
from dibs.cel.types import BOOL, DOUBLE, INT, QUANTITY, STRING
from dibs.values.quantity import NotAQuantity


def quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except NotAQuantity as error:
        raise EvaluationError(str(error)) from None


def is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except NotAQuantity:
        return False
    return True


def compare(left: Quantity, right: Quantity) -> int:
    return (left > right) - (left < right)


def as_integer(amount: Quantity) -> int:
    if not amount.is_integer():
        raise EvaluationError("cannot convert value to integer")
    return amount.as_int()


_PAIR = (QUANTITY, QUANTITY)

LIBRARY = Library(
    "kubernetes.quantity",
    (
        *function("quantity", ("string_to_quantity", (STRING,), QUANTITY, quantity)),
        *function("isQuantity", ("is_quantity_string", (STRING,), BOOL, is_quantity)),
        *function("sign", ("quantity_sign", (QUANTITY,), INT, Quantity.sign)),
        *member("isGreaterThan", ("quantity_is_greater_than", _PAIR, BOOL, operator.gt)),
        *member("isLessThan", ("quantity_is_less_than", _PAIR, BOOL, operator.lt)),
        *member("compareTo", ("quantity_compare_to", _PAIR, INT, compare)),
        *member(
            "asApproximateFloat",
            ("quantity_get_float", (QUANTITY,), DOUBLE, Quantity.approximate_float),
        ),
        *member("asInteger", ("quantity_get_int", (QUANTITY,), INT, as_integer)),
        *member("isInteger", ("quantity_is_integer", (QUANTITY,), BOOL, Quantity.is_integer)),
        *member(
            "add",
            ("quantity_add", _PAIR, QUANTITY, Quantity.plus),
            ("quantity_add_int", (QUANTITY, INT), QUANTITY, Quantity.plus),
        ),
        *member(
            "sub",
            ("quantity_sub", _PAIR, QUANTITY, Quantity.minus),
            ("quantity_sub_int", (QUANTITY, INT), QUANTITY, Quantity.minus),
        ),
    ),
)
