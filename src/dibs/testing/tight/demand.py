"""What the Pod of a tight question asks for: about as much as there is.

Requests are added, over one to three claims, until what they ask of each kind comes near a share
of its supply that is drawn once: a little less than everything, or a little more. Selectors,
alternatives and constraints then decide whether it can be had.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from dibs.model.objects import (
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ResourceClaim,
)
from dibs.testing import builders as build
from dibs.testing.tight.hardware import BROKEN, DRAINING, GPU, NIC, PROFILES, Stock
from dibs.testing.tight.sizes import Size
from dibs.testing.worlds.demand import KIND
from dibs.testing.worlds.hardware import LINKS, ROOT

_GPU, _NIC = (f'device.attributes["{driver}"]' for driver in (GPU, NIC))
_OF_GPU, _OF_NIC = (f'device.driver == "{driver}"' for driver in (GPU, NIC))
_MODEL = f"{GPU}/model"

CLASSES = (
    build.device_class("gpu", _OF_GPU),
    build.device_class("nic", _OF_NIC),
    build.device_class("any"),
    build.device_class("even", _OF_GPU, f"{_GPU}.index % 2 == 0"),
)

# What a constraint may compare that no driver publishes (KEP-6080); pairs of neighbours overlap.
_DERIVATIONS = (
    f"{_GPU}.index / 2",
    f"{_GPU}.index % 2",
    f"{_GPU}.index % 3",
    f"[{_GPU}.index / 2, ({_GPU}.index + 1) / 2]",
    f'{_GPU}.model + "-" + string({_GPU}.index % 2)',
)


@dataclass(frozen=True, slots=True)
class _Wish:
    """One request in the making, or one alternative of it; `worth` is what it takes of its kind."""

    kind: str
    device_class: str
    selectors: tuple[str, ...]
    count: int
    worth: int
    all_devices: bool = False
    capacity: dict[str, str] | None = None


def claims(chance: random.Random, size: Size, stock: Stock) -> tuple[ResourceClaim, ...]:
    """The Pod's claims, in order; each has a request at least."""
    wishes = _wishes(chance, size, stock)
    count = min(len(wishes), chance.choice((1, 1, 2, size.claims)))
    cuts = sorted(chance.sample(range(1, len(wishes)), count - 1))
    parts = [
        wishes[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(wishes)], strict=True)
    ]
    return tuple(
        _claim(chance, size, stock, f"claim-{index}", part) for index, part in enumerate(parts)
    )


def _wishes(chance: random.Random, size: Size, stock: Stock) -> list[_Wish]:
    """At least one; the share of the supply that they come to is what makes the question tight."""
    found: list[_Wish] = []
    for kind, supply in stock.supply.items():
        left = round(supply * chance.uniform(0.45, 1.1))
        most = size.requests if kind == next(iter(stock.supply)) else 2
        for _ in range(chance.randint(1, most)):
            wish = _wish(chance, size, stock, kind)
            if found and (wish.worth > left or len(found) == size.requests):
                continue
            left -= wish.worth
            found.append(wish)
            if chance.random() < 0.3 and wish.worth <= left and len(found) < size.requests:
                # Requests that are alike are common, and have their own ways of being pruned.
                left -= wish.worth
                found.append(wish)
    chance.shuffle(found)
    return found


def _wish(chance: random.Random, size: Size, stock: Stock, kind: str) -> _Wish:
    counts = (1, 1, 1, 2, 2, *range(1, size.most_count + 1))
    count = chance.choice(counts)
    if kind == "parts":
        model = chance.choice(stock.models)
        memory, _ = PROFILES.get(model, (1, 1))
        picked: tuple[str, ...] = (f'{_GPU}.model == "{model}"',)
        if chance.random() < 0.15:
            memory, picked = 2, ()
        return _Wish(kind, "gpu", picked, count, count * memory)
    if kind == "shared":
        amount = chance.choice((5, 10, 20, 30, 35, 50, 60))
        capacity = {"memory": str(amount)}
        if chance.random() < 0.1:
            capacity["cores"] = chance.choice(("500m", "1", "1500m", "2"))
        if chance.random() < 0.1:
            capacity["bandwidth"] = chance.choice(("10", "30", "45"))
        is_bare = chance.random() < 0.08
        count = min(count, 2)
        return _Wish(
            kind,
            "gpu",
            _selectors(chance, 0.2),
            count,
            count * amount,
            capacity=None if is_bare else capacity,
        )
    if kind == "network":
        return _Wish(kind, "nic", (), min(count, 2), min(count, 2))
    if chance.random() < 0.05:
        return _Wish(kind, "gpu", _selectors(chance, 1), 1, 2, all_devices=True)
    device_class = chance.choice(("gpu", "gpu", "gpu", "even", "any"))
    selectors = () if device_class == "any" else _selectors(chance, 0.5)
    return _Wish(kind, device_class, selectors, count, count)


def _selectors(chance: random.Random, often: float) -> tuple[str, ...]:
    """Sets of devices that overlap, so that who takes what matters."""
    if chance.random() >= often:
        return ()
    bound = chance.randint(1, 5)
    return (
        chance.choice(
            (
                f"{_GPU}.index < {bound + 2}",
                f"{_GPU}.index >= {bound}",
                f"{_GPU}.index % 2 == {bound % 2}",
                f"{_GPU}.index != {bound}",
                f'{_GPU}.model == "a"',
                f'{_GPU}.model != "a" || {_GPU}.index < {bound}',
            )
        ),
    )


# --- claims ------------------------------------------------------------------------------------


def _claim(
    chance: random.Random, size: Size, stock: Stock, name: str, wishes: Sequence[_Wish]
) -> ResourceClaim:
    names = [f"r{index}" for index in range(len(wishes))]
    is_derived = chance.random() < 0.15 and all(wish.kind != "network" for wish in wishes)
    derived = {KIND: chance.choice(_DERIVATIONS)} if is_derived else None
    # What no constraint compares mustn't be derived (KEP-6080), so this one is for all requests.
    constraints = [chance.choice((build.match, build.distinct))(KIND)] if is_derived else []
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
        constraints.append(_constraint(chance, names))
    requests = [
        _request(chance, size, stock, request, wish, derived)
        for request, wish in zip(names, wishes, strict=True)
    ]
    return build.claim(name, *requests, constraints=constraints)


def _constraint(chance: random.Random, names: Sequence[str]) -> DeviceConstraint:
    kind = chance.choice((build.match, build.match, build.distinct))
    attribute = chance.choice((ROOT, ROOT, LINKS, LINKS, _MODEL))
    if kind is build.distinct and attribute == _MODEL:
        attribute = ROOT
    some = chance.sample(names, chance.randint(min(2, len(names)), len(names)))
    return kind(attribute, *(some if chance.random() < 0.6 else ()))


def _request(
    chance: random.Random,
    size: Size,
    stock: Stock,
    name: str,
    wish: _Wish,
    derived: dict[str, str] | None,
) -> DeviceRequest:
    if chance.random() < 0.25:
        more = [_wish(chance, size, stock, wish.kind) for _ in range(chance.choice((0, 1, 1, 2)))]
        # The one that was reckoned with last, so that better ones are tried, and given up.
        options = [*more, wish]
        names = ("first", "second", "third")
        named = zip(names, options, strict=False)
        return build.first_available(
            name, *(_alternative(chance, *each, derived) for each in named)
        )
    is_device_rich = wish.device_class == "any" and derived is not None
    return build.request(
        name,
        *wish.selectors,
        device_class="gpu" if is_device_rich else wish.device_class,
        count=wish.count,
        all_devices=wish.all_devices,
        admin=True if chance.random() < 0.06 else None,
        tolerations=_tolerations(chance),
        capacity=wish.capacity,
        derived=derived,
    )


def _alternative(
    chance: random.Random, name: str, wish: _Wish, derived: dict[str, str] | None
) -> DeviceSubRequest:
    is_device_rich = wish.device_class == "any" and derived is not None
    # Some ask for more than a claim may have (32): they can only be passed over.
    count = 31 if chance.random() < 0.02 else wish.count
    return build.alternative(
        name,
        *wish.selectors,
        device_class="gpu" if is_device_rich else wish.device_class,
        count=count,
        all_devices=wish.all_devices,
        tolerations=_tolerations(chance),
        capacity=wish.capacity,
        derived=derived,
    )


def _tolerations(chance: random.Random) -> list[DeviceToleration]:
    if chance.random() < 0.75:
        return []
    return [build.toleration(chance.choice(("", BROKEN, DRAINING)))]
