"""The nouns that rules speak in: the world they look at, a remark, and a rule itself.

A rule is one function from the world to remarks; its code and severity stand beside it in a tuple
of its family, so that `docs/lint.md` and the tests can list them. `check` turns remarks into
findings with file, line and column.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from dibs.client.dump import Entry, Loaded
from dibs.lint.finding import Severity
from dibs.model.kinds import Known
from dibs.model.objects import ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from dibs.schedule.snapshot import Snapshot

Kind = TypeVar("Kind", bound=Known)


@dataclass(frozen=True, slots=True)
class Remark:
    """What a rule says of one field of one object.

    `path` is the field in v1. `offset` is a place inside the text that stands there (a CEL
    expression), counted in characters; None when the remark is on the whole field.
    """

    entry: Entry
    path: str
    message: str
    remedy: str = ""
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class World:
    """All that was read: the entries with their places, and the same objects indexed."""

    loaded: Loaded
    snapshot: Snapshot

    @classmethod
    def of(cls, loaded: Loaded) -> World:
        return cls(loaded, Snapshot.of(loaded.objects))

    def entries(self, kind: type[Kind]) -> Iterator[tuple[Entry, Kind]]:
        """Yield the entries that hold this kind, with the object typed."""
        for entry in self.loaded.entries:
            if isinstance(entry.object, kind):
                yield entry, entry.object


@dataclass(frozen=True, slots=True)
class Rule:
    """`says` is one line for the documentation: what is wrong when the rule speaks."""

    code: str
    severity: Severity
    says: str
    remarks: Callable[[World], Iterable[Remark]]


@dataclass(frozen=True, slots=True)
class Wish:
    """A claim's spec where it stands: in a claim at `spec`, in a template at `spec.spec`."""

    entry: Entry
    spec: ResourceClaimSpec
    root: str
    namespace: str
    is_allocated: bool


def wishes(world: World) -> Iterator[Wish]:
    """Yield what every claim and every template asks for."""
    for entry, claim in world.entries(ResourceClaim):
        namespace = claim.metadata.namespace or "default"
        yield Wish(entry, claim.spec, "spec", namespace, claim.status.allocation is not None)
    for entry, template in world.entries(ResourceClaimTemplate):
        namespace = template.metadata.namespace or "default"
        yield Wish(entry, template.spec.spec, "spec.spec", namespace, False)


def nearest(wanted: str, known: Iterable[str]) -> str | None:
    """Return the known name that `wanted` was most likely meant to be, None when none is near."""
    near = difflib.get_close_matches(wanted, sorted(known), n=1, cutoff=0.5)
    return near[0] if near else None


def instead(wanted: str, known: Iterable[str]) -> str:
    """Return the remedy for a name that isn't there: the nearest one, or those that are."""
    names = list(known)
    if (near := nearest(wanted, names)) is not None:
        return f"the nearest is {near}"
    return f"there are {listed(names)}" if names else ""


def listed(names: Iterable[str], limit: int = 5) -> str:
    """Return the names sorted, `a, b and 3 more`."""
    ordered = sorted(names)
    if len(ordered) <= limit:
        return ", ".join(ordered)
    return f"{', '.join(ordered[:limit])} and {len(ordered) - limit} more"


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
