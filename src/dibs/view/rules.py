"""Which DeviceTaintRule put a taint on a device (KEP-5055): who wants it off has to know.

Slices in a snapshot carry the taints of rules beside their own; here they are told apart again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dibs.allocate.outcome import DeviceNo, Refused
from dibs.model.objects import DeviceTaint, DeviceTaintRule
from dibs.schedule.plan import NodeAnswer
from dibs.supply import taints
from dibs.supply.identity import DeviceId


def text_of(taint: DeviceTaint, device: DeviceId, rules: Iterable[DeviceTaintRule]) -> str:
    """`example.com/ecc:NoSchedule`, and after it the rule that says so, if one does."""
    return taints.text_of(taint) + origin(taint, device, rules)


def origin(taint: DeviceTaint, device: DeviceId, rules: Iterable[DeviceTaintRule]) -> str:
    """` (by DeviceTaintRule drain)`; "" for a taint of the driver's own."""
    for rule in rules:
        if rule.spec.taint == taint and selects(rule, device):
            return f" (by DeviceTaintRule {rule.metadata.name})"
    return ""


def selects(rule: DeviceTaintRule, device: DeviceId) -> bool:
    # An absent selector selects nothing, an empty one everything: as in schedule.snapshot.
    selector = rule.spec.device_selector
    return (
        selector is not None
        and selector.driver in (None, device.driver)
        and selector.pool in (None, device.pool)
        and selector.device in (None, device.device)
    )


def with_rules(
    answers: Mapping[str, NodeAnswer], rules: tuple[DeviceTaintRule, ...]
) -> dict[str, NodeAnswer]:
    """The same answers, naming the rules behind taints."""

    def told(no: DeviceNo) -> DeviceNo:
        if no.reason.code != "tainted":
            return no
        for rule in rules:
            taint = rule.spec.taint
            text = taints.text_of(taint)
            if selects(rule, no.device) and f"taint {text} is" in no.reason.text:
                named = no.reason.text.replace(text, f"{text}{origin(taint, no.device, [rule])}")
                return replace(no, reason=replace(no.reason, text=named))
        return no

    def named(answer: NodeAnswer) -> NodeAnswer:
        if not isinstance(answer, Refused):
            return answer
        asks = (replace(ask, noes=tuple(map(told, ask.noes))) for ask in answer.asks)
        return replace(answer, asks=tuple(asks))

    return {node: named(answer) if rules else answer for node, answer in answers.items()}
