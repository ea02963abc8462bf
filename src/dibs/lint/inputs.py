"""The objects that were read, typed, each still with the place it stands at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from dibs.client.dump import Entry, Loaded
from dibs.model.kinds import Known
from dibs.model.objects import ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from dibs.schedule import snapshot

Kind = TypeVar("Kind", bound=Known)


@dataclass(frozen=True, slots=True)
class Wish:
    """A claim's spec where it stands: in a claim at `spec`, in a template at `spec.spec`."""

    entry: Entry
    spec: ResourceClaimSpec
    root: str
    namespace: str
    is_allocated: bool


def of_kind(loaded: Loaded, kind: type[Kind]) -> Iterator[tuple[Entry, Kind]]:
    """Yield the entries that hold this kind, with the object typed."""
    for entry in loaded.entries:
        if isinstance(entry.object, kind):
            yield entry, entry.object


def wishes(loaded: Loaded) -> Iterator[Wish]:
    """Yield what every claim and every template asks for."""
    for entry, claim in of_kind(loaded, ResourceClaim):
        namespace = snapshot.key_of(claim.metadata).namespace
        yield Wish(entry, claim.spec, "spec", namespace, claim.status.allocation is not None)
    for entry, template in of_kind(loaded, ResourceClaimTemplate):
        namespace = snapshot.key_of(template.metadata).namespace
        yield Wish(entry, template.spec.spec, "spec.spec", namespace, False)
