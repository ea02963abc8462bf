"""What claims want, as far as it tells nodes apart: how many devices that pass which tests.

Everything here is a necessary condition. What a draft decides (which devices go together, what one
request takes from another) is left to `allocate`. Claims that are wrong on every node
want nothing that could be counted: then each node has to be asked, and the first one says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from dibs.allocate.selecting import Answers
from dibs.index import looks, shares
from dibs.index.looks import Compared, Giving, Test, Tolerating, Whatever
from dibs.index.shares import Wanted
from dibs.model.objects import DeviceClass, ResourceClaim
from dibs.request.asks import MAX_DEVICES, Ask, Request, Unreadable, Wish
from dibs.supply.features import Features
from dibs.values.quantity import Quantity

ANY: tuple[Test, ...] = (Whatever(),)


class Demand(NamedTuple):
    """At least so many devices that pass the tests; those of others too, with admin access.

    `capacity` is what is wanted of each (KEP-5075).
    """

    tests: tuple[Test, ...]
    least: int
    is_admin: bool
    capacity: Wanted = ()


# The alternatives of one request: one of them must be met.
Choice = tuple[Demand, ...]


class Match(NamedTuple):
    """Demands whose devices must have a value in common, all of them together."""

    look: Compared
    demands: tuple[Demand, ...]


@dataclass(frozen=True, slots=True)
class Want:
    """`most` is the largest number of devices that a node may have so that nothing is fatal there:
    mode All may want more than a claim can have. None when mode All is not used.

    `may_fail` says that, where errors are fatal, more than selectors can be.
    """

    choices: tuple[Choice, ...]
    most: int | None = None
    may_fail: bool = False
    matches: tuple[Match, ...] = ()


def key_of(claims: Sequence[ResourceClaim]) -> bytes:
    """Equal for claims that want the same, whatever their names."""
    return b"\n".join([_ENCODER.encode(claim.spec) for claim in claims])


def _written(value: object) -> str:
    assert isinstance(value, Quantity), "the only value of the API that msgspec doesn't know"
    return value.as_written


_ENCODER = msgspec.json.Encoder(enc_hook=_written)


def of(
    claims: Sequence[ResourceClaim],
    classes: Mapping[str, DeviceClass],
    features: Features,
    answers: Answers,
) -> Want | None:
    """None when the claims can't be had anywhere, for a reason that isn't a refusal."""
    try:
        wishes = answers.wishes(claims, classes, features)
    except Unreadable:
        return None
    if any(_fixed(wish) > MAX_DEVICES for wish in wishes):
        return None
    requests = [request for wish in wishes for request in wish.requests]
    asks = [ask for request in requests for ask in request.alternatives]
    return Want(
        tuple(_choice(request, features) for request in requests),
        _most(wishes),
        any(ask.capacity or ask.derived or ask.mode == "All" for ask in asks),
        tuple(match for wish in wishes for match in _matches(wish, features)),
    )


def _choice(request: Request, features: Features) -> Choice:
    return tuple(demand(ask, features) for ask in request.alternatives)


def demand(ask: Ask, features: Features) -> Demand:
    """What one ask wants of any node, whatever else is wanted there."""
    tests = [looks.selecting(condition.expression) for condition in ask.conditions]
    if features.device_taints:
        tests.append(Tolerating(ask.tolerations))
    wanted = tuple(ask.capacity.items())
    if wanted and features.consumable_capacity:
        tests.append(Giving(wanted, features.fractional_capacity_range))
    # Mode All wants at least one device (KEP-4381); all that match must be had, so one of them.
    least = shares.wanted_of(ask.capacity)
    return Demand(tuple(dict.fromkeys(tests)) or ANY, ask.count or 1, ask.is_admin, least)


def _matches(wish: Wish, features: Features) -> Iterator[Match]:
    """The match constraints on two devices or more. What a request derives is its own affair."""
    only = [each.alternatives[0] for each in wish.requests if len(each.alternatives) == 1]
    for constraint in wish.constraints:
        name = constraint.attribute
        concerned = [
            ask
            for ask in only
            if constraint.concerns(ask) and not ask.is_admin and name not in ask.derived
        ]
        demands = tuple(demand(ask, features) for ask in concerned)
        if constraint.kind == "match" and sum(each.least for each in demands) > 1:
            yield Match(Compared(name, features.list_type_attributes), demands)


def _fixed(wish: Wish) -> int:
    """How many devices the claim wants at least, if mode All means none."""
    return sum(min(ask.count for ask in request.alternatives) for request in wish.requests)


def _most(wishes: Sequence[Wish]) -> int | None:
    """Up to so many devices no wish can come to more than a claim may have."""
    most: int | None = None
    for wish in wishes:
        alls = sum(
            any(ask.mode == "All" for ask in request.alternatives) for request in wish.requests
        )
        if alls:
            fixed = sum(max(ask.count for ask in each.alternatives) for each in wish.requests)
            here = max(MAX_DEVICES - fixed, 0) // alls
            most = here if most is None else min(most, here)
    return most
