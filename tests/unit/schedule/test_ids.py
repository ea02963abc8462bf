"""Names of claims made from templates, and uids that the input lacks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.schedule import ids
from dibs.schedule.snapshot import Key
from dibs.values import names

# Only the length matters, and where the cut falls.
LABEL = st.integers(1, 63).map(lambda length: ("a-" * 32)[: length - 1] + "z")


@given(pod=LABEL, entry=LABEL)
def test_names_are_valid_and_short_enough(pod: str, entry: str) -> None:
    name = ids.claim_name(Key("default", pod), entry, ())
    assert len(name) <= 63
    assert not names.faults_of_dns_subdomain(name)
    assert len(ids.claim_prefix(pod, entry)) <= ids.PREFIX_LIMIT


def test_short_names_are_kept_whole() -> None:
    name = ids.claim_name(Key("default", "train-0"), "gpu", ())
    assert re.fullmatch(r"train-0-gpu-[bcdfghjklmnpqrstvwxz2456789]{5}", name)


def test_the_same_input_has_the_same_name_and_another_pod_another() -> None:
    first = ids.claim_name(Key("default", "train"), "gpu", ())
    assert ids.claim_name(Key("default", "train"), "gpu", ()) == first
    assert ids.claim_name(Key("other", "train"), "gpu", ()) != first


def test_a_taken_name_is_not_given_again() -> None:
    first = ids.claim_name(Key("default", "train"), "gpu", ())
    second = ids.claim_name(Key("default", "train"), "gpu", {Key("default", first)})
    assert second != first
    assert second.startswith("train-gpu-")
    # The same name in another namespace is no obstacle.
    assert ids.claim_name(Key("default", "train"), "gpu", {Key("other", first)}) == first


def test_uids_are_uuids() -> None:
    found = ids.uid("Pod", Key("default", "train"))
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", found
    )
    assert found != ids.uid("ResourceClaim", Key("default", "train"))


@pytest.mark.parametrize("length", [1, 37, 38, 39, 63, 253])
def test_the_special_claim_has_room_for_its_suffix(length: int) -> None:
    """KEP-5004: `<pod>-extended-resources-<suffix>`, cut as the API server cuts generateName."""
    pod = Key("default", "p" * length)
    name = ids.special_name(pod, ())
    assert len(name) <= 63
    assert name.startswith(f"{pod.name}-extended-resources-"[:58])
    assert ids.special_name(pod, {Key("default", name)}) != name
    assert ids.special_name(pod, {Key("other", name)}) == name
