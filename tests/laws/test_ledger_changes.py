"""A ledger that followed claim after claim is the ledger of the claims that are there now."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.objects import ResourceClaim, ResourceClaimConsumerReference
from dibs.supply import records
from dibs.supply.features import ALL, Features
from dibs.supply.identity import CounterId, DeviceId, PoolId
from dibs.supply.ledger import Ledger
from dibs.supply.records import Record
from dibs.testing import builders as b
from dibs.values.quantity import Quantity

PICKS = st.builds(
    b.pick,
    st.sampled_from(["gpu-0", "gpu-1", "gpu-2"]),
    pool=st.sampled_from(["p", "q"]),
    admin=st.sampled_from([False, False, True]),
    share=st.sampled_from(["", "x", "y"]),
    consumed=st.sampled_from([None, {"memory": "1Gi"}, {"memory": "500M", "cores": "1"}]),
)


@st.composite
def claims(draw: st.DrawFn, name: str) -> ResourceClaim:
    picks = draw(st.lists(PICKS, max_size=3))
    claim = b.allocated(b.claim(name), *picks) if picks else b.claim(name)
    annotations = {}
    match draw(st.sampled_from(["none", "none", "broken", "whole"])):
        case "broken":
            annotations[records.ANNOTATION] = "{"
        case "whole":
            annotations[records.ANNOTATION] = records.text_of(record(pick) for pick in picks)
    metadata = msgspec.structs.replace(
        claim.metadata,
        creation_timestamp=draw(st.sampled_from([None, "2026-01-01T00:00:00Z"])),
        annotations=annotations,
    )
    reference = ResourceClaimConsumerReference(resource="pods", name=draw(st.sampled_from("ab")))
    status = msgspec.structs.replace(claim.status, reserved_for=(reference,))
    return msgspec.structs.replace(claim, metadata=metadata, status=status)


def record(pick: object) -> Record:
    driver, pool, device, share = (
        getattr(pick, name) for name in ("driver", "pool", "device", "share_id")
    )
    counter = CounterId(PoolId(driver, pool), "card", "memory")
    return Record(DeviceId(driver, pool, device), share, {counter: Quantity.of(1)})


NAMES = st.sampled_from(["a", "b", "c", "d"])
CHANGES = st.lists(NAMES.flatmap(lambda name: st.one_of(claims(name), st.just(name))), max_size=12)


@given(CHANGES, st.sampled_from([ALL, Features(consumable_capacity=False)]))
def test_claim_after_claim_is_all_claims_at_once(
    changes: list[ResourceClaim | str], features: Features
) -> None:
    ledger = Ledger.of([], features)
    present: dict[str, ResourceClaim] = {}
    earlier: list[tuple[Ledger, list[ResourceClaim]]] = []
    for change in changes:
        earlier.append((ledger, list(present.values())))
        if isinstance(change, str):
            present.pop(change, None)
            ledger = ledger.without(f"default/{change}")
        else:
            present[change.metadata.name] = change
            ledger = ledger.plus(change)
        assert ledger == Ledger.of(present.values(), features)
        assert sorted(ledger.remarks) == sorted(Ledger.of(present.values(), features).remarks)
    for old, then in earlier:
        assert old == Ledger.of(then, features)
