"""Reads tests/cases/cel: expressions, the devices they are asked about, and what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from dibs.model.objects import Device, DeviceAttribute, DeviceCapacity
from dibs.supply.identity import DeviceId
from dibs.values.quantity import Quantity

CASES = Path(__file__).parents[2] / "cases" / "cel"
DRIVER = "gpu.example.com"

DEVICES = {
    "": Device(),
    "gpu": Device(
        attributes={
            "type": DeviceAttribute(string="gpu"),
            "index": DeviceAttribute(int_=2),
            "numas": DeviceAttribute(ints=(0, 1)),
            "driverVersion": DeviceAttribute(version="550.54.15"),
        },
        capacity={"memory": DeviceCapacity(value=Quantity.parse("40Gi"))},
    ),
    "shared": Device(allow_multiple_allocations=True),
    "two-spellings": Device(
        attributes={
            "a": DeviceAttribute(int_=1),
            f"{DRIVER}/a": DeviceAttribute(int_=2),
        }
    ),
    "bad-version": Device(attributes={"v": DeviceAttribute(version="x")}),
    "no-value": Device(attributes={"x": DeviceAttribute()}),
}
_SHORT = {
    "D": 'device.attributes["d.example.com"]',
    "G": f'device.attributes["{DRIVER}"]',
    "C": f'device.capacity["{DRIVER}"]',
}


class Asked(NamedTuple):
    """A device as a selector is asked about it."""

    id: DeviceId
    device: Device


def asked(name: str) -> Asked:
    return Asked(DeviceId(DRIVER, "node", "gpu-0"), DEVICES[name])


def cases(stem: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((CASES / f"{stem}.yaml").read_text("utf-8"))
    return found


def spelled_out(expression: str) -> str:
    """D, G and C stand for the long paths, where they stand alone."""
    for short, long in _SHORT.items():
        for mark in (".", "[", ")", ",", " "):
            expression = expression.replace(f" {short}{mark}", f" {long}{mark}")
            expression = expression.replace(f"({short}{mark}", f"({long}{mark}")
            if expression.startswith(short + mark):
                expression = long + expression[len(short) :]
        if expression.endswith(f" {short}"):
            expression = expression[: -len(short)] + long
        expression = expression.replace(f"!{short}.", f"!{long}.")
    return expression
