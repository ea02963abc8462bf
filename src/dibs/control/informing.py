"""When a Pod that waits is told why: at once if it is news, but not every moment.

Reasons cost more than decisions, and what is under way may be over soon: who was told just now, or
waits for claims that are being made, is told a little later, if it still waits then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dibs.client.cluster import Cluster, Conflict, Forbidden, Missing, Ref, Unreachable
from dibs.control import telling
from dibs.control.mirror import Mirror
from dibs.model.core import Pod
from dibs.schedule.snapshot import Key, key_of

LOG = logging.getLogger("dibs.control")
# A Pod that waits on is told anew only after so long.
TELL_AGAIN_S = 10.0


@dataclass(slots=True)
class Informing:
    """`now` is seconds since 1970; `clock` seconds that only go forward."""

    cluster: Cluster
    mirror: Mirror
    now: Callable[[], float]
    clock: Callable[[], float]
    # When each Pod in the queue was last told why it waits, and since when its claims are made.
    _told_at: dict[Key, float] = field(default_factory=dict)
    _patient: dict[Key, float] = field(default_factory=dict)
    # Pods that may have another reason than they were told, and when they will be.
    _untold: dict[Key, float] = field(default_factory=dict)

    def is_early(self, key: Key, *, is_patient: bool) -> bool:
        """Whether it is to be told only later, because what it waits for may well come."""
        if not is_patient:
            self._patient.pop(key, None)
            return False
        due = self._patient.setdefault(key, self.clock()) + TELL_AGAIN_S
        return self._is_later(key, due)

    async def tell(self, pod: Pod, reason: telling.Reason, text: Callable[[], str]) -> bool:
        """Write into the Pod's status why it waits, and an event, if that is news; soon, if it
        was told only just now. False if it couldn't be written."""
        key = key_of(pod.metadata)
        if self._is_later(key, self._told_at.get(key, -TELL_AGAIN_S) + TELL_AGAIN_S):
            return True
        self._untold.pop(key, None)
        said, told_at = text(), self.clock()
        patch = telling.unscheduled(pod, self.now(), reason, said)
        if patch is not None:
            try:
                self.mirror.wrote(await self.cluster.patch(Ref.to(pod), patch, "status"))
            except (Conflict, Missing, Unreachable, Forbidden) as fault:
                LOG.debug("%s: %s", key, fault)
                return False
            event = telling.event(pod, self.now(), "FailedScheduling", said, "Warning")
            await self.cluster.report(event)
        self._told_at[key] = told_at
        return True

    def _is_later(self, key: Key, due: float) -> bool:
        if due > self.clock():
            self._untold[key] = due
            return True
        return False

    @property
    def next_due(self) -> float | None:
        """When somebody is to be told who wasn't. They are in the order in which they were passed
        over: it may be up to twice the time."""
        return next(iter(self._untold.values()), None)

    def take_due(self) -> Iterator[Key]:
        """Those who have waited long enough to be told."""
        while (due := self.next_due) is not None and due <= self.clock():
            key = next(iter(self._untold))
            del self._untold[key]
            yield key

    def forget(self, key: Key) -> None:
        for known in (self._told_at, self._patient, self._untold):
            known.pop(key, None)

    def known(self) -> frozenset[Key]:
        return frozenset((*self._told_at, *self._patient, *self._untold))
