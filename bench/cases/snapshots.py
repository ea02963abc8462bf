"""What a scheduler keeps between decisions: taking it apart, trying things in it, keeping it up."""

from __future__ import annotations

import itertools

import msgspec

from bench import clusters
from bench.case import Bench, Case, Task
from bench.deciding import BARE
from bench.world import World
from dibs.allocate.outcome import Allocated
from dibs.allocate.selecting import Answers
from dibs.index import deciding
from dibs.index.index import Index
from dibs.model import codec
from dibs.model.objects import ResourceClaim
from dibs.supply.identity import DeviceId, PoolId
from dibs.supply.ledger import Ledger, claim_key

NODES, DEVICES = 2_500, 8


def world() -> World:
    """All of 20,000 devices held, by as many claims."""
    places = [(node, device) for node in range(NODES) for device in range(DEVICES)]
    return clusters.cluster(NODES, DEVICES, places)


def forking(bench: Bench) -> Task:
    *held, more = world().read.held
    ledger = Ledger.of(held)
    return lambda: ledger.plus(more)


def reading(bench: Bench) -> Task:
    ledger = world().read.ledger
    device = DeviceId(clusters.DRIVER, "node-1234", "gpu-5")
    assert not ledger.held(device).is_free
    return lambda: ledger.held(device)


def trying(bench: Bench) -> Task:
    """What a question of the kind "what if this claim went" costs, from one index to another."""
    read = world().read
    index, answers = read.index, Answers()
    gone = read.held[12_345]
    wanted = World((), (), (), [clusters.claim("wanted", [clusters.request()])]).read.claims[0]

    def task() -> Index:
        fork = entered(index, index.ledger.without(claim_key(gone)), gone)
        found = deciding.decide(fork, [wanted], read.classes, BARE, answers)
        assert isinstance(found.outcome, Allocated)
        status = msgspec.structs.replace(wanted.status, allocation=found.outcome.allocations[0])
        placed = msgspec.structs.replace(wanted, status=status)
        return entered(fork, fork.ledger.plus(placed), placed)

    return task


def entering(bench: Bench) -> Task:
    """A claim went and came back: two events."""
    read = world().read
    index = read.index
    claim = read.held[12_345]

    def task() -> Index:
        less = entered(index, index.ledger.without(claim_key(claim)), claim)
        return entered(less, less.ledger.plus(claim), claim)

    return task


def entered(index: Index, ledger: Ledger, claim: ResourceClaim) -> Index:
    """The index after what this claim holds has changed."""
    assert claim.status.allocation is not None
    results = claim.status.allocation.devices.results
    return index.with_ledger(
        ledger, [DeviceId(each.driver, each.pool, each.device) for each in results]
    )


def changing(bench: Bench) -> Task:
    """A slice is published anew, by turns as it was and with a device less."""
    read = world().read
    whole = read.slices[1_234]
    spec = msgspec.structs.replace(whole.spec, devices=whole.spec.devices[1:])
    less = msgspec.structs.replace(whole, spec=spec)
    pool = PoolId(whole.spec.driver, whole.spec.pool.name)
    states = itertools.cycle([less, whole])
    kept = [read.index]

    def task() -> None:
        (index,) = kept
        kept[0] = index.with_supply(index.supply.with_slice(next(states)), [pool])

    return task


def indexing(bench: Bench) -> Task:
    read = world().read
    supply, ledger = read.supply, read.ledger
    return lambda: Index.of(read.nodes, supply, ledger)


def building(bench: Bench) -> Task:
    held = world().read.held
    return lambda: Ledger.of(held)


def decoding(bench: Bench) -> Task:
    trees = [clusters.resource_slice(index, 8) for index in range(1000)]

    def task() -> None:
        for tree in trees:
            codec.decode(tree)

    return task


CASES = (
    Case(
        "fork",
        "snapshots",
        "µs",
        "of a ledger of 20,000 claims: fork it, enter one claim more, drop the fork",
        prepare=forking,
        goal=20,
    ),
    Case(
        "taken",
        "snapshots",
        "ns",
        "reading who holds a device, in a ledger of 20,000 claims",
        prepare=reading,
        inner=5_000,
        goal=1_000,
    ),
    Case(
        "what-if",
        "snapshots",
        "µs",
        "in a cluster of 2,500 nodes of 8, all held: release one claim, place another, drop both",
        prepare=trying,
    ),
    Case(
        "index-claim",
        "snapshots",
        "µs",
        "keeping the index up: a claim gives its device back, and takes it again",
        prepare=entering,
    ),
    Case(
        "index-slice",
        "snapshots",
        "µs",
        "keeping the index up: a slice is published with a device less, or more",
        prepare=changing,
    ),
    Case(
        "index", "snapshots", "ms", "that index made anew, from pools and ledger", prepare=indexing
    ),
    Case(
        "ledger", "snapshots", "ms", "the ledger of its 20,000 claims made anew", prepare=building
    ),
    Case(
        "decode",
        "snapshots",
        "ms",
        "1,000 slices of 8 devices, from JSON trees to objects",
        prepare=decoding,
    ),
)
