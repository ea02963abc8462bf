"""Who may write which part of a claim's status."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.api import claim_status, kinds
from dibs.api.calls import Asked, Call, Caller
from dibs.api.failures import Failure
from dibs.api.gate import Open

CLAIMS = kinds.find("resource.k8s.io", "v1", "resourceclaims")
assert CLAIMS
RESULT = {"driver": "d.example.com", "pool": "p", "device": "g"}
ALLOCATION = {
    "devices": {"results": [RESULT]},
    "nodeSelector": {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
        ]
    },
}
OF_N1 = {claim_status.NODE_NAME: ("n1",)}


class Allowing(Open):
    """Allows what it is told to, and remembers what it was asked."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.asked: list[Asked] = []

    def refusal(self, caller: Caller, asked: Asked) -> str | None:
        self.asked.append(asked)
        named = f"{asked.verb} {asked.subresource} {asked.name}".strip()
        return None if named in self.allowed else f"no {named}"


def refuse(gate: Allowing, caller: Caller, new: dict[str, Any], old: dict[str, Any]) -> None:
    call = Call("update", CLAIMS, "v1", "default", "c", "status", caller)
    claim_status.refuse(gate, call, {"status": new}, {"status": old})


def test_allocating_needs_the_verb_for_binding_everywhere() -> None:
    gate = Allowing("update binding")
    refuse(gate, Caller(), {"allocation": ALLOCATION}, {})
    assert [(each.namespace, each.name) for each in gate.asked] == [("", "")]
    with pytest.raises(Failure) as caught:
        refuse(Allowing(), Caller(), {"reservedFor": [{"uid": "u"}]}, {})
    assert caught.value.causes[0].field == "status"
    assert "no update binding" in caught.value.message


def test_what_does_not_change_needs_nothing() -> None:
    status = {"allocation": ALLOCATION, "reservedFor": [], "devices": [RESULT]}
    refuse(Allowing(), Caller(), status, status)


@pytest.mark.parametrize(
    ("caller", "verb", "is_allowed"),
    [
        (Caller("system:serviceaccount:a:b", extra=OF_N1), "associated-node:update", True),
        (Caller("system:serviceaccount:a:b", extra=OF_N1), "arbitrary-node:update", True),
        (Caller("system:serviceaccount:a:b"), "associated-node:update", False),
        (Caller("joe", extra=OF_N1), "associated-node:update", False),
        (Caller("joe"), "arbitrary-node:update", True),
        (
            Caller("system:serviceaccount:a:b", extra={claim_status.NODE_NAME: ("n2",)}),
            "associated-node:update",
            False,
        ),
    ],
)
def test_a_driver_reports_its_own_devices(caller: Caller, verb: str, is_allowed: bool) -> None:
    gate = Allowing(f"{verb} driver d.example.com")
    new = {"allocation": ALLOCATION, "devices": [{**RESULT, "data": {}}]}
    old = {"allocation": ALLOCATION}
    if is_allowed:
        refuse(gate, caller, new, old)
        return
    with pytest.raises(Failure):
        refuse(gate, caller, new, old)


def test_each_driver_that_is_touched_is_asked_for() -> None:
    gate = Allowing("arbitrary-node:update driver a", "arbitrary-node:update driver b")
    reports = [{"driver": name, "pool": "p", "device": "g"} for name in ("b", "a", "c")]
    refuse(gate, Caller(), {"devices": reports[2:]}, {"devices": reports})
    assert [each.name for each in gate.asked] == ["a", "b"]
