"""The id of a new share of a device (KEP-5075): a UUID made from names, so nothing is random.

Who writes to a real cluster gives ids of its own: a claim that is allocated, released and
allocated again would otherwise get the same one twice.
"""

from __future__ import annotations

import hashlib


def named_share(claim: str, number: int) -> str:
    """An RFC 4122 UUID (version 5 by its bits) for the claim's n-th share of an attempt."""
    digest = bytearray(hashlib.sha256(f"{claim}#{number}".encode()).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    text = digest.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
