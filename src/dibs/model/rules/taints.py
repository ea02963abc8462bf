"""The rules of taints and tolerations of devices, and of DeviceTaintRule (KEP-5055)."""

from __future__ import annotations

from dibs.model.objects import DeviceTaint, DeviceTaintRule, DeviceTaintSelector, DeviceToleration
from dibs.model.rules import faults, fields, limits, metadata
from dibs.model.rules.fields import Faults

EFFECTS = ("NoExecute", "NoSchedule", "None")
OPERATORS = ("Equal", "Exists")

_NOT_EMPTY = "must be empty for operator `Exists`"
_ALL_KEYS = (
    'operator must be Exists when `key` is empty, which means "match all values and all keys"'
)


def rule_spec(rule: DeviceTaintRule, old: DeviceTaintRule | None) -> Faults:
    if rule.spec.device_selector is not None:
        yield from _selector(rule.spec.device_selector, "spec.deviceSelector")
    yield from taint(rule.spec.taint, "spec.taint", old.spec.taint if old else None)


def rule_status(rule: DeviceTaintRule) -> Faults:
    yield from metadata.conditions(
        rule.status.conditions, "status.conditions", limits.TAINT_RULE_CONDITIONS
    )


def taint(value: DeviceTaint, path: str, old: DeviceTaint | None = None) -> Faults:
    """An effect that is kept is not looked at again: a newer server may have stored it."""
    yield from fields.label_key(value.key, f"{path}.key")
    yield from fields.label_value(value.value, f"{path}.value")
    if old is not None and old.effect == value.effect:
        return
    if not value.effect:
        yield faults.required(f"{path}.effect")
    else:
        yield from fields.choice(value.effect, f"{path}.effect", EFFECTS)


def tolerations(items: tuple[DeviceToleration, ...], path: str) -> Faults:
    yield from fields.each(items, path, limits.TOLERATIONS, toleration)


def toleration(value: DeviceToleration, path: str) -> Faults:
    if value.key:
        yield from fields.label_key(value.key, f"{path}.key")
    match value.operator:
        case "Exists":
            if value.value:
                yield faults.invalid(f"{path}.value", value.value, _NOT_EMPTY)
        case "Equal":
            if not value.key:
                yield faults.invalid(f"{path}.operator", value.operator, _ALL_KEYS)
            yield from fields.label_value(value.value, f"{path}.value")
        case _:
            yield from fields.choice(value.operator, f"{path}.operator", OPERATORS)
    if value.effect:
        yield from fields.choice(value.effect, f"{path}.effect", EFFECTS)


def _selector(value: DeviceTaintSelector, path: str) -> Faults:
    if value.driver is not None:
        yield from fields.driver(value.driver, f"{path}.driver")
    if value.pool is not None:
        yield from fields.pool(value.pool, f"{path}.pool")
    if value.device is not None:
        yield from fields.label(value.device, f"{path}.device")
