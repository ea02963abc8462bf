"""Whether a lie would be found out: wrong outcomes of known questions, put to `proving`.

A checker that finds nothing may be blind. Before `exact` asks dibs, it asks these.
"""

from __future__ import annotations

from collections.abc import Iterator

import proving

from dibs.allocate.outcome import Allocated, Failed, Outcome, Refused
from dibs.model.objects import AllocationResult, DeviceAllocationResult, DeviceRequest
from dibs.testing import builders as build
from dibs.testing.facts import reading
from dibs.testing.question import Question

NODE = build.node("node-0")


def unnoticed() -> list[str]:
    """Which lies were believed: none, it is hoped."""
    return [
        lie
        for lie, asked, outcome in _lies()
        if not proving.judged(asked, reading.of(asked), outcome)[1]
    ]


def _lies() -> Iterator[tuple[str, Question, Outcome]]:
    one, two = _asked(1), _asked(2)
    yield "a refusal of what is possible", one, Refused("node-0")
    yield "an error where nothing is wrong", one, Failed("node-0", "unknown class")
    yield "the second device where the first would do", one, _given("gpu-1")
    yield "a device that another claim has", one, _given("gpu-2")
    yield "one device twice", two, _given("gpu-0", "gpu-0")
    yield "a device too few", two, _given("gpu-0")
    yield "two devices that mustn't be alike", two, _given("gpu-0", "gpu-1")
    yield "the second alternative where the first would do", _either(), _given("gpu-0", of="r/b")


def _asked(count: int) -> Question:
    return _question(build.request("r", count=count))


def _either() -> Question:
    options = build.alternative("a"), build.alternative("b")
    return _question(build.first_available("r", *options))


def _question(request: DeviceRequest) -> Question:
    """Four devices of which the third is held; the first two are alike in `root`."""
    roots = ("x", "x", "y", "z")
    devices = [build.device(f"gpu-{n}", root=root) for n, root in enumerate(roots)]
    rule = build.distinct(f"{build.DRIVER}/root")
    return Question(
        "lie",
        NODE,
        (build.resource_slice(*devices, node="node-0", pool="pool"),),
        (build.device_class(),),
        (build.claim("c", request, constraints=[rule]),),
        (build.allocated(build.claim("other"), build.pick("gpu-2")),),
    )


def _given(*devices: str, of: str = "r") -> Allocated:
    picks = tuple(build.pick(device, request=of) for device in devices)
    return Allocated("node-0", (AllocationResult(devices=DeviceAllocationResult(results=picks)),))
