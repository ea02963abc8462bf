"""What the Pod of a tight question asks for: about as much as there is.

Requests are added, over one to three claims, until what they ask of each kind comes near a share
of its supply that is drawn once: a little less than everything, or a little more. Selectors,
alternatives and constraints then decide whether it can be had.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

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
_MODEL, _FIRMWARE = f"{GPU}/model", f"{GPU}/firmware"

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
    asker = _Asker(chance, size, stock)
    wishes = asker.wishes()
    count = min(len(wishes), chance.choice((1, 1, 2, size.claims)))
    cuts = sorted(chance.sample(range(1, len(wishes)), count - 1))
    parts = [
        wishes[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(wishes)], strict=True)
    ]
    return tuple(asker.claim(f"claim-{index}", part) for index, part in enumerate(parts))


@dataclass(frozen=True, slots=True)
class _Asker:
    """What every choice of a question depends on."""

    chance: random.Random
    size: Size
    stock: Stock

    def wishes(self) -> list[_Wish]:
        """At least one; how much of the supply they come to makes the question tight."""
        chance = self.chance
        found: list[_Wish] = []
        for kind, supply in self.stock.supply.items():
            left = round(supply * chance.uniform(0.4, 1.05))
            most = self.size.requests if not found else 2
            for _ in range(chance.randint(min(most, 3), most)):
                wish = self.wish(kind)
                if found and (wish.worth > left or len(found) == self.size.requests):
                    continue
                left -= wish.worth
                found.append(wish)
                if chance.random() < 0.3 and wish.worth <= left and len(found) < most:
                    # Requests that are alike are common, and have their own ways of being pruned.
                    left -= wish.worth
                    found.append(wish)
        chance.shuffle(found)
        return found

    def wish(self, kind: str) -> _Wish:
        chance = self.chance
        count = chance.choice((1, 1, 1, 2, 2, *range(1, self.size.most_count + 1)))
        match kind:
            case "parts":
                return self._partition(count)
            case "shared":
                return self._share(min(count, 2))
            case "network":
                return _Wish(kind, "nic", (), min(count, 2), min(count, 2))
        if chance.random() < 0.09:
            return _Wish(kind, "gpu", self._selectors(1), 1, 2, all_devices=True)
        device_class = chance.choice(("gpu", "gpu", "gpu", "even", "any"))
        selectors = () if device_class == "any" else self._selectors(0.5)
        return _Wish(kind, device_class, selectors, count, count)

    def _partition(self, count: int) -> _Wish:
        profiles = [model for model in self.stock.models if model in PROFILES]
        model = self.chance.choice(profiles)
        memory, _ = PROFILES[model]
        if self.chance.random() < 0.15:
            return _Wish("parts", "gpu", (), count, count * 2)
        picked = f'{_GPU}.model == "{model}"'
        count = min(count, self.stock.models[model])
        return _Wish("parts", "gpu", (picked,), count, count * memory)

    def _share(self, count: int) -> _Wish:
        chance = self.chance
        amount = chance.choice((5, 10, 20, 30, 35, 50, 60))
        capacity = {"memory": str(amount)}
        if chance.random() < 0.3 and self.stock.capacities.get("cores", 0) > 1:
            capacity["cores"] = chance.choice(("500m", "1", "1500m", "2"))
        if chance.random() < 0.3 and self.stock.capacities.get("bandwidth"):
            capacity["bandwidth"] = chance.choice(("10", "30", "45"))
        asked = capacity if chance.random() < 0.92 else None
        selectors = self._selectors(0.2)
        if chance.random() < 0.05:
            return _Wish("shared", "gpu", selectors, 1, 3 * amount, True, {"memory": "10"})
        return _Wish("shared", "gpu", selectors, count, count * amount, capacity=asked)

    def _selectors(self, often: float) -> tuple[str, ...]:
        """Sets of devices that overlap, so that who takes what matters."""
        if self.chance.random() >= often:
            return ()
        bound = self.chance.randint(1, 5)
        texts = (
            f"{_GPU}.index < {bound + 2}",
            f"{_GPU}.index >= {bound}",
            f"{_GPU}.index % 2 == {bound % 2}",
            f"{_GPU}.index != {bound}",
            f'{_GPU}.model == "a"',
            f'{_GPU}.model != "a" || {_GPU}.index < {bound}',
        )
        return (self.chance.choice(texts),)

    # --- claims --------------------------------------------------------------------------------

    def claim(self, name: str, wishes: Sequence[_Wish]) -> ResourceClaim:
        names = [f"r{index}" for index in range(len(wishes))]
        count = self.chance.choice((0, 0, 1, 1, 1, 2))
        constraints = [self._constraint(names) for _ in range(count)]
        derivations: dict[str, dict[str, str]] = {}
        # What no constraint compares mustn't be derived (KEP-6080); network cards have no model.
        rich = [each for each, wish in zip(names, wishes, strict=True) if wish.kind != "network"]
        if rich and self.chance.random() < 0.15:
            some = self._some(rich)
            constraints.append(self.chance.choice((build.match, build.distinct))(KIND, *some))
            expression = self.chance.choice(_DERIVATIONS)
            derivations = {request: {KIND: expression} for request in some}
        requests = [
            self._request(request, wish, derivations.get(request))
            for request, wish in zip(names, wishes, strict=True)
        ]
        return build.claim(name, *requests, constraints=constraints)

    def _constraint(self, names: Sequence[str]) -> DeviceConstraint:
        chance = self.chance
        if chance.random() < 0.4:
            return build.distinct(chance.choice((ROOT, LINKS)), *self._some(names))
        attribute = chance.choice(
            (ROOT, ROOT, ROOT, LINKS, LINKS, LINKS, _MODEL, _MODEL, _FIRMWARE)
        )
        # Of all requests only where they are few: else no value is had by so many devices.
        is_of_all = len(names) < 3 and chance.random() < 0.5
        return build.match(attribute, *(() if is_of_all else self._some(names)))

    def _some(self, names: Sequence[str]) -> list[str]:
        return self.chance.sample(names, min(len(names), self.chance.choice((1, 2, 2, 2, 3))))

    def _request(self, name: str, wish: _Wish, derived: dict[str, str] | None) -> DeviceRequest:
        chance = self.chance
        if chance.random() < 0.25:
            # The one that was reckoned with last, so that better ones are tried, and given up.
            more = [self.wish(wish.kind) for _ in range(chance.choice((0, 1, 1, 2)))]
            named = zip(("first", "second", "third"), [*more, wish], strict=False)
            options = [self._alternative(option, each, derived) for option, each in named]
            if more and chance.random() < 0.1:
                # More than a claim may have (32), with others: it can only be passed over.
                options[0] = msgspec.structs.replace(
                    options[0], allocation_mode="ExactCount", count=31
                )
            return build.first_available(name, *options)
        return build.request(
            name,
            *wish.selectors,
            device_class=_class(wish, derived),
            count=wish.count,
            all_devices=wish.all_devices,
            admin=True if chance.random() < 0.06 else None,
            tolerations=self._tolerations(),
            capacity=wish.capacity,
            derived=derived,
        )

    def _alternative(
        self, name: str, wish: _Wish, derived: dict[str, str] | None
    ) -> DeviceSubRequest:
        return build.alternative(
            name,
            *wish.selectors,
            device_class=_class(wish, derived),
            count=wish.count,
            all_devices=wish.all_devices,
            tolerations=self._tolerations(),
            capacity=wish.capacity,
            derived=derived,
        )

    def _tolerations(self) -> list[DeviceToleration]:
        if self.chance.random() < 0.75:
            return []
        return [build.toleration(self.chance.choice(("", BROKEN, DRAINING)))]


def _class(wish: _Wish, derived: dict[str, str] | None) -> str:
    """Expressions must not fail: what is derived of a model is asked of who has one."""
    return "gpu" if wish.device_class == "any" and derived else wish.device_class
