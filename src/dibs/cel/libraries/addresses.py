"""Kubernetes' IP and CIDR functions, with the reading of Go's net/netip.

No leading zeros, no zones, no IPv4-mapped IPv6. A prefix may have bits behind its length.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from dibs.cel import runtime
from dibs.cel.declare import Library, function, member
from dibs.cel.runtime import CIDR, IP, EvaluationError
from dibs.cel.types import BOOL, INT, STRING
from dibs.cel.types import CIDR as CIDR_TYPE
from dibs.cel.types import IP as IP_TYPE
from dibs.values.quoted import quoted

_LENGTH: Final = re.compile(r"0|[1-9][0-9]{0,2}")
# Longer text is no address, and is not looked at further.
_LONGEST: Final = 100


class BadAddress(Exception):
    """The text is no address; the message says why."""


def _address(text: str) -> IPv4Address | IPv6Address:
    shown = quoted(text[:_LONGEST])
    name, zone, zone_name = text.partition("%")
    try:
        if len(name) > _LONGEST or (zone and not zone_name):
            raise AddressValueError("unable to parse IP")
        address = IPv6Address(name) if ":" in name else IPv4Address(name)
    except AddressValueError as error:
        raise BadAddress(
            f"IP Address {shown} parse error during conversion from string: "
            f"ParseAddr({shown}): {str(error)[:200]}"
        ) from None
    if zone:
        raise BadAddress(f"IP address {shown} with zone value is not allowed")
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        raise BadAddress(f"IPv4-mapped IPv6 address {shown} is not allowed")
    return address


def _prefix(text: str) -> CIDR:
    address, slash, length = text.rpartition("/")
    if not slash:
        raise BadAddress(_no_prefix(text, "no '/'"))
    try:
        base = _address(address)
    except BadAddress as bad:
        raise BadAddress(_no_prefix(text, str(bad))) from None
    if not _LENGTH.fullmatch(length):
        raise BadAddress(_no_prefix(text, f"bad bits after slash: {quoted(length[:_LONGEST])}"))
    if int(length) > base.max_prefixlen:
        raise BadAddress(_no_prefix(text, "prefix length out of range"))
    return CIDR(base, int(length))


def _no_prefix(text: str, why: str) -> str:
    return (
        "network address parse error during conversion from string: "
        f"netip.ParsePrefix({quoted(text[:_LONGEST])}): {why}"
    )


def ip(text: str) -> IP:
    try:
        return IP(_address(text))
    except BadAddress as bad:
        raise EvaluationError(str(bad)) from None


def is_ip(text: str) -> bool:
    try:
        _address(text)
    except BadAddress:
        return False
    return True


def is_canonical(text: str) -> bool:
    """Whether the address is written as `string(ip(text))` writes it. Raises when it is none."""
    return str(ip(text)) == text


def family(address: IP) -> int:
    return address.address.version


def is_unspecified(address: IP) -> bool:
    return address.address.is_unspecified


def is_loopback(address: IP) -> bool:
    return address.address.is_loopback


def is_link_local_multicast(address: IP) -> bool:
    """224.0.0.0/24, ff02::/16 and its like with flags (ffX2)."""
    where = address.address
    if isinstance(where, IPv4Address):
        return where.packed[:3] == b"\xe0\x00\x00"
    return where.packed[0] == 0xFF and where.packed[1] & 0x0F == 2


def is_link_local_unicast(address: IP) -> bool:
    return address.address.is_link_local


def is_global_unicast(address: IP) -> bool:
    """What is none of the others, broadcast or multicast: private addresses count."""
    where = address.address
    if where == IPv4Address("255.255.255.255"):
        return False
    special = where.is_unspecified or where.is_loopback or where.is_multicast
    return not special and not where.is_link_local


def cidr(text: str) -> CIDR:
    try:
        return _prefix(text)
    except BadAddress as bad:
        raise EvaluationError(str(bad)) from None


def is_cidr(text: str) -> bool:
    try:
        _prefix(text)
    except BadAddress:
        return False
    return True


def contains_ip(block: CIDR, address: IP) -> bool:
    bits = block.address.max_prefixlen
    if bits != address.address.max_prefixlen:
        return False
    return int(block.address) >> bits - block.length == int(address.address) >> bits - block.length


def contains_ip_text(block: CIDR, text: str) -> bool:
    try:
        return contains_ip(block, IP(_address(text)))
    except BadAddress:
        raise runtime.no_overload() from None


def contains_cidr(block: CIDR, other: CIDR) -> bool:
    return contains_ip(block, IP(other.address)) and block.length <= other.length


def contains_cidr_text(block: CIDR, text: str) -> bool:
    try:
        return contains_cidr(block, _prefix(text))
    except BadAddress:
        raise runtime.no_overload() from None


def address_of(block: CIDR) -> IP:
    return IP(block.address)


def masked(block: CIDR) -> CIDR:
    return CIDR(block.network.network_address, block.length)


def prefix_length(block: CIDR) -> int:
    return block.length


LIBRARY = Library(
    "kubernetes.addresses",
    (
        *function("ip", ("string_to_ip", (STRING,), IP_TYPE, ip)),
        *function("isIP", ("is_ip", (STRING,), BOOL, is_ip)),
        *function("ip.isCanonical", ("ip_is_canonical", (STRING,), BOOL, is_canonical)),
        *function(
            "string",
            ("ip_to_string", (IP_TYPE,), STRING, str),
            ("cidr_to_string", (CIDR_TYPE,), STRING, str),
        ),
        *member("family", ("ip_family", (IP_TYPE,), INT, family)),
        *member("isUnspecified", ("ip_is_unspecified", (IP_TYPE,), BOOL, is_unspecified)),
        *member("isLoopback", ("ip_is_loopback", (IP_TYPE,), BOOL, is_loopback)),
        *member(
            "isLinkLocalMulticast",
            ("ip_is_link_local_multicast", (IP_TYPE,), BOOL, is_link_local_multicast),
        ),
        *member(
            "isLinkLocalUnicast",
            ("ip_is_link_local_unicast", (IP_TYPE,), BOOL, is_link_local_unicast),
        ),
        *member("isGlobalUnicast", ("ip_is_global_unicast", (IP_TYPE,), BOOL, is_global_unicast)),
        *function("cidr", ("string_to_cidr", (STRING,), CIDR_TYPE, cidr)),
        *function("isCIDR", ("is_cidr", (STRING,), BOOL, is_cidr)),
        *member(
            "containsIP",
            ("cidr_contains_ip_string", (CIDR_TYPE, STRING), BOOL, contains_ip_text),
            ("cidr_contains_ip_ip", (CIDR_TYPE, IP_TYPE), BOOL, contains_ip),
        ),
        *member(
            "containsCIDR",
            ("cidr_contains_cidr_string", (CIDR_TYPE, STRING), BOOL, contains_cidr_text),
            ("cidr_contains_cidr", (CIDR_TYPE, CIDR_TYPE), BOOL, contains_cidr),
        ),
        *member("ip", ("cidr_ip", (CIDR_TYPE,), IP_TYPE, address_of)),
        *member("masked", ("cidr_masked", (CIDR_TYPE,), CIDR_TYPE, masked)),
        *member("prefixLength", ("cidr_prefix_length", (CIDR_TYPE,), INT, prefix_length)),
    ),
)
