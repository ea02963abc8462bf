"""Checks of single fields, lists and maps that every kind uses: the grammar of the other rules.

Each yields faults and never raises. A check of an item takes the item and its path.
Source: apimachinery; the helpers of resource.k8s.io's validation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from dibs.model.rules import faults
from dibs.model.rules.faults import FieldFault
from dibs.values import names

Faults = Iterator[FieldFault]
Item = TypeVar("Item")
Check = Callable[[Item, str], Iterable[FieldFault]]

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"


def each(items: Sequence[Item], path: str, limit: int | None, check: Check[Item]) -> Faults:
    """Check a list. One that is too long is not looked into, whatever is in it."""
    if limit is not None and len(items) > limit:
        yield faults.too_many(path, len(items), limit)
        return
    for index, item in enumerate(items):
        yield from check(item, f"{path}[{index}]")


def each_once(
    items: Sequence[Item],
    path: str,
    limit: int | None,
    check: Check[Item],
    key: Callable[[Item], Hashable],
) -> Faults:
    """Check a list whose items must differ in `key`."""
    yield from each(items, path, limit, check)
    if limit is not None and len(items) > limit:
        return
    seen: set[Hashable] = set()
    for index, item in enumerate(items):
        if key(item) in seen:
            yield faults.duplicate(f"{path}[{index}]", key(item))
        seen.add(key(item))


def each_entry(
    entries: Mapping[str, Item],
    path: str,
    limit: int | None,
    shown: int,
    check_key: Check[str],
    check: Check[Item],
) -> Faults:
    """Check a map: keys are at fault at the map itself, values at `path[key]`."""
    if limit is not None and len(entries) > limit:
        yield faults.too_many(path, len(entries), limit)
        return
    for key, item in sorted(entries.items()):
        yield from check_key(key, path)
        yield from check(item, keyed(path, key, shown))


def keyed(path: str, key: str, shown: int) -> str:
    """`path[key]`, the middle of a long key left out."""
    shown = max(shown, 16)
    if len(key) > shown:
        kept = shown - len("...")
        key = key[: (kept + 1) // 2] + "..." + key[len(key) - kept // 2 :]
    return f"{path}[{key}]"


def nothing(_item: object, _path: str) -> Faults:
    """The check of an item of which every value is good."""
    return iter(())


def texts(found: Iterable[str], path: str, value: object) -> Faults:
    return (faults.invalid(path, value, text) for text in found)


def label(value: str, path: str) -> Faults:
    return texts(names.faults_of_dns_label(value), path, value)


def subdomain(value: str, path: str) -> Faults:
    return texts(names.faults_of_dns_subdomain(value), path, value)


def label_key(value: str, path: str) -> Faults:
    return texts(names.faults_of_label_key(value), path, value)


def label_value(value: str, path: str) -> Faults:
    return texts(names.faults_of_label_value(value), path, value)


def uuid(value: str, path: str) -> Faults:
    return texts(names.faults_of_uuid(value), path, value)


def needed(check: Check[str]) -> Check[str]:
    """The same check for a field that must not be empty."""

    def checked(value: str, path: str) -> Iterable[FieldFault]:
        return check(value, path) if value else (faults.required(path),)

    return checked


def driver(value: str, path: str) -> Faults:
    if not value:
        yield faults.required(path)
        return
    if names.size(value) > names.DRIVER_MAX:
        yield faults.too_long(path, names.DRIVER_MAX)
    yield from texts(names.faults_of_dns_subdomain(value.lower()), path, value)


def pool(value: str, path: str) -> Faults:
    if not value:
        yield faults.required(path)
        return
    if names.size(value) > names.POOL_MAX:
        yield faults.too_long(path, names.POOL_MAX)
    for part in value.split("/"):
        yield from subdomain(part, path)


def identifier(value: str, path: str) -> Faults:
    if names.size(value) > names.ID_MAX:
        yield faults.too_long(path, names.ID_MAX)
    yield from texts(names.faults_of_id_shape(value), path, value)


def qualified_name(value: str, path: str) -> Faults:
    # Thousands of devices have the same few keys: most are known to be good.
    if not names.faults_of_qualified_name(value):
        return
    domain, slash, name = value.partition("/")
    if "/" in name:
        yield faults.invalid(path, value, names.MANY_SLASHES)
        return
    if not slash:
        yield from identifier(value, path)
        return
    if domain:
        yield from driver(domain, path)
    else:
        yield faults.invalid(path, "", "the domain must not be empty")
    if name:
        yield from identifier(name, path)
    else:
        yield faults.invalid(path, "", "the name must not be empty")


def full_name(value: str, path: str) -> Faults:
    yield from qualified_name(value, path)
    if "/" not in value:
        yield faults.invalid(path, value, names.NO_DOMAIN)


def at_most(value: str, path: str, limit: int) -> Faults:
    if names.size(value) > limit:
        yield faults.too_long(path, limit)


def choice(value: str, path: str, known: Iterable[str]) -> Faults:
    if value not in known:
        yield faults.not_supported(path, value, known)


def immutable(new: object, old: object, path: str) -> Faults:
    if not equal(new, old):
        yield faults.invalid(path, new, IMMUTABLE)


def equal(left: object, right: object) -> bool:
    """Equal as Kubernetes sees it: quantities by number, nothing and empty alike."""
    try:
        return left == right
    except RecursionError:
        # Only driver parameters can be that deep. Unequal is the safe answer: it is checked anew.
        return False
