"""Which devices belong to a class: those that all its selectors let in.

A device on which a selector fails doesn't belong; that it failed is `why`'s and `lint`'s to tell.
"""

from __future__ import annotations

from collections.abc import Callable

from dibs.model.objects import DeviceClass
from dibs.request import selectors
from dibs.supply.pools import Candidate
from dibs.values.mistake import Mistake


def membership(device_class: DeviceClass) -> Callable[[Candidate], bool]:
    """Raises Mistake for a selector that doesn't compile."""
    name = device_class.metadata.name
    compiled = []
    for index, each in enumerate(device_class.spec.selectors):
        expression = each.cel.expression if each.cel else ""
        try:
            compiled.append(selectors.Selector.compile(expression))
        except Mistake as mistake:
            raise Mistake(
                mistake.message,
                path=f"DeviceClass {name}: spec.selectors[{index}].cel.expression",
                value=expression,
                remedy="correct the class",
            ) from mistake

    def belongs(candidate: Candidate) -> bool:
        try:
            return all(selector.matches(candidate) for selector in compiled)
        except Mistake:
            return False

    return belongs
