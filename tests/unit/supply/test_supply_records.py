"""Records of what was drawn: written, read again, and what of them can't be read."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.objects import (
    CounterSet,
    ResourceClaim,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dibs.supply import ledger, records
from dibs.supply.identity import NO_GROUPS, CounterId, CounterSetId, DeviceId, Groups, PoolId
from dibs.supply.ledger import Ledger
from dibs.supply.records import Record
from dibs.testing import builders as b
from dibs.values.mistake import Mistake
from dibs.values.quantity import Quantity

POOL = PoolId(b.DRIVER, "pool")
GPU = DeviceId(b.DRIVER, "pool", "gpu-0")
MEMORY = CounterId(POOL, "card", "memory")

names = st.sampled_from(["card-0", "card-1"])
counters = st.builds(lambda set_, name: CounterId(POOL, set_, name), names, st.sampled_from("abc"))
amounts = st.dictionaries(counters, st.integers(0, 2**70).map(Quantity.of), max_size=4)


def recorded(text: str, *picks: str) -> ResourceClaim:
    claim = b.allocated(b.claim("serve"), *map(b.pick, picks or ("gpu-0",)))
    metadata = msgspec.structs.replace(claim.metadata, annotations={records.ANNOTATION: text})
    return msgspec.structs.replace(claim, metadata=metadata)


@given(once=amounts, each=amounts, share=st.sampled_from([None, "a"]), grouped=names)
def test_what_was_written_is_read(
    once: dict[CounterId, Quantity],
    each: dict[CounterId, Quantity],
    share: str | None,
    grouped: str,
) -> None:
    sets = {counter.set for counter in (*once, *each)} | {grouped}
    groups = {CounterSetId(POOL, name): NO_GROUPS for name in sets}
    groups[CounterSetId(POOL, grouped)] = Groups(["mig", "vgpu"])
    record = Record(GPU, share, once, each, groups)
    assert records.read(records.text_of([record, record])) == (record, record)


ENTRY = {"driver": b.DRIVER, "pool": "pool", "device": "gpu-0"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("{}", "is no list"),
        ("[1]", "[0]: is no object"),
        ('[{"driver": "x"}]', "[0].pool: is no text"),
        (json.dumps([{**ENTRY, "devices": 1}]), "[0].devices: is not known"),
        (json.dumps([{**ENTRY, "shareID": 1}]), "[0].shareID: is no text"),
        (json.dumps([{**ENTRY, "counterSets": []}]), "[0].counterSets: is no object"),
        (
            json.dumps([{**ENTRY, "counterSets": {"card": {"counters": {"memory": "-1"}}}}]),
            "[0].counterSets.card.counters.memory: is negative",
        ),
        (
            json.dumps([{**ENTRY, "counterSets": {"card": {"counters": {"memory": 1}}}}]),
            "[0].counterSets.card.counters.memory: is no quantity",
        ),
    ],
)
def test_a_record_that_cant_be_read_is_told_and_otherwise_as_good_as_none(
    text: str, why: str
) -> None:
    with pytest.raises(Mistake, match=why.replace("[", r"\[").replace(".", r"\.")):
        records.read(text)
    claim = recorded(text)
    read = Ledger.of([claim])
    (remark,) = read.remarks
    assert remark == (
        f"claim default/serve: annotation {records.ANNOTATION}: {why}; "
        "what it draws is taken from the slices"
    )
    assert list(ledger.remarks_on([claim])) == [remark]
    (holder,) = read.held(GPU).holders
    assert holder.record is None


def test_a_counter_set_that_is_published_no_more_is_told() -> None:
    drawn = {**ENTRY, "counterSets": {"card": {"counters": {"memory": "40Gi"}}}}
    claim = recorded(json.dumps([drawn]))

    def publishing(name: str, generation: int = 2) -> ResourceSlice:
        pool = ResourcePool(name=POOL.name, generation=generation, resource_slice_count=1)
        sets = (CounterSet(name=name),)
        return ResourceSlice(
            spec=ResourceSliceSpec(driver=POOL.driver, pool=pool, shared_counters=sets)
        )

    assert list(ledger.remarks_on([claim], [publishing("card")])) == []
    # A pool that isn't there at all has nothing to give away.
    assert list(ledger.remarks_on([claim], [])) == []
    (remark,) = ledger.remarks_on([claim], [publishing("board"), publishing("card", 1)])
    assert remark == (
        f"claim default/serve draws from counter set card, which pool {POOL.name} of "
        f"{POOL.driver} publishes no more; only what its device is published to "
        "draw now is kept from others"
    )


def test_a_record_goes_with_its_device_and_nothing_else() -> None:
    drawn = {**ENTRY, "counterSets": {"card": {"counters": {"memory": "40Gi"}}}}
    read = Ledger.of([recorded(json.dumps([drawn]), "gpu-0", "gpu-1")])
    (holder,) = read.held(GPU).holders
    assert holder.record is not None
    assert holder.record.once == {MEMORY: Quantity.parse("40Gi")}
    assert read.held(DeviceId(b.DRIVER, "pool", "gpu-1")).holders[0].record is None
    assert read.recorded == {POOL: {GPU}}
    assert read.without("default/serve").recorded == {}
    assert Ledger().plus(recorded(json.dumps([drawn]))).recorded == {POOL: {GPU}}


def test_a_claim_without_allocation_holds_nothing_whatever_it_remembers() -> None:
    claim = msgspec.structs.replace(recorded("nonsense"), status=b.claim("x").status)
    assert Ledger.of([claim]) == Ledger()
