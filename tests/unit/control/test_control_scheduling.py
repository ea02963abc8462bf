"""The whole plane in memory: Pods get devices, wait with a reason, and go on when they can."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dibs.control import evicting
from dibs.control.nodeless import MODEL
from dibs.store.records import Key
from dibs.testing.planes import Driven, whole

pytestmark = pytest.mark.slow

DRIVER = "gpu.example.com"


def story(told: Callable[[Driven], Awaitable[None]]) -> None:
    async def run() -> None:
        async with whole() as plane:
            await told(plane)

    asyncio.run(run())


async def fleet(plane: Driven, **devices: int) -> None:
    """A class, and nodes with so many devices each."""
    expression = f"device.driver == '{DRIVER}'"
    await plane.create(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "gpu"},
            "spec": {"selectors": [{"cel": {"expression": expression}}]},
        }
    )
    for name, count in devices.items():
        marked = {"name": name, "annotations": {MODEL: ""}}
        await plane.create({"apiVersion": "v1", "kind": "Node", "metadata": marked})
        await plane.create(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"{name}-gpus"},
                "spec": {
                    "driver": DRIVER,
                    "nodeName": name,
                    "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": f"gpu-{number}"} for number in range(count)],
                },
            }
        )


def devices(count: int) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def template(name: str, count: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": devices(count)},
    }


def claim(name: str, count: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": devices(count),
    }


def pod(name: str, *, template: str = "", claim: str = "", **spec: Any) -> dict[str, Any]:
    source = {"resourceClaimTemplateName": template} if template else {"resourceClaimName": claim}
    wants = {"resources": {"claims": [{"name": "gpu"}]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [{"name": "main", "image": "example.com/x", **wants}],
            "resourceClaims": [{"name": "gpu", **source}],
            **spec,
        },
    }


async def held(plane: Driven) -> dict[str, list[str]]:
    """The devices of each claim, by the first Pod that it is reserved for."""
    found = {}
    for entry in plane.plane.store.page("resourceclaims.resource.k8s.io").entries:
        status = plane.plane.reader.tree(entry).get("status") or {}
        if allocation := status.get("allocation"):
            results = allocation["devices"]["results"]
            who = status["reservedFor"][0]["name"]
            found[who] = [f"{each['pool']}/{each['device']}" for each in results]
    return found


def condition(tree: dict[str, Any]) -> dict[str, Any]:
    conditions = tree["status"].get("conditions", ())
    return next(each for each in conditions if each["type"] == "PodScheduled")


def test_a_pod_gets_its_device_and_its_node() -> None:
    async def told(plane: Driven) -> None:
        await fleet(plane, a=1)
        await plane.create(template("one"))
        await plane.create(pod("train", template="one"))
        await plane.settled()
        found = await plane.tree("pods", "train")
        assert found["spec"]["nodeName"] == "a"
        assert condition(found)["status"] == "True"
        assert await held(plane) == {"train": ["a/gpu-0"]}
        name = found["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
        made = await plane.tree("resourceclaims", name)
        assert made["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
        assert made["status"]["allocation"]["allocationTimestamp"]

    story(told)


def test_one_that_finds_nothing_says_why_and_goes_on_when_it_can() -> None:
    async def told(plane: Driven) -> None:
        await fleet(plane, a=1)
        await plane.create(template("one"))
        await plane.create(pod("first", template="one"))
        await plane.settled()
        await plane.create(pod("second", template="one"))
        await plane.settled()
        waits = condition(await plane.tree("pods", "second"))
        assert (waits["status"], waits["reason"]) == ("False", "Unschedulable")
        assert "0 of 1 devices fit (1 in use)" in waits["message"]
        await plane.delete("pods", "first")
        await asyncio.sleep(2.1)  # it failed once, and rests before it is tried again
        await plane.settled()
        assert await held(plane) == {"second": ["a/gpu-0"]}

    story(told)


def test_one_whose_claim_a_quota_refuses_says_so() -> None:
    async def told(plane: Driven) -> None:
        await fleet(plane, a=2)
        await plane.create(template("one"))
        limit = {"gpu.deviceclass.resource.k8s.io/devices": "1"}
        quota = {"metadata": {"name": "few", "namespace": "default"}, "spec": {"hard": limit}}
        await plane.create({"apiVersion": "v1", "kind": "ResourceQuota", **quota})
        await plane.create(pod("first", template="one"))
        await plane.settled()
        await plane.create(pod("second", template="one"))
        await plane.settled()
        await asyncio.sleep(2.1)  # it was decided on before anybody could make its claim
        await plane.settled()
        waits = condition(await plane.tree("pods", "second"))
        assert (waits["status"], waits["reason"]) == ("False", "Unschedulable")
        assert "the claims of gpu, which are not made: " in waits["message"]
        assert "exceeded quota: few" in waits["message"]
        await plane.delete("pods", "first")
        await plane.settled()
        # Makers look again after some time, or when the Pod changes.
        await plane.patch("pods", "second", {"metadata": {"labels": {"a": "b"}}})
        await plane.settled()
        assert await held(plane) == {"second": ["a/gpu-0"]}

    story(told)


def test_many_at_once_share_out_what_there_is() -> None:
    async def told(plane: Driven) -> None:
        await fleet(plane, a=4, b=4)
        await plane.create(template("one"))
        for number in range(12):
            await plane.create(pod(f"p{number}", template="one"))
        await plane.settled()
        given = [device for found in (await held(plane)).values() for device in found]
        assert len(given) == len(set(given)) == 8

    story(told)


def test_a_named_claim_is_shared_by_its_pods() -> None:
    async def told(plane: Driven) -> None:
        await fleet(plane, a=2, b=2)
        await plane.create(claim("ours"))
        for number in range(3):
            await plane.create(pod(f"p{number}", claim="ours"))
        await plane.settled()
        nodes = {(await plane.tree("pods", f"p{n}"))["spec"]["nodeName"] for n in range(3)}
        assert nodes == {"a"}
        found = await plane.tree("resourceclaims", "ours")
        assert len(found["status"]["reservedFor"]) == 3

    story(told)


def test_a_pod_may_come_before_all_it_needs() -> None:
    async def told(plane: Driven) -> None:
        await plane.create(pod("early", template="one"))
        await plane.settled()
        await plane.create(template("one"))
        await plane.settled()
        await fleet(plane, a=1)
        await asyncio.sleep(2.1)
        await plane.settled()
        assert await held(plane) == {"early": ["a/gpu-0"]}

    story(told)


def test_higher_priority_comes_first() -> None:
    async def told(plane: Driven) -> None:
        await plane.create(template("one"))
        await plane.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "high"},
                "value": 1000,
            }
        )
        await plane.create(pod("low", template="one"))
        await plane.create(pod("high", template="one", priorityClassName="high"))
        await plane.settled()
        await fleet(plane, a=1)
        await asyncio.sleep(4.1)  # they may have failed more than once
        await plane.settled()
        assert await held(plane) == {"high": ["a/gpu-0"]}

    story(told)


def test_a_claim_held_where_its_pod_cant_go_is_moved() -> None:
    async def told(plane: Driven) -> None:
        await fleet(plane, a=1, b=1)
        await plane.create(claim("ours"))
        await plane.create(pod("first", claim="ours"))
        await plane.settled()
        assert await held(plane) == {"first": ["a/gpu-0"]}
        # Its Pod is gone before it is released, and the next one must go elsewhere.
        await plane.patch("nodes", "a", {"spec": {"unschedulable": True}})
        await plane.create(pod("second", claim="ours"))
        await plane.delete("pods", "first")
        await asyncio.sleep(2.1)
        await plane.settled()
        assert await held(plane) == {"second": ["b/gpu-0"]}

    story(told)


def test_what_a_deleted_namespace_held_comes_back() -> None:
    async def told(plane: Driven) -> None:
        await fleet(plane, a=1)
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
        await plane.create(space)
        for tree in (template("one"), pod("p", template="one")):
            await plane.create({**tree, "metadata": {**tree["metadata"], "namespace": "team"}})
        await plane.settled()
        assert await held(plane) == {"p": ["a/gpu-0"]}
        await plane.delete("namespaces", "team")
        async with asyncio.timeout(10):
            while plane.plane.store.get(Key("namespaces", "", "team")) is not None:
                await asyncio.sleep(0.05)
        await plane.settled()
        assert await held(plane) == {}
        assert plane.plane.store.count("resourceclaims.resource.k8s.io") == 0

    story(told)


def rule(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "broken"},
        "spec": {"deviceSelector": {"device": "gpu-0"}, "taint": {"key": "broken", **spec}},
    }


async def on_device(plane: Driven, **tolerations: Any) -> None:
    await fleet(plane, a=1, b=1)
    wanted = template("one")
    if tolerations:
        exactly = wanted["spec"]["spec"]["devices"]["requests"][0]["exactly"]
        exactly["tolerations"] = [{"operator": "Exists", **tolerations}]
    await plane.create(wanted)
    await plane.create(pod("train", template="one"))
    await plane.settled()
    assert await held(plane) == {"train": ["a/gpu-0"]}


def test_pods_on_a_device_that_breaks_are_evicted() -> None:
    async def told(plane: Driven) -> None:
        await on_device(plane)
        await plane.create(rule(effect="NoExecute"))
        async with asyncio.timeout(10):
            while plane.plane.store.count("pods"):
                await asyncio.sleep(0.05)
        await plane.settled()
        assert await held(plane) == {}
        events = [
            plane.plane.reader.tree(entry)["reason"]
            for entry in plane.plane.store.page("events").entries
        ]
        assert "DeviceTaintManagerEviction" in events
        await asyncio.sleep(2 * evicting.SETTLE_S)
        await plane.settled()
        status = (await plane.tree("devicetaintrules", "broken", ""))["status"]
        assert [each["reason"] for each in status["conditions"]] == ["Completed"]

    story(told)


def test_a_toleration_with_seconds_holds_for_so_long() -> None:
    async def told(plane: Driven) -> None:
        await on_device(plane, tolerationSeconds=2)
        await plane.create(rule(effect="NoExecute"))
        await plane.settled()
        await asyncio.sleep(0.3)
        assert plane.plane.store.count("pods") == 1
        status = (await plane.tree("devicetaintrules", "broken", ""))["status"]
        assert status["conditions"][0]["reason"] == "PodsPendingEviction"
        await asyncio.sleep(2.5)
        await plane.settled()
        assert plane.plane.store.count("pods") == 0

    story(told)


def test_a_taint_that_vanishes_in_time_evicts_nobody() -> None:
    async def told(plane: Driven) -> None:
        await on_device(plane, tolerationSeconds=2)
        await plane.create(rule(effect="NoExecute"))
        await plane.settled()
        await plane.delete("devicetaintrules", "broken", "")
        await asyncio.sleep(2.5)
        await plane.settled()
        assert await held(plane) == {"train": ["a/gpu-0"]}

    story(told)


def test_other_effects_evict_nobody() -> None:
    async def told(plane: Driven) -> None:
        await on_device(plane)
        await plane.create(rule(effect="NoSchedule"))
        await plane.settled()
        assert await held(plane) == {"train": ["a/gpu-0"]}
        status = (await plane.tree("devicetaintrules", "broken", ""))["status"]
        assert status["conditions"][0]["reason"] == "OtherEffect"

    story(told)


def test_a_request_for_the_status_of_pools_is_answered() -> None:
    async def told(plane: Driven) -> None:
        await on_device(plane)
        await plane.create(
            {
                "apiVersion": "resource.k8s.io/v1alpha3",
                "kind": "ResourcePoolStatusRequest",
                "metadata": {"name": "how-much"},
                "spec": {"driver": DRIVER},
            }
        )
        await plane.settled()
        status = (await plane.tree("resourcepoolstatusrequests", "how-much", ""))["status"]
        assert status["poolCount"] == 2
        counts = [
            (each["poolName"], each["nodeName"], each["totalDevices"], each["availableDevices"])
            for each in status["pools"]
        ]
        assert counts == [("a", "a", 1, 0), ("b", "b", 1, 1)]
        assert status["conditions"][0]["type"] == "Complete"

    story(told)
