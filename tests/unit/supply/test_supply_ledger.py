"""Who holds what: wholes, shares, watchers, and what is left when a claim goes."""

from __future__ import annotations

import msgspec

from dibs.model.objects import ResourceClaim, ResourceClaimConsumerReference
from dibs.supply.features import Features
from dibs.supply.identity import DeviceId
from dibs.supply.ledger import Ledger
from dibs.testing import builders as b
from dibs.values.quantity import Quantity

GPU = DeviceId(b.DRIVER, "pool", "gpu-0")


def reserved(claim: ResourceClaim, *pods: str) -> ResourceClaim:
    refs = tuple(ResourceClaimConsumerReference(resource="pods", name=pod) for pod in pods)
    return msgspec.structs.replace(
        claim, status=msgspec.structs.replace(claim.status, reserved_for=refs)
    )


def test_a_holder_is_known_by_claim_request_and_pods() -> None:
    claim = reserved(b.allocated(b.claim("train"), b.pick("gpu-0")), "train-0", "train-1")
    holding = Ledger.of([claim]).held(GPU)
    (holder,) = holding.holders
    assert (holder.claim, holder.request) == ("default/train", "gpu")
    assert holder.pods == ("train-0", "train-1")
    assert not holding.is_free


def test_admin_access_holds_nothing_but_is_seen() -> None:
    holding = Ledger.of([b.allocated(b.claim("watch"), b.pick("gpu-0", admin=True))]).held(GPU)
    assert holding.is_free
    assert [watcher.claim for watcher in holding.watchers] == ["default/watch"]


def test_shares_add_up() -> None:
    claims = [
        b.allocated(b.claim(name), b.pick("gpu-0", share=name, consumed={"memory": amount}))
        for name, amount in (("a", "1Gi"), ("b", "512Mi"))
    ]
    holding = Ledger.of(claims).held(GPU)
    assert holding.consumed == {"memory": Quantity.parse("1536Mi")}
    assert [share.share for share in holding.shares] == ["a", "b"]


def test_while_sharing_is_off_a_share_takes_the_device() -> None:
    claim = b.allocated(b.claim("a"), b.pick("gpu-0", share="a", consumed={"memory": "1Gi"}))
    holding = Ledger.of([claim], Features(consumable_capacity=False)).held(GPU)
    assert len(holding.whole) == 1
    assert not holding.shares
    assert not holding.consumed


def test_adding_a_claim_is_the_same_as_having_had_it_and_leaves_the_old_ledger_alone() -> None:
    a = b.allocated(b.claim("a"), b.pick("gpu-0", share="a", consumed={"memory": "1"}))
    c = b.allocated(b.claim("c"), b.pick("gpu-0", share="c", consumed={"memory": "2"}))
    before = Ledger.of([a])
    assert before.plus(c) == Ledger.of([a, c])
    assert before == Ledger.of([a])
    assert Ledger.of([a, c]).without("default/c") == before
    assert Ledger.of([a]).without("default/a") == Ledger.of([])


def test_a_claim_without_allocation_holds_nothing() -> None:
    assert Ledger.of([b.claim("idle")]).held(GPU).is_free


def test_a_claim_that_changed_holds_what_it_holds_now() -> None:
    a, c = b.allocated(b.claim("a"), b.pick("gpu-0")), b.allocated(b.claim("c"), b.pick("gpu-1"))
    moved = reserved(b.allocated(b.claim("a"), b.pick("gpu-2"), b.pick("gpu-1")), "train-0")
    before = Ledger.of([a, c])
    after = before.plus(moved)
    assert after == Ledger.of([moved, c])
    assert after.devices_of("default/a") == (
        DeviceId(b.DRIVER, "pool", "gpu-2"),
        DeviceId(b.DRIVER, "pool", "gpu-1"),
    )
    assert after.plus(b.claim("a")) == Ledger.of([c])
    assert before == Ledger.of([a, c])


def test_holders_are_in_order_of_their_age_whoever_came_first() -> None:
    young, old, unborn = (
        b.allocated(b.claim(name), b.pick("gpu-0", share=name))
        for name in ("young", "old", "a-new-one")
    )
    young, old = (
        msgspec.structs.replace(
            claim,
            metadata=msgspec.structs.replace(claim.metadata, creation_timestamp=f"{year}-01-01"),
        )
        for claim, year in ((young, 2026), (old, 2025))
    )
    shares = Ledger.of([unborn, young]).plus(old).held(GPU).shares
    assert [share.share for share in shares] == ["old", "young", "a-new-one"]


def test_who_holds_nothing_changes_nothing() -> None:
    ledger = Ledger.of([b.allocated(b.claim("a"), b.pick("gpu-0"))])
    assert ledger.plus(b.claim("idle")) is ledger
    assert ledger.without("default/nobody") is ledger
