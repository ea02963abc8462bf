"""Derived attributes: expressions about `device` whose value a constraint compares (KEP-6080).

They see the same device as selectors and may be a scalar, or a list of scalars of one type.
Which requests have them is `asks`' matter, what their values are compared with that of
`allocate.constraints`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

from dibs.cel import types
from dibs.cel.faults import CompileError, Fault
from dibs.cel.program import Program, compile_expression
from dibs.cel.runtime import EvaluationError, Semver, Value, type_name
from dibs.cel.types import Type
from dibs.model.objects import DeviceAttribute
from dibs.request import selectors
from dibs.request.selectors import STORED, Asked, Mode, Selector
from dibs.request.views import DeviceView
from dibs.supply.features import ALL, Features
from dibs.values.mistake import Mistake

_SCALARS = frozenset((types.BOOL, types.INT, types.STRING, types.SEMVER, types.ANY, types.DYN))
_MOST_PROGRAMS = 256


@dataclass(frozen=True, slots=True)
class Derivation:
    """A compiled expression, to be asked for the attribute it gives a device."""

    program: Program

    def attribute(self, asked: Asked) -> DeviceAttribute:
        """The attribute as if the driver published it. Raises Mistake when it fails on the device.

        An empty list has no type: it is an attribute without a known value.
        """
        view = DeviceView.of(asked.id.driver, asked.device)
        try:
            if view.fault:
                raise EvaluationError(view.fault)
            return _attribute(self.program.evaluate(view.activation)[0])
        except EvaluationError as error:
            raise Mistake(error.text, value=self.program.expression) from None

    def projection(self, asked: Asked) -> Hashable:
        """All that the attribute depends on: devices with equal projections have it in common."""
        return Selector(self.program).projection(asked)


@lru_cache(maxsize=_MOST_PROGRAMS)
def compile(expression: str, mode: Mode = STORED, features: Features = ALL) -> Derivation:
    """Raises CompileError, also for a result that can't be compared."""
    program = compile_expression(expression, selectors.environment(mode, features))
    with_lists = mode is STORED or features.list_type_attributes
    if not _is_comparable(program.result_type, with_lists):
        lists = " or a list of these scalars" if with_lists else ""
        text = f"must evaluate to a primitive scalar (string, integer, boolean, semver){lists}"
        fault = Fault(f"{text}, not {program.result_type}", 1, 1, program.root.span)
        raise CompileError((fault,), expression, "")
    return Derivation(program)


def _is_comparable(result: Type, with_lists: bool) -> bool:
    if result in _SCALARS:
        return True
    return with_lists and result.name == "list" and result.params[0] in _SCALARS


def _attribute(value: Value) -> DeviceAttribute:
    if not isinstance(value, tuple):
        return _of_scalars(value, (value,), is_list=False)
    if not value:
        return DeviceAttribute(strings=())
    return _of_scalars(value[0], value, is_list=True)


def _of_scalars(first: Value, values: tuple[Value, ...], *, is_list: bool) -> DeviceAttribute:
    """An attribute of the first value's type, which all others must have too."""
    for kind, name in ((bool, "bool"), (int, "int"), (str, "string"), (Semver, "version")):
        if type(first) is not kind:
            continue
        for place, value in enumerate(values):
            if type(value) is not kind:
                text = f"expected list element at index {place} to be {name}"
                raise EvaluationError(f"{text}, got {type_name(value)}")
        plain = tuple(str(value) if kind is Semver else value for value in values)
        field = {"bool": "bool_", "int": "int_"}.get(name, name)
        return DeviceAttribute(**{f"{name}s": plain} if is_list else {field: plain[0]})
    what = "list element type" if is_list else "CEL return type"
    raise EvaluationError(f"unsupported {what}: {type_name(first)}")
