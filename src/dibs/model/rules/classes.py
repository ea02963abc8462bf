"""The rules of DeviceClass. Classes are mutable: what did not change counts as stored."""

from __future__ import annotations

from dibs.model.objects import DeviceClass, DeviceClassConfiguration
from dibs.model.rules import faults, fields, limits, opaque, selectors
from dibs.model.rules.context import Context
from dibs.model.rules.fields import Faults
from dibs.values import names


def spec(item: DeviceClass, old: DeviceClass | None, context: Context) -> Faults:
    """Any change of a list, also of its order, makes all of it new."""
    keeps_selectors = old is not None and fields.equal(item.spec.selectors, old.spec.selectors)
    yield from selectors.selectors(
        item.spec.selectors, "spec.selectors", context, is_stored=keeps_selectors
    )
    keeps_config = old is not None and fields.equal(item.spec.config, old.spec.config)

    def config(entry: DeviceClassConfiguration, path: str) -> Faults:
        return opaque.configuration(entry.opaque, path, is_stored=keeps_config)

    yield from fields.each(item.spec.config, "spec.config", limits.CONFIGS, config)
    name = item.spec.extended_resource_name
    if name is not None and not names.is_extended_resource(name):
        text = "must be a valid extended resource name"
        yield faults.invalid("spec.extendedResourceName", name, text)
