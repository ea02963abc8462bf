"""The index as a value: nodes, slices and ledger, and all that is derived from them.

Each change makes another index and costs what it touches; a fork costs nothing. What was refused
is remembered with it, and forgotten where something got better.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from dibs.index import bits
from dibs.index.bits import Set
from dibs.index.layout import Layout
from dibs.index.learned import Learned
from dibs.index.roster import Roster
from dibs.index.standing import Standing
from dibs.model.core import Node
from dibs.supply.identity import DeviceId, PoolId
from dibs.supply.ledger import Holding, Ledger
from dibs.supply.pools import Supply

# Wants of which it is remembered who refused them.
MOST_NOES = 256

Noes = Mapping[bytes, Set]


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """`noes` has the nodes that refused a want, by its key: as long as nothing is given back there,
    they would again. `learned` is shared by all that come from one index, and says itself what of
    it holds for which layout.
    """

    layout: Layout
    ledger: Ledger
    standing: Standing
    noes: Noes = field(default_factory=dict)
    learned: Learned = field(default_factory=Learned)

    @classmethod
    def of(cls, nodes: Iterable[Node], supply: Supply, ledger: Ledger) -> Index:
        layout = Layout.of(Roster.of(nodes), supply)
        return cls(layout, ledger, Standing.of(layout, ledger))

    @property
    def roster(self) -> Roster:
        return self.layout.roster

    @property
    def supply(self) -> Supply:
        return self.layout.supply

    def with_ledger(self, ledger: Ledger, touched: Collection[DeviceId]) -> Index:
        """After claims got these devices, or gave them back; holdings of others are the same."""
        standing = self.standing.with_ledger(self.layout, self.ledger, ledger, touched)
        noes = self.noes
        if noes:
            freed = (each for each in touched if _gave_back(self.ledger, ledger, each))
            pools = {PoolId(each.driver, each.pool) for each in freed}
            noes = _without(noes, self._viewers(pools))
        return replace(self, ledger=ledger, standing=standing, noes=noes)

    def with_claims(self, ledger: Ledger, names: Iterable[str]) -> Index:
        """The same, for claims ("namespace/name") that were allocated, changed or released."""
        touched = {
            device
            for name in names
            for device in (*self.ledger.devices_of(name), *ledger.devices_of(name))
        }
        return self.with_ledger(ledger, touched)

    def with_supply(self, supply: Supply, pools: Collection[PoolId]) -> Index:
        """After the slices of these pools, and no others, have changed."""
        layout = self.layout.with_supply(supply, pools)
        after = replace(
            self,
            layout=layout,
            standing=self.standing.with_layout(self.layout, layout, self.ledger, pools),
        )
        return replace(
            after, noes=_without(self.noes, self._viewers(pools) | after._viewers(pools))
        )

    def with_nodes(self, changed: Mapping[str, Node | None]) -> Index:
        """With these nodes new or in place of the old ones; without those that are None."""
        roster = self.roster.with_nodes(changed)
        if roster.numbering is not self.roster.numbering:
            layout = Layout.of(roster, self.supply)
            standing = Standing.of(layout, self.ledger)
            return replace(self, layout=layout, standing=standing, noes={})
        pools = self.layout.seen_by(roster, changed)
        layout = self.layout.with_roster(roster, pools)
        standing = self.standing.with_layout(self.layout, layout, self.ledger, pools)
        nodes = bits.union(each.only(name) for each in (self.roster, roster) for name in changed)
        noes = _without(self.noes, nodes)
        return replace(self, layout=layout, standing=standing, noes=noes)

    def with_noes(self, key: bytes, nodes: Set) -> Index:
        """Remembering that these nodes refused the want of this key."""
        if not nodes & ~self.noes.get(key, bits.NONE):
            return self
        noes = dict(self.noes)
        noes[key] = noes.pop(key, bits.NONE) | nodes
        if len(noes) > MOST_NOES:
            del noes[next(iter(noes))]
        return replace(self, noes=noes)

    def forgetting(self, names: Iterable[str]) -> Index:
        """What these nodes refused they may grant now, for a reason that isn't in the ledger."""
        return replace(self, noes=_without(self.noes, bits.union(map(self.roster.only, names))))

    def _viewers(self, pools: Iterable[PoolId]) -> Set:
        trays = (tray for pool in pools for tray in self.layout.trays.get(pool, ()))
        return bits.union(tray.viewers for tray in trays)


def _gave_back(before: Ledger, ledger: Ledger, device: DeviceId) -> bool:
    """Whether somebody who held the device, or a share of it, doesn't any more."""
    was, now = before.held(device), ledger.held(device)
    return not (_grew(was, now) or was is now)


def _grew(was: Holding, now: Holding) -> bool:
    return now.whole[: len(was.whole)] == was.whole and now.shares[: len(was.shares)] == was.shares


def _without(noes: Noes, nodes: Set) -> Noes:
    if not nodes or not noes:
        return noes
    left = {key: members & ~nodes for key, members in noes.items()}
    return {key: members for key, members in left.items() if members}
