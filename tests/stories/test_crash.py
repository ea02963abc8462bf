"""`dibs up` is killed at any moment, again and again, while users make and delete Pods.

What was acknowledged is there, whatever happens next; and the log of everything that was ever
written, across all those lives, holds no device with two holders and no Pod without its devices.
At last it is left alone, and comes to rest: everybody placed or told why not, nothing left over.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from dibs.client import http, kubeconfig
from dibs.client.cluster import Missing, Ref, Unreachable
from dibs.client.http import Http
from dibs.control import telling
from dibs.model import kinds
from dibs.model.core import Pod
from dibs.store import opening
from dibs.testing import builders
from dibs.testing.audit import Audit, Limits

pytestmark = pytest.mark.slow

KILLS = 8
LONG_KILLS = 200
DIBS = Path(sys.executable).parent / "dibs"
FLEET = """
nodes:
- {model: h100-80, devices: 4, nodes: 2, name: big}
- {model: a100-40, devices: 2, name: cut, partitions: true}
"""
PODS = kinds.BY_NAME["", "Pod"]
CLAIMS = kinds.BY_NAME[kinds.GROUP, "ResourceClaim"]
USERS = 6
# A user has so many Pods at most, a few more than there are devices for.
MOST_PODS = 4


@dataclass
class Users:
    """What they were told is there, and is gone."""

    chance: Random
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    made: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    acknowledged: int = 0

    async def work(self, cluster: Http, user: int) -> None:
        """Make and delete Pods until nobody answers any more."""
        while True:
            own = [name for name in self.made if name.startswith(f"u{user}-")]
            try:
                if len(own) < MOST_PODS:
                    await self._make(cluster, f"u{user}-{next(self.numbers)}")
                else:
                    await self._delete(cluster, self.chance.choice(own))
            except Unreachable:
                return

    async def _make(self, cluster: Http, name: str) -> None:
        template = self.chance.choice(("one", "one", "two"))
        entries = [{"name": "gpu", "resourceClaimTemplateName": template}]
        container = {"name": "main", "image": "example.com/x"}
        spec = {"containers": [container], "resourceClaims": entries}
        tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        made = await cluster.fetch("POST", "/api/v1/namespaces/default/pods", body=tree)
        self.made[name] = made["metadata"]["uid"]
        self.acknowledged += 1

    async def _delete(self, cluster: Http, name: str) -> None:
        uid = self.made.pop(name)
        with contextlib.suppress(Missing):
            await cluster.delete(Ref(PODS, "default", name), uid=uid)
        self.gone.add(name)
        self.acknowledged += 1


@dataclass
class Witness:
    """Reads the store between two lives."""

    folder: Path
    audit: Audit = field(default_factory=lambda: Audit(Limits()))
    seen: int = 0

    async def look(self, users: Users) -> list[str]:
        store = await opening.in_folder(self.folder)
        try:
            watch = store.watch(since=max(self.seen, store.oldest))
            events = await watch.take(most=10**9, wait_s=0)
        finally:
            self.seen = store.revision
            await store.close()
        faults = [f"{each.revision}: {fault}" for each in events for fault in self.audit.see(each)]
        # One that is deleted on a node is there until that is done, but can't come back.
        there = {
            key.name: tree["metadata"]["uid"]
            for key, tree in self.audit.pods.items()
            if not tree["metadata"].get("deletionTimestamp")
        }
        for name, uid in users.made.items():
            if there.get(name) != uid:
                faults.append(f"{name} was acknowledged, and is not there")
        faults += [f"{name} was deleted, and is there" for name in users.gone & there.keys()]
        # What nobody answered is decided by now.
        users.made = dict(there)
        return faults


@contextlib.asynccontextmanager
async def up(data: Path, fleet: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, Http]]:
    process = await asyncio.create_subprocess_exec(
        str(DIBS), "up", "--data", str(data), "--listen", "127.0.0.1:0", "--fleet", str(fleet),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout
        line = (await process.stdout.readline()).decode()
        assert line.startswith("ready KUBECONFIG="), line
        access = kubeconfig.access(Path(line.strip().partition("=")[2]))
        async with http.connected(access) as cluster:
            yield process, cluster
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def killed(folder: Path, kills: int, chance: Random) -> None:
    fleet = folder / "fleet.yaml"
    fleet.write_text(FLEET)
    data = folder / "data"
    users, witness = Users(chance), Witness(data)
    for round_ in range(kills):
        async with up(data, fleet) as (process, cluster):
            if not round_:
                await furnish(cluster)
            working = [asyncio.create_task(users.work(cluster, user)) for user in range(USERS)]
            await asyncio.sleep(chance.uniform(0.0, 1.0))
            process.kill()
            await asyncio.gather(*working)
        assert await witness.look(users) == [], f"after kill {round_}"
    async with up(data, fleet) as (_, cluster):
        await settled(cluster)
    assert await witness.look(users) == []
    assert witness.audit.rest() == []
    assert users.acknowledged > 4 * kills
    assert witness.audit.bound > kills


async def furnish(cluster: Http) -> None:
    request = builders.request("gpu", device_class="gpu.dibs.dev")
    await cluster.create(builders.template("one", request))
    more = builders.request("more", device_class="gpu.dibs.dev")
    await cluster.create(builders.template("two", request, more))


async def settled(cluster: Http) -> None:
    """Until all Pods are placed or told why not, and nothing changes any more."""
    before, quiet = "", 0
    async with asyncio.timeout(120):
        while quiet < 5:
            await asyncio.sleep(0.4)
            pods, _ = await cluster.list(PODS)
            claims, _ = await cluster.list(CLAIMS)
            found = " ".join(item.metadata.resource_version for item in (*pods, *claims))
            answered = all(
                isinstance(pod, Pod) and (pod.spec.node_name or telling.conditions(pod))
                for pod in pods
            )
            quiet = quiet + 1 if answered and found == before else 0
            before = found


def test_killed_at_any_moment(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    is_long = request.config.getoption("--hypothesis-profile") == "long"
    asyncio.run(killed(tmp_path, LONG_KILLS if is_long else KILLS, Random(7)))
