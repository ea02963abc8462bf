"""The State that is decided on: the mirror's objects, and on top what is decided but not written.

No device is handed out twice between a decision and the sight of it: what a decision changes is
in the State at once, and until its writes have landed (or failed) the mirror is not asked about
those objects. Source: kube-scheduler's assume cache and in-flight allocations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dibs.client.cluster import Ref
from dibs.control.mirror import Mirror
from dibs.model.kinds import Known
from dibs.schedule import writes
from dibs.schedule.plan import Decision
from dibs.schedule.snapshot import Key, Snapshot
from dibs.schedule.state import Options, State


@dataclass(slots=True)
class World:
    """One for all loops that decide; kept by the event loop of the mirror."""

    mirror: Mirror
    state: State
    # Several decisions may concern one claim: Pods that share it.
    _in_flight: Counter[Ref] = field(default_factory=Counter)
    _landed: list[Callable[[Ref], None]] = field(default_factory=list)
    # Why the claims of a Pod can't be made, in the words of who refused them: a quota.
    _unmakable: dict[Key, str] = field(default_factory=dict)
    _heard: list[Callable[[Key], None]] = field(default_factory=list)

    @classmethod
    def of(cls, mirror: Mirror, options: Options) -> World:
        """An empty world that fills as the mirror does."""
        world = cls(mirror, State.of(Snapshot.of((), implies_nodes=False), options))
        mirror.listen(world.changed)
        return world

    @property
    def snapshot(self) -> Snapshot:
        return self.state.snapshot

    def changed(self, before: Known | None, after: Known | None) -> None:
        item = after or before
        assert item is not None
        if Ref.to(item) not in self._in_flight:
            self._see(item, is_there=after is not None)

    def decided(self, decision: Decision, refs: Iterable[Ref]) -> None:
        """Have it so from now on; `refs` are the objects whose writes are under way."""
        self._in_flight.update(refs)
        self.state = writes.after(self.state, decision)

    def landed(self, refs: Iterable[Ref]) -> None:
        """Those writes are done, or given up: believe the mirror again."""
        for ref in refs:
            self._in_flight[ref] -= 1
            if self._in_flight[ref] <= 0:
                del self._in_flight[ref]
                self._sync(ref)
                for listener in self._landed:
                    listener(ref)

    def when_landed(self, listener: Callable[[Ref], None]) -> None:
        """Tell of each object whose writes are over."""
        self._landed.append(listener)

    def cannot_make(self, pod: Key, why: str) -> None:
        """Remember why the Pod's claims are refused; "" forgets it."""
        if self._unmakable.get(pod, "") == why:
            return
        if not why:
            del self._unmakable[pod]
            return
        self._unmakable[pod] = why
        for listener in self._heard:
            listener(pod)

    def why_unmade(self, pod: Key) -> str:
        return self._unmakable.get(pod, "")

    def when_unmakable(self, listener: Callable[[Key], None]) -> None:
        """Tell of each Pod whose claims are refused, anew or with other words."""
        self._heard.append(listener)

    def is_in_flight(self, ref: Ref) -> bool:
        return ref in self._in_flight

    def in_flight(self) -> tuple[Ref, ...]:
        return tuple(self._in_flight)

    def _sync(self, ref: Ref) -> None:
        found = self.mirror.get(ref)
        if found is not None:
            self.state = self.state.with_object(found)
        else:
            self._miss(ref)

    def _see(self, item: Known, *, is_there: bool) -> None:
        if is_there:
            self.state = self.state.with_object(item)
        else:
            self._miss(Ref.to(item))

    def _miss(self, ref: Ref) -> None:
        key = Key(ref.namespace, ref.name)
        self.state = self.state.without_object(ref.kind.struct, key)
