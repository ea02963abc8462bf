"""A mapping that is a value: `plus` and `minus` make another one, and cost what they touch.

A large dict, never changed, lies below one with what is different, and that below a small one with
what was changed last; only the small one is copied at each change. One that has grown is merged
with the next, so that a change costs a few microseconds, whatever the size. What is kept, and in
what order, is the owner's matter. designs/033 has figures, also of the libraries that were tried.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Reversible,
    ValuesView,
)
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar, cast, overload

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

MISSING: Any = object()
# Under a key in an upper layer: what is below isn't there any more.
GONE: Any = object()

# So many changes are copied at each change.
FEW = 32
# And so many times the root of the size are in the middle: more, and copying them costs more than
# merging them into the base, which is copied whole then.
SHARE = 16


class Layers(NamedTuple, Generic[K, V]):
    base: dict[K, V]
    middle: dict[K, V]
    top: dict[K, V]
    size: int


class Layered(Mapping[K, V], Reversible[K]):
    """A frozen mapping in order: by rank where one is given, else as keys came.

    A rank is worked out from a value, must differ between any two of them, and orders them
    ascending. Without one a changed value keeps its key's place, and a key that went and came back
    may. Equal to any mapping with equal items. Unhashable, like a dict.
    """

    __slots__ = ("_layers", "_rank")

    # The one thing that is ever replaced in it: by layers that have the same items.
    _layers: Layers[K, V]
    _rank: Callable[[V], Any] | None

    def __init__(
        self,
        items: Mapping[K, V] | Iterable[tuple[K, V]] = (),
        rank: Callable[[V], Any] | None = None,
    ) -> None:
        base = dict(items)
        if rank is not None:
            base = dict(sorted(base.items(), key=lambda item: rank(item[1])))
        self._layers = Layers(base, {}, {}, len(base))
        self._rank = rank

    def plus(self, key: K, value: V) -> Layered[K, V]:
        """With this value under this key, in place of what was there."""
        base, middle, top, size = self._roomy()
        changed = top.copy()
        changed[key] = value
        return self._with(Layers(base, middle, changed, size + (key not in self)))

    def minus(self, key: K) -> Layered[K, V]:
        """Without this key; this very value when it has no such key."""
        if key not in self:
            return self
        base, middle, top, size = self._roomy()
        changed = top.copy()
        changed[key] = GONE
        return self._with(Layers(base, middle, changed, size - 1))

    def union(self, items: Mapping[K, V]) -> Layered[K, V]:
        """With all of these."""
        if not items:
            return self
        base, middle, top, size = self._roomy()
        added = sum(key not in self for key in items)
        return self._with(Layers(base, middle, top | dict(items), size + added))

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
        base, middle, top, _ = self._layers
        if top:
            found = top.get(key, MISSING)
            if found is not MISSING:
                return default if found is GONE else found
        if middle:
            found = middle.get(key, MISSING)
            if found is not MISSING:
                return default if found is GONE else found
        return base.get(key, default)

    def has_none_of(self, keys: KeysView[K]) -> bool:
        """Whether it is sure to have none of these keys; keys that went may still count."""
        base, middle, top, _ = self._layers
        return all(keys.isdisjoint(layer.keys()) for layer in (base, middle, top) if layer)

    def __contains__(self, key: object) -> bool:
        return self.get(cast(K, key), MISSING) is not MISSING

    def __len__(self) -> int:
        return self._layers.size

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

    def _with(self, layers: Layers[K, V]) -> Layered[K, V]:
        made: Layered[K, V] = Layered.__new__(Layered)
        made._layers = layers
        made._rank = self._rank
        return made

    def _roomy(self) -> Layers[K, V]:
        """The layers, with room for a change in the top one.

        This value keeps them too: whoever forks it a thousand times pays for the merge once.
        """
        base, middle, top, size = self._layers
        if len(top) >= FEW:
            self._layers = Layers(base, middle | top, {}, size)
            if len(self._layers.middle) ** 2 >= SHARE * SHARE * len(base):
                self._flat()
        return self._layers

    def _flat(self) -> dict[K, V]:
        """All items in order, in one dict, which nobody may change."""
        base, middle, top, size = self._layers
        if middle or top:
            over = middle | top
            base = _by_place(base, over) if self._rank is None else _by_rank(base, over, self._rank)
            self._layers = Layers(base, {}, {}, size)
        return base


def _by_place(base: dict[K, V], over: dict[K, V]) -> dict[K, V]:
    merged = base | over
    for key, value in over.items():
        if value is GONE:
            del merged[key]
    return merged


def _by_rank(base: dict[K, V], over: dict[K, V], rank: Callable[[V], Any]) -> dict[K, V]:
    """Only what changed is ranked, and as much of the base as it takes to find its place."""
    kept = base.copy()
    new: list[tuple[Any, K, V]] = []
    for key, value in over.items():
        if value is GONE:
            kept.pop(key, None)
            continue
        ranked = rank(value)
        if key in base and rank(base[key]) == ranked:
            kept[key] = value
        else:
            kept.pop(key, None)
            new.append((ranked, key, value))
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
