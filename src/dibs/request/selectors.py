"""Selectors: expressions about `device`, in both ways Kubernetes compiles them.

The scheduler takes every field and function it knows (`STORED`); admission only those whose
feature gate is on (`NEW`). What an expression means is decided in `cel`; here is what `device`
is, how large it may be, and what becomes of a result that is no bool.
Source: KEP-4381 "CEL selectors", KEP-5075, KEP-5491; resource.k8s.io validation.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Protocol

from dibs.cel import explain, libraries, types
from dibs.cel.environment import Environment, Shape, Variable
from dibs.cel.explain import Why
from dibs.cel.faults import CompileError, Fault
from dibs.cel.libraries import includes
from dibs.cel.program import Program, compile_expression
from dibs.cel.runtime import EvaluationError, Map, Quantity, Semver, Value, verdict
from dibs.cel.types import Type
from dibs.model.objects import Device
from dibs.request import literals, phrases
from dibs.request.views import DeviceView
from dibs.supply.features import ALL, Features
from dibs.supply.identity import DeviceId
from dibs.values.mistake import Mistake
from dibs.values.stats import Stats

DEVICE = Type("kubernetes.DRADevice")
# A compiled expression takes some 20 KiB, one of the longest allowed 1 MiB; a cluster has rarely
# more than a few hundred of them.
_MOST_PROGRAMS = 512
_LONGEST_KEPT = 10_240
_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with"
    " has() for optional fields"
)

# --- what `device` is --------------------------------------------------------------------------

# What the estimate assumes (resource.k8s.io limits): 32 domains and ids, domains of 63
# characters, ids of 32, values of 64 characters or elements.
_VALUES = Shape(32, key=Shape(32), item=Shape(64), names_items=True)
_QUANTITIES = Shape(32, key=Shape(32), item=Shape(0))
_SHAPE = Shape(
    0,
    {
        "driver": Shape(63),
        "attributes": Shape(32, key=Shape(63), item=_VALUES),
        "capacity": Shape(32, key=Shape(63), item=_QUANTITIES),
        "allowMultipleAllocations": Shape(1),
    },
)


class Mode(Enum):
    """Whether gates decide what may be used: `NEW` objects yes, `STORED` ones no."""

    STORED = "stored"
    NEW = "new"


STORED, NEW = Mode.STORED, Mode.NEW


@dataclass(frozen=True, slots=True)
class _Gates:
    """What of the two gates an expression may use."""

    has_lists: bool
    has_sharing: bool

    @property
    def attribute(self) -> Type:
        """The type of an attribute: lists came with `dyn` in place of `any` (KEP-5491)."""
        return types.DYN if self.has_lists else types.ANY


def environment(mode: Mode = STORED, features: Features = ALL) -> Environment:
    """What expressions about a device are compiled in, also those that select nothing."""
    is_stored = mode is STORED
    return _environment(
        _Gates(
            is_stored or features.list_type_attributes, is_stored or features.consumable_capacity
        )
    )


@lru_cache(maxsize=4)
def _environment(gates: _Gates) -> Environment:
    by_domain = types.map_of(types.STRING, types.map_of(types.STRING, gates.attribute))
    fields = {
        "driver": types.STRING,
        "attributes": by_domain,
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.QUANTITY)),
    }
    if gates.has_sharing:
        fields["allowMultipleAllocations"] = types.BOOL
    known = [each for each in libraries.ALL if gates.has_lists or each is not includes.LIBRARY]
    device = Variable("device", DEVICE, _SHAPE)
    return Environment.of(known, (device,), {DEVICE.name: fields})


# --- compiling -----------------------------------------------------------------------------------


class Asked(Protocol):
    """A device that a selector may be asked about: a candidate of the allocator, or like one."""

    @property
    def id(self) -> DeviceId: ...

    @property
    def device(self) -> Device: ...


def compile(expression: str, mode: Mode = STORED, features: Features = ALL) -> Selector:
    """Compile a selector. Raises `CompileError`, also for one that cannot be true or false.

    The 512 last used are kept by this module, under the expression and what the gates leave of
    the environment. Failures are not, nor what is too long for the API.
    """
    is_stored = mode is STORED
    gates = _Gates(
        is_stored or features.list_type_attributes, is_stored or features.consumable_capacity
    )
    if len(expression) > _LONGEST_KEPT:
        return _compiled.__wrapped__(expression, gates)
    return _compiled(expression, gates)


@lru_cache(maxsize=_MOST_PROGRAMS)
def _compiled(expression: str, gates: _Gates) -> Selector:
    program = compile_expression(expression, _environment(gates))
    if program.result_type not in (types.BOOL, gates.attribute):
        name = _RESULT_NAMES.get(program.result_type, str(program.result_type))
        text = f"must evaluate to bool or the unknown type, not {name}"
        raise CompileError((Fault(text, 1, 1, program.root.span),), expression, "")
    return Selector(program)


def stats() -> Stats:
    """How often a selector was compiled already, in this process."""
    info = _compiled.cache_info()
    dropped = max(0, info.misses - info.currsize)
    bound = info.maxsize or 0
    return Stats("compiled selectors", info.hits, info.misses, info.currsize, bound, dropped)


_RESULT_NAMES = {
    types.TIMESTAMP: "google.protobuf.Timestamp",
    types.DURATION: "google.protobuf.Duration",
    types.NULL: "null_type",
}


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selector, to be asked about devices."""

    program: Program

    @staticmethod
    def compile(expression: str, mode: Mode = STORED, features: Features = ALL) -> Selector:
        """As `selectors.compile`, but a fault is a `Mistake` with upstream's text."""
        try:
            return compile(expression, mode, features)
        except CompileError as error:
            raise Mistake(str(error), value=expression) from None

    def decide(self, view: DeviceView) -> tuple[bool, int]:
        """(does the device match, what the evaluation cost). Raises `EvaluationError`."""
        if view.fault:
            raise EvaluationError(view.fault)
        value, cost = self.program.evaluate(view.activation)
        if value is True or value is False:
            return value, cost
        try:
            return verdict(value), cost
        except EvaluationError as error:
            error.cost = cost
            raise

    def matches(self, asked: Asked) -> bool:
        """Say whether the device matches. Raises `Mistake` when the evaluation fails on it."""
        try:
            return self.decide(DeviceView.of(asked.id.driver, asked.device))[0]
        except EvaluationError as error:
            text = self.named(with_hint(error.text))
            raise Mistake(text, value=self.program.expression) from None

    def named(self, error: str) -> str:
        """The error of an evaluation, with the literal that it comes from if it is one's."""
        for literal in literals.unreadable(self.program.root):
            if literal.error in error:
                return f"{error}: {literal}"
        return error

    def projection(self, asked: Asked) -> Hashable:
        """All that the answer depends on: devices with equal projections get one answer."""
        return self.seen(DeviceView.of(asked.id.driver, asked.device))

    def seen(self, view: DeviceView) -> Hashable:
        """The projection of a view."""
        if view.fault:
            return view.fault
        return tuple(_frozen(_at(view.activation, path)) for path in self.program.reads)

    def why(self, asked: Asked) -> Why:
        """What decided the answer on this device, with the values that were seen."""
        return self.reason(DeviceView.of(asked.id.driver, asked.device))

    def reason(self, view: DeviceView) -> Why:
        """`why` of a view."""
        if view.fault:
            return explain.failed(self.program.checked, view.fault)
        return self.program.explain(view.activation)

    def explain(self, asked: Asked) -> str:
        """`why` as a phrase: "memory is 40Gi, selector wants ≥ 80Gi"."""
        return self.phrase(asked)[0]

    def phrase(self, asked: Asked) -> tuple[str, bool]:
        """`explain`, and whether devices with equal projections all have the same phrase."""
        view = DeviceView.of(asked.id.driver, asked.device)
        why = self.reason(view)
        return phrases.of(why, view), not phrases.is_about_absence(why)


# --- what equal devices have in common ------------------------------------------------------------


class _Missing:
    """Stands for what is not there."""


_MISSING = _Missing()


def _at(value: Value, path: tuple[str, ...]) -> Value:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return _MISSING
        value = value[name]
    return value


def _frozen(value: Value) -> Hashable:
    """A value as a key. The class belongs to it: 1 and true are different attributes.

    Quantities and versions go by their text: equal ones can differ in `isInteger()` or build.
    """
    if isinstance(value, Map):
        return tuple((key, _frozen(item)) for key, item in value.items())
    if type(value) is tuple:
        return tuple(map(_frozen, value))
    if isinstance(value, Quantity):
        return (Quantity, value.as_written, value.is_integer())
    if isinstance(value, Semver):
        return (Semver, str(value))
    return (type(value), value)


# --- the texts of upstream's allocator -----------------------------------------------------------


def with_hint(text: str) -> str:
    """A missing key is what users meet first: upstream says what to do about it."""
    return text + _HINT if "no such key:" in text else text
