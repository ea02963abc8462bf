"""Every suggestion is true: in the world where the change is made, the plan places the Pod."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from dibs.model.objects import ResourceClaim
from dibs.schedule import pods
from dibs.schedule.plan import Placed, Subject
from dibs.schedule.snapshot import Key, Snapshot
from dibs.view import why

pytestmark = pytest.mark.slow
TRAIN = Subject("Pod", Key("default", "train"))


@st.composite
def given_worlds(draw: st.DrawFn) -> dict[str, object]:
    """Two nodes, up to four devices each, some held, some tainted; one Pod that wants some."""
    devices = {node: [f"gpu-{i}" for i in range(draw(st.integers(0, 4)))] for node in ("n1", "n2")}
    places = [f"{node}/{name}" for node, names in devices.items() for name in names]
    fates = {place: draw(st.sampled_from(("free", "held", "tainted", "big"))) for place in places}
    held = [place for place, fate in fates.items() if fate == "held"]
    together = draw(st.booleans())
    claims: dict[str, dict[str, object]] = {}
    for number, place in enumerate(held):
        node = place.partition("/")[0]
        name = f"all-{node}" if together else f"c-{number}"
        about = claims.setdefault(name, {"held": [], "for": [name]})
        about["held"] = [*about["held"], place]  # type: ignore[misc]
    claims["x"] = {"count": draw(st.integers(1, 4))}
    if draw(st.booleans()):
        claims["x"]["match"] = ["gpu.example.com/none"]
    return {
        "nodes": {
            "n1": {"cordoned": draw(st.booleans())},
            "n2": {"taints": ["a=b:NoSchedule"] if draw(st.booleans()) else []},
        },
        "devices": devices,
        "tainted": {p: "example.com/ecc:NoSchedule" for p, f in fates.items() if f == "tainted"},
        "claims": claims,
        "pods": {"train": {"claims": ["x"]}},
    }


@settings(max_examples=150)
@given(given_worlds())
def test_what_is_suggested_helps(given: dict[str, object]) -> None:
    snapshot = worlds.snapshot(given)
    account = why.of_pod(snapshot, TRAIN.key)
    for suggestion in account.suggestions:
        changed = carried_out(suggestion.text, given, snapshot)
        assert isinstance(pods.plan(changed).of(TRAIN), Placed), suggestion


def carried_out(text: str, given: dict[str, object], snapshot: Snapshot) -> Snapshot:
    """The world after doing what the suggestion says, done by other means than its own trial."""
    objects = list(worlds.objects(given))
    if found := re.match(r"free claim default/([\w-]+)", text):
        return Snapshot.of(
            each
            for each in objects
            if not (isinstance(each, ResourceClaim) and each.metadata.name == found[1])
        )
    if found := re.match(r"ask for (\d+) instead of", text):
        return with_claim(given, count=int(found[1]))
    if text.startswith("drop the constraint"):
        return with_claim(given, match=[])
    if text.startswith("uncordon"):
        nodes = {"n1": {}, "n2": given["nodes"]["n2"]}  # type: ignore[index]
        return worlds.snapshot({**given, "nodes": nodes})
    if text.startswith("tolerate the node's taint"):
        return worlds.snapshot({**given, "pods": {"train": {"claims": ["x"], "tolerates": ["a"]}}})
    if text.startswith("tolerate the device taint"):
        bare = [
            msgspec.structs.replace(
                each,
                spec=msgspec.structs.replace(
                    each.spec,
                    devices=tuple(
                        msgspec.structs.replace(device, taints=()) for device in each.spec.devices
                    ),
                ),
            )
            for each in snapshot.slices
        ]
        rest = [each for each in objects if type(each).__name__ != "ResourceSlice"]
        return Snapshot.of([*rest, *bare])
    raise AssertionError(f"a suggestion that this law doesn't know: {text}")


def with_claim(given: dict[str, object], **changed: object) -> Snapshot:
    claims = dict(given["claims"])  # type: ignore[call-overload]
    claims["x"] = {**claims["x"], **changed}
    return worlds.snapshot({**given, "claims": claims})
