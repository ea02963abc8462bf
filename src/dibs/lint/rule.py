"""The nouns that rules speak in: the world they look at, a remark, and a rule itself.

A rule is one function from the world to remarks; its code and severity stand beside it in a tuple
of its family, so that `docs/lint.md` and the tests can list them. `check` turns remarks into
findings with file, line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from dibs.client.dump import Entry, Loaded
from dibs.lint import inputs, published, trials
from dibs.lint.finding import Severity
from dibs.lint.inputs import Kind, Wish
from dibs.lint.published import Generation, Published
from dibs.lint.trials import Survey
from dibs.schedule.snapshot import Snapshot
from dibs.supply.identity import PoolId
from dibs.values import nearest


@dataclass(frozen=True, slots=True)
class World:
    """All that was read: with its places, indexed, and what the selectors find in it."""

    loaded: Loaded
    snapshot: Snapshot
    pools: Mapping[PoolId, Generation]
    devices: tuple[Published, ...]
    survey: Survey

    @classmethod
    def of(cls, loaded: Loaded) -> World:
        pools = published.pools(loaded)
        devices = tuple(published.devices(loaded))
        return cls(
            loaded, Snapshot.of(loaded.objects), pools, devices, trials.survey(loaded, devices)
        )

    def entries(self, kind: type[Kind]) -> Iterator[tuple[Entry, Kind]]:
        return inputs.of_kind(self.loaded, kind)

    def wishes(self) -> Iterator[Wish]:
        return inputs.wishes(self.loaded)


@dataclass(frozen=True, slots=True)
class Remark:
    """What a rule says of one field of one object.

    `path` is the field in v1. When it is a CEL `expression`, `offset` is the spot in it, counted
    in characters; None when the remark is on the whole field.
    """

    entry: Entry
    path: str
    message: str
    remedy: str = ""
    expression: str = ""
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """`says` is one line for the documentation: what is wrong when the rule speaks."""

    code: str
    severity: Severity
    says: str
    remarks: Callable[[World], Iterable[Remark]]


def instead(wanted: str, known: Iterable[str]) -> str:
    """Return the remedy for a name that isn't there: the nearest one, or those that are."""
    names = list(known)
    if found := near(wanted, names):
        return f"the nearest is {found}"
    return f"there are {listed(names)}" if names else ""


def near(wanted: str, known: Iterable[str]) -> str:
    """Return the one name that was most likely meant, "" when none is near."""
    return next(iter(nearest.names(wanted, known, limit=1)), "")


def listed(names: Iterable[str], limit: int = 5) -> str:
    """Return the names sorted, `a, b and 3 more`."""
    ordered = sorted(names)
    if len(ordered) <= limit:
        return ", ".join(ordered)
    return f"{', '.join(ordered[:limit])} and {len(ordered) - limit} more"


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
