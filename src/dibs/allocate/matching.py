"""Whether wants can all be met at once, each from its own set of places: Hall's condition.

Places that the same wants may use are one lot, so a few lots stand for many devices. Wants are
met one after the other; where one finds its lots given away, others are moved to lots of theirs
that have something left, and only when nothing can be moved is the answer no.
Source: augmenting paths for a transport problem (Ford and Fulkerson).
"""

from __future__ import annotations

from collections.abc import Sequence

from dibs.allocate.places import Places

# Some places, and how many are wanted of them.
Want = tuple[Places, int]
# Places that serve one want each, and how many such layers there are: see `fits`.
Layers = Sequence[tuple[Places, int]]

ONCE: Layers = ((-1, 1),)


def fits(wants: Sequence[Want], layers: Layers = ONCE) -> bool:
    """Whether all wants can be met together.

    A place serves as many wants as there are layers that contain it; each want may use a place
    more than once, so the answer is a necessary condition where a place serves several.
    """
    union, wanted_of_all, is_apart = 0, 0, True
    for places, wanted in wants:
        is_apart = is_apart and not places & union
        union |= places
        wanted_of_all += wanted
        if _room(places, layers) < wanted:
            return False
    if is_apart:
        return True
    if _room(union, layers) < wanted_of_all:
        return False
    return _Transport(wants, union, layers).is_possible()


def _room(places: Places, layers: Layers) -> int:
    if layers is ONCE:
        return places.bit_count()
    return sum([(places & layer).bit_count() * times for layer, times in layers])


class _Transport:
    """`left` of each lot, `users` the wants that may use it, `flow` what each want has of it."""

    def __init__(self, wants: Sequence[Want], union: Places, layers: Layers) -> None:
        self.wanted = [wanted for _, wanted in wants]
        lots: list[tuple[Places, int]] = [(union, 0)]
        for number, (places, _) in enumerate(wants):
            split = []
            for lot, users in lots:
                if inside := lot & places:
                    split.append((inside, users | 1 << number))
                if outside := lot & ~places:
                    split.append((outside, users))
            lots = split
        self.left = [_room(lot, layers) for lot, _ in lots]
        self.lots_of = [
            [lot for lot, (_, users) in enumerate(lots) if users >> number & 1]
            for number in range(len(wants))
        ]
        self.flow: list[dict[int, int]] = [{} for _ in lots]

    def is_possible(self) -> bool:
        """Meet the wants in turn, those with the fewest lots first."""
        order = sorted(range(len(self.wanted)), key=lambda number: len(self.lots_of[number]))
        return all(self._meet(number) for number in order)

    def _meet(self, number: int) -> bool:
        need = self.wanted[number]
        while need:
            got = self._augment(number, need)
            if not got:
                return False
            need -= got
        return True

    def _augment(self, number: int, need: int) -> int:
        """Find the nearest lot with something left, over wants that can give way; use it."""
        came_by: dict[int, int] = {}  # lot → the want that reached it
        gave: dict[int, int] = {}  # want → the lot it is to give way in
        waiting = [number]
        for want in waiting:
            for lot in self.lots_of[want]:
                if lot in came_by:
                    continue
                came_by[lot] = want
                if self.left[lot]:
                    return self._shift(number, lot, need, came_by, gave)
                for user in self.flow[lot]:
                    if user != number and user not in gave:
                        gave[user] = lot
                        waiting.append(user)
        return 0

    def _shift(
        self, number: int, end: int, need: int, came_by: dict[int, int], gave: dict[int, int]
    ) -> int:
        amount = min(need, self.left[end])
        lot = end
        while (want := came_by[lot]) != number:
            lot = gave[want]
            amount = min(amount, self.flow[lot][want])
        self.left[end] -= amount
        lot = end
        while True:
            want = came_by[lot]
            self.flow[lot][want] = self.flow[lot].get(want, 0) + amount
            if want == number:
                return amount
            lot = gave[want]
            self.flow[lot][want] -= amount
            if not self.flow[lot][want]:
                del self.flow[lot][want]
