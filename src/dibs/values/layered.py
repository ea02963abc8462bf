"""A mapping that is a value: `plus` and `minus` make another one, and cost what they touch.

A large dict, never changed, lies below a small one that says what is different; a fork copies the
small one. When that has grown to the square root of the large one they are made one again, so that
a change costs about a microsecond, whatever the size. What is kept in it, and in what order, is
the owner's matter. designs/033 has the figures, also of the libraries that were tried.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar, cast, overload

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

# Below this many changes a copy costs less than keeping count.
FEW = 32
MISSING: Any = object()


class _Layers(NamedTuple, Generic[K, V]):
    """`base` with `over` put on it. What `gone` names of the base is not there any more; a key of
    it that is in `over` came back, and so takes its place anew.
    """

    base: dict[K, V]
    over: dict[K, V]
    gone: frozenset[K]


class Layered(Mapping[K, V]):
    """A frozen mapping in order: as in a dict, or by rank where one is given.

    In a dict's order a new key is the last one, and a changed value keeps its key's place. A rank
    is worked out from a value, must differ between any two of them, and orders them ascending.
    Equal to any mapping with equal items. Unhashable, like a dict.
    """

    __slots__ = ("_layers", "_rank")

    # The one thing that is ever replaced in it: by layers that have the same items (`_flat`).
    _layers: _Layers[K, V]
    _rank: Callable[[V], Any] | None

    def __init__(
        self,
        items: Mapping[K, V] | Iterable[tuple[K, V]] = (),
        rank: Callable[[V], Any] | None = None,
    ) -> None:
        base = dict(items)
        if rank is not None:
            base = dict(sorted(base.items(), key=lambda item: rank(item[1])))
        self._layers = _Layers(base, {}, frozenset())
        self._rank = rank

    def plus(self, key: K, value: V) -> Layered[K, V]:
        """With this value under this key, in place of what was there."""
        base, over, gone = self._roomy()
        return self._with(_Layers(base, {**over, key: value}, gone))

    def minus(self, key: K) -> Layered[K, V]:
        """Without this key; this very value when it has no such key."""
        if key not in self:
            return self
        base, over, gone = self._roomy()
        if key in over:
            over = over.copy()
            del over[key]
        if key in base:
            gone |= {key}
        return self._with(_Layers(base, over, gone))

    def union(self, items: Mapping[K, V]) -> Layered[K, V]:
        """With all of these."""
        if not items:
            return self
        base, over, gone = self._roomy()
        return self._with(_Layers(base, {**over, **items}, gone))

    # --- reading --------------------------------------------------------------------------------

    def __getitem__(self, key: K) -> V:
        found = self.get(key, MISSING)
        if found is MISSING:
            raise KeyError(key)
        return cast(V, found)

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, default: V, /) -> V: ...
    @overload
    def get(self, key: K, default: T, /) -> V | T: ...

    def get(self, key: K, default: Any = None, /) -> Any:
        base, over, gone = self._layers
        if over:
            found = over.get(key, MISSING)
            if found is not MISSING:
                return found
        if gone and key in gone:
            return default
        return base.get(key, default)

    def __contains__(self, key: object) -> bool:
        return self.get(cast(K, key), MISSING) is not MISSING

    def __len__(self) -> int:
        base, over, gone = self._layers
        if not over:
            return len(base) - len(gone)
        return len(base) - len(gone) + sum(key in gone or key not in base for key in over)

    def __iter__(self) -> Iterator[K]:
        return iter(self._flat())

    def __reversed__(self) -> Iterator[K]:
        return reversed(self._flat())

    def keys(self) -> KeysView[K]:
        return self._flat().keys()

    def items(self) -> ItemsView[K, V]:
        return self._flat().items()

    def values(self) -> ValuesView[V]:
        return self._flat().values()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Layered):
            return self._flat() == other._flat()
        return self._flat() == other if isinstance(other, dict) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Layered({self._flat()!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Layered is made anew from its items, not copied through pickle")

    # --- layers ---------------------------------------------------------------------------------

    def _with(self, layers: _Layers[K, V]) -> Layered[K, V]:
        made: Layered[K, V] = Layered.__new__(Layered)
        made._layers = layers
        made._rank = self._rank
        return made

    def _roomy(self) -> _Layers[K, V]:
        """The layers, made one if the upper is large.

        This value keeps them too: whoever forks it a thousand times pays for that once.
        """
        changes = len(self._layers.over) + len(self._layers.gone)
        if changes >= FEW and changes * changes >= len(self._layers.base):
            self._flat()
        return self._layers

    def _flat(self) -> dict[K, V]:
        """All items in order, in one dict, which nobody may change."""
        base, over, gone = self._layers
        if over or gone:
            rank = self._rank
            base = _by_place(base, over, gone) if rank is None else _by_rank(*self._layers, rank)
            self._layers = _Layers(base, {}, frozenset())
        return base


def _by_place(base: dict[K, V], over: dict[K, V], gone: frozenset[K]) -> dict[K, V]:
    if not gone:
        return {**base, **over}
    kept = {key: value for key, value in base.items() if key not in gone}
    return {**kept, **over}


def _by_rank(
    base: dict[K, V], over: dict[K, V], gone: frozenset[K], rank: Callable[[V], Any]
) -> dict[K, V]:
    """Only what is new is ranked, and as much of the base as it takes to find its place."""
    left: set[K] = set(gone)
    placed: dict[K, V] = {}
    new: list[tuple[Any, K, V]] = []
    for key, value in over.items():
        ranked = rank(value)
        if key in base and key not in gone:
            if rank(base[key]) == ranked:
                placed[key] = value
                continue
            left.add(key)
        new.append((ranked, key, value))
    kept = {**base, **placed}
    if left:
        kept = {key: value for key, value in kept.items() if key not in left}
    if not new:
        return kept
    new.sort(key=lambda entry: entry[0])
    items = list(kept.items())
    merged: list[tuple[K, V]] = []
    start = 0
    for ranked, key, value in new:
        place = bisect_right(items, ranked, lo=start, key=lambda item: rank(item[1]))
        merged += items[start:place]
        merged.append((key, value))
        start = place
    return dict(merged + items[start:])
