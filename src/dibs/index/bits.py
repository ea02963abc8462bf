"""Sets as integers, and counting in many sets at once.

A set of nodes is an int with a bit for each node's number; counts are kept transposed, as *planes*:
the n-th bit of plane i is bit i of the count for node n. One operation on an int then does the
same for thousands of nodes. Ints are values, so who changes one leaves the old as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

Set = int
Planes = tuple[int, ...]

NONE: Set = 0


def numbers(members: Set) -> Iterator[int]:
    """The numbers in a set, smallest first."""
    while members:
        lowest = members & -members
        yield lowest.bit_length() - 1
        members ^= lowest


def first(members: Set) -> int:
    """The smallest number in a set that isn't empty."""
    return (members & -members).bit_length() - 1


def of(members: Iterable[int], size: int) -> Set:
    """The set of these numbers, all below `size`: made at once, whatever their number."""
    octets = bytearray(size // 8 + 1)
    for number in members:
        octets[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(octets, "little")


# --- counting ------------------------------------------------------------------------------------


def union(sets: Iterable[Set]) -> Set:
    found = NONE
    for each in sets:
        found |= each
    return found


def count(sets: Iterable[Set]) -> Planes:
    """For each number, in how many of the sets it is: adders of three bits, level by level."""
    level = [each for each in sets if each]
    planes = []
    while level:
        carries = []
        while len(level) > 2:
            one, two, three = level.pop(), level.pop(), level.pop()
            odd = one ^ two
            level.append(odd ^ three)
            if carry := one & two | odd & three:
                carries.append(carry)
        if len(level) == 2:
            one, two = level
            level = [one ^ two]
            if carry := one & two:
                carries.append(carry)
        planes.append(level[0])
        level = carries
    return tuple(planes)


def constant(amount: int, members: Set) -> Planes:
    """The count that is `amount` for the members and 0 elsewhere."""
    return tuple(members if amount >> place & 1 else NONE for place in range(amount.bit_length()))


def tally(amounts: Iterable[tuple[int, Set]], size: int) -> Planes:
    """The sum of constants, each for the members of its set, of which many have only one."""
    own: dict[int, int] = {}
    total: Planes = ()
    for amount, members in amounts:
        if members & (members - 1):
            total = plus(total, constant(amount, members))
        elif members and amount:
            number = first(members)
            own[number] = own.get(number, 0) + amount
    by_amount: dict[int, list[int]] = {}
    for number, amount in own.items():
        by_amount.setdefault(amount, []).append(number)
    for amount, numbered in by_amount.items():
        total = plus(total, constant(amount, of(numbered, size)))
    return total


def plus(left: Sequence[int], right: Sequence[int]) -> Planes:
    """The sum of two counts."""
    if len(left) < len(right):
        left, right = right, left
    planes = []
    carry = NONE
    for place, one in enumerate(left):
        two = right[place] if place < len(right) else NONE
        if not two and not carry:
            planes.append(one)
            continue
        odd = one ^ two
        planes.append(odd ^ carry)
        carry = one & two | odd & carry
    if carry:
        planes.append(carry)
    return tuple(planes)


def minus(left: Planes, right: Planes) -> Planes:
    """The difference of two counts, where the right one is nowhere larger."""
    planes = []
    borrow = NONE
    for place, one in enumerate(left):
        two = right[place] if place < len(right) else NONE
        if not two and not borrow:
            planes.append(one)
            continue
        odd = two ^ borrow
        planes.append(one ^ odd)
        borrow = ~one & (two | borrow) | two & borrow
    while planes and not planes[-1]:
        planes.pop()
    return tuple(planes)


def at_least(planes: Planes, least: int, members: Set) -> Set:
    """Of the members those whose count is `least` or more."""
    found = members
    for place in range(max(len(planes), least.bit_length())):
        plane = planes[place] if place < len(planes) else NONE
        found = plane & found if least >> place & 1 else (plane & members) | found
    return found


def smallest(planes: Planes, members: Set) -> Set:
    """Of the members those with the smallest count."""
    for plane in reversed(planes):
        if lower := members & ~plane:
            members = lower
    return members


def at(planes: Planes, number: int) -> int:
    """The count for one number."""
    return sum((plane >> number & 1) << place for place, plane in enumerate(planes))
