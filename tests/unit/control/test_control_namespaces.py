"""A namespace that can't go yet says what keeps it, and goes when that is over."""

from __future__ import annotations

import asyncio

import pytest

from dibs.testing.planes import whole

pytestmark = pytest.mark.slow


def test_what_keeps_a_namespace_is_told() -> None:
    async def run() -> None:
        async with whole() as plane:
            await plane.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})
            for name in ("a", "b"):
                kept = {"name": name, "namespace": "x", "finalizers": ["example.com/never"]}
                await plane.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept})
            await plane.settled()
            await plane.delete("namespaces", "x", "")
            await plane.settled()
            tree = await plane.tree("namespaces", "x", "")
            told = {each["type"]: each for each in tree["status"]["conditions"]}
            assert tree["status"]["phase"] == "Terminating"
            assert told["NamespaceContentRemaining"]["message"] == (
                "Some resources are remaining: configmaps has 2 resource instances"
            )
            remaining = told["NamespaceFinalizersRemaining"]
            assert (remaining["status"], remaining["message"]) == (
                "True",
                "Some content in the namespace has finalizers remaining: "
                "example.com/never in 2 resource instances",
            )
            # It looks again and again, and says nothing twice.
            revision = tree["metadata"]["resourceVersion"]
            await asyncio.sleep(0.6)
            await plane.settled()
            tree = await plane.tree("namespaces", "x", "")
            assert tree["metadata"]["resourceVersion"] == revision
            for name in ("a", "b"):
                await plane.patch("configmaps", name, {"metadata": {"finalizers": None}}, "x")
            await plane.settled()
            assert not plane.plane.store.page("configmaps", "x").entries
            assert [e.key.name for e in plane.plane.store.page("namespaces").entries] == ["default"]

    asyncio.run(run())
