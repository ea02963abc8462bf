"""A selector's answer in words: what was seen and what was wanted, or what is not published.

`cel.explain` finds what decided; that a missing key is a missing attribute, and where the device
has it instead, is known here.
"""

from __future__ import annotations

from dibs.cel import wording
from dibs.cel.explain import Missing, Why
from dibs.cel.runtime import Map
from dibs.request.views import DeviceView

_KINDS = {"attributes": "attribute", "capacity": "capacity"}
# More names than this are counted instead of listed.
_MOST_NAMES = 12


def of(why: Why, view: DeviceView) -> str:
    """One phrase; the arms of an `||` that all failed, or of an `&&` that all held, are joined."""
    if why.parts:
        return wording.joined(why.verdict, [of(part, view) for part in why.parts])
    if why.missing is not None:
        found = _unpublished(why.missing, view.device)
        if found:
            return found
    return why.phrase


def is_about_absence(why: Why) -> bool:
    """Whether the phrase may name what a device has instead, which no selector reads."""
    return why.missing is not None or any(map(is_about_absence, why.parts))


def _unpublished(missing: Missing, device: Map) -> str:
    match missing.path:
        case ("device", "attributes" | "capacity" as shelf, domain):
            text = f"publishes no {_KINDS[shelf]} in domain {domain}"
            return f"{text} ({_has(tuple(map(str, device[shelf])))})"
        case ("device", "attributes" | "capacity" as shelf, domain, name):
            text = f"publishes no {_KINDS[shelf]} {name} in domain {domain}"
            if elsewhere := _elsewhere(shelf, domain, name, device):
                return f"{text}; {elsewhere}"
            return f"{text} ({_has(missing.present)})"
    return ""


def _elsewhere(shelf: str, domain: str, name: str, device: Map) -> str:
    """The same name in the other map, or in another domain: what was probably meant."""
    other = "capacity" if shelf == "attributes" else "attributes"
    for holder in (other, shelf):
        domains = device[holder]
        for place in (domain, *domains):
            if place in domains and name in domains[place]:
                return f'it has {_KINDS[holder]} device.{holder}["{place}"].{name}'
    return ""


def _has(names: tuple[str, ...]) -> str:
    if not names:
        return "has none"
    shown = ", ".join(sorted(names)[:_MOST_NAMES])
    rest = len(names) - _MOST_NAMES
    return f"has: {shown}" + (f" and {rest} more" if rest > 0 else "")
