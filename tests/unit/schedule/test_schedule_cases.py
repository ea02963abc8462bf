"""Runs tests/cases/schedule/*.yaml: a world, a plan of it, and what must have been decided.

then:
  placed: {pod/one: a, claim/spare: b}      # everybody who was placed, and nobody else
  devices: {claim/shared: [gpu-0]}          # what a claim holds afterwards
  waits: {pod/two: part of the reason}      # everybody who waits
  reserved: {claim/shared: [one, two]}      # of other kinds than Pods: kind/name
  extended: {pod/one: [container resource request]}
  natives: {pod/one: {claim: {cpu: 4}}}     # drawn through claims, overhead included
  groups: {train: {entry: claim}}           # status.resourceClaimStatuses of PodGroups
  mistake: part of the message              # instead of all the above

A claim may be named by a pattern: claim/one-gpu-*.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

import worlds
from dibs.model.core import Pod
from dibs.model.objects import ResourceClaim
from dibs.model.workloads import PodGroup
from dibs.schedule import footprint, pods
from dibs.schedule.plan import Broken, Placed, Plan, Subject, Waits
from dibs.schedule.snapshot import Snapshot
from dibs.schedule.state import Options
from dibs.values.mistake import Mistake
from dibs.view import plans

CASES = Path(__file__).parents[2] / "cases" / "schedule"


def cases() -> Iterator[Any]:
    for file in sorted(CASES.glob("*.yaml")):
        for case in yaml.load(file.read_text(), yaml.CSafeLoader):
            yield pytest.param(case, id=f"{file.stem}: {case['name']}")


def name(subject: Subject) -> str:
    kind = "pod" if subject.kind == "Pod" else "claim"
    prefix = "" if subject.key.namespace == "default" else f"{subject.key.namespace}/"
    return f"{kind}/{prefix}{subject.key.name}"


@pytest.mark.parametrize("case", list(cases()))
def test_plan(case: dict[str, Any]) -> None:
    snapshot = worlds.snapshot(case["given"])
    options = Options(**case.get("when", {}))
    then = case["then"]
    if "mistake" in then:
        with pytest.raises(Mistake) as caught:
            pods.plan(snapshot, options)
        assert then["mistake"] in str(caught.value)
        return
    plan = pods.plan(snapshot, options)
    placed = {name(d.subject): d.node for d in plan.decisions if isinstance(d, Placed)}
    assert placed == then.get("placed", {})
    reasons = {
        name(d.subject): plans.reason(d) for d in plan.decisions if isinstance(d, Waits | Broken)
    }
    assert reasons.keys() == then.get("waits", {}).keys(), reasons
    for who, text in then.get("waits", {}).items():
        assert text in reasons[who]
    check_claims(plan, snapshot, then)


def check_claims(plan: Plan, snapshot: Snapshot, then: dict[str, Any]) -> None:
    held = {f"claim/{k.name}": claim for k, claim in snapshot.claims.items()}
    placed: dict[str, Pod] = {}
    groups: dict[str, dict[str, str | None]] = {}
    for thing in plans.objects(plan, snapshot):
        if isinstance(thing, ResourceClaim):
            held[f"claim/{thing.metadata.name}"] = thing
        elif isinstance(thing, PodGroup):
            made = thing.status.resource_claim_statuses
            groups[thing.metadata.name] = {each.name: each.resource_claim_name for each in made}
        else:
            assert isinstance(thing, Pod)
            placed[f"pod/{thing.metadata.name}"] = thing
    for who, devices in then.get("devices", {}).items():
        allocation = one_of(held, who).status.allocation
        assert (
            [r.device for r in allocation.devices.results] == devices if allocation else not devices
        )
    for who, pods_ in then.get("reserved", {}).items():
        references = one_of(held, who).status.reserved_for
        assert [
            ref.name if ref.resource == "pods" else f"{ref.resource}/{ref.name}"
            for ref in references
        ] == pods_
    for who, mappings in then.get("extended", {}).items():
        assert extended_of(placed[who]) == mappings
    for who, drawn in then.get("natives", {}).items():
        found = natives_of(placed[who])
        assert list(found.values()) == list(drawn.values())
        assert all(map(fnmatch, found, drawn))
    for group, entries in then.get("groups", {}).items():
        assert groups[group].keys() == entries.keys()
        for entry, pattern in entries.items():
            assert fnmatch(groups[group][entry] or "", pattern)


def one_of(held: dict[str, ResourceClaim], pattern: str) -> ResourceClaim:
    (found,) = (claim for name_, claim in held.items() if fnmatch(name_, pattern))
    return found


def extended_of(pod: Pod) -> list[str]:
    status = pod.status.extended_resource_claim_status
    return [
        f"{each.container_name} {each.resource_name} {each.request_name}"
        for each in (status.request_mappings if status else ())
    ]


def natives_of(pod: Pod) -> dict[str, dict[str, str]]:
    return {
        each.resource_claim_name: {
            name_: str(amount) for name_, amount in footprint.through_claims([each]).items()
        }
        for each in pod.status.node_allocatable_resource_claim_statuses
    }
