"""The rules of what a container asks for by resource name, as far as devices are concerned.

Extended resources (`nvidia.com/gpu`) come whole, and can't be overcommitted. CPU, memory and the
other resources that a node counts itself are left to the API server.
Source: core/v1 validation of ResourceRequirements; KEP-5004.
"""

from __future__ import annotations

from dibs.model.core import ResourceRequirements
from dibs.model.rules import faults, fields
from dibs.model.rules.fields import Faults
from dibs.values import names
from dibs.values.quantity import Quantity

NOT_WHOLE = "must be an integer"
NO_LIMIT = "Limit must be set for non overcommitable resources"


def requirements(item: ResourceRequirements, path: str) -> Faults:
    for name, amount in sorted(item.limits.items()):
        if names.is_extended_resource(name):
            yield from _whole(amount, f"{path}.limits[{name}]")
    for name, amount in sorted(item.requests.items()):
        if not names.is_extended_resource(name):
            continue
        here = f"{path}.requests[{name}]"
        yield from _whole(amount, here)
        if name not in item.limits:
            yield faults.required(f"{path}.limits", NO_LIMIT)
        elif amount != item.limits[name]:
            limit = item.limits[name]
            yield faults.invalid(here, str(amount), f"must be equal to {name} limit of {limit}")


def _whole(amount: Quantity, path: str) -> Faults:
    if amount.sign() < 0:
        yield faults.invalid(path, str(amount), fields.NEGATIVE)
    elif not amount.is_whole():
        yield faults.invalid(path, str(amount), NOT_WHOLE)
