"""Tokens that are to die with an object: which one, and that it is there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from dibs.api import doors, kinds, writes
from dibs.api.calls import Call, Tree, WriteOptions
from dibs.api.failures import Failure
from dibs.api.gate import Account, Open
from dibs.api.plane import Plane
from dibs.testing import apiserver

PLAIN = WriteOptions()


@dataclass
class Giving(Open):
    """Gives a token to everybody, and remembers to whom."""

    given: list[Account] = field(default_factory=list)

    def token(
        self, account: Account, audiences: tuple[str, ...], lifetime_s: int
    ) -> tuple[str, float] | None:
        self.given.append(account)
        return "t", 0.0


def call(plural: str, name: str = "", door: str = "") -> Call:
    resource = kinds.find("", "v1", plural)
    assert resource is not None
    return Call("create", resource, "v1", "default", name, door)


async def pod(plane: Plane, name: str, account: str) -> Tree:
    containers = [{"name": "a", "image": "x"}]
    body = {
        "metadata": {"name": name},
        "spec": {"serviceAccountName": account, "containers": containers},
    }
    return (await writes.create(plane, call("pods"), body, PLAIN)).tree


def asked(gate: Giving, about: dict[str, Any]) -> tuple[Tree, str]:
    """What a request of the account `default` is answered, and the uid of its Pod."""

    async def play() -> tuple[Tree, str]:
        async with apiserver.in_memory(gate=gate) as plane:
            mine = await pod(plane, "mine", "default")
            await pod(plane, "other", "robot")
            body: Tree = {"spec": {"boundObjectRef": about}}
            door = call("serviceaccounts", "default", "token")
            return doors.token(plane, door, body), mine["metadata"]["uid"]

    return asyncio.run(play())


def test_a_token_is_bound_to_the_very_object() -> None:
    gate = Giving()
    answer, uid = asked(gate, {"kind": "Pod", "apiVersion": "v1", "name": "mine"})
    assert answer["spec"]["boundObjectRef"]["uid"] == uid
    [account] = gate.given
    assert (account.bound_kind, account.bound_name, account.bound_uid) == ("Pod", "mine", uid)


@pytest.mark.parametrize(
    ("about", "code"),
    [
        ({"kind": "Pod", "apiVersion": "v1", "name": "nope"}, 404),
        ({"kind": "Secret", "name": "nope"}, 404),
        ({"kind": "Pod", "name": "mine", "uid": "another"}, 409),
        ({"kind": "Pod", "name": "other"}, 400),
        ({"kind": "ConfigMap", "apiVersion": "v1", "name": "c"}, 400),
        ({"kind": "Pod", "apiVersion": "apps/v1", "name": "mine"}, 400),
        ({"name": "mine"}, 400),
    ],
)
def test_there_is_none_for_what_is_not_there(about: dict[str, Any], code: int) -> None:
    gate = Giving()
    with pytest.raises(Failure) as caught:
        asked(gate, about)
    assert caught.value.code == code
    assert not gate.given
