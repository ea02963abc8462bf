"""Which overload of a function runs: settled by static types, else by the classes met.

Where several overloads are left and differ by class alone, the choice is remembered. The tests
are `runtime.fits`, in forms that cost little when asked for thousands of devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dibs.cel import runtime
from dibs.cel.declare import Overload
from dibs.cel.runtime import CLASSES, EvaluationError, Value
from dibs.cel.types import Type

_Fits = Callable[[Value], bool]


def dispatcher(
    function: str, overloads: tuple[Overload, ...], given: Sequence[Type]
) -> Callable[..., Value]:
    """A callable that takes values of any class and runs the overload they fit."""
    if len(overloads) == 1:
        (overload,) = overloads
        guards = [
            None if param == static and param.name in _SURE else test_of(param)
            for param, static in zip(overload.params, given, strict=True)
        ]
        if not any(guards):
            return overload.call
        return _guarded(function, overload, guards)
    if not any(param.params for overload in overloads for param in overload.params):
        return _by_class(function, overloads)
    return _first_fitting(function, overloads)


# Static types that say all about the class of the value.
_SURE = frozenset(CLASSES) - {"list", "map", "null"}


def test_of(wanted: Type) -> _Fits | None:
    """A test of a value against a parameter's type (`runtime.fits`); None when anything will do."""
    classes = CLASSES.get(wanted.name)
    if classes is None or wanted.is_parameter:
        return None
    if len(classes) == 1 and not wanted.params:
        (only,) = classes
        return lambda value: type(value) is only
    return lambda value: runtime.fits(value, wanted)


def _guarded(
    function: str, overload: Overload, guards: Sequence[_Fits | None]
) -> Callable[..., Value]:
    call = overload.call
    if len(guards) == 1 and guards[0]:
        guard = guards[0]

        def call_one(value: Value) -> Value:
            if not guard(value):
                raise no_overload(function, (value,), overload.is_member)
            return call(value)

        return call_one

    def call_all(*values: Value) -> Value:
        for value, guard in zip(values, guards, strict=True):
            if guard is not None and not guard(value):
                raise no_overload(function, values, overload.is_member)
        return call(*values)

    return call_all


def _by_class(function: str, overloads: tuple[Overload, ...]) -> Callable[..., Value]:
    """Overloads that differ by class alone: the choice is remembered by the operands' classes."""
    chosen: dict[tuple[type, ...], Callable[..., Value]] = {}
    choose = _first_fitting(function, overloads)

    def call(*values: Value) -> Value:
        known = chosen.get(tuple(map(type, values)))
        if known is not None:
            return known(*values)
        for overload in overloads:
            if _all_fit(overload, values):
                chosen[tuple(map(type, values))] = overload.call
                break
        return choose(*values)

    return call


def _first_fitting(function: str, overloads: tuple[Overload, ...]) -> Callable[..., Value]:
    tests = [
        (overload.call, [test_of(param) for param in overload.params]) for overload in overloads
    ]
    is_member = overloads[0].is_member

    def call(*values: Value) -> Value:
        for run, guards in tests:
            for value, guard in zip(values, guards, strict=True):
                if guard is not None and not guard(value):
                    break
            else:
                return run(*values)
        raise no_overload(function, values, is_member)

    return call


def _all_fit(overload: Overload, values: Sequence[Value]) -> bool:
    return all(map(runtime.fits, values, overload.params))


def no_overload(function: str, values: Sequence[Value], is_member: bool) -> EvaluationError:
    """`no such overload`, with the classes that were met where upstream names them."""
    if not function[0].isalpha():
        return runtime.no_overload(function if function in _NAMED else "")
    names = [runtime.type_name(value) for value in values]
    if is_member:
        return runtime.no_overload(f"{names[0]}.{function}({', '.join(names[1:])})")
    return runtime.no_overload(f"{function}({', '.join(names)})")


_NAMED = frozenset(("_<_", "_<=_", "_>_", "_>=_", "_+_", "_-_", "_*_", "_/_", "_%_", "!_", "-_"))
